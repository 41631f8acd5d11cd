"""Somebody else's code is run for a bounded time, and its faults are reported with their line."""

from __future__ import annotations

import sys
import threading
from collections.abc import Iterator
from importlib.metadata import EntryPoint
from pathlib import Path

import pytest

from support.plugins import GOOD
from vaultbridge.errors import InvalidArgument, TimedOut
from vaultbridge.plugins.loading import (
    SiblingFinder,
    describe_failure,
    load_entry_point,
    load_file,
    make_module_name,
    run_within,
)
from vaultbridge.tools.base.tool import ForeignTool

NEVER = 60.0
"""Seconds that nothing here takes."""


@pytest.fixture
def file(tmp_path: Path) -> Iterator[Path]:
    yield tmp_path / "loading.py"
    sys.modules.pop("vaultbridge_plugin_loading", None)


def fault(file: Path, text: str) -> str:
    file.write_text(text)
    with pytest.raises(BaseException) as caught:
        run_within(NEVER, lambda: load_file(file))
    return describe_failure(caught.value, file)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("x = (\n", "line 1: '(' was never closed"),
        ("\n\nx = 1 / 0", "line 3: ZeroDivisionError: division by zero"),
        ("def f():\n    raise ValueError('no')\n\nf()", "line 2: ValueError: no"),
        ("import no_such_module", "line 1: ModuleNotFoundError: No module named 'no_such_module'"),
        ("import json\n\njson.loads('{')", "line 3: JSONDecodeError: "),
        ("\0", "source code"),
        ("# -*- coding: no-such -*-", "unknown encoding"),
    ],
)
def test_a_failure_is_reported_with_its_line(file: Path, text: str, says: str) -> None:
    # Before 3.11.4 Python calls a null byte a wrong value, not wrong syntax.
    assert fault(file, text).removeprefix("ValueError: ").startswith(says)
    assert make_module_name(file.name) not in sys.modules


def test_a_failure_in_another_file_is_reported_with_its_name(file: Path, tmp_path: Path) -> None:
    beside = tmp_path / "_beside.py"
    beside.write_text("def f():\n    return 1 / 0\n")
    siblings = SiblingFinder(tmp_path, lambda path: "")
    siblings.install()
    try:
        assert fault(file, "from _beside import f\n\nf()").startswith("_beside.py, line 2: ZeroDivisionError")
        siblings.forget()
        beside.write_text("\ndef f(:\n")
        assert fault(file, "from _beside import f").startswith("_beside.py, line 2: ")
    finally:
        siblings.uninstall()
    with pytest.raises(ZeroDivisionError) as caught:
        exec(compile("1 / 0", str(tmp_path / "lib" / "package.py"), "exec"))
    assert describe_failure(caught.value, tmp_path / "stars").startswith(
        "package.py, line 1: ZeroDivisionError"
    )


def test_a_file_that_fails_leaves_the_module_that_was_there(file: Path) -> None:
    file.write_text(GOOD.format(name="greet", says="hello"))
    (tool,) = load_file(file)
    before = sys.modules[make_module_name(file.name)]
    fault(file, "1 / 0")
    assert sys.modules[make_module_name(file.name)] is before
    assert tool.group == "loading"


def test_a_function_that_was_imported_from_elsewhere_is_not_this_files_tool(
    file: Path, tmp_path: Path
) -> None:
    (tmp_path / "other.py").write_text(GOOD.format(name="bow", says="x"))
    load_file(tmp_path / "other.py")
    file.write_text("from vaultbridge_plugin_other import bow\n" + GOOD.format(name="greet", says="hello"))
    assert [tool.name for tool in load_file(file)] == ["greet"]
    del sys.modules["vaultbridge_plugin_other"]


def test_loading_that_does_not_end_is_given_up() -> None:
    end = threading.Event()

    def wait() -> list[ForeignTool]:
        end.wait(NEVER)
        return []

    with pytest.raises(TimedOut, match=r"than 0\.01 seconds"):
        run_within(0.01, wait)
    end.set()


def test_endlessly_nested_lists_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    endless: list[object] = []
    endless.append(endless)
    monkeypatch.setattr(sys.modules[__name__], "ENDLESS", endless, raising=False)
    with pytest.raises(InvalidArgument, match="not a module"):
        load_entry_point(EntryPoint("x", f"{__name__}:ENDLESS", "vaultbridge.tools"))
