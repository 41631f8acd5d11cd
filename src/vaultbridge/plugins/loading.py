"""Runs a plugin file or loads an entry point, and collects its tools.

Plugin code is loaded in a separate thread for a bounded time, because it may wait or loop forever. A failure
is reported in one line that names the place in the file. `registry` decides what is loaded, and when.

Plugin files can share code: `import _words` finds `_words.py` next to the file that imports it. Only names
that begin with `_` are found this way, which no plugin file has, and only after everything else that Python
knows, so a file in the folder never shadows a library. The names that were asked for are remembered, so that
a change to a shared file reloads the plugins.
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
"""How many names are remembered. Libraries ask for dozens of modules whose names begin with an underscore and
that do not exist; a program that keeps asking for new names must not fill the memory."""


class SiblingFinder(MetaPathFinder):
    """An import hook for the files that plugins share. `fault` says why a file must not be run, and returns
    "" if it may. Python calls the hook from any thread."""

    def __init__(self, folder: Path, fault: Callable[[Path], str]) -> None:
        self._folder = folder
        self._fault = fault
        self._requested: dict[str, FileStat | None] = {}

    def install(self) -> None:
        """Answer Python's imports from now on."""
        if self not in sys.meta_path:
            sys.meta_path.append(self)

    def uninstall(self) -> None:
        """Stop answering, and forget what was imported."""
        if self in sys.meta_path:
            sys.meta_path.remove(self)
        self.forget()

    def has_changed(self) -> bool:
        """Whether a file that was asked for has changed, appeared or disappeared since."""
        return any(stat_file(self._file(name)) != stat for name, stat in self._requested.copy().items())

    def forget(self) -> None:
        """Unload the shared modules, so that the next import reads the files again."""
        for name in list(self._requested):
            module = sys.modules.get(name)
            if module is not None and isinstance(module.__loader__, _SourceLoader):
                del sys.modules[name]
        self._requested.clear()

    def find_spec(
        self, fullname: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith("_") or "." in fullname:
            return None
        file = self._file(fullname)
        stat = stat_file(file)
        if len(self._requested) < MAX_REQUESTED:
            self._requested[fullname] = stat
        if stat is None:
            return None
        if fault := self._fault(file):
            raise ImportError(f"{file.name} is not loaded: {fault}")
        return importlib.util.spec_from_loader(fullname, _SourceLoader(file), origin=file.name)

    def _file(self, name: str) -> Path:
        return self._folder / f"{name}.py"


class _SourceLoader(Loader):
    """Compiles the file every time: a cached bytecode file notices changes only to the second."""

    def __init__(self, file: Path) -> None:
        self._file = file

    def exec_module(self, module: ModuleType) -> None:
        module.__file__ = str(self._file)
        exec(compile(self._file.read_bytes(), str(self._file), "exec"), module.__dict__)


LOAD_SECONDS: Final = 10.0
"""How long a file or a package may take to load. Large libraries take a few seconds to import; anything
slower is waiting for something, and neither the start nor the other plugins should wait with it."""

FOUND_DEPTH: Final = 8
"""How deeply lists of tools may be nested; one level is usual."""


def load_file(file: Path) -> list[ForeignTool]:
    """Run the file and collect its tools; its module is in `sys.modules` like any other. Raises whatever the
    file raises."""
    name = make_module_name(file.name)
    spec = importlib.util.spec_from_loader(name, loader=None, origin=file.name)
    assert spec is not None
    module = importlib.util.module_from_spec(spec)
    module.__file__ = str(file)
    before = sys.modules.get(name)
    sys.modules[name] = module
    try:
        # Not imported: a cached bytecode file notices changes only to the second.
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


def make_module_name(file_name: str) -> str:
    return f"vaultbridge_plugin_{file_name.removesuffix('.py')}"


def run_within(seconds: float, load: Callable[[], list[ForeignTool]]) -> list[ForeignTool]:
    """Return or raise what `load` does. Raises TimedOut if that takes longer than `seconds`; `load` then
    continues in a daemon thread, which does not keep the process alive."""
    outcome: queue.SimpleQueue[list[ForeignTool] | BaseException] = queue.SimpleQueue()

    def work() -> None:
        try:
            outcome.put(load())
        except BaseException as error:  # noqa: BLE001 - raised again by the caller
            outcome.put(error)

    try:
        # A program may be reading our standard output, so what a plugin prints goes to the log. Redirected
        # here and not in the thread, which may never end.
        with contextlib.redirect_stdout(sys.stderr):
            threading.Thread(target=work, name="plugin-load", daemon=True).start()
            result = outcome.get(timeout=seconds)
    except queue.Empty:
        raise TimedOut(
            f"Loading took longer than {seconds:g} seconds.",
            hint="Do slow work inside the tools, which run when they are called.",
        ) from None
    if isinstance(result, BaseException):
        raise result
    return result


def describe_failure(error: BaseException, file: Path) -> str:
    """The failure and where it happened, in one line. Of the frames of the traceback, the innermost in the
    file or next to it counts, because authors look for mistakes in their own files first. A file other than
    `file` is named."""
    if isinstance(error, SyntaxError):
        return f"{_describe_place(error.filename, error.lineno, file)}{error.msg}"
    frames = traceback.extract_tb(error.__traceback__)
    # The frames of our callers, of this module and of the import system are not the author's.
    first_called = max(
        (number for number, frame in enumerate(frames, 1) if frame.filename == __file__), default=0
    )
    places = [
        (frame.filename, frame.lineno)
        for frame in frames[first_called:]
        if not frame.filename.startswith("<frozen")
    ]
    near = [place for place in places if Path(place[0]).parent == file.parent] or places
    at = _describe_place(*near[-1], file) if near else ""
    return f"{at}{type(error).__name__}: {error}"


def _describe_place(name: str | None, line: int | None, file: Path) -> str:
    if name is None or not line:
        return ""
    path = Path(name)
    return f"line {line}: " if path == file else f"{path.name}, line {line}: "


def _collect_tools(value: Any, group: str) -> list[ForeignTool]:
    """The tools of a module, of a decorated function, or of a list of those."""
    declarations = _find_declarations(value, FOUND_DEPTH)
    return [tool if isinstance(tool, ForeignTool) else build_tool(tool, group=group) for tool in declarations]


def _find_declarations(value: Any, depth: int) -> Iterator[ToolDeclaration | ForeignTool]:
    if isinstance(value, ModuleType):
        for member in list(vars(value).values()):
            declaration = getattr(member, MARK, None)
            # A function imported from another file is that file's tool.
            if isinstance(declaration, ToolDeclaration) and declaration.function.__module__ == value.__name__:
                yield declaration
    elif isinstance(value, ForeignTool):
        yield value
    elif isinstance(getattr(value, MARK, None), ToolDeclaration):
        yield getattr(value, MARK)
    elif isinstance(value, list | tuple) and depth:
        for member in value:
            yield from _find_declarations(member, depth - 1)
    else:
        raise InvalidArgument("It is not a module, a tool or a list of tools.")
