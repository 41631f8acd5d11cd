"""The base classes of operations, and the types of the fields that several of them have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar

from msgspec import Meta, Struct

from vaultbridge.limits import LARGEST_INTEGER

if TYPE_CHECKING:
    from vaultbridge.engine.drafting.naming import OperationContext
    from vaultbridge.markdown.edits.change import Change
    from vaultbridge.markdown.model import Note

# The descriptions are short because every conversation pays for the schema. `may_be_empty`: "" is a value.
MarkdownText = Annotated[str, Meta(description="Markdown", extra={"may_be_empty": True})]
SectionName = Annotated[str, Meta(description="Heading, or A#B")]
CreateHeading = Annotated[bool, Meta(description="Add if missing")]
BlockName = Annotated[str, Meta(description="Block id")]
Line = Annotated[int, Meta(ge=-LARGEST_INTEGER, le=LARGEST_INTEGER, description="Line number")]
PropertyName = Annotated[str, Meta(description="Its name")]
TemplateName = Annotated[str, Meta(description="Its name")]
ForceEncoding = Annotated[bool, Meta(description="Even if it is not UTF-8")]
TagName = Annotated[str, Meta(description="With or without #")]
NewName = Annotated[str, Meta(description="New name")]


class Operation(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True, tag_field="op"):
    """One change, as a person or an assistant would ask for it. In JSON, `op` names it.

    `note` is a note's name or path as the caller wrote it. `expected` is the content hash that the caller
    saw: the operation is refused when the note has changed since. `heading` is a heading path
    (`"Plan#Week 1"`), `block` a block id without `^`; at most one of the two is given."""

    OFFERED: ClassVar[frozenset[str]] = frozenset({"edit_note", "batch", "edit"})
    """The tools and commands that take it."""
    BRIEF: ClassVar[str] = ""
    """Its arguments in a few words, for the description of `edit_note`."""
    PATHS: ClassVar[tuple[str, ...]] = ("note", "template")
    """Its fields that name a file or a folder."""

    def needs_index(self, context: OperationContext) -> bool:
        """Whether every file of the vault has to be known, with its links, before it can be carried out."""
        return True

    def changes_other_files(self, context: OperationContext) -> bool:
        """Whether files that it does not name are changed too: then none may be overlooked."""
        return False

    @classmethod
    def parse_name(cls, name: str) -> dict[str, Any]:
        """The fields that a tool's `name` gives."""
        return {"note": name}

    @property
    def replaces_whole(self) -> bool:
        """Whether it gives a file a whole new text in place of the old one."""
        return False

    @property
    def result(self) -> str:
        """The name of the note that it leaves changed; "" when it may be any."""
        return str(getattr(self, "note", ""))


class Undo(Operation, frozen=True, kw_only=True, tag="undo"):
    """Undo one change of the journal; with `force` although files have changed since. It is carried out by
    `engine.undoing` and is always a change of its own: no batch contains one, and no JSON names it."""

    OFFERED = frozenset()
    PATHS = ()

    change: int
    force: bool = False


class NamedOperation(Operation, frozen=True, kw_only=True):
    note: str
    expected: str = ""


class NoteEdit(NamedOperation, frozen=True, kw_only=True):
    """An operation that changes the text of one note and nothing else."""

    def needs_structure(self) -> bool:
        """Whether it must know the note's properties, headings, blocks, tags or tasks. Those of a very large
        note are not known."""
        return True

    def changes(self, text: str, note: Note, types: Mapping[str, str]) -> tuple[Change, ...]:
        """The edits of `text`, which `note` is parsed from. `types` are the vault's property types by
        lower-case name. Raises EditRefused or InvalidArgument."""
        raise NotImplementedError

    def needs_index(self, context: OperationContext) -> bool:
        return False
