"""Writes the files that are generated from the catalog of tools; run by `make generate`.

    python -m vaultbridge.tools.generate docs/tools.md docs/cli.md

Each page gets what it has marks for: a reference of the tools, with their arguments, kinds, bounds and
defaults, and a table of the operations. `base/schemas.json` gets the schema of every tool; `base.schema` says
why it is stored. Nothing imports this.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import NODEFAULT, UnsetType
from msgspec.structs import FieldInfo

from vaultbridge.engine.vocabulary import describe_operations
from vaultbridge.tools.base.schema import STORED_SCHEMAS, derive_schema
from vaultbridge.tools.base.tool import Tool
from vaultbridge.tools.edit_note import WORDS
from vaultbridge.tools.standard import STANDARD_TOOLS


def render_schemas() -> bytes:
    """One line for each Struct of arguments, by its name."""
    kinds = [tool.arguments for tool in STANDARD_TOOLS]
    assert len({kind.__name__ for kind in kinds}) == len(kinds), "two Structs of arguments share a name"
    lines = [f"{msgspec.json.encode(k.__name__).decode()}:{_line(k)}" for k in kinds]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def _line(kind: type[msgspec.Struct]) -> str:
    return msgspec.json.encode(derive_schema(kind)).decode()


BEGIN: Final = "<!-- reference: made by vaultbridge.tools.generate -->"
END: Final = "<!-- end of reference -->"

_SHARED: Final = {
    "start": "Where the former answer said to go on",
    "max_chars": "The most characters of the answer",
    "max_bytes": "The largest file to give",
    "limit": "The most rows of the answer",
    "offset": "Rows to leave out: where the former answer said to go on",
    "action": "What to do",
    "op": "What to do; see above",
    "properties": "The note's properties",
    "frontmatter": "With the properties",
    "query": "See the description",
}
"""What an assistant knows from an argument's name, and a person would like to read."""


def render_reference() -> str:
    return "\n".join(line for tool in STANDARD_TOOLS for line in _section(tool))


def _section(tool: Tool) -> Iterator[str]:
    profiles = "core, full" if tool.core else "full"
    read_only = ", read-only" if tool.effect == "reads" else ""
    yield f"### {tool.name}"
    yield ""
    yield f"{tool.description}."
    yield ""
    yield f"*{tool.effect}; profiles: {profiles}{read_only}; group: {tool.group}*"
    yield ""
    yield "| argument | kind | default | meaning |"
    yield "|---|---|---|---|"
    definition = msgspec.json.schema(tool.arguments)["$defs"][tool.arguments.__name__]
    for field in sorted(msgspec.structs.fields(tool.arguments), key=lambda field: not field.required):
        yield _row(field, definition["properties"][field.name])
    yield ""


def _row(field: FieldInfo, schema: dict[str, Any]) -> str:
    meaning = schema.get("description", _SHARED.get(field.name, "")).replace("|", "\\|")
    return f"| `{field.name}` | {_kind(schema)} | {_default(field)} | {meaning} |"


def _kind(schema: dict[str, Any]) -> str:
    if "enum" in schema:
        return ", ".join(f"`{value}`" for value in schema["enum"])
    kind = str(schema.get("type", "any JSON"))
    if "maximum" in schema:
        return f"{kind}, {schema.get('minimum', 0)} to {schema['maximum']}"
    if "minimum" in schema:
        return f"{kind}, at least {schema['minimum']}"
    return f"{kind}, at most {schema['maxItems']}" if "maxItems" in schema else kind


def _default(field: FieldInfo) -> str:
    if field.required:
        return "required"
    value = field.default if field.default is not NODEFAULT else None
    if isinstance(value, UnsetType) or value in ("", (), None):
        return ""
    return f"`{msgspec.json.encode(value).decode()}`"


OPERATIONS: Final[dict[str, tuple[tuple[str, ...], dict[str, str]]]] = {
    "<!-- ops of the tools: made by vaultbridge.tools.generate -->": (
        ("edit_note", "batch"),
        WORDS,
    ),
    "<!-- operations of edit: made by vaultbridge.tools.generate -->": (("edit",), {}),
}
"""By the mark of each table: who takes the operations in it, and what they call a field by another name."""
OPERATIONS_END: Final = "<!-- end of operations -->"


def fill_in(page: str) -> str:
    """The page with everything between its marks made again."""
    assert BEGIN in page or any(mark in page for mark in OPERATIONS), "the page has no marks"
    if BEGIN in page:
        page = _replace_between(page, BEGIN, END, render_reference())
    for mark, (places, words) in OPERATIONS.items():
        if mark in page:
            table = "\n".join(describe_operations(*places, words=words))
            page = _replace_between(page, mark, OPERATIONS_END, f"{table}\n")
    return page


def _replace_between(page: str, begin: str, end: str, text: str) -> str:
    head, _, rest = page.partition(begin)
    _, found, tail = rest.partition(end)
    assert found, f"the page has no {end}"
    return f"{head}{begin}\n\n{text}\n{end}{tail}"


def main(argv: list[str]) -> None:
    STORED_SCHEMAS.write_bytes(render_schemas())
    for page in map(Path, argv):
        page.write_text(fill_in(page.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    import sys

    main(sys.argv[1:])
