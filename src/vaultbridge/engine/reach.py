"""How far an operation reaches: what has to be known of the vault before it can be carried out."""

from __future__ import annotations

import contextlib

from vaultbridge.engine.naming import Surroundings, new_note_path
from vaultbridge.engine.operations import (
    Create,
    Delete,
    Move,
    NoteEdit,
    Operation,
    RenameBlock,
    RenameHeading,
    RenameTag,
    Write,
)
from vaultbridge.errors import InvalidArgument, VaultbridgeError
from vaultbridge.vault.paths import vault_path


def concerns_others(operation: Operation, around: Surroundings) -> bool:
    """Whether it can only be carried out when every file of the vault is known, with its links: all but a new
    text for one note that is there."""
    match operation:
        case Create():
            try:
                return around.stored(new_note_path(operation.note, around.settings)) is None
            except VaultbridgeError:
                return False  # It will be refused, and the refusal names its place in the batch.
        case RenameTag():
            return not operation.note
        case _:
            return not isinstance(operation, NoteEdit | Write)


def takes_others_along(operation: Operation, around: Surroundings) -> bool:
    """Whether files that it does not name are changed with it: then none may be overlooked."""
    match operation:
        case Move() | RenameHeading() | RenameBlock():
            return True
        case RenameTag():
            return not operation.note
        case Delete():
            with contextlib.suppress(InvalidArgument):
                return around.is_folder(vault_path(operation.note))
    return False
