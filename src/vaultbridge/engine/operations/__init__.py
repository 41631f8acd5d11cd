"""The operations that change a vault: each one is a Struct.

Its fields are its arguments (those without a default are required), its docstring is its line in the
documents, and its `changes`, if it only edits a note's text, are those edits; `engine.drafting.carry_out`
carries out all of them. A new one is a new class here and its test: what `batch` and `edit_note` take, their
schemas, `vaultbridge edit`, and the tables in `docs/tools.md` and `docs/cli.md` are derived from it by
`vocabulary`; `make generate` does the rest. `base` has what operations share.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any, ClassVar, Final

from msgspec import Meta, field

from vaultbridge.engine.drafting.naming import new_note_path
from vaultbridge.engine.operations.base import (
    BlockName,
    CreateHeading,
    ForceEncoding,
    Line,
    MarkdownText,
    NamedOperation,
    NewName,
    NoteEdit,
    Operation,
    PropertyName,
    SectionName,
    TagName,
    TemplateName,
)
from vaultbridge.errors import InvalidArgument, VaultbridgeError
from vaultbridge.markdown.edits import sections
from vaultbridge.markdown.edits import text as whole
from vaultbridge.markdown.edits.properties import remove_property, rename_property, set_property
from vaultbridge.markdown.edits.property_types import coerce_property
from vaultbridge.markdown.edits.tags import add_tag, remove_tag
from vaultbridge.markdown.edits.tasks import find_task, set_task
from vaultbridge.markdown.edits.text import insert_at_line, keep_as_body, replace_text
from vaultbridge.markdown.edits.unified_diff import apply_diff
from vaultbridge.markdown.sections import has_section
from vaultbridge.vault.paths import vault_path

if TYPE_CHECKING:
    from vaultbridge.engine.drafting.naming import OperationContext
    from vaultbridge.markdown.edits.change import Change
    from vaultbridge.markdown.model import Note


class Create(NamedOperation, frozen=True, kw_only=True, tag="create"):
    """Create a note, or with `overwrite` replace all of an existing one. `template` names a note to start
    from; `content` follows it."""

    OFFERED = frozenset({"batch", "edit"})

    content: MarkdownText = ""
    overwrite: Annotated[bool, Meta(description="Overwrite if file exists")] = False
    force: ForceEncoding = False
    template: TemplateName = ""
    properties: Annotated[dict[str, Any], Meta(description="Properties by name")] = field(
        default_factory=dict
    )

    @property
    def replaces_whole(self) -> bool:
        return self.overwrite

    def needs_index(self, context: OperationContext) -> bool:
        try:
            return context.find_stored_path(new_note_path(self.note, context.settings)) is None
        except VaultbridgeError:
            return False  # It will be refused, and the refusal names its place in the batch.


class Write(NamedOperation, frozen=True, kw_only=True, tag="write"):
    """Replace the whole text of an existing file: it becomes exactly `content`, line endings included."""

    BRIEF = "all content"

    content: MarkdownText
    force: ForceEncoding = False

    @property
    def replaces_whole(self) -> bool:
        # A canvas is edited by rewriting it.
        return not self.note.lower().endswith(".canvas")

    def needs_index(self, context: OperationContext) -> bool:
        return False


def _check_one_place(heading: str, block: str) -> None:
    if heading and block:
        raise InvalidArgument("Give heading or block, not both.", argument="block")


class _Addition(NoteEdit, frozen=True, kw_only=True):
    BRIEF = "content, at heading or block"
    FIRST: ClassVar[bool]

    content: MarkdownText
    heading: SectionName = ""
    create: CreateHeading = False
    block: BlockName = ""

    def changes(self, text: str, note: Note, types: Mapping[str, str]) -> tuple[Change, ...]:
        return keep_as_body(text, note, self._add(text, note))

    def _add(self, text: str, note: Note) -> tuple[Change, ...]:
        _check_one_place(self.heading, self.block)
        if self.heading and self.create and not has_section(text, note, self.heading):
            return sections.append_section(text, note, self.heading, self.content)
        if self.heading:
            under = sections.prepend_under_heading if self.FIRST else sections.append_under_heading
            return under(text, note, self.heading, self.content)
        if self.block:
            beside = sections.prepend_before_block if self.FIRST else sections.append_after_block
            return beside(text, note, self.block, self.content)
        return (whole.prepend if self.FIRST else whole.append)(text, note, self.content)


class Append(_Addition, frozen=True, kw_only=True, tag="append"):
    """Add text at the end of the note, of the section under `heading`, or after `block`. With `create`, a
    heading that the note does not have is made at its end."""

    FIRST = False

    def needs_structure(self) -> bool:
        return bool(self.heading or self.block)


class Prepend(_Addition, frozen=True, kw_only=True, tag="prepend"):
    """Add text right after the properties, right after `heading`, or before `block`. With `create`, a heading
    that the note does not have is made at its end."""

    FIRST = True


class ReplaceSection(NoteEdit, frozen=True, kw_only=True, tag="replace_section"):
    """Replace the text under `heading` (the heading stays), or `block` (its id stays). One of the two is
    needed."""

    BRIEF = "content, at heading or block"

    content: MarkdownText
    heading: SectionName = ""
    block: BlockName = ""

    def changes(self, text: str, note: Note, types: Mapping[str, str]) -> tuple[Change, ...]:
        _check_one_place(self.heading, self.block)
        if self.heading:
            edit = sections.replace_under_heading(text, note, self.heading, self.content)
            return keep_as_body(text, note, edit)
        if self.block:
            return keep_as_body(text, note, sections.replace_block(text, note, self.block, self.content))
        raise InvalidArgument("Which section? Give heading or block.", argument="heading")


class Insert(NoteEdit, frozen=True, kw_only=True, tag="insert"):
    """Insert text before `line`, counted from 1. One past the last line is the end."""

    BRIEF = "content before line"

    line: Line
    content: MarkdownText

    def changes(self, text: str, note: Note, types: Mapping[str, str]) -> tuple[Change, ...]:
        return insert_at_line(text, self.line, self.content)


class ReplaceText(NoteEdit, frozen=True, kw_only=True, tag="replace_text"):
    """Replace `old`, which must occur in the note exactly once, unless `all` is set."""

    BRIEF = "old, new"

    old: Annotated[str, Meta(description="Occurs once, unless all")]
    new: Annotated[str, Meta(description="Replacement", extra={"may_be_empty": True})]
    all: Annotated[bool, Meta(description="Every occurrence")] = False

    def changes(self, text: str, note: Note, types: Mapping[str, str]) -> tuple[Change, ...]:
        return replace_text(text, self.old, self.new, every=self.all)

    def needs_structure(self) -> bool:
        return False


class ApplyDiff(NoteEdit, frozen=True, kw_only=True, tag="apply_diff"):
    """Apply a unified diff of this note."""

    diff: Annotated[str, Meta(description="Unified diff")]

    def changes(self, text: str, note: Note, types: Mapping[str, str]) -> tuple[Change, ...]:
        return apply_diff(text, self.diff)

    def needs_structure(self) -> bool:
        return False


class SetProperty(NoteEdit, frozen=True, kw_only=True, tag="set_property"):
    """Set a property, in the form of the type that the vault gives it."""

    BRIEF = "property, value"

    name: PropertyName
    value: Annotated[Any, Meta(description="Any JSON", extra={"may_be_empty": True})]

    def changes(self, text: str, note: Note, types: Mapping[str, str]) -> tuple[Change, ...]:
        return set_property(text, note, self.name, coerce_property(self.name, self.value, types))


class RemoveProperty(NoteEdit, frozen=True, kw_only=True, tag="remove_property"):
    """Remove a property."""

    name: PropertyName

    def changes(self, text: str, note: Note, types: Mapping[str, str]) -> tuple[Change, ...]:
        return remove_property(text, note, self.name)


class AddTag(NoteEdit, frozen=True, kw_only=True, tag="add_tag"):
    """Add a tag to the note's properties."""

    tag: TagName

    def changes(self, text: str, note: Note, types: Mapping[str, str]) -> tuple[Change, ...]:
        return add_tag(text, note, self.tag)


class RemoveTag(NoteEdit, frozen=True, kw_only=True, tag="remove_tag"):
    """Remove a tag from the note's properties and its text."""

    tag: TagName

    def changes(self, text: str, note: Note, types: Mapping[str, str]) -> tuple[Change, ...]:
        return remove_tag(text, note, self.tag)


_TASK_ADDRESS: Final = re.compile(r"(.+\.md):(\d{1,9})")
"""A task as the tool `tasks` lists it."""

_STATUSES: Final = {"done": "x", "open": " ", "todo": " "}


class SetTask(NoteEdit, frozen=True, kw_only=True, tag="set_task"):
    """Set the status of one task, found by `line` or by `text`; when `note` is empty, by its text in the
    whole vault. `status` is one character, `toggle`, `done` or `open`."""

    BRIEF = "line or text (no name: anywhere), status"

    note: str = ""
    line: Line = 0
    text: Annotated[str, Meta(description="Task text")] = ""
    status: Annotated[str, Meta(description="Character or toggle")] = "toggle"

    def changes(self, text: str, note: Note, types: Mapping[str, str]) -> tuple[Change, ...]:
        task = find_task(note, line=self.line, text=self.text)
        return set_task(text, task, _STATUSES.get(self.status, self.status))

    def needs_index(self, context: OperationContext) -> bool:
        return not self.note

    @classmethod
    def parse_name(cls, name: str) -> dict[str, Any]:
        found = _TASK_ADDRESS.fullmatch(name)
        return {"note": found[1], "line": int(found[2])} if found else {"note": name}


_RENAMED: Final = "to (rename_tag without name: everywhere)"


class RenameProperty(NoteEdit, frozen=True, kw_only=True, tag="rename_property"):
    """Rename a property of the note."""

    BRIEF = _RENAMED

    name: PropertyName
    to: NewName

    def changes(self, text: str, note: Note, types: Mapping[str, str]) -> tuple[Change, ...]:
        return rename_property(text, note, self.name, self.to)


class RenameTag(Operation, frozen=True, kw_only=True, tag="rename_tag"):
    """Rename a tag and those nested in it, in one note, or in the whole vault when `note` is empty."""

    BRIEF = _RENAMED

    tag: TagName
    to: NewName
    note: str = ""
    expected: str = ""

    def needs_index(self, context: OperationContext) -> bool:
        return not self.note

    def changes_other_files(self, context: OperationContext) -> bool:
        return not self.note


class _RenameTarget(NamedOperation, frozen=True, kw_only=True):
    BRIEF = _RENAMED

    def changes_other_files(self, context: OperationContext) -> bool:
        return True


class RenameHeading(_RenameTarget, frozen=True, kw_only=True, tag="rename_heading"):
    """Rename a heading, and rewrite the links to it in all notes."""

    heading: SectionName
    to: NewName


class RenameBlock(_RenameTarget, frozen=True, kw_only=True, tag="rename_block"):
    """Rename a block id, and rewrite the links to it in all notes."""

    block: BlockName
    to: NewName


class ExtractSection(NamedOperation, frozen=True, kw_only=True, tag="extract_section"):
    """Move the text under `heading` into a new note, `to` or by default the heading's text. The heading
    stays, with a link to the note; links to what was moved follow."""

    BRIEF = "heading, to"
    PATHS = ("note", "to")

    heading: SectionName
    to: NewName = ""

    def changes_other_files(self, context: OperationContext) -> bool:
        return True


class LinkMentions(NamedOperation, frozen=True, kw_only=True, tag="link_mentions"):
    """Turn every place in other notes that mentions the note, by its name or an alias, into a link to it."""

    def changes_other_files(self, context: OperationContext) -> bool:
        return True


class InsertTemplate(NoteEdit, frozen=True, kw_only=True, tag="insert_template"):
    """Insert a template's text at the end of the note or of the section under `heading`, or before `line`.
    The template's properties are added to the note's own, which stay as they are."""

    BRIEF = "template, at heading or line"

    template: TemplateName
    heading: SectionName = ""
    line: Line = 0


class Move(NamedOperation, frozen=True, kw_only=True, tag="move"):
    """Move a note, an attachment or a folder to a new path, and rewrite every link to it. A `to` that ends
    with `/` names the folder to move into, and so, for a file, does the name of an existing folder. Without
    an extension, it keeps the old one."""

    OFFERED = frozenset({"batch", "edit"})
    PATHS = ("note", "to")

    to: NewName

    def changes_other_files(self, context: OperationContext) -> bool:
        return True


class Merge(NamedOperation, frozen=True, kw_only=True, tag="merge"):
    """Merge a note into the existing note `to`: its text is added at the end of `to`, properties that are
    missing there are added, every link to it is updated, and it goes to the trash."""

    BRIEF = "into the note to"
    PATHS = ("note", "to")

    to: NewName

    def changes_other_files(self, context: OperationContext) -> bool:
        return True

    @property
    def result(self) -> str:
        return self.to


class Delete(NamedOperation, frozen=True, kw_only=True, tag="delete"):
    """Move a note, an attachment or a folder to the trash that the vault's settings name."""

    OFFERED = frozenset({"batch", "edit"})

    def changes_other_files(self, context: OperationContext) -> bool:
        with contextlib.suppress(InvalidArgument):
            return context.is_folder(vault_path(self.note))
        return False


class AddFile(Operation, frozen=True, kw_only=True, tag="add_file"):
    """Add an attachment with these bytes, and show it at the end of the note `embed_in`. Only programs use
    it: JSON has no bytes."""

    OFFERED = frozenset()
    PATHS = ("path",)

    path: str
    data: bytes
    embed_in: str = ""
