"""Whoever reads JSON expects all that reading JSON can raise: nesting without end above all."""

from __future__ import annotations

import ast
from pathlib import Path

SOURCE = Path(__file__).parents[1] / "src" / "vaultbridge"
READERS = ("msgspec.json.decode", "json.loads", "json.load")

OUR_OWN = {
    "index/ignored.py",
    "index/store/database.py",
    "json_text.py",
    "plugins/decorator.py",
    "protocols/mcp/context.py",
    "protocols/mcp/vault/listing.py",
    "tools/base/schema.py",
}
"""They read what this program has written itself, or one string that is known to be one."""


def find_unguarded(tree: ast.AST, *, guarded: bool = False) -> list[int]:
    """The lines on which JSON is read and nobody expects it to be nested too deeply."""
    found: list[int] = []
    for node in ast.iter_child_nodes(tree):
        inside = guarded
        if isinstance(node, ast.Try):
            caught = " ".join(ast.unparse(handler.type) for handler in node.handlers if handler.type)
            inside = inside or "JSON_ERRORS" in caught or "RecursionError" in caught
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            # A function may leave it to its callers, and says so.
            inside = "RecursionError" in (ast.get_docstring(node) or "")
        if isinstance(node, ast.Call) and ast.unparse(node.func) in READERS and not inside:
            found.append(node.lineno)
        found += find_unguarded(node, guarded=inside)
    return found


def test_wherever_json_is_read_nesting_without_end_is_expected() -> None:
    lines = [
        f"{path}:{line}"
        for file in sorted(SOURCE.rglob("*.py"))
        if (path := file.relative_to(SOURCE).as_posix()) not in OUR_OWN
        for line in find_unguarded(ast.parse(file.read_text("utf-8")))
    ]
    assert not lines
