"""The order of the parts, held by a test because Python does not insist on one.

ARCHITECTURE.md draws the same picture.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

SOURCE = Path(__file__).parents[1] / "src" / "vaultbridge"

ORDER = [
    "errors", "limits", "json_faults", "note", "links", "vault", "index", "bases", "engine",
    "editor", "tools", "rpc", "client", "dialects", "transports", "web", "app", "cli", "__main__",
]  # fmt: skip
"""A part may import itself and what stands before it."""

ON_ITS_OWN = {"rpc": {"errors", "limits"}, "client": {"errors", "limits", "json_faults", "rpc"}}
"""Parts that others outside this project may use: they know far less than their place would allow."""

TRANSPORTS_KNOW_NOT = {"note", "links", "vault", "index", "bases", "engine", "tools"}

PURE = {"note", "links", "bases", "rpc"}
DOES_IO = {
    "asyncio",
    "os",
    "pathlib",
    "time",
    "sqlite3",
    "socket",
    "threading",
    "subprocess",
    "tempfile",
    "shutil",
    "aiohttp",
}


def imports(file: Path) -> Iterator[tuple[str, int]]:
    for node in ast.walk(ast.parse(file.read_text("utf-8"))):
        if isinstance(node, ast.Import):
            for name in node.names:
                yield name.name, node.lineno
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"{file.name}:{node.lineno}: a relative import hides where it leads"
            if node.module == "vaultbridge":
                for name in node.names:
                    yield f"vaultbridge.{name.name}", node.lineno
            elif node.module:
                yield node.module, node.lineno


def part_of(file: Path) -> str:
    return file.relative_to(SOURCE).parts[0].removesuffix(".py")


FILES = sorted(f for f in SOURCE.rglob("*.py") if f.parent != SOURCE or f.name != "__init__.py")


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(SOURCE)))
def test_imports_go_one_way(file: Path) -> None:
    part = part_of(file)
    allowed = ON_ITS_OWN.get(part, set(ORDER[: ORDER.index(part)])) | {part}
    if part == "transports":
        allowed -= TRANSPORTS_KNOW_NOT
    for name, line in imports(file):
        if name.startswith("vaultbridge."):
            other = name.split(".")[1]
            if other == "__version__":
                continue
            assert other in allowed, f"{file.name}:{line}: {part} may not import {other}"


@pytest.mark.parametrize(
    "file", [f for f in FILES if part_of(f) in PURE], ids=lambda f: str(f.relative_to(SOURCE))
)
def test_the_pure_parts_do_no_io(file: Path) -> None:
    for name, line in imports(file):
        assert name.split(".")[0] not in DOES_IO, f"{file.name}:{line}: imports {name}"


@pytest.mark.parametrize("file", FILES, ids=lambda f: str(f.relative_to(SOURCE)))
def test_no_pattern_repeats_a_group_possessively(file: Path) -> None:
    """Python 3.11.0 to 3.11.4 match such patterns wrongly (cpython gh-106052), and we promise 3.11."""
    strings = [
        node.value
        for node in ast.walk(ast.parse(file.read_text("utf-8")))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    found = [text for text in strings if re.search(r"(?<![\\(])\)(?:[*+?]|\{\d*,?\d*\})\+|\(\?>", text)]
    assert not found
