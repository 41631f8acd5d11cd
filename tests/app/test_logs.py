"""What a server logs, and where."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from vaultbridge.app.logs import set_level, start_logging


@pytest.fixture(autouse=True)
def restored() -> Iterator[None]:
    root, ours = logging.getLogger(), logging.getLogger("vaultbridge")
    before = (root.handlers[:], root.level, ours.level)
    yield
    root.handlers[:], _, _ = before
    root.setLevel(before[1])
    ours.setLevel(before[2])


def test_a_log_is_one_line_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    start_logging("info")
    logging.getLogger("vaultbridge.config").info("Now in force: %s", "log.level")
    logging.getLogger("vaultbridge.config").debug("not told")
    printed = capsys.readouterr()
    assert printed.out == ""
    assert printed.err.endswith(" INFO    vaultbridge.config: Now in force: log.level\n")
    assert printed.err.count("\n") == 1


def test_libraries_tell_their_warnings_only(capsys: pytest.CaptureFixture[str]) -> None:
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
