"""What may be done to a vault, as a closed union of values.

One operation is one sentence a person or an assistant would say. The command line, the tools and a batch
all build these; `engine.operate` carries them out on a draft of the vault. Nothing here reads or writes.

`note` is a note's name or path as the caller wrote it. `expected` is the content hash the caller saw: the
operation is refused when the note is another by now. `heading` is a heading path (`"Plan#Week 1"`),
`block` a block id without `^`; at most one of the two is given.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, TypeAlias, get_args

import msgspec
from msgspec import Struct

from vaultbridge.errors import InvalidArgument


class _Operation(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="op"):
    """The common base: the JSON form names the operation in `op` and refuses fields it does not know."""


class Create(_Operation, frozen=True, kw_only=True, tag="create"):
    """A new note, or with `overwrite` the whole of an old one. `template` names a note to start from."""

    note: str
    content: str = ""
    overwrite: bool = False
    template: str = ""
    properties: dict[str, Any] = {}
    expected: str = ""


class Write(_Operation, frozen=True, kw_only=True, tag="write"):
    """The whole text of an existing note anew."""

    note: str
    content: str
    expected: str = ""


class Append(_Operation, frozen=True, kw_only=True, tag="append"):
    """At the end of the note, of a section or of a block. With `create` a heading that the note does not have
    is made at its end."""

    note: str
    content: str
    heading: str = ""
    block: str = ""
    create: bool = False
    expected: str = ""


class Prepend(_Operation, frozen=True, kw_only=True, tag="prepend"):
    """Right after the properties, the heading or before the block. With `create` a heading that the note does
    not have is made at its end."""

    note: str
    content: str
    heading: str = ""
    block: str = ""
    create: bool = False
    expected: str = ""


class Insert(_Operation, frozen=True, kw_only=True, tag="insert"):
    """Before `line`, counted from 1; one past the last line is the end."""

    note: str
    line: int
    content: str
    expected: str = ""


class ReplaceText(_Operation, frozen=True, kw_only=True, tag="replace_text"):
    """`old` must stand in the note exactly once, unless `all`."""

    note: str
    old: str
    new: str
    all: bool = False
    expected: str = ""


class ReplaceSection(_Operation, frozen=True, kw_only=True, tag="replace_section"):
    """The body under a heading (the heading stays), or a block (its id stays)."""

    note: str
    content: str
    heading: str = ""
    block: str = ""
    expected: str = ""


class ApplyDiff(_Operation, frozen=True, kw_only=True, tag="apply_diff"):
    """A unified diff of one note."""

    note: str
    diff: str
    expected: str = ""


class SetProperty(_Operation, frozen=True, kw_only=True, tag="set_property"):
    note: str
    name: str
    value: Any
    expected: str = ""


class RemoveProperty(_Operation, frozen=True, kw_only=True, tag="remove_property"):
    note: str
    name: str
    expected: str = ""


class RenameProperty(_Operation, frozen=True, kw_only=True, tag="rename_property"):
    note: str
    name: str
    to: str
    expected: str = ""


class AddTag(_Operation, frozen=True, kw_only=True, tag="add_tag"):
    note: str
    tag: str
    expected: str = ""


class RemoveTag(_Operation, frozen=True, kw_only=True, tag="remove_tag"):
    note: str
    tag: str
    expected: str = ""


class RenameTag(_Operation, frozen=True, kw_only=True, tag="rename_tag"):
    """In one note, or in the whole vault when `note` is empty. Nested tags follow."""

    tag: str
    to: str
    note: str = ""
    expected: str = ""


class SetTask(_Operation, frozen=True, kw_only=True, tag="set_task"):
    """One task, by its line or by its text. `status` is one character, or "toggle"."""

    note: str
    line: int = 0
    text: str = ""
    status: str = "toggle"
    expected: str = ""


class RenameHeading(_Operation, frozen=True, kw_only=True, tag="rename_heading"):
    """The heading and every link to it, in all notes."""

    note: str
    heading: str
    to: str
    expected: str = ""


class RenameBlock(_Operation, frozen=True, kw_only=True, tag="rename_block"):
    """The block id and every link to it, in all notes."""

    note: str
    block: str
    to: str
    expected: str = ""


class Move(_Operation, frozen=True, kw_only=True, tag="move"):
    """A note, an attachment or a folder to a new path, with every link to it rewritten. A `to` that ends
    with `/` names the folder to move into, and so, for a file, does the name of a folder that is there; one
    without an extension keeps the old one's."""

    note: str
    to: str
    expected: str = ""


class Delete(_Operation, frozen=True, kw_only=True, tag="delete"):
    """A note, an attachment or a folder, to the trash that the vault's settings name."""

    note: str
    expected: str = ""


class AddFile(_Operation, frozen=True, kw_only=True, tag="add_file"):
    """A new attachment with these bytes."""

    path: str
    data: bytes


Operation: TypeAlias = (
    Create
    | Write
    | Append
    | Prepend
    | Insert
    | ReplaceText
    | ReplaceSection
    | ApplyDiff
    | SetProperty
    | RemoveProperty
    | RenameProperty
    | AddTag
    | RemoveTag
    | RenameTag
    | SetTask
    | RenameHeading
    | RenameBlock
    | Move
    | Delete
    | AddFile
)

NoteEdit: TypeAlias = (
    Append
    | Prepend
    | Insert
    | ReplaceText
    | ReplaceSection
    | ApplyDiff
    | SetProperty
    | RemoveProperty
    | RenameProperty
    | AddTag
    | RemoveTag
    | SetTask
)
"""The operations that change the text of one note and nothing else."""

FileChange = Literal["created", "changed", "moved", "deleted"]


class ChangedFile(Struct, frozen=True):
    """What became of one file. `path` is where it is now; `was` where it was, for a move. `hash` is the
    content hash after, empty for a deleted one. `links` counts the references rewritten in it."""

    path: str
    change: FileChange
    was: str = ""
    hash: str = ""
    links: int = 0


class Outcome(Struct, frozen=True):
    """What a batch of operations did, or with `dry_run` would do.

    `change_id` is the journal entry to undo it by (empty for a dry run, or when nothing changed). `diff` is a
    unified diff of every text file touched. `notices` are things the caller should know, such as older links
    that a new note would have re-pointed."""

    files: tuple[ChangedFile, ...]
    change_id: str = ""
    dry_run: bool = False
    diff: str = ""
    notices: tuple[str, ...] = ()


def renamed(operation: Operation, path: Callable[[str], str]) -> Operation:
    """The same operation with `path` applied to each of its fields that names a file or folder."""
    named = ("note", "path", "template", *(("to",) if isinstance(operation, Move) else ()))
    given = {field: getattr(operation, field, "") for field in named}
    changed = {field: new for field, old in given.items() if old and (new := path(old)) != old}
    return msgspec.structs.replace(operation, **changed) if changed else operation


def parse_operations(value: Any) -> list[Operation]:
    """Operations from JSON values: one, or a list. Raises InvalidArgument, naming the one that is wrong."""
    items = value if isinstance(value, list) else [value]
    operations: list[Operation] = []
    for number, item in enumerate(items, 1):
        try:
            operations.append(msgspec.convert(item, Operation))
        except msgspec.ValidationError as error:
            where = f"Operation {number}: " if isinstance(value, list) else ""
            raise InvalidArgument(f"{where}{error}.", argument="operations", hint=_hint(item)) from None
    return operations


def _hint(item: Any) -> str:
    """What would be right: the operations there are, or the fields of the one that was named."""
    kinds = {str(kind.__struct_config__.tag): kind for kind in get_args(Operation)}
    kind = kinds.get(item["op"]) if isinstance(item, dict) and isinstance(item.get("op"), str) else None
    if kind is None:
        return f"`op` is one of: {', '.join(kinds)}."
    fields = [name if name in _required(kind) else f"[{name}]" for name in kind.__struct_fields__]
    return f"The fields of {item['op']}: {', '.join(fields)}."


def _required(kind: type[Struct]) -> set[str]:
    return {field.name for field in msgspec.structs.fields(kind) if field.required}
