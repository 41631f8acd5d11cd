"""What a server logs, and where."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vaultbridge.errors import NoteNotFound
from vaultbridge.server.logs import set_level, start_logging


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("vaultbridge")
    before = (root.handlers[:], root.level, ours.level)
    hook, server = threading.excepthook, logging.getLogger("aiohttp.server")
    filters = server.filters[:]
    yield
    threading.excepthook = hook
    server.filters[:] = filters
    root.handlers[:], _, _ = before
    root.setLevel(before[1])
    ours.setLevel(before[2])


def test_a_log_is_one_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    start_logging("info")
    logging.getLogger("vaultbridge.config").info("Now in effect: %s", "log.level")
    logging.getLogger("vaultbridge.config").debug("not logged")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.endswith(" INFO    vaultbridge.config: Now in effect: log.level\n")
    assert printed.err.count("\n") == 1


def test_only_warnings_of_libraries_are_logged(capsys: pytest.CaptureFixture[str]) -> None:
    start_logging("debug")
    logging.getLogger("aiohttp").info("chatter")
    logging.getLogger("aiohttp").warning("trouble")
    assert "chatter" not in (err := capsys.readouterr().err)
    assert "trouble" in err


def test_the_level_changes_while_the_process_runs(capsys: pytest.CaptureFixture[str]) -> None:
    start_logging("error")
    logging.getLogger("vaultbridge").warning("one")
    set_level("debug")
    logging.getLogger("vaultbridge").debug("two")
    err = capsys.readouterr().err
    assert "one" not in err
    assert "two" in err


def fail_to_read(path: Path) -> None:
    path.read_bytes()


@pytest.mark.parametrize(
    ("fail", "logged"),
    [
        (lambda: fail_to_read(Path("/some where/secret/Diary.md")), "FileNotFoundError: "),
        (lambda: {}["key"], "KeyError: 'key'"),
        (lambda: int("a\nb"), "ValueError: invalid literal"),
        (lambda: (_ for _ in ()).throw(NoteNotFound("Folder/A")), "NoteNotFound: No note named 'Folder/A'."),
        (lambda: (_ for _ in ()).throw(RuntimeError(r"C:\Users\me\x.py and /home/me/y.py")), "x.py and y.py"),
    ],
)
def test_a_failure_is_one_line_that_names_places_and_no_folder_of_this_machine(
    fail: Callable[[], object], logged: str, capsys: pytest.CaptureFixture[str]
) -> None:
    start_logging("info")
    try:
        fail()
    except Exception:
        logging.getLogger("vaultbridge.test").exception("it failed")
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "it failed" in err
    assert logged in err
    assert "server/test_logs.py:" in err
    assert "Traceback" not in err
    assert str(Path(__file__).parents[2]) not in err
    assert not any(word in err for word in ("secret/", "Users", "/home/"))


def test_a_thread_that_fails_is_logged_in_one_line_too(capsys: pytest.CaptureFixture[str]) -> None:
    start_logging("info")
    thread = threading.Thread(target=lambda: 1 / 0, name="worker-7")
    thread.start()
    thread.join()
    err = capsys.readouterr().err
    assert err.count("\n") == 1
    assert "the thread worker-7 failed" in err
    assert "ZeroDivisionError: division by zero" in err


def test_a_very_long_error_is_cut(capsys: pytest.CaptureFixture[str]) -> None:
    start_logging("info")
    logging.getLogger("vaultbridge").error("x", exc_info=ValueError("y" * 10_000))
    assert len(capsys.readouterr().err) < 500


def test_what_a_library_logs_names_no_folder_of_the_machine(capsys: pytest.CaptureFixture[str]) -> None:
    start_logging("info")
    logging.getLogger("asyncio").error(
        "Exception was never retrieved\nfuture: <Task coro=<ask() defined at /home/me/lib/changes.py:191>>"
    )
    err = capsys.readouterr().err
    assert "/home/me" not in err
    assert "changes.py:191" in err
