"""Opens the database of proposals, whatever state it is in, and reads its rows.

A damaged one is kept beside a new one, and the loss is reported with the history. Its policy is taken over;
if that cannot be read, everything is reviewed until a person chooses again, because a damaged file must not
let changes through that somebody wanted to see. Numbers go on above the last one that was given, and a newer
version's file is neither used nor put aside.
"""

from __future__ import annotations

import logging
import time
from contextlib import closing, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

from vaultbridge.errors import EngineFailure
from vaultbridge.review.model import Decided, Proposal, ProposalBody, ProposedFile
from vaultbridge.review.policy import REVIEWS, Review
from vaultbridge.vault.write.journal_schema import check_header
from vaultbridge.vault.write.salvage import choose_kept_name, copy_files, delete_database
from vaultbridge.vault.write.store_notes import SKIPPED, Loss, StoreNotes

if TYPE_CHECKING:
    import sqlite3

BUSY_SECONDS: Final = 10.0
"""How long a reader or writer waits for a transaction of another process: those are short."""

_APPLICATION_ID: Final = 0x76625231
_NEWER_VERSIONS: Final = 100
"""A schema's number from 1 to this is a newer version's; ours is 0."""

_SCHEMA: Final = """
CREATE TABLE proposals (
  number INTEGER PRIMARY KEY AUTOINCREMENT, status TEXT NOT NULL, at REAL NOT NULL, expires REAL NOT NULL,
  actor TEXT NOT NULL, token TEXT NOT NULL, pid INTEGER NOT NULL, tool TEXT NOT NULL, label TEXT NOT NULL,
  why TEXT NOT NULL, rows BLOB NOT NULL, more INTEGER NOT NULL, body BLOB, decided BLOB, outcome BLOB,
  decider INTEGER NOT NULL DEFAULT 0
);
CREATE INDEX waiting ON proposals (number) WHERE status IN ('waiting', 'deciding');
CREATE TABLE settings (name TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE present (pid INTEGER PRIMARY KEY, editors INTEGER NOT NULL)
"""

SETTINGS: Final = "SELECT name, value FROM settings"

COLUMNS: Final = (
    "number, status, at, expires, actor, token, pid, tool, label, why, rows, more, body, decided, decider"
)

log = logging.getLogger("vaultbridge.review")

_rows = msgspec.json.Decoder(tuple[ProposedFile, ...])
_body = msgspec.msgpack.Decoder(ProposalBody)
_decided = msgspec.json.Decoder(Decided)


def is_damage(error: Exception) -> bool:
    """Whether the file's content is wrong. One that is locked, forbidden or full is not damaged."""
    import sqlite3

    code = getattr(error, "sqlite_errorcode", sqlite3.SQLITE_CORRUPT) & 0xFF
    # ERROR: a name in the list of tables is not what it was.
    return code in (sqlite3.SQLITE_CORRUPT, sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_ERROR)


def open_store(file: Path, notes: StoreNotes, *, damage: str = "") -> sqlite3.Connection:
    """Opens the database, or creates it. One with a known `damage` is put aside first. The caller holds the
    lock for opening. Raises OSError, sqlite3.Error and `EngineFailure`."""
    import sqlite3

    if not damage:
        try:
            return _connect(file, notes)
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            if not is_damage(error):
                raise
            damage = str(error)
    policy = _read_policy(file)
    kept = choose_kept_name(file)
    file.replace(kept)
    for tail in ("-wal", "-shm"):
        with suppress(FileNotFoundError):
            Path(f"{file}{tail}").replace(f"{kept}{tail}")
    log.warning("The proposals were damaged (%r); the file is kept as %s.", damage, kept.name)
    return _connect(file, notes, policy=policy, kept=kept.name)


def parse_policy(rows: list[Any]) -> Review | Literal[""] | None:
    """The policy that a person has set, from the rows of `SETTINGS`; "" if none was set, None if it is not
    known, as when a byte of it has flipped, which SQLite does not notice."""
    if not rows:
        return ""
    return next((review for review in REVIEWS if rows == [("review", review)]), None)


def _connect(
    file: Path, notes: StoreNotes, *, policy: str | None = None, kept: str = ""
) -> sqlite3.Connection:
    import sqlite3

    db = sqlite3.connect(file, timeout=BUSY_SECONDS, isolation_level=None, check_same_thread=False)
    try:
        if db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
            _check_kind(db)
            check_header(db, file)
        db.execute("PRAGMA journal_mode = WAL")
        # NORMAL: a power cut may lose the last proposal, which the assistant can make again; no note changes.
        db.execute("PRAGMA synchronous = NORMAL")
        with db:
            db.execute("BEGIN IMMEDIATE")
            last = notes.read_last()
            if not db.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]:
                for statement in _SCHEMA.split(";"):
                    db.execute(statement)
                db.execute(f"PRAGMA application_id = {_APPLICATION_ID}")
                if kept or notes.was_used:
                    _begin_again(db, notes, policy, kept)
            _start_above(db, last)
        _check_kind(db)
        file.chmod(0o600)
    except BaseException:
        db.close()
        raise
    return db


def _check_kind(db: sqlite3.Connection) -> None:
    import sqlite3

    known = db.execute("PRAGMA application_id").fetchone()[0]
    version = db.execute("PRAGMA user_version").fetchone()[0]
    if known == _APPLICATION_ID and 0 < version <= _NEWER_VERSIONS:
        raise EngineFailure(
            "A newer version of vaultbridge wrote the vault's proposals, so this one cannot use them.",
            hint="Nothing was changed. Update vaultbridge, and start it again where an older one runs.",
            paths=(),
        )
    if known != _APPLICATION_ID or version:
        raise sqlite3.DatabaseError("it is not a store of proposals of this version")


def _begin_again(db: sqlite3.Connection, notes: StoreNotes, policy: str | None, kept: str) -> None:
    """In place of a database that was damaged or is gone. `policy` is None when it is not known."""
    if policy is None or policy in REVIEWS:
        db.execute("INSERT INTO settings VALUES ('review', ?)", (policy or "all",))
    text = "The proposals were damaged" if kept else "The proposals were gone"
    text += ": those that waited are lost, and an assistant has to make them again"
    text += f"; the damaged file is kept as {kept}." if kept else "."
    if policy is None:
        text += " The review policy was lost too, so every change is reviewed until you choose one."
    notes.add_loss(Loss(time.time(), text, kept=kept))


def _start_above(db: sqlite3.Connection, last: int) -> None:
    """Gives no number a second time, after a loss or when an older copy was put back."""
    (given,) = db.execute("SELECT coalesce(max(seq), 0) FROM sqlite_sequence").fetchone()
    if given < last:
        db.execute("DELETE FROM sqlite_sequence")
        db.execute("INSERT INTO sqlite_sequence VALUES ('proposals', ?)", (last + SKIPPED,))


def _read_policy(file: Path) -> Review | Literal[""] | None:
    """The policy in a damaged file, as `parse_policy` gives it; None too if it cannot be read."""
    import sqlite3

    copy = file.with_name(f"{file.stem}.examined{file.suffix}")
    delete_database(copy)
    try:
        copy_files(file, copy)
        with closing(sqlite3.connect(copy)) as db:
            return parse_policy(db.execute(SETTINGS).fetchall())
    except (sqlite3.Error, UnicodeDecodeError):
        return None
    finally:
        delete_database(copy)


def read_proposals(rows: list[Any]) -> tuple[Proposal, ...]:
    """Raises MsgspecError and UnicodeDecodeError."""
    return tuple(
        Proposal(
            number=number, status=status, at=at, expires=expires, actor=actor, token=token, pid=pid,
            tool=tool, label=label, why=why, rows=_rows.decode(stored), more=more,
            body=None if body is None else _body.decode(body),
            decided=None if decided is None else _decided.decode(decided), holder=holder,
        )
        for (
            number, status, at, expires, actor, token, pid, tool, label, why, stored, more, body, decided,
            holder,
        ) in rows
    )  # fmt: skip
