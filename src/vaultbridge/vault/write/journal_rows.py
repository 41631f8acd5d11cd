"""The rows of the journal's tables of changes, and of the proposals that they carry out: how they are stored,
and how a damaged change is recognized.

SQLite notices damage to the structure of its file, not to what is stored in it: a byte that flips in a number
or a path would make a change out of another one. So each row has a seal, a hash of what never changes in it.
"""

from __future__ import annotations

from hashlib import blake2b
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec
from msgspec import Struct

from vaultbridge.links.resolve import name_key
from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.write.steps import (
    Act,
    ContentImage,
    Moved,
    Removed,
    Restored,
    Trashed,
    Written,
    affected_paths,
)

if TYPE_CHECKING:
    import sqlite3

EntryState = Literal["pending", "applying", "done", "rolled-back"]
"""`pending`: recorded, no file of the vault has changed yet; `applying`: files are being changed."""

STATES: Final = frozenset({"pending", "applying", "done", "rolled-back"})

COLUMNS: Final = (
    "id, state, at, actor, label, undo_of, undone_by, kept, acts, staged, to_undo, author, seal, incomplete"
)

_acts = msgspec.msgpack.Decoder(list[Act])
_staged = msgspec.msgpack.Decoder(dict[int, int])


class JournalEntry(Struct, frozen=True):
    """One transaction. `kept` are files that someone had changed and that rolling back therefore did not
    touch. `staged` has, by the position of each writing act, the inode of its staged file. `to_undo` is the
    position of the last act that a rollback still has to undo, None before a rollback starts. `actor` is a
    name for people, which a client may choose; `author` identifies the assistant that asked for the change,
    and is "" for a person's and another program's. Of an `incomplete` one, content was lost."""

    id: int
    state: EntryState
    at: float
    actor: str
    label: str
    undo_of: int | None
    undone_by: int | None
    kept: tuple[str, ...]
    acts: tuple[Act, ...]
    staged: dict[int, int]
    to_undo: int | None
    author: str = ""
    incomplete: bool = False

    @property
    def paths(self) -> tuple[VaultPath, ...]:
        """Each path that it changed, once, in order."""
        return tuple(dict.fromkeys(path for act in self.acts for path in affected_paths(act)))


class Acceptance(Struct, frozen=True):
    """The proposal that a change carries out, and what its store has to know of the decision. Recorded with
    the change, so that neither is lost if the process is killed before it has told the store."""

    proposal: str
    """What identifies it: its number alone might be given again."""
    report: bytes


class RowDamaged(ValueError):
    """A row is not what was stored."""


def seal_row(
    number: int, at: float, actor: str, label: str, undo_of: int | None, acts: bytes, author: str
) -> bytes:
    stored = msgspec.msgpack.encode((number, at, actor, label, undo_of, acts, author))
    return blake2b(stored, digest_size=8).digest()


def read_row(row: tuple[Any, ...]) -> JournalEntry:
    """The entry of a row of `COLUMNS`. Raises `RowDamaged`."""
    number, state, at, actor, label, undo_of, undone_by, kept, acts, staged, to_undo, author, seal, lost = row
    try:
        sound = seal == seal_row(number, at, actor, label, undo_of, acts, author)
        if sound and state in STATES and isinstance(undone_by, int | None) and isinstance(kept, str):
            return JournalEntry(
                *(number, state, at, actor, label, undo_of, undone_by),
                kept=tuple(kept.split("\n")) if kept else (),
                acts=tuple(_acts.decode(acts)),
                staged=_staged.decode(staged) if staged else {},
                to_undo=to_undo,
                author=author,
                incomplete=bool(lost),
            )
    except (msgspec.MsgspecError, UnicodeError, TypeError, OverflowError) as error:
        raise RowDamaged("a row cannot be read") from error
    raise RowDamaged("a row is not what was stored")


def list_images(act: Act) -> tuple[ContentImage, ...]:
    """The contents that undoing an act needs, and that its diff shows."""
    if isinstance(act, Written):
        return (act.after,) if act.before is None else (act.before, act.after)
    if isinstance(act, Removed):
        return (act.before,)
    trashed = act.trashed if isinstance(act, Restored) else act
    if isinstance(trashed, Trashed) and trashed.image is not None:
        return (trashed.image,)
    return ()


def add_acceptance(db: sqlite3.Connection, number: int, acceptance: Acceptance) -> None:
    row = (acceptance.proposal, number, acceptance.report)
    db.execute("INSERT OR REPLACE INTO acceptances VALUES (?, ?, ?)", row)


def read_acceptance(db: sqlite3.Connection, proposal: str) -> tuple[int, bytes] | None:
    """The change that was made for a proposal, and its report; None if there is none or it was rolled
    back."""
    row = db.execute(
        "SELECT id, report FROM acceptances WHERE proposal = ? AND id IN"
        " (SELECT id FROM transactions WHERE state = 'done') ORDER BY id LIMIT 1",
        (proposal,),
    ).fetchone()
    return None if row is None else (int(row[0]), row[1])


def affects(entry: JournalEntry, key: str) -> bool:
    """Whether a transaction changed this file, or moved or trashed a folder that contained it."""
    for act in entry.acts:
        if any(name_key(path) == key for path in affected_paths(act)):
            return True
        around = act.trashed if isinstance(act, Restored) else act
        if (isinstance(around, (Moved, Trashed)) and around.folder) and any(
            key.startswith(name_key(path) + "/") for path in affected_paths(around)
        ):
            return True
    return False


def trace_name_back(entry: JournalEntry, key: str) -> str:
    """The name that a file called `key` after a transaction had before it."""
    for act in reversed(entry.acts):
        if isinstance(act, Moved):
            target = name_key(act.target)
            if key == target:
                key = name_key(act.path)
            elif act.folder and key.startswith(target + "/"):
                key = name_key(act.path) + key[len(target) :]
    return key
