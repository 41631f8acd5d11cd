"""Which files and packages run code of their own in our process, found without running any of it.

A file's tools are read from its source: functions with the decorator `tool`. What a program makes at run time
is not found this way, so a list may lack names of tools, but never a file or a package.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from importlib.metadata import EntryPoint

ENTRY_POINTS: Final = "vaultbridge.tools"

SOURCE_BYTES: Final = 1024 * 1024
"""The largest file whose source is read for the names of its tools, as for a plugin file that is loaded."""


class CodeSource(Struct, frozen=True):
    """A file or package that runs code, and its tools as far as they are known. `fault` says why it is not
    run after all; "" if it is."""

    name: str
    tools: tuple[str, ...] = ()
    fault: str = ""

    def __str__(self) -> str:
        if self.fault:
            return f"{self.name} (not run: {self.fault})"
        return f"{self.name} ({', '.join(self.tools)})" if self.tools else self.name


def list_packages() -> list[CodeSource]:
    """The installed packages that bring tools."""
    from importlib.metadata import entry_points

    return [
        CodeSource(name_source(point), _find_package_tools(point))
        for point in entry_points(group=ENTRY_POINTS)
    ]


def name_source(point: EntryPoint) -> str:
    """With the package, because two packages may give their entry points the same name."""
    return f"{point.dist.name}:{point.name}" if point.dist is not None else point.name


def _find_package_tools(point: EntryPoint) -> tuple[str, ...]:
    if point.dist is None:
        return ()
    module = Path(*point.module.split("."))
    for file in (module.with_suffix(".py"), module / "__init__.py"):
        try:
            return find_tool_names(Path(str(point.dist.locate_file(file))))
        except OSError:
            continue
    return ()


def find_tool_names(file: Path) -> tuple[str, ...]:
    """The names of the tools that a file declares, as far as its source shows them. Raises OSError."""
    with file.open("rb") as opened:
        data = opened.read(SOURCE_BYTES)
    try:
        tree = ast.parse(data)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    return tuple(_iterate_names(tree))


def _iterate_names(tree: ast.Module) -> Iterator[str]:
    for node in tree.body:
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for decorator in node.decorator_list:
            call = decorator if isinstance(decorator, ast.Call) else None
            mark = call.func if call is not None else decorator
            if (mark.id if isinstance(mark, ast.Name) else getattr(mark, "attr", "")) != "tool":
                continue
            given = (keyword.value for keyword in call.keywords if keyword.arg == "name") if call else ()
            texts = [value.value for value in given if isinstance(value, ast.Constant)]
            yield str(texts[0]) if texts else node.name
