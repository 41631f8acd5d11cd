"""Moves what cannot be made again from a vault's cache folder, where earlier versions kept it, to its state
folder.

The two may be on different disks. A database is copied with what its `-wal` file adds, the copy is on the
disk before it gets its name, and only then does a folder take the name of the old one. An earlier version
that still runs cannot open that folder, so it refuses changes from then on, instead of recording them where
nobody looks. It is kept out during the move by its writer's lock. Each step can be repeated: whatever is
still in the old place at the next start is moved then, and a process that starts meanwhile waits for the
lock.

An old journal that is not the one that was moved, because an earlier version made it since, is added to the
present one: its changes get numbers of their own, and an interrupted one is rolled back as usual.
"""

from __future__ import annotations

import logging
import os
import time
from collections.abc import Callable
from contextlib import closing, nullcontext, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from vaultbridge.system import sync_file
from vaultbridge.vault.identity.record import RECORD_FILE
from vaultbridge.vault.locking import WRITER_LOCK, WRITER_SECONDS, FileLock
from vaultbridge.vault.write.journal_database import JOURNAL_FILE, JournalFile
from vaultbridge.vault.write.journal_rows import COLUMNS, JournalEntry, RowDamaged, read_row, seal_row
from vaultbridge.vault.write.journal_schema import connect, read_given, transaction
from vaultbridge.vault.write.salvage import (
    Contents,
    FindContent,
    copy_change,
    copy_files,
    delete_database,
    sync_folder,
)
from vaultbridge.vault.write.store_notes import Loss

if TYPE_CHECKING:
    import sqlite3

PROPOSALS_FILE: Final = "review.sqlite"
PAUSES_FILE: Final = "paused.json"

_SMALL: Final = (RECORD_FILE, PAUSES_FILE)
_DATABASES: Final = (JOURNAL_FILE, PROPOSALS_FILE)

_MOVED: Final = (
    "The file that had this name is in the state folder of vaultbridge now (vaultbridge doctor says where).\n"
    "This folder keeps earlier versions from writing to a file of this name. It can be deleted.\n"
)

OTHERS_KEPT: Final = 20
"""How many second databases are kept before the last one is overwritten."""

log = logging.getLogger(__name__)


def move_state(earlier: Path, folder: Path, *, checkpoint: Callable[[str], None] = lambda _: None) -> None:
    """Leaves nothing in the folder `earlier` that belongs into `folder`. Raises OSError, `EngineFailure`, and
    `TimedOut` while a writer holds one of them. `checkpoint` is called at each step."""
    if not _list_left(earlier):
        return
    busy = "The vault's writer"
    with (
        FileLock(folder / WRITER_LOCK).hold(WRITER_SECONDS, what=busy),
        FileLock(earlier / WRITER_LOCK).hold(WRITER_SECONDS, what=busy),
    ):
        for name in _list_left(earlier):
            old, new = earlier / name, folder / name
            if name in _SMALL:
                if not new.exists():
                    _copy(old, new)
                old.unlink()
            elif name in _DATABASES:
                _move_database(old, new, checkpoint)
            elif name in map(_name_aside, _DATABASES):
                named, wanted = (place.with_name(name.removesuffix(".moved")) for place in (old, new))
                if not wanted.exists() and not named.is_file():
                    # Somebody has deleted the state folder meanwhile.
                    _place_copy(old, wanted, checkpoint)
                _close_off(named, checkpoint)
            else:
                _copy(old, _choose_name(new) if new.exists() else new)
                old.unlink()


def _move_database(old: Path, new: Path, checkpoint: Callable[[str], None]) -> None:
    if not new.exists():
        _place_copy(old, new, checkpoint)
        log.warning("%s was moved from the cache folder to the state folder.", old.name)
    elif old.name == JOURNAL_FILE:
        _add_journal(old, new)
    else:
        _copy_database(old, _choose_name(new))
        log.warning("A second %s was found in the cache folder, and is kept beside the first.", old.name)
    checkpoint(f"placed {old.name}")
    _close_off(old, checkpoint)


def _list_left(earlier: Path) -> list[str]:
    """The files that are still there; journals that were put aside, and what an interrupted move has left,
    too."""
    names = [name for name in (*_SMALL, *_DATABASES) if (earlier / name).is_file()]
    if JOURNAL_FILE in names:
        names += [file.name for file in earlier.glob("journal.damaged-*.sqlite") if file.is_file()]
    return names + [name for name in map(_name_aside, _DATABASES) if (earlier / name).is_file()]


def _name_aside(database: str) -> str:
    """The name of a database that was moved, until it is deleted."""
    return f"{database}.moved"


def _place_copy(old: Path, new: Path, checkpoint: Callable[[str], None]) -> None:
    """Raises OSError."""
    made = new.with_name(f"{new.stem}.moving{new.suffix}")
    delete_database(made)
    _copy_database(old, made)
    checkpoint(f"copied {new.name}")
    # The name of the database comes last, because that is what a reader looks for.
    for tail in ("-wal", ""):
        with suppress(FileNotFoundError):
            Path(f"{made}{tail}").replace(f"{new}{tail}")
    sync_folder(new.parent)


def _copy_database(old: Path, made: Path) -> None:
    """A damaged one is copied as it is: whoever opens it next knows what to do."""
    import sqlite3

    try:
        with (
            closing(sqlite3.connect(old, timeout=WRITER_SECONDS)) as source,
            closing(sqlite3.connect(made)) as target,
        ):
            source.backup(target)
    except sqlite3.Error:
        delete_database(made)
        copy_files(old, made)
    made.chmod(0o600)
    with made.open("rb+") as handle:
        sync_file(handle.fileno())


def _copy(old: Path, new: Path) -> None:
    import shutil

    made = new.with_name(f".{new.name}.moving")
    shutil.copyfile(old, made)
    made.chmod(0o600)
    with made.open("rb+") as handle:
        sync_file(handle.fileno())
    made.replace(new)
    sync_folder(new.parent)


def _close_off(old: Path, checkpoint: Callable[[str], None]) -> None:
    """Puts a folder in the place of a database that was moved. Elsewhere than on Windows this also works
    while an earlier version has it open; there it is done at a later start."""
    aside = old.with_name(_name_aside(old.name))
    try:
        if old.is_file():
            old.replace(aside)
        checkpoint(f"renamed {old.name}")
        old.mkdir(mode=0o700, exist_ok=True)
        (old / "MOVED.txt").write_text(_MOVED, encoding="ascii")
        checkpoint(f"closed off {old.name}")
        for tail in ("-wal", "-shm"):
            Path(f"{old}{tail}").unlink(missing_ok=True)
        aside.unlink(missing_ok=True)
    except OSError as error:
        why = os.strerror(error.errno or 0)
        log.warning("%s could not be removed from the cache folder: %s", old.name, why)


def _add_journal(old: Path, new: Path) -> None:
    """Adds the changes that the journal does not have yet; one that cannot be read is kept beside it. Raises
    OSError and `EngineFailure`."""
    import sqlite3

    copy = new.with_name(f"{new.stem}.second{new.suffix}")
    delete_database(copy)
    _copy_database(old, copy)
    # The caller holds the writer's lock.
    file = JournalFile(new, hold=nullcontext)
    try:
        with closing(connect(copy, None)[0]) as source:
            rows = source.execute(f"SELECT {COLUMNS} FROM transactions ORDER BY id").fetchall()
            entries = [(read_row(row), row) for row in rows]
            added = file.ask(lambda db: _add_changes(db, entries, Contents(source).find))
    except (sqlite3.Error, UnicodeDecodeError, RowDamaged):
        kept = copy.replace(_choose_name(new))
        text = f"A second journal was found that cannot be read; it is kept as {kept.name}."
        file.notes.add_loss(Loss(time.time(), text, kept=kept.name))
    else:
        delete_database(copy)
        if added:
            numbers = f"{added[0]} to {added[-1]}"
            text = f"Changes that an earlier version had recorded elsewhere were added, as {numbers}."
            file.notes.add_loss(Loss(time.time(), text))
    finally:
        file.close()


def _add_changes(
    db: sqlite3.Connection, entries: list[tuple[JournalEntry, tuple[Any, ...]]], find: FindContent
) -> list[int]:
    """Returns the numbers that they got."""
    with transaction(db):
        rows = db.execute("SELECT id, at, actor, label FROM transactions").fetchall()
        known, given = set(rows), read_given(db)
        numbers: dict[int | None, int | None] = {None: None}
        missing = []
        for entry, row in entries:
            if (entry.id, entry.at, entry.actor, entry.label) in known:
                numbers[entry.id] = entry.id
            else:
                missing.append((entry, row))
                numbers[entry.id] = given + len(missing)
        for entry, row in missing:
            number, undo_of = numbers[entry.id], numbers.get(entry.undo_of)
            assert number is not None
            seal = seal_row(number, entry.at, entry.actor, entry.label, undo_of, row[8], entry.author)
            row = (number, *row[1:5], undo_of, numbers.get(entry.undone_by), *row[7:12], seal, row[13])
            copy_change(db, replace(entry, id=number), row, find)
        # What the earlier version undid counts as undone.
        for entry, _ in entries:
            if entry.undone_by is not None:
                db.execute(
                    "UPDATE transactions SET undone_by = ? WHERE id = ? AND undone_by IS NULL",
                    (numbers.get(entry.undone_by), numbers[entry.id]),
                )
        return [given + position for position in range(1, len(missing) + 1)]


def _choose_name(file: Path) -> Path:
    """A name beside a file, for another one of the same kind."""
    other = file
    for number in range(1, OTHERS_KEPT + 1):
        other = file.with_name(f"{file.stem}.other-{number}{file.suffix}")
        if not other.exists():
            break
    return other
