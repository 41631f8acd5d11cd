"""`batch`: several edits, all of them or none.

The edits that `edit_note` and `batch` take, all in one flat form: `op`, the note's `name`, and the fields
of that op. One vocabulary for both, because a model learns it once.

The engine's own operations call the note `note` and a property `name`; the table below translates.

`edit_note`: every change of one note that the engine knows, told by `op`.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final, Literal, get_args

from msgspec import UNSET, Meta, Struct, UnsetType

from vaultbridge.errors import InvalidArgument
from vaultbridge.tools.base.answer import CHANGED_SCHEMA, Answer, answer_outcome, describe_trash
from vaultbridge.tools.base.arguments import (
    convert,
    is_blank,
    is_given,
    is_link,
    merge_path_alias,
    parse_reference,
    quote_value,
    require_whole_note,
)
from vaultbridge.tools.base.schema import Arguments, CreateHeading, DryRun, Expected, NoteName, PropertyValues
from vaultbridge.tools.base.tool import Tool, VaultContext

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
NoteOp = Literal[EditOp, "insert_template"]
BatchOp = Literal[EditOp, "create", "move", "delete"]

_PLACE: Final = {"heading": "heading", "block": "block"}
_MADE_PLACE: Final = {**_PLACE, "create": "create"}
_FIELDS: Final[dict[str, tuple[dict[str, str], dict[str, str]]]] = {
    "append": ({"content": "content"}, _MADE_PLACE),
    "prepend": ({"content": "content"}, _MADE_PLACE),
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
    "insert_template": ({"template": "template"}, {"heading": "heading", "line": "line"}),
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

    content: Annotated[str, Meta(description="Markdown")] | UnsetType = UNSET
    heading: Annotated[str, Meta(description="Heading, or A#B")] | UnsetType = UNSET
    create: CreateHeading | UnsetType = UNSET
    block: Annotated[str, Meta(description="Block id")] | UnsetType = UNSET
    line: Annotated[int, Meta(description="Line number")] | UnsetType = UNSET
    old: Annotated[str, Meta(description="Must occur once, unless all")] | UnsetType = UNSET
    new: Annotated[str, Meta(description="Text in its place")] | UnsetType = UNSET
    all: Annotated[bool, Meta(description="Every occurrence")] | UnsetType = UNSET
    diff: Annotated[str, Meta(description="Unified diff")] | UnsetType = UNSET
    property: Annotated[str, Meta(description="Its name")] | UnsetType = UNSET
    value: Annotated[Any, Meta(description="Any JSON")] = UNSET
    tag: Annotated[str, Meta(description="With or without #")] | UnsetType = UNSET
    text: Annotated[str, Meta(description="Task text")] | UnsetType = UNSET
    status: Annotated[str, Meta(description="One character, or toggle")] | UnsetType = UNSET
    to: Annotated[str, Meta(description="New name")] | UnsetType = UNSET


class BatchItem(EditFields, frozen=True, kw_only=True):
    """One operation of a batch."""

    UNLISTED = frozenset(
        {
            "block",
            "create",
            "all",
            "diff",
            "text",
            "overwrite",
            "template",
            "properties",
            "expected",
        }
    )

    # Not BatchOp, whose list the schema of edit_note holds already: `batch_item` checks it.
    op: Annotated[str, Meta(description="As in edit_note, or create, move, delete")]
    name: Annotated[str, Meta(description="Note")] | UnsetType = UNSET
    overwrite: Annotated[bool, Meta(description="Overwrite if file exists")] | UnsetType = UNSET
    template: Annotated[str, Meta(description="Template to start from")] | UnsetType = UNSET
    properties: PropertyValues | UnsetType = UNSET
    expected: Expected | UnsetType = UNSET


def batch_item(value: Any, number: int) -> Operation:
    """One operation of a batch from JSON. Raises InvalidArgument, naming its place in the list."""
    where = f"operations[{number}]"
    if not isinstance(value, dict):
        raise InvalidArgument(
            f"{where} is {quote_value(value)}.", argument=where, hint="It should be an object."
        )
    item = convert(merge_path_alias(value, "name", where=where), BatchItem, where=where)
    if item.op not in get_args(BatchOp):
        raise InvalidArgument(
            f"{where}.op is {quote_value(item.op)}.",
            argument=f"{where}.op",
            hint=f"It should be one of: {', '.join(get_args(BatchOp))}.",
        )
    name = item.name if isinstance(item.name, str) else ""
    expected = item.expected if isinstance(item.expected, str) else ""
    return operation(item.op, name, item, expected=expected, where=where)


def operation(op: str, name: str, fields: Struct, *, expected: str = "", where: str = "") -> Operation:
    """The engine's operation. Raises InvalidArgument for a field that the op needs and has not, or has and
    does not take."""
    import msgspec

    from vaultbridge.engine.operations import Operation

    at = f"{where}." if where else ""
    filled: dict[str, Any] = {"op": op, "note": name}
    if op == "set_task":
        filled["note"], filled["line"] = task_address(name)
    if not name.strip() and op not in _WHOLE_VAULT:
        raise InvalidArgument(f"{at}name is missing.", argument=f"{at}name", hint="Which note?")
    pointed_to = _pointed_to(name, fields, op, f"{at}name") if is_link(name) else {}
    filled |= pointed_to
    filled |= op_fields(op, fields, where=where, known=pointed_to)
    if expected:
        filled["expected"] = expected
    if "status" in filled:
        filled["status"] = task_status(filled["status"])
    made: Operation = msgspec.convert(filled, Operation)
    return made


def op_fields(
    op: str, fields: Struct, *, where: str = "", known: Mapping[str, Any] = MappingProxyType({})
) -> dict[str, Any]:
    """What the op takes of `fields`, by the engine's words. `known` was found out already. A caller that must
    fill in every argument writes an empty value where it means nothing: such a value counts only where the op
    needs it and it can be empty. Raises InvalidArgument for a field that the op needs and has not, or has and
    does not take."""
    needed, optional = _FIELDS[op]
    words = {**needed, **optional}
    at = f"{where}." if where else ""
    found: dict[str, Any] = {}
    for field in fields.__struct_fields__:
        value = getattr(fields, field)
        if field in _COMMON or not is_given(value):
            continue
        if is_blank(value) and (field not in needed or field in _NEVER_BLANK):
            continue
        if field not in words:
            raise InvalidArgument(
                f"{at}{field} does not belong to the op {op}.",
                argument=f"{at}{field}",
                hint=f"{op} takes: {', '.join(words) or 'only the name'}.",
            )
        found[words[field]] = value.removeprefix("^") if field == "block" else value
    for field, word in needed.items():
        if word not in found and word not in known:
            raise InvalidArgument(
                f"{at}{field} is missing: the op {op} needs it.",
                argument=f"{at}{field}",
                hint=f"{op} takes: {', '.join(words)}.",
            )
    return found


def _pointed_to(link: str, fields: Struct, op: str, argument: str) -> dict[str, str]:
    """The place in the note that a link names, unless the call itself names one. An op that takes no such
    place refuses the link: it would change more than was pointed to."""
    named = parse_reference(link)
    place = {key: value for key, value in (("heading", named.heading), ("block", named.block)) if value}
    if not place.keys() <= {*_FIELDS[op][0], *_FIELDS[op][1]}:
        require_whole_note(link, argument)
    values = (getattr(fields, key, UNSET) for key in _PLACE)
    stated = any(is_given(value) and not is_blank(value) for value in values)
    return {} if stated else place


_NEVER_BLANK: Final = frozenset(
    field for needed, _ in _FIELDS.values() for field in needed if field not in ("content", "new", "value")
)
"""The fields that mean nothing when they are empty. An empty content, replacement or value does: it empties
the section, takes the text away, or is the property's value."""

_TASK_ADDRESS: Final = re.compile(r"(.+\.md):(\d{1,9})")
"""A task as the tool `tasks` lists it."""


def task_address(name: str) -> tuple[str, int]:
    """The note and the line of a task that is named as `tasks` lists it; else the name, and 0."""
    found = _TASK_ADDRESS.fullmatch(name)
    return (found[1], int(found[2])) if found else (name, 0)


_COMMON: Final = frozenset({"op", "name", "expected", "dry_run"})


def task_status(word: str) -> str:
    """The character of a status that may be given by a word."""
    return {"done": "x", "open": " ", "todo": " "}.get(word, word)


class EditNote(EditFields, frozen=True, kw_only=True):
    name: NoteName
    op: Annotated[NoteOp, Meta(description="What to do")]
    template: Annotated[str, Meta(description="Its name")] | UnsetType = UNSET
    expected: Expected = ""
    dry_run: DryRun = False


def run(context: VaultContext, arguments: EditNote) -> Answer:
    if arguments.op == "insert_template":
        return _insert_template(context, arguments)
    wanted = operation(arguments.op, arguments.name, arguments, expected=arguments.expected)
    name = task_address(arguments.name)[0] if arguments.op == "set_task" else arguments.name
    # Without a name a tag is renamed in every note.
    path = context.engine.find(name) if name.strip() else ""
    outcome = context.engine.apply([wanted], dry_run=arguments.dry_run, actor=context.tool_context.actor)
    return answer_outcome(outcome, path, **({"path": path} if path else {}))


def _insert_template(context: VaultContext, arguments: EditNote) -> Answer:
    from vaultbridge.engine.templates import inserting

    fields = op_fields("insert_template", arguments)
    if fields.get("heading") and fields.get("line"):
        raise InvalidArgument("Give heading or line, not both.", argument="line")
    path = context.engine.find(arguments.name)
    operations = inserting(context.engine, path=path, expected=arguments.expected, **fields)
    outcome = context.engine.apply(
        operations, dry_run=arguments.dry_run, label="insert template", actor=context.tool_context.actor
    )
    return answer_outcome(outcome, path, path=path)


EDIT_NOTE = Tool(
    name="edit_note",
    description=(
        "Change one note. append, prepend, replace_section: content, at heading or block; insert: content "
        "before line; replace_text: old, new; write: all content; set_property: property, value; rename_*: "
        'to, links follow (rename_tag with name "": everywhere); set_task: line or text, status; '
        "insert_template: template, at heading or line"
    ),
    arguments=EditNote,
    run=run,
    group="notes",
    effect="changes",
    core=True,
    output_schema=CHANGED_SCHEMA,
    note="name",
)

OPERATIONS: Final = 500
"""As many as the engine takes at once."""


class Batch(Arguments, frozen=True, kw_only=True):
    ITEMS: ClassVar = {"operations": BatchItem}

    operations: Annotated[
        tuple[dict[str, Any], ...],
        Meta(
            max_length=OPERATIONS,
            description="As edit_note takes them; also create, move (to), delete",
        ),
    ]
    dry_run: DryRun = False


def run_batch(context: VaultContext, arguments: Batch) -> Answer:
    if not arguments.operations:
        raise InvalidArgument("operations is empty.", argument="operations", hint="Give at least one.")
    wanted = [batch_item(item, number) for number, item in enumerate(arguments.operations)]
    outcome = context.engine.apply(wanted, dry_run=arguments.dry_run, actor=context.tool_context.actor)
    went = describe_trash(context.engine, outcome)
    return answer_outcome(outcome, operations=len(wanted), **went)


BATCH = Tool(
    name="batch",
    description="Several edits as one change: all or none",
    arguments=Batch,
    run=run_batch,
    group="notes",
    effect="changes",
    output_schema=CHANGED_SCHEMA,
)
