"""From a plugin file or an entry point to its tools: somebody else's code is run here.

It runs in a thread of its own and for a bounded time, because it may wait or loop without end; whatever it
raises is told in one line that names the place in the file. What becomes of the tools is `plugins`' duty.

What plugin files share: `import _words` in one of them finds `_words.py` beside it.

Only names that begin with `_`, which no plugin file has, and only after everything else Python knows: a file
in the folder never stands in the place of a library. What was asked for is remembered, so that a change of it
can be followed. Whether a file may be run is `plugins`' to say.
"""

from __future__ import annotations

import contextlib
import importlib.util
import queue
import sys
import threading
import traceback
from collections.abc import Callable, Iterator, Sequence
from importlib.abc import Loader, MetaPathFinder
from importlib.machinery import ModuleSpec
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from vaultbridge.errors import InvalidArgument, TimedOut
from vaultbridge.plugins.decorator import MARK, ToolDeclaration, build_tool
from vaultbridge.system import FileStat, stat_file
from vaultbridge.tools.base.tool import ForeignTool

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

MAX_REQUESTED: Final = 1000
"""How many names are remembered. Libraries ask for dozens of modules with an underscore that are nowhere;
a program that asks for ever new ones is not followed for ever."""


class SiblingFinder(MetaPathFinder):
    """`fault` says why a file may not be run, "" when it may. Python asks from any thread."""

    def __init__(self, folder: Path, fault: Callable[[Path], str]) -> None:
        self._folder = folder
        self._fault = fault
        self._asked: dict[str, FileStat | None] = {}

    def offer(self) -> None:
        """Let Python ask from now on."""
        if self not in sys.meta_path:
            sys.meta_path.append(self)

    def withdraw(self) -> None:
        """As if it had never been asked."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        self.forget()

    def changed(self) -> bool:
        """Whether something that was asked for is another than it was then."""
        return any(stat_file(self._file(name)) != stamp for name, stamp in self._asked.copy().items())

    def forget(self) -> None:
        """Whoever imports one now gets it as it is now."""
        for name in list(self._asked):
            module = sys.modules.get(name)
            if module is not None and isinstance(module.__loader__, _Source):
                del sys.modules[name]
        self._asked.clear()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith("_") or "." in fullname:
            return None
        file = self._file(fullname)
        stamp = stat_file(file)
        if len(self._asked) < MAX_REQUESTED:
            self._asked[fullname] = stamp
        if stamp is None:
            return None
        if fault := self._fault(file):
            raise ImportError(f"{file.name} is not loaded: {fault}")
        return importlib.util.spec_from_loader(fullname, _Source(file), origin=file.name)

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.py"


class _Source(Loader):
    """Compiled anew each time: a cached bytecode file knows changes only to the second."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self._file)
        exec(compile(self._file.read_bytes(), str(self._file), "exec"), module.__dict__)


LOAD_SECONDS: Final = 10.0
"""How long a file or a package may take to load. Large libraries take a few seconds to import; what takes
longer waits for something, and neither the start nor the other files should wait with it."""

FOUND_DEPTH: Final = 8
"""How deep lists of tools may lie in lists: one level is usual."""


def load_file(file: Path) -> list[ForeignTool]:
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
        return _collect_tools(module, file.stem)
    except BaseException:
        if before is not None:
            sys.modules[name] = before
        else:
            sys.modules.pop(name, None)
        raise


def load_entry_point(point: EntryPoint) -> list[ForeignTool]:
    """Raises whatever the package raises."""
    return _collect_tools(point.load(), point.name)


def module_name(file_name: str) -> str:
    return f"vaultbridge_plugin_{file_name.removesuffix('.py')}"


def run_within(seconds: float, load: Callable[[], list[ForeignTool]]) -> list[ForeignTool]:
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


def describe_failure(error: BaseException, file: Path) -> str:
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


def _collect_tools(value: Any, group: str) -> list[ForeignTool]:
    """The tools of a module, a marked function, or a list of those."""
    found = _find_declarations(value, FOUND_DEPTH)
    return [tool if isinstance(tool, ForeignTool) else build_tool(tool, group=group) for tool in found]


def _find_declarations(value: Any, depth: int) -> Iterator[ToolDeclaration | ForeignTool]:
    if isinstance(value, ModuleType):
        for member in list(vars(value).values()):
            marked = getattr(member, MARK, None)
            # A function that was imported from another file is that file's tool.
            if isinstance(marked, ToolDeclaration) and marked.function.__module__ == value.__name__:
                yield marked
    elif isinstance(value, ForeignTool):
        yield value
    elif isinstance(getattr(value, MARK, None), ToolDeclaration):
        yield getattr(value, MARK)
    elif isinstance(value, list | tuple) and depth:
        for member in value:
            yield from _find_declarations(member, depth - 1)
    else:
        raise InvalidArgument("It is neither a module, a tool nor a list of tools.")
