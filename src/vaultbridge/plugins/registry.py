"""Keeps the tools of plugin files and installed packages in the catalog: loads, reloads and removes them.

Plugin files are in `tools/` of the config folder and never in a vault, where an assistant could write one. A
file that cannot be loaded affects nothing else: the tools it had before stay, and the failure is logged and
listed in `problems`. The caller decides when to look at the folder (`refresh`), and from which thread.
"""

from __future__ import annotations

import contextlib
import logging
import os
import stat
import sys
from collections.abc import Callable, Iterable
from functools import partial
from pathlib import Path
from typing import Final

from vaultbridge.errors import InvalidArgument, VaultbridgeError
from vaultbridge.plugins.listing import (
    ENTRY_POINTS,
    CodeSource,
    find_tool_names,
    list_packages,
    name_source,
)
from vaultbridge.plugins.loading import (
    LOAD_SECONDS,
    SiblingFinder,
    describe_failure,
    load_entry_point,
    load_file,
    make_module_name,
    run_within,
)
from vaultbridge.system import FileStat, stat_file
from vaultbridge.tools.base.catalog import Catalog
from vaultbridge.tools.base.tool import AnyTool, ForeignTool

FOLDER: Final = "tools"

MAX_FILES: Final = 100
"""The most files that are loaded; one person wrote them."""

MAX_FILE_BYTES: Final = 1024 * 1024
"""The largest file that is loaded; it is source code."""

MAX_PLUGIN_TOOLS: Final = 400
"""The most tools of all files and packages together: they fit into the catalog with our own, and an assistant
with more to choose from chooses badly."""

IN_A_VAULT: Final = "it leads into a vault, where an assistant could write"

log = logging.getLogger("vaultbridge.plugins")


class PluginRegistry:
    """`reserved` are the names and groups of the built-in tools. `switch` is called with each tool before it
    is added, and switches it on or off."""

    def __init__(
        self,
        catalog: Catalog,
        folder: Path,
        *,
        vaults: Iterable[Path],
        reserved: frozenset[str],
        switch: Callable[[AnyTool], None],
        load_seconds: float = LOAD_SECONDS,
    ) -> None:
        self._catalog = catalog
        self._folder = folder
        self._vaults = _resolve_all(vaults)
        self._reserved = reserved
        self._switch = switch
        self._load_seconds = load_seconds
        self._siblings = SiblingFinder(folder, self._find_fault)
        self._seen: dict[str, FileStat] = {}
        self._tools: dict[str, tuple[ForeignTool, ...]] = {}
        self._waiting: dict[str, list[ForeignTool]] = {}
        """Loaded but refused, because a name was taken or there were too many tools."""
        self.problems: dict[str, str] = {}
        """What is wrong, by file or entry point; for people at this machine, not for clients."""

    def list_running(self) -> list[CodeSource]:
        """What was run, with the tools that it has added."""
        return [
            CodeSource(f"{FOLDER}/{name}" if name in self._seen else name, tuple(tool.name for tool in tools))
            for name, tools in self._tools.items()
        ]

    def tools(self) -> tuple[ForeignTool, ...]:
        return tuple(tool for tools in self._tools.values() for tool in tools)

    def refresh(self) -> None:
        """Load new and changed files, and remove the tools of files that are gone."""
        files = {file.name: file for file in self._list_files()}
        before = self._tools.copy()
        if self._siblings.has_changed():
            self._invalidate()
        for name in [name for name in self._seen if name not in files]:
            self._forget(name)
        for name, file in files.items():
            self._check_file(name, file)
        if self._tools != before:
            # A name that was taken may be free now.
            for name, fresh in list(self._waiting.items()):
                self._admit(name, fresh)

    def list_sources(self, *, files: bool = True, packages: bool = True) -> list[CodeSource]:
        """What `refresh` and `load_packages` would run, without running it."""
        sources: list[CodeSource] = []
        for file in sorted(self._folder.glob("*.py")) if files and self._is_usable() else ():
            if not file.name.startswith("."):
                with contextlib.suppress(OSError):
                    tools = () if file.name.startswith("_") else find_tool_names(file)
                    sources.append(CodeSource(f"{FOLDER}/{file.name}", tools, self._find_fault(file)))
        return sources + (list_packages() if packages else [])

    def load_packages(self) -> None:
        """Load the tools of installed packages. Called once: packages do not change while we run."""
        from importlib.metadata import entry_points

        for point in entry_points(group=ENTRY_POINTS):
            self._load(name_source(point), partial(load_entry_point, point))

    def guard(self, vaults: Iterable[Path]) -> None:
        """Set the open vaults: nothing in one of them is loaded any longer."""
        now = _resolve_all(vaults)
        if now != self._vaults:
            self._vaults = now
            self._invalidate()

    def clear(self) -> None:
        """Remove the tools of all files; packages keep theirs."""
        for name in list(self._seen):
            self._forget(name)
        self._siblings.uninstall()
        self.problems.pop(FOLDER, None)

    def _invalidate(self) -> None:
        """Make the next `refresh` load every file again."""
        self._siblings.forget()
        self._seen = dict.fromkeys(self._seen, FileStat(0, 0, 0))

    def _list_files(self) -> list[Path]:
        if not self._is_usable():
            self._siblings.uninstall()
            return []
        self._siblings.install()
        files = sorted(file for file in self._folder.glob("*.py") if not file.name.startswith((".", "_")))
        return files[:MAX_FILES]

    def _is_usable(self) -> bool:
        """Whether the folder exists and nobody else can write into it."""
        try:
            mode = self._folder.stat().st_mode
        except OSError:
            return False
        if not stat.S_ISDIR(mode):
            return False
        if self._is_in_a_vault(self._folder):
            self._report_problem(FOLDER, "it is inside a vault, where an assistant could write")
            return False
        if _is_world_writable(mode):
            self._report_problem(FOLDER, "everybody on this machine can write into it")
            return False
        self.problems.pop(FOLDER, None)
        return True

    def _find_fault(self, file: Path) -> str:
        """Why an existing file must not be run, or "". Raises OSError if the file is gone."""
        status = file.stat()
        if self._is_in_a_vault(file):
            return IN_A_VAULT
        if not stat.S_ISREG(status.st_mode):
            return "it is not a regular file"
        if _is_world_writable(status.st_mode):
            return "everybody on this machine can write to it"
        return f"it has more than {MAX_FILE_BYTES} bytes" if status.st_size > MAX_FILE_BYTES else ""

    def _is_in_a_vault(self, path: Path) -> bool:
        real = Path(os.path.realpath(path))
        return any(real.is_relative_to(vault) for vault in self._vaults)

    def _check_file(self, name: str, file: Path) -> None:
        file_stat = stat_file(file)
        if file_stat is None:
            # Removed since the folder was listed, or a broken link.
            self._forget(name)
            return
        if self._seen.get(name) == file_stat:
            return
        self._seen[name] = file_stat
        if not (fault := self._find_fault(file)):
            self._load(name, lambda: load_file(file))
            return
        if fault == IN_A_VAULT:
            self._withdraw(name)
        self._report_problem(name, fault)

    def _load(self, name: str, load: Callable[[], list[ForeignTool]]) -> None:
        """Replace the tools of `name` with those that `load` returns; on failure they stay as they are."""
        self._waiting.pop(name, None)
        try:
            fresh = run_within(self._load_seconds, load)
        except VaultbridgeError as error:
            self._report_problem(name, str(error))
        except BaseException as error:
            # Raised in the plugin's thread: even a KeyboardInterrupt is the plugin's own.
            self._report_problem(name, describe_failure(error, self._folder / name))
            log.debug("Loading %s failed", name, exc_info=True)
        else:
            self._admit(name, fresh)

    def _admit(self, name: str, fresh: list[ForeignTool]) -> None:
        try:
            self._check(name, fresh)
        except InvalidArgument as error:
            self._waiting[name] = fresh
            self._report_problem(name, str(error))
            return
        self._waiting.pop(name, None)
        self.problems.pop(name, None)
        for tool in fresh:
            self._switch(tool)
        self._catalog.replace_tools([tool.name for tool in self._tools.get(name, ())], fresh)
        self._tools[name] = tuple(fresh)
        log.info("%s adds %s", name, ", ".join(tool.name for tool in fresh) or "no tools")

    def _check(self, name: str, fresh: list[ForeignTool]) -> None:
        kept = [tool for source, tools in self._tools.items() if source != name for tool in tools]
        if len(kept) + len(fresh) > MAX_PLUGIN_TOOLS:
            raise InvalidArgument(
                f"It has {len(fresh)} tools; all plugins together may have {MAX_PLUGIN_TOOLS}."
            )
        others = {tool.name for tool in kept}
        taken: set[str] = set()
        for tool in fresh:
            # A group must not share its name with another tool: names switch and remove tools and groups
            # alike.
            groups = {other.group for other in (*kept, *fresh) if other is not tool}
            if tool.name in groups:
                raise InvalidArgument(
                    f"The tool {tool.name!r} has the same name as a group with other tools.",
                    hint="Rename one of them, or use @tool(group=…).",
                )
            if tool.name in self._reserved | others | taken:
                raise InvalidArgument(f"The name {tool.name!r} is taken.", hint="Choose another name.")
            if tool.group in self._reserved | others:
                raise InvalidArgument(f"The group {tool.group!r} is taken.", hint="Choose another group.")
            taken.add(tool.name)

    def _forget(self, name: str) -> None:
        self._seen.pop(name, None)
        self.problems.pop(name, None)
        self._withdraw(name)
        sys.modules.pop(make_module_name(name), None)

    def _withdraw(self, name: str) -> None:
        self._waiting.pop(name, None)
        if gone := self._tools.pop(name, ()):
            self._catalog.replace_tools([tool.name for tool in gone], ())

    def _report_problem(self, name: str, problem: str) -> None:
        if self.problems.get(name) != problem:
            log.warning("The tools of %s are not loaded: %s", name, problem)
        self.problems[name] = problem


def _resolve_all(vaults: Iterable[Path]) -> tuple[Path, ...]:
    return tuple(Path(os.path.realpath(vault)) for vault in vaults)


def _is_world_writable(mode: int) -> bool:
    return os.name == "posix" and bool(mode & stat.S_IWOTH)
