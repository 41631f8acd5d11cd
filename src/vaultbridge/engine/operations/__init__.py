"""The operations that change a vault: each one is a Struct that includes what it does.

Its fields are its arguments (those without a default are required), its docstring is its line in the
documents, and `apply`, or `changes` for one that only edits a note's text, carries it out on a draft. A new
one is a new class in `note_edits` or `vault_edits`, listed in `ALL`, and its test: what `batch` and
`edit_note` take, their schemas, `vaultbridge edit`, and the tables in `docs/tools.md` and `docs/cli.md` are
derived from it by `vocabulary`; `make generate` does the rest. `base` has what operations share.

Operations of more than a few lines have their code in `engine.drafting`. It is imported when an operation is
carried out: a client that lists tools loads this package, and should not wait for the rest of the engine.
"""

from typing import Final

from vaultbridge.engine.operations.base import Operation
from vaultbridge.engine.operations.note_edits import (
    AddTag,
    Append,
    ApplyDiff,
    Insert,
    InsertTemplate,
    Prepend,
    RemoveProperty,
    RemoveTag,
    RenameProperty,
    ReplaceSection,
    ReplaceText,
    SetProperty,
    SetTask,
)
from vaultbridge.engine.operations.vault_edits import (
    AddFile,
    Create,
    Delete,
    ExtractSection,
    LinkMentions,
    Merge,
    Move,
    RenameBlock,
    RenameHeading,
    RenameTag,
    Write,
)

ALL: Final[tuple[type[Operation], ...]] = (
    Create,
    Write,
    Append,
    Prepend,
    ReplaceSection,
    Insert,
    ReplaceText,
    ApplyDiff,
    SetProperty,
    RemoveProperty,
    AddTag,
    RemoveTag,
    SetTask,
    RenameProperty,
    RenameTag,
    RenameHeading,
    RenameBlock,
    ExtractSection,
    LinkMentions,
    InsertTemplate,
    Move,
    Merge,
    Delete,
    AddFile,
)
"""Every operation, in the order in which they are documented."""

__all__ = [
    "ALL",
    "AddFile",
    "AddTag",
    "Append",
    "ApplyDiff",
    "Create",
    "Delete",
    "ExtractSection",
    "Insert",
    "InsertTemplate",
    "LinkMentions",
    "Merge",
    "Move",
    "Operation",
    "Prepend",
    "RemoveProperty",
    "RemoveTag",
    "RenameBlock",
    "RenameHeading",
    "RenameProperty",
    "RenameTag",
    "ReplaceSection",
    "ReplaceText",
    "SetProperty",
    "SetTask",
    "Write",
]
