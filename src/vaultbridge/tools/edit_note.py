"""`edit_note` and `batch`: the engine's operations in one flat form, with `op`, the note's `name`, and the
fields of that op. Both have the same form, because a model then learns it only once.

The arguments are derived from the operations, so there is nothing to add here for a new one. Two names
differ: the engine's `note` is `name` here, as in every tool, and its `name` of a property is `property`.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Annotated, Any, ClassVar, Final, Literal, Protocol, Union

import msgspec
from msgspec import UNSET, Meta, Struct, UnsetType

from vaultbridge.engine.operations.base import NoteEdit, Operation
from vaultbridge.engine.operations.vocabulary import (
    BATCH_OPERATIONS,
    OPERATIONS,
    concerns_whole_vault,
    convert_operation,
    list_arguments,
    list_offered,
)
from vaultbridge.errors import InvalidArgument, VaultbridgeError
from vaultbridge.markdown.edits.text import has_text
from vaultbridge.tools.base.answer import Answer, answer_outcome, describe_trash
from vaultbridge.tools.base.arguments import (
    convert,
    drop_placeholders,
    is_blank,
    is_given,
    is_link,
    is_placeholder,
    merge_path_alias,
    parse_reference,
    quote_value,
    require_whole_note,
)
from vaultbridge.tools.base.found import find_all
from vaultbridge.tools.base.schema import Arguments, DryRun, ExpectedHash, NoteName
from vaultbridge.tools.base.tool import Tool, VaultContext

WORDS: Final = {"note": "name", "name": "property"}
"""The tools' names for fields of operations."""

EDIT_OPS: Final = tuple(list_offered("edit_note"))
BATCH_OPS: Final = tuple(list_offered("batch"))


def _flatten(ops: Iterable[str], known: Iterable[str] = ()) -> list[tuple[str, Any, Any]]:
    """Every argument of these ops that is not `known` yet, once: its word, its type, its default."""
    found: dict[str, Any] = {}
    for op in ops:
        for argument in list_arguments(OPERATIONS[op]):
            word = WORDS.get(argument.name, argument.name)
            if word not in known:
                found.setdefault(word, argument.type)
    return [(word, Union[kind, UnsetType], UNSET) for word, kind in found.items()]  # noqa: UP007 - made at run time


_EDIT_FIELDS: Final = _flatten(EDIT_OPS)
_FILE_FIELDS: Final = _flatten(BATCH_OPS, [name for name, _, _ in _EDIT_FIELDS])

EditNoteArguments = msgspec.defstruct(
    "EditNoteArguments",
    [
        *_EDIT_FIELDS,
        ("name", NoteName, ""),
        ("query", Annotated[str, Meta(description="Or a search")], ""),
        ("op", Annotated[Literal[EDIT_OPS], Meta(description="Action")]),
        ("expected", ExpectedHash, ""),
        ("dry_run", DryRun, False),
    ],
    bases=(Arguments,),
    module=__name__,
    namespace={"UNLISTED": frozenset({"force"})},
    frozen=True,
    kw_only=True,
)

BatchItem = msgspec.defstruct(
    "BatchItem",
    [
        *_EDIT_FIELDS,
        # No list of ops, because the schema of edit_note already has one: `_parse_item` checks it.
        ("op", Annotated[str, Meta(description="As in edit_note, or create, move, delete")]),
        ("name", Annotated[str, Meta(description="Note")], ""),
        *_FILE_FIELDS,
        ("expected", ExpectedHash, ""),
    ],
    bases=(Arguments,),
    module=__name__,
    namespace={
        "UNLISTED": frozenset({"block", "diff", "force", "overwrite", "properties", "template", "text"})
    },
    frozen=True,
    kw_only=True,
)
"""One operation of a batch."""


class _Edit(Protocol):
    """What `EditNoteArguments` and `BatchItem` have in common."""

    op: str
    name: str
    expected: str


class _EditNote(_Edit, Protocol):
    query: str
    dry_run: bool


_COMMON: Final = frozenset({"op", "name", "query", "expected", "dry_run"})


def _parse_item(value: Any, number: int) -> Operation:
    """One operation of a batch from JSON. Raises InvalidArgument, naming its place in the list."""
    where = f"operations[{number}]"
    if not isinstance(value, dict):
        raise InvalidArgument(
            f"{where} is {quote_value(value)}.", argument=where, hint="It should be an object."
        )
    item: Any = convert(merge_path_alias(value, "name", where=where), BatchItem, where=where)
    if item.op not in BATCH_OPS:
        raise InvalidArgument(
            f"{where}.op is {quote_value(item.op)}.",
            argument=f"{where}.op",
            hint=f"It should be one of: {', '.join(BATCH_OPS)}.",
        )
    return make_operation(item, where=where)


def make_operation(edit: Any, *, where: str = "", note: str = "") -> Operation:
    """The engine's operation; `note` is one that was found, in place of the name. Raises InvalidArgument if a
    field that the op needs is missing, or one is given that it does not take."""
    call: _Edit = edit
    at = f"{where}." if where else ""
    kind = OPERATIONS[call.op]
    if note:
        return convert_operation({"op": call.op, "note": note, **_own_fields(edit, kind, at, {})})
    if not call.name.strip() and not concerns_whole_vault(kind):
        raise InvalidArgument(f"{at}name is missing.", argument=f"{at}name", hint="Which note?")
    named = kind.parse_name(call.name)
    if is_link(call.name):
        named |= _parse_place(call.name, edit, kind, f"{at}name")
    fields = {"op": call.op, **named, **_own_fields(edit, kind, at, named)}
    return convert_operation({**fields, "expected": call.expected} if call.expected else fields)


def _own_fields(edit: Struct, kind: type[Operation], at: str, known: dict[str, Any]) -> dict[str, Any]:
    """The arguments that the op takes, under the engine's names. `known` was already found in the name. A
    caller that must fill in every argument writes an empty value for those it would leave out: such a value
    counts only where the op needs the argument and it can be empty."""
    op = edit.op  # type: ignore[attr-defined]
    taken = {WORDS.get(argument.name, argument.name): argument for argument in list_arguments(kind)}
    found: dict[str, Any] = {}
    for word in edit.__struct_fields__:
        value = getattr(edit, word)
        if word in _COMMON or not is_given(value):
            continue
        argument = taken.get(word)
        if is_placeholder(value) and not (argument and argument.needed and argument.may_be_empty):
            continue
        if argument is None:
            raise InvalidArgument(
                f"{at}{word} does not belong to the op {op}.",
                argument=f"{at}{word}",
                hint=f"{op} takes: {', '.join(taken) or 'only the name'}.",
            )
        if word == "properties":
            value = drop_placeholders(value)
        found[argument.name] = value.removeprefix("^") if word == "block" else value
    for word, argument in taken.items():
        if argument.needed and argument.name not in found and argument.name not in known:
            raise InvalidArgument(
                f"{at}{word} is missing: the op {op} needs it.",
                argument=f"{at}{word}",
                hint=f"{op} takes: {', '.join(taken)}.",
            )
    return found


def _parse_place(link: str, edit: Struct, kind: type[Operation], argument: str) -> dict[str, str]:
    """The place in the note that a link names, unless the call itself names one. An op that takes no such
    place refuses the link: it would change more than was pointed to."""
    named = parse_reference(link)
    place = {key: value for key, value in (("heading", named.heading), ("block", named.block)) if value}
    if not place.keys() <= {argument.name for argument in list_arguments(kind)}:
        require_whole_note(link, argument)
    values = (getattr(edit, key, UNSET) for key in ("heading", "block"))
    stated = any(is_given(value) and not is_blank(value) for value in values)
    return {} if stated else place


def run(context: VaultContext, edit: _EditNote) -> Answer:
    if edit.query.strip():
        return _edit_found(context, edit)
    operation = make_operation(edit)
    name = operation.result
    path = context.engine.find(name) if name.strip() else ""
    outcome = context.engine.apply([operation], dry_run=edit.dry_run, actor=context.tool_context.actor)
    return answer_outcome(outcome, path, **({"path": path} if path else {}))


def _edit_found(context: VaultContext, edit: _EditNote) -> Answer:
    """The same edit of every note of a search, as one change. `replace_text` passes over the notes that do
    not have the text: a search for words finds more than one for a text."""
    kind = OPERATIONS[edit.op]
    if not issubclass(kind, NoteEdit):
        raise InvalidArgument(
            f"query does not belong to the op {edit.op}.",
            argument="query",
            hint="It goes with ops that change the text or the properties of one note.",
        )
    if edit.name.strip():
        raise InvalidArgument("Give either name or query.", argument="query", hint="What should be edited?")
    if edit.expected:
        raise InvalidArgument(
            "expected is the hash of one note, but query finds several.",
            argument="expected",
            hint="Leave it out.",
        )
    paths = find_all(context, edit.query)
    operations = [make_operation(edit, note=path) for path in paths]
    if edit.op == "replace_text":
        operations = [operation for operation in operations if _occurs(context, operation)]
        if not operations:
            raise InvalidArgument(
                "The text to replace occurs in none of the notes that the query finds.",
                argument="old",
                hint="It must match exactly; search shows lines as they are.",
            )
    label = f"{edit.op.replace('_', ' ')} in {len(operations)} notes"
    actor = context.tool_context.actor
    try:
        outcome = context.engine.apply(operations, dry_run=edit.dry_run, label=label, actor=actor)
    except VaultbridgeError as error:
        if len(operations) == 1:  # With more, the engine says which one.
            error.message = f"{getattr(operations[0], 'note', '')}: {error.message}"
        raise
    return answer_outcome(outcome, matched=len(paths))


def _occurs(context: VaultContext, operation: Any) -> bool:
    return has_text(context.engine.view(operation.note).text, operation.old)


def _describe_ops() -> str:
    """The arguments of the ops in a few words; ops with the same ones share them."""
    groups: dict[str, list[str]] = {}
    for op, kind in list_offered("edit_note").items():
        if kind.BRIEF:
            groups.setdefault(kind.BRIEF, []).append(op)
    parts = []
    for brief, ops in groups.items():
        verbs = {op.partition("_")[0] for op in ops}
        names = f"{ops[0].partition('_')[0]}_*" if len(verbs) == 1 < len(ops) else ", ".join(ops)
        parts.append(f"{names}: {brief}")
    return "; ".join(parts)


EDIT_NOTE = Tool(
    name="edit_note",
    description=(
        "Change a note, or all that a query finds: find and replace text in many notes, rename a tag or "
        "heading (links follow), extract a section, link unlinked mentions, merge notes, tick a task. "
        + _describe_ops()
    ),
    arguments=EditNoteArguments,
    run=run,
    group="notes",
    effect="changes",
    core=True,
    note="name",
)


class BatchArguments(Arguments, frozen=True, kw_only=True):
    ITEMS: ClassVar = {"operations": BatchItem}

    operations: Annotated[
        tuple[dict[str, Any], ...],
        Meta(
            max_length=BATCH_OPERATIONS,
            description="Edits, in order",
        ),
    ]
    dry_run: DryRun = False


def run_batch(context: VaultContext, arguments: BatchArguments) -> Answer:
    if not arguments.operations:
        raise InvalidArgument("operations is empty.", argument="operations", hint="Give at least one.")
    wanted = [_parse_item(item, number) for number, item in enumerate(arguments.operations)]
    outcome = context.engine.apply(wanted, dry_run=arguments.dry_run, actor=context.tool_context.actor)
    went = describe_trash(context.engine, outcome)
    return answer_outcome(outcome, operations=len(wanted), **went)


BATCH = Tool(
    name="batch",
    description="Several edits as one change: all or none",
    arguments=BatchArguments,
    run=run_batch,
    group="notes",
    effect="changes",
)
