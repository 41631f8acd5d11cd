"""The proposals of a vault, in a database in its state folder that all processes of the machine share.

An assistant's process puts a proposal there and waits; the process where a person decides takes it, writes
the change and records the outcome. So neither has to know the other, and no proposal is lost if one of them
is killed. The file also says which processes have editors open, and which policy a person has set for the
vault. Nothing here reads or writes a note.
"""

from __future__ import annotations

import logging
import os
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

import msgspec

from vaultbridge.engine.outcome import Outcome
from vaultbridge.errors import EngineFailure, InvalidArgument, TimedOut
from vaultbridge.limits import MIB
from vaultbridge.review.accepted import find_accepted
from vaultbridge.review.database import (
    BUSY_SECONDS,
    COLUMNS,
    SETTINGS,
    is_damage,
    open_store,
    parse_policy,
    read_proposals,
)
from vaultbridge.review.listening import StoreListeners
from vaultbridge.review.model import (
    NEXT,
    NEXT_OF_DIFF,
    Decided,
    Proposal,
    ProposalBody,
    ProposalStatus,
    ProposedFile,
)
from vaultbridge.review.policy import Reason, Review
from vaultbridge.system import is_process_alive, make_private_folder
from vaultbridge.vault.locking import FileLock
from vaultbridge.vault.write.store_notes import StoreNotes

if TYPE_CHECKING:
    import sqlite3

    from vaultbridge.engine.engine import Engine

FILE_NAME: Final = "review.sqlite"

OPENING_LOCK: Final = "review.lock"
"""The lock file that a process holds while it opens the proposals. Several that find them damaged would put
aside what the first has made instead, with the proposals in it."""

WAITING_PROPOSALS: Final = 100
"""The most proposals that wait at once: nobody decides on more, and an assistant that makes even more should
be stopped."""

STORED_BYTES: Final = 256 * MIB
"""The most space that all waiting proposals may take, with the content of their files: as much as the
journal."""

KEPT_PROPOSALS: Final = 1000
"""The most decided proposals that are kept, without their content: `history` shows their outcome."""

WAITING_SECONDS: Final = 7 * 86_400.0
"""After a week a proposal expires: the person has had a weekend, and the notes have moved on."""

log = logging.getLogger("vaultbridge.review")

_outcome = msgspec.json.Decoder(Outcome)


class ReviewStore:
    """Can be used in any thread. `folder` is the vault's state folder, and `make_folder` makes it if it is
    not there. `second`: see `StoreNotes`."""

    def __init__(
        self,
        folder: Path,
        *,
        clock: Callable[[], float] = time.time,
        make_folder: Callable[[], None] | None = None,
        second: Path | None = None,
    ) -> None:
        self._make_folder = make_folder or partial(make_private_folder, folder)
        self._file = folder.resolve() / FILE_NAME
        self._clock = clock
        self._lock = threading.RLock()
        self._db: sqlite3.Connection | None = None
        self._second = second
        self._notes = StoreNotes(self._file, second=second)
        self._suspected = ""
        """Why a question found the file damaged; the next one puts it aside."""
        self._inode = 0
        self._listeners = StoreListeners(self._read_version)

    def close(self) -> None:
        self._listeners.close()
        with self._lock:
            self._disconnect()

    def _disconnect(self) -> None:
        if self._db is not None:
            self._db.close()
            self._db = None

    @property
    def exists(self) -> bool:
        """Whether anything was ever stored: most vaults are never reviewed and have no file. One that is gone
        existed, and opening it says so."""
        return self._file.exists() or self._notes.was_used

    # Proposals.

    def add(
        self,
        *,
        actor: str,
        token: str,
        tool: str,
        label: str,
        why: Reason,
        rows: tuple[ProposedFile, ...],
        more: int,
        body: ProposalBody,
    ) -> Proposal:
        """Store a new proposal. Raises InvalidArgument when too much waits already."""
        now = self._clock()
        encoded = msgspec.msgpack.encode(body)
        with self._writing() as db:
            self._tidy(db)
            waiting, stored = db.execute(
                "SELECT count(*), coalesce(sum(length(body)), 0) FROM proposals"
                " WHERE status IN ('waiting', 'deciding') AND why != 'diff'"
            ).fetchone()
            if waiting >= WAITING_PROPOSALS or stored + len(encoded) > STORED_BYTES:
                raise InvalidArgument(
                    f"{waiting} changes are already waiting for a person, and there is no room for this one: "
                    "it was not made.",
                    hint="Ask the person to review some of them first.",
                )
            cursor = db.execute(
                "INSERT INTO proposals (status, at, expires, actor, token, pid, tool, label, why, rows, more,"
                " body) VALUES ('waiting', ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
                (
                    now, now + WAITING_SECONDS, actor, token, os.getpid(), tool, label, why,
                    msgspec.json.encode(rows), more, encoded,
                ),
            )  # fmt: skip
            number = cursor.lastrowid
            assert number is not None
            self._prune(db)
        self._notes.remember_last(number)
        return self.get(number)

    def add_diff(self, diff: Proposal) -> int:
        """Give a diff of Claude Code its number; `record_decision` stores what became of it. It is withdrawn
        when this process ends."""
        with self._writing() as db:
            cursor = db.execute(
                "INSERT INTO proposals (status, at, expires, actor, token, pid, tool, label, why, rows, more,"
                " decider) VALUES ('waiting', ?, 0, ?, '', ?, ?, ?, 'diff', ?, 0, ?)",
                (
                    diff.at, diff.actor, diff.pid, diff.tool, diff.label, msgspec.json.encode(diff.rows),
                    os.getpid(),
                ),
            )  # fmt: skip
            number = cursor.lastrowid
            assert number is not None
            _held.add((self._file, number))
            self._prune(db)
        self._notes.remember_last(number)
        return number

    def get(self, number: int, *, diff: bool = False) -> Proposal:
        """The proposal with this number, or with `diff` the diff. Raises InvalidArgument if there is none."""
        rows = self._select("number = ?", (number,))
        if not rows or rows[0].is_diff is not diff:
            raise _unknown(f"{'d' if diff else 'p'}{number}")
        return rows[0]

    def waiting(self) -> tuple[Proposal, ...]:
        """The undecided proposals of tools, oldest first."""
        rows = self._select("status IN ('waiting', 'deciding') AND why != 'diff' ORDER BY number", ())
        return tuple(proposal for proposal in rows if proposal.waits)

    def latest(self, limit: int) -> tuple[Proposal, ...]:
        """The newest proposals and diffs, newest first."""
        return self._select("1 ORDER BY number DESC LIMIT ?", (limit,))

    def replace_body(
        self, number: int, before: ProposalBody, after: ProposalBody, rows: tuple[ProposedFile, ...]
    ) -> bool:
        """Store a new version, unless another process was faster. Returns whether it was stored."""
        with self._writing() as db:
            changed = db.execute(
                "UPDATE proposals SET body = ?, rows = ?, more = ? WHERE number = ? AND body = ?",
                (
                    msgspec.msgpack.encode(after), msgspec.json.encode(rows), after.version.more, number,
                    msgspec.msgpack.encode(before),
                ),
            ).rowcount  # fmt: skip
        return changed > 0

    def claim(self, number: int) -> bool:
        """Take a proposal to decide on it; of several deciders only one gets it, and none if its change was
        made already. Call `record_decision` or `release` afterwards."""
        with self._writing() as db:
            self._tidy(db)
            claimed = self._move(db, number, "deciding", decider=os.getpid())
            if claimed and (claimed := not self._settle(db, number)):
                _held.add((self._file, number))
        return claimed

    def release(self, number: int) -> None:
        """Give back a claimed proposal that was not decided after all. If its change was made nevertheless,
        it is accepted."""
        _held.discard((self._file, number))
        with self._writing() as db:
            if not self._settle(db, number):
                self._move(db, number, "waiting", decider=0)

    def record_decision(
        self, number: int, status: ProposalStatus, decided: Decided, outcome: Outcome | None = None
    ) -> None:
        """Store the outcome of a claimed proposal or of a diff."""
        with self._writing() as db:
            stored = self._move(
                db,
                number,
                status,
                decided=msgspec.json.encode(decided),
                outcome=None if outcome is None else msgspec.json.encode(outcome),
                body=None,
            )
        if not stored:
            log.warning("That proposal %d is %s was not stored: it is decided already.", number, status)
        _held.discard((self._file, number))

    def outcome(self, number: int) -> Outcome:
        """What an accepted change did, as reported by the process that wrote it."""
        row = self._query("SELECT outcome FROM proposals WHERE number = ?", (number,))
        return _outcome.decode(row[0][0]) if row and row[0][0] is not None else Outcome(files=())

    def wait(self, number: int, seconds: float) -> Proposal:
        """Wait at most `seconds` until the proposal is decided, and return it as it is then."""
        self._listeners.wait_until(lambda: not self.get(number).waits, seconds)
        return self.get(number)

    # The policy that a person has set, and the editors in which one can decide.

    @property
    def policy(self) -> Review | None:
        """What a person has set for the vault; None if nothing is set. If it is not known any more,
        everything is reviewed until a person chooses again."""
        if not self.exists:
            return None
        policy = parse_policy(self._query(SETTINGS, ()))
        return "all" if policy is None else policy or None

    def set_policy(self, review: Review | None) -> None:
        with self._writing() as db:
            db.execute("DELETE FROM settings")
            if review is not None:
                db.execute("INSERT INTO settings VALUES ('review', ?)", (review,))
        # So that a file that is deleted before the first proposal is missed too.
        self._notes.remember_last(0)

    def set_present(self, editors: int) -> None:
        """Store how many editors this process has in which a person can decide."""
        if not editors and not self.exists:
            return
        with self._writing() as db:
            dead = [(pid,) for (pid,) in db.execute("SELECT pid FROM present") if not is_process_alive(pid)]
            db.executemany("DELETE FROM present WHERE pid = ?", dead)
            db.execute("DELETE FROM present WHERE pid = ?", (os.getpid(),))
            if editors:
                db.execute("INSERT INTO present VALUES (?, ?)", (os.getpid(), editors))

    def is_editor_open(self) -> bool:
        """Whether any process on this machine has an editor open in which a person can decide."""
        rows = self._query("SELECT pid FROM present WHERE editors > 0", ()) if self.exists else []
        return any(is_process_alive(pid) for (pid,) in rows)

    def listen(self, listener: Callable[[], None]) -> Callable[[], None]:
        """See `StoreListeners.add`."""
        return self._listeners.add(listener)

    def _read_version(self) -> tuple[int, int] | None:
        """A value that changes whenever another process may have changed something; None if the store cannot
        be read, which the next question about a proposal reports."""
        try:
            version = int(self._query("PRAGMA data_version", ())[0][0]) if self.exists else 0
        except EngineFailure:
            return None
        return (self._inode, version)

    # The database.

    def _prune(self, db: sqlite3.Connection) -> None:
        db.execute(
            "DELETE FROM proposals WHERE status NOT IN ('waiting', 'deciding') AND number <="
            " (SELECT max(number) FROM proposals) - ?",
            (KEPT_PROPOSALS,),
        )

    def _move(self, db: sqlite3.Connection, number: int, to: ProposalStatus, **columns: object) -> bool:
        """Give a proposal its next status, if `NEXT` allows it."""
        found = db.execute("SELECT status, why FROM proposals WHERE number = ?", (number,)).fetchone()
        if found is None or to not in (NEXT_OF_DIFF if found[1] == "diff" else NEXT).get(found[0], ()):
            return False
        assigned = ", ".join(f"{name} = ?" for name in ("status", *columns))
        db.execute(f"UPDATE proposals SET {assigned} WHERE number = ?", (to, *columns.values(), number))
        return True

    def _settle(self, db: sqlite3.Connection, number: int) -> bool:
        """Whether the change of a proposal was made, which is stored then although nobody has reported it."""
        for proposal in self._read(db, "number = ?", (number,)):
            found = find_accepted(
                self._file.parent, proposal, make_folder=self._make_folder, second=self._second
            )
            if found is not None:
                return self._move(
                    db,
                    number,
                    found.status,
                    decided=msgspec.json.encode(found.decided),
                    outcome=msgspec.json.encode(found.outcome),
                    body=None,
                )
        return False

    def _tidy(self, db: sqlite3.Connection) -> None:
        """What nobody reported: proposals expire; those whose decider was killed wait again, unless their
        change was made; and the diffs of a process that ended are withdrawn, unless their client has written
        them."""
        now = self._clock()
        decided = msgspec.json.encode(Decided(now, ""))
        for proposal in self._read(db, "status IN ('waiting', 'deciding')", ()):
            if not self._is_stale(proposal, now):
                continue
            number = proposal.number
            if proposal.is_diff:
                if not self._settle(db, number):
                    self._move(db, number, "withdrawn", decided=decided)
                continue
            # One that waits may have been decided on too: a power cut may have taken that from the store.
            self._move(db, number, "deciding")
            if self._settle(db, number):
                continue
            self._move(db, number, "waiting", decider=0)
            if proposal.expires < now:
                nobody = msgspec.json.encode(Decided(now, "nobody"))
                self._move(db, number, "expired", decided=nobody, body=None)

    def _is_stale(self, proposal: Proposal, now: float) -> bool:
        if proposal.is_diff or proposal.status == "deciding":
            return proposal.waits and not self._is_held(proposal)
        return proposal.status == "waiting" and proposal.expires < now

    def _is_held(self, proposal: Proposal) -> bool:
        if proposal.holder == os.getpid():
            # An earlier process may have had our number, as every first process of a container has.
            return (self._file, proposal.number) in _held
        return is_process_alive(proposal.holder)

    def _select(self, where: str, values: tuple[object, ...]) -> tuple[Proposal, ...]:
        """The proposals as they are now; none where nothing was ever stored."""
        if not self.exists:
            return ()
        import sqlite3

        with self._lock:
            try:
                found = self._read(self._connection(), where, values)
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise self._fail(error) from error
        now = self._clock()
        if not any(self._is_stale(proposal, now) for proposal in found):
            return found
        with self._writing() as db:
            self._tidy(db)
            return self._read(db, where, values)

    def _read(self, db: sqlite3.Connection, where: str, values: tuple[object, ...]) -> tuple[Proposal, ...]:
        rows = db.execute(f"SELECT {COLUMNS} FROM proposals WHERE {where}", values).fetchall()
        try:
            return read_proposals(rows)
        except (msgspec.MsgspecError, UnicodeDecodeError) as error:
            # SQLite notices no damage in what is stored, and the next question would stumble over it again.
            self._suspected = "a proposal cannot be decoded"
            raise _failure(ValueError(self._suspected)) from error

    def _query(self, sql: str, values: tuple[object, ...]) -> list[Any]:
        import sqlite3

        with self._lock:
            try:
                return self._connection().execute(sql, values).fetchall()
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise self._fail(error) from error

    def _fail(self, error: Exception) -> EngineFailure:
        if is_damage(error):
            self._suspected = str(error)
        return _failure(error)

    @contextmanager
    def _writing(self) -> Iterator[sqlite3.Connection]:
        import sqlite3

        try:
            with self._lock:
                db = self._connection()
                before = db.total_changes
                with db:
                    db.execute("BEGIN IMMEDIATE")
                    yield db
                changed = db.total_changes != before
        except (sqlite3.Error, UnicodeDecodeError) as error:
            raise self._fail(error) from error
        if changed:
            self._listeners.announce()

    def _connection(self) -> sqlite3.Connection:
        """The connection to the file that has the name now: a person may delete the folder at any time."""
        if self._db is not None and self._is_current() and not self._suspected:
            return self._db
        try:
            self._make_folder()
            with FileLock(self._file.with_name(OPENING_LOCK)).hold(BUSY_SECONDS, what="Their file"):
                # Another process may have put it aside already.
                damage = self._suspected if self._is_current() else ""
                self._suspected = ""
                self._disconnect()
                self._db = open_store(self._file, self._notes, damage=damage)
                self._inode = self._file.stat().st_ino
        except (OSError, TimedOut) as error:
            raise _failure(error) from error
        return self._db

    def _is_current(self) -> bool:
        try:
            return self._file.stat().st_ino == self._inode
        except OSError:
            return False


_held: set[tuple[Path, int]] = set()
"""What this process is deciding on or shows, by the file of its store."""

_open_stores: dict[Path, ReviewStore] = {}
_opening = threading.Lock()


def store_of(engine: Engine) -> ReviewStore:
    """The store of an engine's vault: one object per process, so that a decision in this process wakes the
    calls that wait in it."""
    with _opening:
        store = _open_stores.get(engine.state)
        if store is None:
            store = ReviewStore(
                engine.state, make_folder=engine.make_state_folder, second=engine.second_folder
            )
            _open_stores[engine.state] = store
        return store


def _unknown(id_: str) -> InvalidArgument:
    return InvalidArgument(
        f"There is no proposal {id_}.",
        argument="id",
        hint="It may be too old: `history` without an id lists the changes that were made.",
    )


def _failure(error: Exception) -> EngineFailure:
    return EngineFailure(
        f"The proposals that wait for a person could not be used: {error}.",
        hint="Nothing was changed.",
        paths=(),
    )
