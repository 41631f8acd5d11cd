"""The journal as one scope may see it: pages of changes, a diff, an undo. What a change did to hidden files
is told to nobody; a change of hidden files alone does not exist."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

from vaultbridge.errors import InvalidArgument, NoteNotFound, PermissionDenied
from vaultbridge.vault.paths import VaultPath, vault_path

if TYPE_CHECKING:
    from vaultbridge.engine.engine import Engine
    from vaultbridge.engine.operations import Outcome
    from vaultbridge.vault.journal import Entry

PAGES_READ: Final = 20
"""How many pages of the journal one question reads in search of visible changes."""


class ChangePage(Struct, frozen=True):
    """Newest first. `before` is what to ask with for older ones, 0 when there are none."""

    entries: tuple[Entry, ...]
    before: int


def changes(engine: Engine, name: str = "", *, limit: int = 20, before: int = 0) -> ChangePage:
    """Of the whole vault, or of one file, which may be gone by now."""
    path = _path(engine, name) if name else None
    visible = engine.scope.visible
    found: list[Entry] = []
    bound = before or None
    for _ in range(PAGES_READ):
        page = engine.transactor.journal.history(path, limit=limit, before=bound)
        for entry in page:
            if any(map(visible, entry.paths)):
                if len(found) == limit:
                    return ChangePage(tuple(found), found[-1].id)
                found.append(entry)
        if len(page) < limit:
            return ChangePage(tuple(found), 0)
        bound = page[-1].id
    return ChangePage(tuple(found), bound or 0)


def _path(engine: Engine, name: str) -> VaultPath:
    try:
        return engine.find(name)
    except NoteNotFound:
        gone = vault_path(name)
        if not engine.scope.visible(gone):
            raise
        return gone


def seen_paths(engine: Engine, entry: Entry) -> tuple[VaultPath, ...]:
    return tuple(filter(engine.scope.visible, entry.paths))


def change_diff(engine: Engine, number: int) -> str:
    """Raises InvalidArgument for a change that is not there (for this caller)."""
    _entry(engine, number)
    return engine.diff(number)


def undo_change(engine: Engine, number: int, *, force: bool, actor: str) -> Outcome:
    """Raises InvalidArgument, EditRefused, or PermissionDenied when hidden files would change too."""
    entry = _entry(engine, number)
    if len(seen_paths(engine, entry)) < len(entry.paths):
        raise PermissionDenied(f"Change {number} also concerns files that may not be changed from here.")
    return engine.undo(number, force=force, actor=actor)


def _entry(engine: Engine, number: int) -> Entry:
    entry = engine.transactor.journal.entry(number)
    if not seen_paths(engine, entry):
        raise InvalidArgument(f"The journal holds no change {number}.", argument="id")
    return entry
