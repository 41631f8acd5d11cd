"""The edits that `edit_note` and `batch` take, all in one flat form: `op`, the note's `name`, and the fields
of that op. One vocabulary for both, because a model learns it once.

The engine's own operations call the note `note` and a property `name`; the table below translates.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

from msgspec import UNSET, Meta, Struct, UnsetType

from vaultbridge.errors import InvalidArgument
from vaultbridge.tools.arguments import converted, given, one_note_name, shown
from vaultbridge.tools.fields import Arguments
from vaultbridge.tools.link_text import is_link, must_be_whole, taken_apart

if TYPE_CHECKING:
    from vaultbridge.engine.operations import Operation

EditOp = Literal[
    "append",
    "prepend",
    "insert",
    "replace_text",
    "replace_section",
    "apply_diff",
    "write",
    "set_property",
    "remove_property",
    "rename_property",
    "add_tag",
    "remove_tag",
    "rename_tag",
    "set_task",
    "rename_heading",
    "rename_block",
]
BatchOp = Literal[EditOp, "create", "move", "delete"]

_PLACE: Final = {"heading": "heading", "block": "block"}
_FIELDS: Final[dict[str, tuple[dict[str, str], dict[str, str]]]] = {
    "append": ({"content": "content"}, _PLACE),
    "prepend": ({"content": "content"}, _PLACE),
    "insert": ({"line": "line", "content": "content"}, {}),
    "replace_text": ({"old": "old", "new": "new"}, {"all": "all"}),
    "replace_section": ({"content": "content"}, _PLACE),
    "apply_diff": ({"diff": "diff"}, {}),
    "write": ({"content": "content"}, {}),
    "set_property": ({"property": "name", "value": "value"}, {}),
    "remove_property": ({"property": "name"}, {}),
    "rename_property": ({"property": "name", "to": "to"}, {}),
    "add_tag": ({"tag": "tag"}, {}),
    "remove_tag": ({"tag": "tag"}, {}),
    "rename_tag": ({"tag": "tag", "to": "to"}, {}),
    "set_task": ({}, {"line": "line", "text": "text", "status": "status"}),
    "rename_heading": ({"heading": "heading", "to": "to"}, {}),
    "rename_block": ({"block": "block", "to": "to"}, {}),
    "create": (
        {},
        {
            "content": "content",
            "overwrite": "overwrite",
            "template": "template",
            "properties": "properties",
        },
    ),
    "move": ({"to": "to"}, {}),
    "delete": ({}, {}),
}
"""For each op the fields it needs and the fields it may have: the tools' word for each, and the engine's."""

_WHOLE_VAULT: Final = frozenset({"rename_tag"})
"""The ops that without a `name` concern every note."""


class EditFields(Arguments, frozen=True, kw_only=True):
    """Every field of every op. Which ones an op takes is checked by `operation`."""

    content: str | UnsetType = UNSET
    heading: Annotated[str, Meta(description="Heading, or A#B")] | UnsetType = UNSET
    block: str | UnsetType = UNSET
    line: int | UnsetType = UNSET
    old: Annotated[str, Meta(description="Must occur once, unless all")] | UnsetType = UNSET
    new: str | UnsetType = UNSET
    all: bool | UnsetType = UNSET
    diff: str | UnsetType = UNSET
    property: str | UnsetType = UNSET
    value: Any = UNSET
    tag: str | UnsetType = UNSET
    text: Annotated[str, Meta(description="Task text")] | UnsetType = UNSET
    status: Annotated[str, Meta(description="One character, or toggle")] | UnsetType = UNSET
    to: Annotated[str, Meta(description="New name")] | UnsetType = UNSET


class BatchItem(EditFields, frozen=True, kw_only=True):
    """One operation of a batch."""

    op: BatchOp
    name: str | UnsetType = UNSET
    overwrite: bool | UnsetType = UNSET
    template: str | UnsetType = UNSET
    properties: dict[str, Any] | UnsetType = UNSET
    expected: str | UnsetType = UNSET


def batch_item(value: Any, number: int) -> Operation:
    """One operation of a batch from JSON. Raises InvalidArgument, naming its place in the list."""
    where = f"operations[{number}]"
    if not isinstance(value, dict):
        raise InvalidArgument(f"{where} is {shown(value)}.", argument=where, hint="It should be an object.")
    item = converted(one_note_name(value, "name", where=where), BatchItem, where=where)
    name = item.name if isinstance(item.name, str) else ""
    expected = item.expected if isinstance(item.expected, str) else ""
    return operation(item.op, name, item, expected=expected, where=where)


def operation(op: str, name: str, fields: Struct, *, expected: str = "", where: str = "") -> Operation:
    """The engine's operation. Raises InvalidArgument for a field that the op needs and has not, or has and
    does not take."""
    import msgspec

    from vaultbridge.engine.operations import Operation

    needed, optional = _FIELDS[op]
    known = {**needed, **optional}
    at = f"{where}." if where else ""
    filled: dict[str, Any] = {"op": op, "note": name}
    if not name.strip() and op not in _WHOLE_VAULT:
        raise InvalidArgument(f"{at}name is missing.", argument=f"{at}name", hint="Which note?")
    if is_link(name):
        filled |= _pointed_to(name, fields, known, f"{at}name")
    for field in fields.__struct_fields__:
        value = getattr(fields, field)
        if field in _COMMON or not given(value):
            continue
        if field not in known:
            raise InvalidArgument(
                f"{at}{field} does not belong to the op {op}.",
                argument=f"{at}{field}",
                hint=f"{op} takes: {', '.join(known) or 'only the name'}.",
            )
        filled[known[field]] = value.removeprefix("^") if field == "block" else value
    for field in needed:
        if needed[field] not in filled:
            raise InvalidArgument(
                f"{at}{field} is missing: the op {op} needs it.",
                argument=f"{at}{field}",
                hint=f"{op} takes: {', '.join(known)}.",
            )
    if expected:
        filled["expected"] = expected
    if "status" in filled:
        filled["status"] = task_status(filled["status"])
    made: Operation = msgspec.convert(filled, Operation)
    return made


def _pointed_to(link: str, fields: Struct, known: dict[str, str], argument: str) -> dict[str, str]:
    """The place in the note that a link names, unless the call itself names one. An op that takes no such
    place refuses the link: it would change more than was pointed to."""
    named = taken_apart(link)
    place = {key: value for key, value in (("heading", named.heading), ("block", named.block)) if value}
    if not place.keys() <= known.keys():
        must_be_whole(link, argument)
    stated = any(given(getattr(fields, key, UNSET)) for key in _PLACE)
    return {} if stated else place


_COMMON: Final = frozenset({"op", "name", "expected", "dry_run"})


def task_status(word: str) -> str:
    """The character of a status that may be given by a word."""
    return {"done": "x", "open": " ", "todo": " "}.get(word, word)
