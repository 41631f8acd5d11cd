"""From a plugin file or an entry point to its tools: somebody else's code is run here.

It runs in a thread of its own and for a bounded time, because it may wait or loop without end; whatever it
raises is told in one line that names the place in the file. What becomes of the tools is `plugins`' duty.
"""

from __future__ import annotations

import contextlib
import importlib.util
import queue
import sys
import threading
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from vaultbridge.app.plugin_tool import MARK, Marked, made
from vaultbridge.errors import InvalidArgument, TimedOut
from vaultbridge.tools.tool import ForeignTool

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

LOAD_SECONDS: Final = 10.0
"""How long a file or a package may take to load. Large libraries take a few seconds to import; what takes
longer waits for something, and neither the start nor the other files should wait with it."""

FOUND_DEPTH: Final = 8
"""How deep lists of tools may lie in lists: one level is usual."""


def file_tools(file: Path) -> list[ForeignTool]:
    """Run the file and collect its tools; the module stands in `sys.modules` as any other. Raises whatever
    the file raises."""
    name = module_name(file.name)
    spec = importlib.util.spec_from_loader(name, loader=None, origin=file.name)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    module.__file__ = str(file)
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        # Compiled here rather than imported: a cached bytecode file knows changes only to the second.
        exec(compile(file.read_bytes(), str(file), "exec"), module.__dict__)
        return _tools_in(module, file.stem)
    except BaseException:
        if before is not None:
            sys.modules[name] = before
        else:
            sys.modules.pop(name, None)
        raise


def package_tools(point: EntryPoint) -> list[ForeignTool]:
    """Raises whatever the package raises."""
    return _tools_in(point.load(), point.name)


def module_name(file_name: str) -> str:
    return f"vaultbridge_plugin_{file_name.removesuffix('.py')}"


def within(seconds: float, load: Callable[[], list[ForeignTool]]) -> list[ForeignTool]:
    """What `load` gives or raises. Raises TimedOut when it has not ended by then; it is left to itself, in a
    thread that does not keep the process alive."""
    outcome: queue.SimpleQueue[list[ForeignTool] | BaseException] = queue.SimpleQueue()

    def work() -> None:
        try:
            outcome.put(load())
        except BaseException as error:  # noqa: BLE001 - handed to whoever waits
            outcome.put(error)

    try:
        # What it prints is for the log: standard output may be read by a program. Not in its thread, which
        # may never come to the end.
        with contextlib.redirect_stdout(sys.stderr):
            threading.Thread(target=work, name="plugin-load", daemon=True).start()
            found = outcome.get(timeout=seconds)
    except queue.Empty:
        raise TimedOut(
            f"Loading has not ended within {seconds:g} seconds.",
            hint="Do slow work inside of the tools, which are called when they are needed.",
        ) from None
    if isinstance(found, BaseException):
        raise found
    return found


def described(error: BaseException, file: Path) -> str:
    """The fault and its line, in one line. Of the places on the way to it, the innermost in the file or
    beside it counts: nobody looks for their mistake in a library. A file that is not this one is named."""
    if isinstance(error, SyntaxError):
        return f"{_place(error.filename, error.lineno, file)}{error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    # What called us, we ourselves and the import system are not where the fault is.
    called = max((number for number, frame in enumerate(frames, 1) if frame.filename == __file__), default=0)
    places = [
        (frame.filename, frame.lineno)
        for frame in frames[called:]
        if not frame.filename.startswith("<frozen")
    ]
    near = [place for place in places if Path(place[0]).parent == file.parent] or places
    at = _place(*near[-1], file) if near else ""
    return f"{at}{type(error).__name__}: {error}"


def _place(name: str | None, line: int | None, file: Path) -> str:
    if name is None or not line:
        return ""
    found = Path(name)
    return f"line {line}: " if found == file else f"{found.name}, line {line}: "


def _tools_in(value: Any, group: str) -> list[ForeignTool]:
    """The tools of a module, a marked function, or a list of those."""
    found = _found(value, FOUND_DEPTH)
    return [tool if isinstance(tool, ForeignTool) else made(tool, group=group) for tool in found]


def _found(value: Any, depth: int) -> Iterator[Marked | ForeignTool]:
    if isinstance(value, ModuleType):
        for member in list(vars(value).values()):
            marked = getattr(member, MARK, None)
            # A function that was imported from another file is that file's tool.
            if isinstance(marked, Marked) and marked.function.__module__ == value.__name__:
                yield marked
    elif isinstance(value, ForeignTool):
        yield value
    elif isinstance(getattr(value, MARK, None), Marked):
        yield getattr(value, MARK)
    elif isinstance(value, list | tuple) and depth:
        for member in value:
            yield from _found(member, depth - 1)
    else:
        raise InvalidArgument("It is neither a module, a tool nor a list of tools.")
