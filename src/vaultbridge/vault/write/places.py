"""Where the recorded acts of a vault took place, after the vault was moved.

The journal records exact places on disk. When the vault's folder has another path now, every place in it has
too, and so has a trash that was moved with it, as on a stick that is mounted under another name.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

import msgspec
from msgspec.structs import replace

from vaultbridge.vault.write.journal_rows import COLUMNS, read_row, seal_row
from vaultbridge.vault.write.steps import Act, Moved, Removed, Restored, Trashed, Written

if TYPE_CHECKING:
    import sqlite3

_Act = TypeVar("_Act", bound=Act)


def read_root(db: sqlite3.Connection) -> str | None:
    """The folder in which a journal's places are; None for a journal that does not know it yet, or whose file
    was damaged there."""
    row = db.execute("SELECT place FROM root").fetchone()
    return os.fsdecode(row[0]) if row is not None and isinstance(row[0], bytes) else None


def place_acts(db: sqlite3.Connection, root: str) -> None:
    """Changes all places in a journal, as part of one transaction, after the vault was moved to `root`. Those
    of a journal that does not know where they are stay: it is of an older version, and was not moved."""
    old = read_root(db)
    if old == root:
        return
    if old is not None:
        move = make_mover(old, root)
        for row in db.execute(f"SELECT {COLUMNS} FROM transactions").fetchall():
            entry = read_row(row)
            acts = msgspec.msgpack.encode([move_places(act, move) for act in entry.acts])
            sealed = (entry.id, entry.at, entry.actor, entry.label, entry.undo_of, acts, entry.author)
            db.execute(
                "UPDATE transactions SET acts = ?, seal = ? WHERE id = ?", (acts, seal_row(*sealed), entry.id)
            )
    db.execute("DELETE FROM root")
    db.execute("INSERT INTO root VALUES (?)", (os.fsencode(root),))


def make_mover(old: str, new: str) -> Callable[[str], str]:
    """Returns a function that says where a recorded place is, now that the vault `old` is `new`."""
    old_top, new_top = _find_moved_top(Path(old), Path(new))

    def move(place: str) -> str:
        if moved := _move(place, old, new):
            return moved
        outside = _move(place, str(old_top), str(new_top))
        # A trash beside the vault comes with it only if the folder around both was moved.
        if outside and not os.path.lexists(place) and Path(outside).parent.is_dir():
            return outside
        return place

    return move


def _move(place: str, old: str, new: str) -> str:
    """The place in the new folder; "" if it was not in the old one."""
    if place == old:
        return new
    below = old.rstrip(os.sep) + os.sep
    return new.rstrip(os.sep) + os.sep + place[len(below) :] if place.startswith(below) else ""


def _find_moved_top(old: Path, new: Path) -> tuple[Path, Path]:
    """The topmost folders that differ: for `/a/x/Notes` and `/b/x/Notes` these are `/a` and `/b`."""
    while old.name == new.name and old.parent != old and new.parent != new and old.parent != new.parent:
        old, new = old.parent, new.parent
    return old, new


def move_places(act: _Act, move: Callable[[str], str]) -> _Act:
    """The act with each place where it is now."""
    match act:
        case Restored():
            return replace(act, trashed=move_places(act.trashed, move))
        case Moved():
            return replace(act, place=move(act.place), target_place=move(act.target_place))
        case Trashed():
            return replace(
                act,
                place=move(act.place),
                bin_place=move(act.bin_place),
                info_place=move(act.info_place) if act.info_place else "",
            )
        case Written() | Removed():
            temporary = move(act.temporary) if act.temporary else ""
            return replace(act, place=move(act.place), temporary=temporary)
        case _:
            return replace(act, place=move(act.place))
