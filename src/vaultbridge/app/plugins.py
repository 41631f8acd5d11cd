"""Tools from the person's own files and from installed packages: loaded, reloaded, taken away.

Files lie in `tools/` of the config folder, never in a vault, where an assistant could write one. A file that
cannot be loaded harms nobody: the tools it had stay as they were, the fault is logged and kept in `problems`.
The caller decides when to look (`refresh`) and from which thread; what a tool is made of is `plugin_tool`'s
duty.
"""

from __future__ import annotations

import importlib.util
import logging
import os
import sys
import traceback
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Final

from vaultbridge.app.plugin_tool import MARK, Marked, made
from vaultbridge.errors import InvalidArgument, VaultbridgeError
from vaultbridge.tools.catalog import Catalog
from vaultbridge.tools.tool import AnyTool, ForeignTool

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

FOLDER: Final = "tools"
ENTRY_POINTS: Final = "vaultbridge.tools"

FILES: Final = 100
"""The most files that are loaded; they are one person's."""

FILE_BYTES: Final = 1024 * 1024
"""The largest file that is loaded: it is source code."""

log = logging.getLogger("vaultbridge.plugins")


class PluginTools:
    """`reserved` are the names and groups of the other tools. `switch` decides, before a tool is added,
    whether it is on."""

    def __init__(
        self,
        catalog: Catalog,
        folder: Path,
        *,
        vaults: Iterable[Path],
        reserved: frozenset[str],
        switch: Callable[[AnyTool], None],
    ) -> None:
        self._catalog = catalog
        self._folder = folder
        self._vaults = tuple(Path(os.path.realpath(vault)) for vault in vaults)
        self._reserved = reserved
        self._switch = switch
        self._seen: dict[str, tuple[int, int, int]] = {}
        self._tools: dict[str, tuple[ForeignTool, ...]] = {}
        self.problems: dict[str, str] = {}
        """By file or entry point, what is wrong with it, for people at this machine."""

    def tools(self) -> tuple[ForeignTool, ...]:
        return tuple(tool for tools in self._tools.values() for tool in tools)

    def refresh(self) -> None:
        """Load what is new or changed in the folder, take away what is gone."""
        found = {file.name: file for file in self._files()}
        for name in [name for name in self._seen if name not in found]:
            self._forget(name)
        for name, file in found.items():
            self._look_at(name, file)

    def load_packages(self) -> None:
        """Tools that installed packages bring by entry point. Once: packages do not change while we run."""
        from importlib.metadata import entry_points

        for point in entry_points(group=ENTRY_POINTS):
            self._replace(point.name, partial(_package_tools, point))

    def clear(self) -> None:
        """Take all away again, those of packages too."""
        for name in list(self._tools):
            self._forget(name)
        self._seen.clear()
        self.problems.clear()

    def _files(self) -> list[Path]:
        if not self._folder.is_dir():
            return []
        if self._is_in_a_vault(self._folder):
            self._problem(FOLDER, "it lies inside a vault, where an assistant could write")
            return []
        files = sorted(file for file in self._folder.glob("*.py") if not file.name.startswith((".", "_")))
        return files[:FILES]

    def _is_in_a_vault(self, path: Path) -> bool:
        real = Path(os.path.realpath(path))
        return any(real.is_relative_to(vault) for vault in self._vaults)

    def _look_at(self, name: str, file: Path) -> None:
        try:
            status = file.stat()
        except OSError:
            # Gone between the listing and now.
            self._forget(name)
            return
        signature = (status.st_mtime_ns, status.st_size, status.st_ino)
        if self._seen.get(name) == signature:
            return
        self._seen[name] = signature
        if self._is_in_a_vault(file):
            self._problem(name, "it leads into a vault, where an assistant could write")
        elif os.name == "posix" and status.st_mode & 0o002:
            self._problem(name, "everybody on this machine may write it")
        elif status.st_size > FILE_BYTES:
            self._problem(name, f"it has more than {FILE_BYTES} bytes")
        else:
            self._replace(name, lambda: _loaded(file))

    def _replace(self, name: str, load: Callable[[], list[ForeignTool]]) -> None:
        """Put what `load` gives in the place of what `name` gave before, or leave that."""
        try:
            fresh = load()
            self._check(name, fresh)
        except VaultbridgeError as error:
            self._problem(name, str(error))
            return
        except (Exception, SystemExit) as error:
            self._problem(name, _described(error))
            log.debug("loading %s failed", name, exc_info=True)
            return
        self.problems.pop(name, None)
        for tool in self._tools.get(name, ()):
            self._catalog.remove(tool.name)
        self._tools[name] = tuple(fresh)
        for tool in fresh:
            self._switch(tool)
            self._catalog.add(tool)
        log.info("%s brings %s", name, ", ".join(tool.name for tool in fresh) or "no tools")

    def _check(self, name: str, fresh: list[ForeignTool]) -> None:
        kept = [tool for source, tools in self._tools.items() if source != name for tool in tools]
        others = {tool.name for tool in kept}
        taken: set[str] = set()
        for tool in fresh:
            # A group's name must not be another tool's: both are switched and removed by the same word.
            groups = {one.group for one in (*kept, *fresh) if one is not tool}
            if tool.name in self._reserved | others | groups | taken:
                raise InvalidArgument(f"The name {tool.name!r} is taken.", hint="Give the tool another one.")
            if tool.group in self._reserved | others:
                raise InvalidArgument(
                    f"The group {tool.group!r} is taken.", hint="Give another one, or rename."
                )
            taken.add(tool.name)

    def _forget(self, name: str) -> None:
        self._seen.pop(name, None)
        self.problems.pop(name, None)
        for tool in self._tools.pop(name, ()):
            self._catalog.remove(tool.name)
        sys.modules.pop(_module_name(name), None)

    def _problem(self, name: str, what: str) -> None:
        if self.problems.get(name) != what:
            log.warning("The tools of %s are not loaded: %s", name, what)
        self.problems[name] = what


def _module_name(file_name: str) -> str:
    return f"vaultbridge_plugin_{file_name.removesuffix('.py')}"


def _loaded(file: Path) -> list[ForeignTool]:
    """Run the file and collect its tools; the module stands in `sys.modules` as any other."""
    name = _module_name(file.name)
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


def _package_tools(point: EntryPoint) -> list[ForeignTool]:
    return _tools_in(point.load(), point.name)


def _tools_in(value: Any, group: str) -> list[ForeignTool]:
    """The tools of a module, a marked function, or a list of those."""
    return [tool if isinstance(tool, ForeignTool) else made(tool, group=group) for tool in _found(value)]


def _found(value: Any) -> Iterator[Marked | ForeignTool]:
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
    elif isinstance(value, list | tuple):
        for member in value:
            yield from _found(member)
    else:
        raise InvalidArgument("It is neither a module, a tool nor a list of tools.")


def _described(error: BaseException) -> str:
    """The fault and its line in the plugin, in one line."""
    if isinstance(error, SyntaxError):
        return f"line {error.lineno}: {error.msg}"
    frames = [
        frame
        for frame in traceback.extract_tb(error.__traceback__)
        if not frame.filename.startswith("<frozen")
    ]
    at = f"line {frames[-1].lineno}: " if len(frames) > 1 else ""
    return f"{at}{type(error).__name__}: {error}"
