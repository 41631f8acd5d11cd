"""What is derived from the operations: their names, their arguments, their JSON and their documentation."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import cache
from typing import Annotated, Any, Final, Union, get_args, get_origin

import msgspec
from msgspec import Meta, Struct

from vaultbridge.engine import operations
from vaultbridge.engine.operations.base import Operation, Undo
from vaultbridge.errors import InvalidArgument

BATCH_OPERATIONS: Final = 500
"""The most operations in one batch: more is a program's work, and would hold the writer's lock too long."""


def get_op(operation: Operation | type[Operation]) -> str:
    """The operation's name in JSON."""
    return str(operation.__struct_config__.tag)


OPERATIONS: Final[Mapping[str, type[Operation]]] = {
    get_op(kind): kind
    for kind in vars(operations).values()
    if isinstance(kind, type) and issubclass(kind, Operation) and not kind.__subclasses__()
}
"""Every operation by its name, in the order of the package."""


def list_offered(place: str) -> dict[str, type[Operation]]:
    """The operations that a tool or command takes."""
    return {op: kind for op, kind in OPERATIONS.items() if place in kind.OFFERED}


class Argument(Struct, frozen=True):
    """A field of an operation, besides those that all have. `may_be_empty`: an empty value is a value."""

    name: str
    type: Any
    needed: bool
    may_be_empty: bool


@cache
def list_arguments(kind: type[Operation]) -> tuple[Argument, ...]:
    """The operation's arguments, the required ones first."""
    found = [
        Argument(field.name, field.type, field.required, _may_be_empty(field.type))
        for field in msgspec.structs.fields(kind)
        if field.name not in ("note", "expected")
    ]
    return tuple(sorted(found, key=lambda argument: not argument.needed))


def _may_be_empty(kind: Any) -> bool:
    extras = get_args(kind)[1:] if get_origin(kind) is Annotated else ()
    return any(isinstance(meta, Meta) and (meta.extra or {}).get("may_be_empty") for meta in extras)


def concerns_whole_vault(kind: type[Operation]) -> bool:
    """Whether the operation works without naming a note."""
    return not next(field.required for field in msgspec.structs.fields(kind) if field.name == "note")


def convert_operation(value: Any) -> Operation:
    """Raises msgspec.ValidationError."""
    made: Operation = msgspec.convert(value, Union[tuple(OPERATIONS.values())])  # noqa: UP007 - made at run time
    return made


def parse_operations(value: Any) -> list[Operation]:
    """Operations from JSON values: one, or a list. Raises InvalidArgument, naming the one that is wrong."""
    items = value if isinstance(value, list) else [value]
    parsed: list[Operation] = []
    for number, item in enumerate(items, 1):
        try:
            parsed.append(convert_operation(item))
        except msgspec.ValidationError as error:
            where = f"Operation {number}: " if isinstance(value, list) else ""
            raise InvalidArgument(f"{where}{error}.", argument="operations", hint=_hint(item)) from None
    return parsed


def _hint(item: Any) -> str:
    """Lists all operations, or the fields of the one that was named."""
    op = item.get("op") if isinstance(item, dict) else None
    if not isinstance(op, str) or op not in OPERATIONS:
        return f"`op` is one of: {', '.join(OPERATIONS)}."
    fields = sorted(
        msgspec.structs.fields(OPERATIONS[op]),
        key=lambda field: (not field.required, field.name == "expected"),
    )
    words = [field.name if field.required else f"[{field.name}]" for field in fields]
    return f"The fields of {op}: {', '.join(words)}."


def with_paths(operation: Operation, change: Callable[[str], str]) -> Operation:
    """The same operation with `change` applied to each of its fields that names a file or folder."""
    named = {field: getattr(operation, field, "") for field in operation.PATHS}
    changed = {field: new for field, old in named.items() if old and (new := change(old)) != old}
    return msgspec.structs.replace(operation, **changed) if changed else operation


def find_undo(operations: Sequence[Operation]) -> Undo | None:
    """The undo, if this change is one: an undo is always a change of its own."""
    first = operations[0] if len(operations) == 1 else None
    return first if isinstance(first, Undo) else None


def label_operations(operations: Sequence[Operation]) -> str:
    """A few words for the history."""
    words = get_op(operations[0]).replace("_", " ") if operations else "nothing"
    return words if len(operations) == 1 else f"{words} and {len(operations) - 1} more"


def describe_operations(*places: str, words: Mapping[str, str]) -> Iterator[str]:
    """The lines of a Markdown table of the operations that `places` take. `words` says what a place calls a
    field by another name."""

    def spell(name: str) -> str:
        return f"`{words.get(name, name)}`"

    yield "| op | needs | may have | |"
    yield "|---|---|---|---|"
    for op, kind in OPERATIONS.items():
        taken_by = [place for place in places if place in kind.OFFERED]
        if not taken_by:
            continue
        only = (
            "" if len(taken_by) == len(places) else f" (only {', '.join(f'`{place}`' for place in taken_by)})"
        )
        arguments = list_arguments(kind)
        needs = ", ".join(spell(argument.name) for argument in arguments if argument.needed)
        may_have = ", ".join(spell(argument.name) for argument in arguments if not argument.needed)
        meaning = re.sub(r"`(\w+)`", lambda found: spell(found[1]), " ".join((kind.__doc__ or "").split()))
        yield f"| `{op}`{only} | {needs} | {may_have} | {meaning} |"
