"""Says which function carries out which operation on a draft."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final

from vaultbridge.engine.drafting.draft import Draft
from vaultbridge.engine.drafting.extract import extract_section
from vaultbridge.engine.drafting.files import delete_named, merge_notes, move_named
from vaultbridge.engine.drafting.naming import OperationContext
from vaultbridge.engine.drafting.notes import (
    add_file,
    create_note,
    edit_text,
    insert_template,
    rename_block,
    rename_heading,
    rename_tag,
    set_task,
    write_text,
)
from vaultbridge.engine.operations import (
    AddFile,
    Create,
    Delete,
    ExtractSection,
    InsertTemplate,
    LinkMentions,
    Merge,
    Move,
    RenameBlock,
    RenameHeading,
    RenameTag,
    SetTask,
    Write,
)
from vaultbridge.engine.operations.base import Operation, Undo
from vaultbridge.engine.related.link_mentions import link_mentions
from vaultbridge.errors import EditRefused


def carry_out(draft: Draft, operation: Operation, context: OperationContext) -> None:
    """Raises VaultbridgeErrors; the caller then throws the draft away."""
    FUNCTIONS.get(type(operation), edit_text)(draft, operation, context)


def _refuse_undo(draft: Draft, operation: Undo, context: OperationContext) -> None:
    raise EditRefused("An undo cannot be part of another change.", hint="Undo it on its own.")


FUNCTIONS: Final[Mapping[type[Operation], Callable[[Draft, Any, OperationContext], None]]] = {
    AddFile: add_file,
    Create: create_note,
    Delete: delete_named,
    ExtractSection: extract_section,
    InsertTemplate: insert_template,
    LinkMentions: link_mentions,
    Merge: merge_notes,
    Move: move_named,
    RenameBlock: rename_block,
    RenameHeading: rename_heading,
    RenameTag: rename_tag,
    SetTask: set_task,
    Undo: _refuse_undo,
    Write: write_text,
}
"""Every other operation only edits the text of one note: a `NoteEdit`."""
