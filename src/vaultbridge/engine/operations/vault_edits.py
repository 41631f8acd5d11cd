"""Operations on files and folders, and those that may change more than one note: `apply` carries them out."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Annotated, Any

from msgspec import Meta, field

from vaultbridge.engine.operations.base import (
    RENAMED,
    BlockName,
    ForceEncoding,
    MarkdownText,
    NamedOperation,
    NewName,
    Operation,
    SectionName,
    TagName,
    TemplateName,
)
from vaultbridge.errors import InvalidArgument, VaultbridgeError

if TYPE_CHECKING:
    from vaultbridge.engine.drafting.draft import Draft
    from vaultbridge.engine.drafting.naming import OperationContext


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

    def apply(self, draft: Draft, context: OperationContext) -> None:
        from vaultbridge.engine.drafting.notes import create_note

        create_note(draft, self, context)

    @property
    def replaces_whole(self) -> bool:
        return self.overwrite

    def needs_index(self, context: OperationContext) -> bool:
        from vaultbridge.engine.drafting.naming import new_note_path

        try:
            return context.find_stored_path(new_note_path(self.note, context.settings)) is None
        except VaultbridgeError:
            return False  # It will be refused, and the refusal names its place in the batch.


class Write(NamedOperation, frozen=True, kw_only=True, tag="write"):
    """Replace the whole text of an existing file: it becomes exactly `content`, line ends included."""

    BRIEF = "all content"

    content: MarkdownText
    force: ForceEncoding = False

    def apply(self, draft: Draft, context: OperationContext) -> None:
        from vaultbridge.engine.drafting.notes import write_text

        write_text(draft, self, context)

    @property
    def replaces_whole(self) -> bool:
        # A canvas is edited by rewriting it.
        return not self.note.lower().endswith(".canvas")

    def needs_index(self, context: OperationContext) -> bool:
        return False


class RenameTag(Operation, frozen=True, kw_only=True, tag="rename_tag"):
    """Rename a tag and those nested in it, in one note, or in the whole vault when `note` is empty."""

    BRIEF = RENAMED

    tag: TagName
    to: NewName
    note: str = ""
    expected: str = ""

    def apply(self, draft: Draft, context: OperationContext) -> None:
        from vaultbridge.engine.drafting.notes import rename_tag

        rename_tag(draft, self, context)

    def needs_index(self, context: OperationContext) -> bool:
        return not self.note

    def changes_other_files(self, context: OperationContext) -> bool:
        return not self.note


class _RenameTarget(NamedOperation, frozen=True, kw_only=True):
    BRIEF = RENAMED

    def changes_other_files(self, context: OperationContext) -> bool:
        return True


class RenameHeading(_RenameTarget, frozen=True, kw_only=True, tag="rename_heading"):
    """Rename a heading, and rewrite the links to it in all notes."""

    heading: SectionName
    to: NewName

    def apply(self, draft: Draft, context: OperationContext) -> None:
        from vaultbridge.engine.drafting.notes import rename_target
        from vaultbridge.links.heading_rename import plan_heading_rename

        rename_target(draft, self, self.heading, self.to, context, plan=plan_heading_rename)


class RenameBlock(_RenameTarget, frozen=True, kw_only=True, tag="rename_block"):
    """Rename a block id, and rewrite the links to it in all notes."""

    block: BlockName
    to: NewName

    def apply(self, draft: Draft, context: OperationContext) -> None:
        from vaultbridge.engine.drafting.notes import rename_target
        from vaultbridge.links.heading_rename import plan_block_rename

        rename_target(draft, self, self.block, self.to, context, plan=plan_block_rename)


class ExtractSection(NamedOperation, frozen=True, kw_only=True, tag="extract_section"):
    """Move the text under `heading` into a new note, `to` or by default the heading's text. The heading
    stays, with a link to the note; links to what was moved follow."""

    BRIEF = "heading, to"
    PATHS = ("note", "to")

    heading: SectionName
    to: NewName = ""

    def apply(self, draft: Draft, context: OperationContext) -> None:
        from vaultbridge.engine.drafting.extract import extract_section

        extract_section(draft, self, context)

    def changes_other_files(self, context: OperationContext) -> bool:
        return True


class LinkMentions(NamedOperation, frozen=True, kw_only=True, tag="link_mentions"):
    """Turn every place in other notes that mentions the note, by its name or an alias, into a link to it."""

    def apply(self, draft: Draft, context: OperationContext) -> None:
        from vaultbridge.engine.related.link_mentions import link_mentions

        link_mentions(draft, self, context)

    def changes_other_files(self, context: OperationContext) -> bool:
        return True


class Move(NamedOperation, frozen=True, kw_only=True, tag="move"):
    """Move a note, an attachment or a folder to a new path, and rewrite every link to it. A `to` that ends
    with `/` names the folder to move into, and so, for a file, does the name of an existing folder. Without
    an extension, it keeps the old one."""

    OFFERED = frozenset({"batch", "edit"})
    PATHS = ("note", "to")

    to: NewName

    def apply(self, draft: Draft, context: OperationContext) -> None:
        from vaultbridge.engine.drafting.files import move_named

        move_named(draft, self, context)

    def changes_other_files(self, context: OperationContext) -> bool:
        return True


class Merge(NamedOperation, frozen=True, kw_only=True, tag="merge"):
    """Merge a note into the existing note `to`: its text is added at the end of `to`, properties that are
    missing there are added, every link to it is updated, and it goes to the trash."""

    BRIEF = "into the note to"
    PATHS = ("note", "to")

    to: NewName

    def apply(self, draft: Draft, context: OperationContext) -> None:
        from vaultbridge.engine.drafting.files import merge_notes

        merge_notes(draft, self, context)

    def changes_other_files(self, context: OperationContext) -> bool:
        return True

    @property
    def result(self) -> str:
        return self.to


class Delete(NamedOperation, frozen=True, kw_only=True, tag="delete"):
    """Move a note, an attachment or a folder to the trash that the vault's settings name."""

    OFFERED = frozenset({"batch", "edit"})

    def apply(self, draft: Draft, context: OperationContext) -> None:
        from vaultbridge.engine.drafting.files import delete_named

        delete_named(draft, self, context)

    def changes_other_files(self, context: OperationContext) -> bool:
        from vaultbridge.vault.paths import vault_path

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

    def apply(self, draft: Draft, context: OperationContext) -> None:
        from vaultbridge.engine.drafting.notes import add_file

        add_file(draft, self, context)
