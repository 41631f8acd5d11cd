"""Copies from one journal's database to another what can be read: from a damaged one, and from a second one
that an earlier version wrote in another place.

A damaged file is copied first, and only the copy is opened. Each number is looked up by itself, so that a
page that cannot be read costs only the changes in it, and each row and each content is compared with its
hash. The new journal is complete and on the disk before the damaged one, which is kept, is renamed.
"""

from __future__ import annotations

import logging
import os
import time
import zlib
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from vaultbridge.limits import LARGEST_INTEGER
from vaultbridge.links.resolve import name_key
from vaultbridge.system import sync_file
from vaultbridge.vault.read import content_hash
from vaultbridge.vault.write.journal_rows import (
    COLUMNS,
    JournalEntry,
    RowDamaged,
    list_images,
    read_row,
    seal_row,
)
from vaultbridge.vault.write.journal_schema import (
    choose_first_above,
    connect,
    list_columns,
    list_missing_columns,
    start_numbers_above,
    transaction,
)
from vaultbridge.vault.write.steps import ContentImage, affected_paths
from vaultbridge.vault.write.store_notes import (
    Loss,
    StoreNotes,
    describe_ranges,
    make_ranges,
)

if TYPE_CHECKING:
    import sqlite3

DAMAGED_KEPT: Final = 20
"""How many damaged databases of a kind are kept before the last one is overwritten."""

NUMBERS_TRIED: Final = 200_000
"""How many numbers are looked up in a damaged journal, the newest: ten times as many as it holds, because
some were rolled back and deleted. It takes a second or two."""

_TAILS: Final = ("-wal", "-shm")

_HEADER_BYTES: Final = 100
_PAGE_BYTES: Final = 4096
"""SQLite's usual size of pages, which a journal has."""

log = logging.getLogger(__name__)

FindContent = Callable[[ContentImage], "tuple[int, bytes] | None"]
"""The stored size and form of a content, None if it is not there or not what it was."""


def find_salvaged(place: Path) -> Path | None:
    """A complete new journal that has not yet got its name, because its maker was interrupted."""
    ready = place.with_name(f"{place.stem}.salvaged{place.suffix}")
    return ready if ready.exists() else None


def salvage(place: Path, why: str, notes: StoreNotes) -> None:
    """Replaces a damaged journal with what can be read of it, and keeps it. Only with the writer's lock, and
    while this process has it not open. Can be repeated after an interruption. Raises OSError, and
    sqlite3.Error when the new one cannot be written."""
    if (ready := find_salvaged(place)) is not None:
        if place.exists():
            delete_database(ready)
        else:
            ready.replace(place)
            sync_folder(place.parent)
            return
    copy, made = (place.with_name(f"{place.stem}.{name}{place.suffix}") for name in ("examined", "making"))
    for leftover in (copy, made):
        delete_database(leftover)
    kept = choose_kept_name(place)
    copy_files(place, copy)
    found = _copy_readable(copy, made, notes.read_last())
    delete_database(copy)
    notes.add_loss(Loss(time.time(), found.describe(kept.name), make_ranges(found.lost), kept.name))
    with made.open("rb+") as handle:
        sync_file(handle.fileno())
    ready = made.replace(place.with_name(f"{place.stem}.salvaged{place.suffix}"))
    sync_folder(place.parent)
    place.replace(kept)
    for tail in _TAILS:
        with suppress(FileNotFoundError):
            Path(f"{place}{tail}").replace(f"{kept}{tail}")
    ready.replace(place)
    sync_folder(place.parent)
    log.warning("The journal was damaged (%s). %s", why, found.describe(kept.name))


class _Found(Struct, frozen=True):
    """What was salvaged: the numbers of what is complete, of what has lost content, and what is lost."""

    complete: int
    incomplete: tuple[int, ...]
    lost: tuple[int, ...]
    certain: bool
    """Whether it is known if a change was under way."""

    def describe(self, kept: str) -> str:
        total = self.complete + len(self.incomplete) + len(self.lost)
        held = self.complete + len(self.incomplete)
        text = f"The journal was damaged: {held:,} of {total:,} changes were salvaged"
        if self.incomplete:
            text += f", {len(self.incomplete):,} of them without their content"
        text += f"; the damaged file is kept as {kept}."
        if self.lost:
            text += f" Lost: {describe_ranges(make_ranges(self.lost)[:10])}."
        if not self.certain:
            text += " Whether a change was under way cannot be known: compare what was changed last."
        return text


def _copy_readable(damaged: Path, made: Path, last: int) -> _Found:
    import sqlite3

    target, _ = connect(made, None)
    with closing(target):
        try:
            source = _open_damaged(damaged)
        except (sqlite3.Error, UnicodeDecodeError):
            source = None
        if source is None:
            with transaction(target):
                start_numbers_above(target, choose_first_above(last))
            return _Found(0, (), tuple(range(1, last + 1)), certain=False)
        with closing(source), transaction(target):
            return _copy_all(source, target, last)


def _copy_all(source: sqlite3.Connection, target: sqlite3.Connection, last: int) -> _Found:
    contents, rows = Contents(source), _Rows(source)
    complete, incomplete, lost = 0, [], []
    highest = max(rows.find_highest(), max(rows.indexed, default=0))
    top = max(highest, last)
    for number in range(max(1, top - NUMBERS_TRIED), top + 1):
        row = rows.find(number)
        if row is None:
            # Most numbers without a row are of changes that were deleted for their age, or skipped.
            if number in rows.unreadable or highest < number <= last:
                lost.append(number)
            continue
        try:
            entry = read_row(row)
        except RowDamaged:
            lost.append(number)
            continue
        if copy_change(target, entry, row, contents.find):
            complete += 1
        else:
            incomplete.append(number)
    # At most one change is under way, the one after the last that has ended.
    rows.find(last + 1)
    certain = not lost or (bool(last) and not rows.unreadable.union(lost) & {last + 1})
    _copy_root(source, target)
    _copy_acceptances(source, target)
    start_numbers_above(target, choose_first_above(top))
    return _Found(complete, tuple(incomplete), tuple(lost), certain)


class _Rows:
    """The rows of a damaged journal, looked up one by one."""

    def __init__(self, source: sqlite3.Connection) -> None:
        stored, missing = list_columns(source), list_missing_columns(source)
        defaults = {"author": "''", "seal": "NULL", "incomplete": "0"}
        columns = [name.strip() for name in COLUMNS.split(",")]
        selected = ", ".join(defaults[name] if name in missing else name for name in columns)
        self._select = f"SELECT {selected} FROM transactions NOT INDEXED WHERE id = ?"
        self.are_columns_known = stored == set(columns) - set(missing)
        self._unsealed = "seal" in missing
        self._source = source
        self.unreadable: set[int] = set()
        """Numbers that have or may have a row, which cannot be read."""
        listed = self._ask("SELECT id FROM transactions INDEXED BY times")
        self._is_indexed = listed is not None
        self.indexed = {row[0] for row in listed or () if _is_number(row[0])}

    def find_highest(self) -> int:
        rows = self._ask("SELECT id FROM transactions NOT INDEXED ORDER BY id DESC LIMIT 1")
        return rows[0][0] if rows and _is_number(rows[0][0]) else 0

    def find(self, number: int) -> tuple[Any, ...] | None:
        rows = self._ask(self._select, (number,))
        if rows:
            return _seal(rows[0]) if self._unsealed else rows[0]
        if number in self.indexed or (rows is None and not self._is_indexed):
            self.unreadable.add(number)
        return None

    def _ask(self, question: str, values: tuple[int, ...] = ()) -> list[tuple[Any, ...]] | None:
        """None for what cannot be read."""
        import sqlite3

        try:
            return self._source.execute(question, values).fetchall()
        except (sqlite3.Error, UnicodeDecodeError):
            return None


def _is_number(value: object) -> bool:
    return isinstance(value, int) and 0 < value <= LARGEST_INTEGER


def _seal(row: tuple[Any, ...]) -> tuple[Any, ...]:
    number, _, at, actor, label, undo_of, _, _, acts, _, _, author, _, incomplete = row
    try:
        return (*row[:12], seal_row(number, at, actor, label, undo_of, acts, author), incomplete)
    except (TypeError, OverflowError, UnicodeError):
        return row


class Contents:
    """The contents of another journal, each compared with its hash."""

    def __init__(self, source: sqlite3.Connection) -> None:
        self._source = source
        self._rows: dict[bytes, int] | None = None

    def find(self, image: ContentImage) -> tuple[int, bytes] | None:
        held = self._read("digest = ?", image.digest)
        if held is None or not is_content(held, image):
            # The index may be what is damaged.
            row = self._list_rows().get(image.digest)
            held = None if row is None else self._read("rowid = ?", row)
        return (len(held), held) if held is not None and is_content(held, image) else None

    def _read(self, where: str, value: bytes | int) -> bytes | None:
        import sqlite3

        try:
            row = self._source.execute(f"SELECT data FROM contents WHERE {where}", (value,)).fetchone()
        except (sqlite3.Error, UnicodeDecodeError):
            return None
        return row[0] if row is not None and isinstance(row[0], bytes) else None

    def _list_rows(self) -> dict[bytes, int]:
        if self._rows is None:
            self._rows = {digest: row for row, digest in self._scan() if isinstance(digest, bytes)}
        return self._rows

    def _scan(self) -> Iterator[tuple[int, Any]]:
        import sqlite3

        row = 0
        for _ in range(NUMBERS_TRIED):
            try:
                found = self._source.execute(
                    "SELECT rowid, digest FROM contents NOT INDEXED WHERE rowid > ? ORDER BY rowid LIMIT 1",
                    (row,),
                ).fetchone()
            except (sqlite3.Error, UnicodeDecodeError):
                row += 1
                continue
            if found is None:
                return
            row = found[0]
            yield found


def copy_change(
    target: sqlite3.Connection, entry: JournalEntry, row: tuple[Any, ...], find: FindContent
) -> bool:
    """Adds a change with the number that its row has, and what undoing it needs. Returns whether all of that
    was found."""
    whole = not entry.incomplete
    target.execute(
        f"INSERT OR REPLACE INTO transactions ({COLUMNS}) VALUES ({', '.join('?' * len(row))})", row
    )
    for image in (image for act in entry.acts for image in list_images(act)):
        if not target.execute("SELECT 1 FROM contents WHERE digest = ?", (image.digest,)).fetchone():
            found = find(image)
            if found is None:
                whole = False
                continue
            target.execute("INSERT INTO contents VALUES (?, ?, ?)", (image.digest, *found))
        target.execute("INSERT OR REPLACE INTO uses VALUES (?, ?)", (entry.id, image.digest))
    for key in {name_key(path) for act in entry.acts for path in affected_paths(act)}:
        target.execute("INSERT OR REPLACE INTO touched VALUES (?, ?)", (key, entry.id))
    if not whole:
        target.execute("UPDATE transactions SET incomplete = 1 WHERE id = ?", (entry.id,))
    return whole


def is_content(held: bytes, image: ContentImage) -> bool:
    """Whether a stored form is that of a content."""
    data = unpack(held)
    return data is not None and content_hash(data) == image.hash


def pack(data: bytes) -> tuple[int, bytes]:
    """The size and the stored form of a content. Its first byte says how the rest is encoded."""
    small = zlib.compress(data, 1)
    held = b"z" + small if len(small) < len(data) else b"r" + data
    return len(held), held


def unpack(held: bytes) -> bytes | None:
    if held[:1] == b"r":
        return held[1:]
    try:
        return zlib.decompress(held[1:])
    except zlib.error:
        return None


def _copy_root(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    import sqlite3

    with suppress(sqlite3.Error, UnicodeDecodeError):
        row = source.execute("SELECT place FROM root").fetchone()
        if row is not None and isinstance(row[0], bytes):
            target.execute("INSERT INTO root VALUES (?)", row)


def _copy_acceptances(source: sqlite3.Connection, target: sqlite3.Connection) -> None:
    """As many as can be read, of the changes that were found. Without one, its proposal waits again."""
    import sqlite3

    with suppress(sqlite3.Error, UnicodeDecodeError):
        for row in source.execute("SELECT proposal, id, report FROM acceptances"):
            target.execute(
                "INSERT OR REPLACE INTO acceptances SELECT ?, id, ? FROM transactions WHERE id = ?",
                (row[0], row[2], row[1]),
            )


def _open_damaged(file: Path) -> sqlite3.Connection | None:
    """Opens the copy; None if nothing in it can be read. A damaged header, and then the list of tables with
    it, is written again as it is in any journal."""
    import sqlite3

    for repair in (None, _HEADER_BYTES, _PAGE_BYTES):
        if repair is not None:
            _repair_start(file, repair)
        db = sqlite3.connect(file, isolation_level=None)
        try:
            db.execute("EXPLAIN SELECT digest, data FROM contents").fetchone()
            rows = _Rows(db)
            if repair == _PAGE_BYTES or (rows.find_highest() and rows.are_columns_known):
                return db
        except (sqlite3.Error, UnicodeDecodeError):
            pass
        db.close()
    return None


def _repair_start(file: Path, length: int) -> None:
    """Takes the beginning from a new journal, but for the change counters and sizes
    (https://www.sqlite.org/fileformat.html#the_database_header). Its tables are in the same pages, because
    SQLite moves them to the front of a database that can shrink."""
    model = file.with_name(f"{file.stem}.model{file.suffix}")
    delete_database(model)
    with closing(connect(model, None)[0]):
        pass
    sound = model.read_bytes()[:length]
    delete_database(model)
    with file.open("r+b") as handle:
        counters = handle.read(_HEADER_BYTES).ljust(_HEADER_BYTES, b"\0")[24:28]
        start = bytearray(sound)
        start[24:28] = start[92:96] = counters
        start[28:32] = (os.fstat(handle.fileno()).st_size // _PAGE_BYTES).to_bytes(4, "big")
        # The list of free pages is not needed to read.
        start[32:40] = bytes(8)
        handle.seek(0)
        handle.write(start)


def choose_kept_name(place: Path) -> Path:
    """The name under which a damaged database is kept."""
    kept = place
    for number in range(1, DAMAGED_KEPT + 1):
        kept = place.with_name(f"{place.stem}.damaged-{number}{place.suffix}")
        if not kept.exists():
            break
    return kept


def copy_files(database: Path, copy: Path) -> None:
    """Copies a database that may be damaged, with what its `-wal` file adds, as it is. Raises OSError."""
    import shutil

    with suppress(FileNotFoundError):
        shutil.copyfile(f"{database}-wal", f"{copy}-wal")
    shutil.copyfile(database, copy)


def delete_database(database: Path) -> None:
    """With what belongs to it."""
    for tail in ("", *_TAILS):
        Path(f"{database}{tail}").unlink(missing_ok=True)


def sync_folder(folder: Path) -> None:
    """Waits until the names in it are on the disk."""
    if os.name != "posix":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        sync_file(handle)
    finally:
        os.close(handle)
