"""Keeps the index up to date with the disk: which process does it, when, and how a query waits for it.

One process per vault and machine is the leader (`engine.index_leader`): it watches the vault and indexes
every change. Other processes read the same index. One that runs only a query or two does not lead: it
compares the vault by stat first, unless a leader watches. Every process indexes the files that it wrote
itself (`engine.follower`) before its next query.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable
from contextlib import AbstractContextManager
from pathlib import Path
from typing import TYPE_CHECKING, Final, Protocol

from vaultbridge.engine.follower import Follower, OthersChanges
from vaultbridge.engine.index_leader import IndexLeader
from vaultbridge.engine.scoped_index import ScopedIndexes
from vaultbridge.errors import EngineFailure, TimedOut, VaultbridgeError
from vaultbridge.index.ignored import mark_ignored
from vaultbridge.index.store.database import Index, read_meta
from vaultbridge.index.sync import Synchronizer, SyncReport
from vaultbridge.vault.locking import FileLock
from vaultbridge.vault.paths import VaultFolder, VaultPath
from vaultbridge.vault.settings import VaultSettings
from vaultbridge.vault.watch import PathsChanged, Rescan, VaultLost, VaultWatcher
from vaultbridge.vault.write.journal import Journal
from vaultbridge.vault.write.replace import remove_leftover
from vaultbridge.vault.write.transaction import ignore_checkpoint

if TYPE_CHECKING:
    from vaultbridge.vault.watch import WatchEvent

TAKEOVER_SECONDS: Final = 2.0
"""How often a process that is not the leader tries to become it: a dead leader is replaced within this
time."""

TRUSTED_SECONDS: Final = 0.5
"""Without a leader, how long a comparison with the disk is good enough for further queries."""

HEAL_SECONDS: Final = 300.0
"""How often the leader compares everything by stat, in case the system silently lost a notification."""

DAMAGE_SECONDS: Final = 10.0
"""How often the leader checks that the index is complete: another process may have found it damaged and
deleted it, and only the leader builds it again."""

CHECKPOINT_FILES: Final = 100
"""If this many of our files change at once, the index is checkpointed right after: they fill about as many
pages as SQLite itself would wait for."""

WAIT_SECONDS: Final = 10.0
"""The longest a query waits for a change that is being indexed."""

COMPLETE_SECONDS: Final = 20.0
"""The longest a move waits for a first build: less than a call may take."""

COMPLETE_POLL_SECONDS: Final = 0.05
"""How often it checks: another process may be the one that builds."""

log = logging.getLogger(__name__)

ChangeListener = Callable[[frozenset[VaultPath] | None], None]
"""Called with the paths that changed, or with None when anything may have; from any thread. Must not
block."""


class Watcher(Protocol):
    """As `vault.watch.VaultWatcher`."""

    def start(self) -> None: ...

    def stop(self) -> None: ...


class IndexSync:
    """Owns the index of one vault in this process. Any thread may call it. `watch` makes the watcher that
    reports changes while this process leads; by default it uses the system's notifications. `settings` are
    the app's as they are now: they say which files it ignores. `checkpoint` is called before each query
    ("query"), while a change waits for a first build ("waiting for the index") and before the watch is
    trusted after a comparison ("compared"). `returned` is called when the vault is there again after it was
    missing, before it is compared."""

    def __init__(
        self,
        root: VaultFolder,
        folder: Path,
        journal: Journal,
        *,
        settings: Callable[[], VaultSettings] = VaultSettings,
        clock: Callable[[], float] = time.time,
        checkpoint: Callable[[str], None] = ignore_checkpoint,
        watch: Callable[[VaultFolder, Callable[[WatchEvent], None]], Watcher] | None = None,
        returned: Callable[[], object] = lambda: None,
    ) -> None:
        self._root = root
        self._folder = folder
        self._writer_lock = journal.writer_lock
        self._settings = settings
        self._clock = clock
        self._checkpoint = checkpoint
        self._make_watcher = watch
        self._returned = returned
        self._leader = IndexLeader(folder)
        self._syncing = threading.RLock()
        self._opening = threading.Lock()
        self._index: Index | None = None
        self._closed = False
        self._sync: Synchronizer | None = None
        self._watcher: Watcher | None = None
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._taken = threading.Event()
        """A query has taken the leader's lock, so our thread need not wait for its next attempt."""
        self._incomplete = threading.Event()
        """A query found the index incomplete: wakes the leader's thread, in case it is not building yet."""
        self._watching = False
        self._behind = False
        """The vault is watched, but a change is not in the index: the leader will compare everything soon."""
        self._trusting = threading.Lock()
        """Held while deciding whether the watch can be trusted: a writer may find that it cannot."""
        self._compared = -TRUSTED_SECONDS
        self._looked = -TRUSTED_SECONDS
        """When the last comparison ended, and when it began."""
        self._left_out = 0
        """How many files left out have been logged: each number is logged once."""
        self.scoped = ScopedIndexes(root, folder, filled=lambda: self._notify(None))
        self._follower = Follower(self._index_own, self._tidy)
        self._others = OthersChanges(journal)
        self._listeners: list[ChangeListener] = []
        self.problem = ""
        """Why the vault cannot be watched now, for people; empty when all is well."""

    @property
    def index(self) -> Index:
        """Opened when it is first needed. Raises EngineFailure after `close`."""
        if self._index is None:
            with self._opening:
                if self._closed:
                    raise EngineFailure("The vault is closed.")
                if self._index is None:
                    self._index = Index.open(self._folder)
        return self._index

    def read_files_version(self) -> int:
        """The index's counter of added and removed files."""
        with self.index.reading() as db:
            return read_meta(db, "files_version")

    def _synchronizer(self) -> Synchronizer:
        if self._sync is None:
            self._sync = Synchronizer(self._root, self.index)
        return self._sync

    @property
    def is_leader(self) -> bool:
        return self._leader.held

    @property
    def watching(self) -> bool:
        """Whether changes are noticed as they happen, so that a query need not compare with the disk."""
        return self._watching

    def listen(self, listener: ChangeListener) -> Callable[[], None]:
        """Calls `listener` for every change from now on. Returns a function that stops it."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    # For one query.

    def refresh(self, progress: Callable[[int, int], None] | None = None) -> SyncReport:
        """Compares the whole vault now, unless another process watches it. Waits for one that is
        comparing."""
        with self._syncing:
            borrowed = not self._leader.held
            if borrowed and not self._borrow():
                return SyncReport()
            try:
                return self._compare(progress)
            finally:
                if borrowed and self._thread is None:
                    self._leader.release()
                else:
                    self._taken.set()

    def _borrow(self) -> bool:
        """Takes the leader's lock for one comparison. False when the leader watches the vault or is building
        the index for the first time (then the answer says so). We do not wait for a stalled leader: comparing
        as well only costs time, while an answer from an old index would be wrong."""
        deadline = time.monotonic() + WAIT_SECONDS
        while not self._leader.claim():
            if self._leader.is_watched or not self.index.status().complete:
                return False
            if self._leader.is_stalled or time.monotonic() > deadline:
                return True
            if self._stop.wait(COMPLETE_POLL_SECONDS):
                return False
        return True

    def ensure_fresh(self) -> None:
        """Called before a query: indexes what any engine has changed, and compares with the disk if nobody is
        watching it. Does not wait for a first build: then the answer says that it is partial."""
        self._checkpoint("query")
        # The index still has the notes of a vault that is missing now.
        self._root.check()
        self._follower.wait(WAIT_SECONDS)
        self._mark_ignored()
        complete = self.index.status().complete
        # A first build reads the files as they are now.
        if complete and not self._others.index_new(self._index_written):
            self._fall_behind()
        if self._thread is not None and not complete:
            self._incomplete.set()
            return
        if not self._syncing.acquire(timeout=WAIT_SECONDS):
            return
        try:
            trusted = time.monotonic() - self._compared < TRUSTED_SECONDS
            # An index that was just compared and is incomplete has been replaced since.
            if not self._watching and not (trusted and complete):
                self.refresh()
        finally:
            self._syncing.release()

    def _mark_ignored(self) -> None:
        mark_ignored(self.index, self._settings().ignore_filters)

    def during_edit(self) -> AbstractContextManager[None]:
        """Held while this process carries out an edit: what it wrote before is indexed a little later."""
        return self._follower.during_edit()

    def index_written(self, paths: Iterable[VaultPath], change: int = 0) -> None:
        """Called after this engine has changed these files: they are indexed before its next query. `change`
        is the number of the change in the journal, if it has one."""
        self._follower.add(paths)
        self._others.skip(change)

    def _index_own(self, changed: frozenset[VaultPath]) -> None:
        """Index what this engine wrote, in the follower's thread, while further edits may be made."""
        self._index_written(changed, self._follower.make_pause())

    def _index_written(self, changed: frozenset[VaultPath], pause: Callable[[], None] = lambda: None) -> None:
        try:
            # Not the leader's synchronizer: this must not wait for a first build, which may take minutes. The
            # index itself serializes the two writers.
            own = Synchronizer(self._root, self.index)
            if self._try_sync(lambda: own.sync_paths(changed, pause)) is None:
                self._fall_behind()
        except Exception:
            log.exception("A change could not be indexed; queries will compare with the disk themselves.")
            self._fall_behind()
        self._notify(changed)

    def _tidy(self, files: int) -> None:
        """After a large change, while nobody waits: its pages would otherwise be copied during the commit of
        a later one, for which a query may be waiting."""
        if files >= CHECKPOINT_FILES and self._index is not None:
            self._index.checkpoint()

    def wait_complete(self) -> None:
        """Called before a change that must know every link: waits for a first build. Raises TimedOut."""
        self.wait_until_complete(lambda: self.index)

    def wait_until_complete(self, get_index: Callable[[], Index]) -> Index:
        deadline = time.monotonic() + COMPLETE_SECONDS
        while not (index := get_index()).status().complete:
            self._checkpoint("waiting for the index")
            if time.monotonic() > deadline or self._stop.wait(COMPLETE_POLL_SECONDS):
                raise TimedOut(
                    "The index is still being built.",
                    hint="A move needs to know every link. Try again in a moment.",
                )
        return index

    def whole_index(self) -> Index:
        """The index, up to date and complete. Raises TimedOut."""
        self.ensure_fresh()
        self.wait_complete()
        return self.index

    def compare_since(self, moment: float) -> None:
        """Called before a change that must know every link: makes sure that nothing that was on disk at
        `moment` (of the monotonic clock) is missing. A watcher reports a change with a delay, which is fine
        for queries; but a link saved just now would stay broken. Raises TimedOut."""
        if not self._syncing.acquire(timeout=COMPLETE_SECONDS):
            raise TimedOut("The vault is being compared with its index.", hint="Try again in a moment.")
        try:
            report = self._compare() if self._looked < moment else None
        finally:
            self._syncing.release()
        if report:
            self._notify(None)

    # For a process that keeps running.

    def start(self) -> None:
        """Leads from now on, or waits while another process does. Returns at once."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="index-leader", daemon=True)
            self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._taken.set()
        self._incomplete.set()
        if self._watcher is not None:
            self._watcher.stop()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._follower.close(WAIT_SECONDS)
        self.scoped.close()
        with self._syncing, self._opening:
            self._closed = True
            if self._index is not None:
                self._index.close()
            self._leader.release()

    def _run(self) -> None:
        """The leader's thread: takes the lock when it is free, then watches, and compares everything
        regularly."""
        try:
            while not self._stop.is_set():
                if self._leader.claim():
                    self._watch()
                    return
                self._taken.wait(TAKEOVER_SECONDS)
                self._taken.clear()
        except Exception:
            log.exception(
                "Keeping the index up to date failed; queries will compare with the disk themselves."
            )
            self._watching = False
            self._thread = None
            self._leader.release()

    def _watch(self) -> None:
        self._watcher = (self._make_watcher or VaultWatcher)(self._root, self._follow)
        self._watcher.start()
        compared = time.monotonic()
        while not self._stop.is_set():
            self._incomplete.wait(DAMAGE_SECONDS)
            self._incomplete.clear()
            self._renew_heartbeat()
            if self._behind:
                self._catch_up()
            elif time.monotonic() - compared >= HEAL_SECONDS or self._is_incomplete():
                self._compare_all()
                compared = time.monotonic()

    def _renew_heartbeat(self) -> None:
        """If the cache folder was deleted, and the lock with it, claims the lock again."""
        try:
            if self._leader.claim() and self._watching:
                self._leader.mark_watching(watching=True)
        except (VaultbridgeError, OSError) as error:
            log.warning("The index cannot be kept up to date: %s", type(error).__name__)

    def _fall_behind(self) -> None:
        """A change could not be indexed: queries compare with the disk themselves until the leader has."""
        with self._trusting:
            self._behind = self._watcher is not None
            if self._watching:
                self._set_watching(watching=False)
        self._compared = -TRUSTED_SECONDS

    def _catch_up(self) -> None:
        """Queries may trust the watch again only when everything has been compared and nothing was missed in
        the meantime."""
        self._behind = False
        done = self._compare_all()
        self._checkpoint("compared")
        with self._trusting:
            self._behind = self._behind or not done
            self._set_watching(watching=not self._behind and not self.problem)

    def _is_incomplete(self) -> bool:
        try:
            return not self.index.status().complete
        except VaultbridgeError as error:
            log.warning("The index could not be read: %s", error)
            return True

    def _follow(self, event: WatchEvent) -> None:
        try:
            self._handle(event)
        except Exception:
            log.exception("A change could not be indexed; queries will compare with the disk themselves.")
            self._fall_behind()

    def _handle(self, event: WatchEvent) -> None:
        match event:
            case PathsChanged(paths=paths):
                pause = self._follower.make_pause()
                with self._syncing:
                    if self._try_sync(lambda: self._synchronizer().sync_paths(paths, pause)) is None:
                        self._fall_behind()
                self._notify(frozenset(paths))
            case Rescan(why=why):
                self.problem = ""
                if why == "vault-returned":
                    self._returned()
                self._catch_up()
            case VaultLost(why=why):
                self.problem = why
                self._behind = False
                self._set_watching(watching=False)
                log.warning("The vault cannot be watched: %s", why)
            case _:
                self._notify(frozenset())

    def _set_watching(self, *, watching: bool) -> None:
        """While the watch fails, queries compare with the disk themselves, in this process and in others."""
        self._watching = watching
        if not watching:
            self._compared = -TRUSTED_SECONDS
        if self._leader.held:
            self._leader.mark_watching(watching=watching)

    def _compare_all(self) -> bool:
        """False when it failed."""
        with self._syncing:
            # Closing ends a comparison under way; the next one in the queue must not start.
            report = None if self._stop.is_set() else self._try_sync(self._compare)
        if report:
            self._notify(None)
        return report is not None

    def _compare(self, progress: Callable[[int, int], None] | None = None) -> SyncReport:
        """Compares everything, by stat. Also removes temporary files of a writer whose journal is gone: a
        journal that exists has removed its own."""
        started = time.monotonic()
        if not self.index.status().complete:
            # Before a first build, which then writes each file once. Later every query does it.
            self._mark_ignored()
        report = self._synchronizer().sync_all(progress, self._stop.is_set)
        self._compared = time.monotonic()
        self._looked = started
        if len(report.left_out) > self._left_out:
            log.warning(
                "%d files or folders are left out; `vaultbridge index` and vault_info say which and why.",
                len(report.left_out),
            )
        self._left_out = len(report.left_out)
        if report.leftovers:
            self._remove_leftovers(report.leftovers)
        return report

    def _remove_leftovers(self, leftovers: Iterable[str]) -> None:
        """Only while no writer is active: if a clock is wrong, the file of a running writer looks old."""
        writer = FileLock(self._writer_lock)
        if not writer.try_acquire():
            return
        try:
            for leftover in leftovers:
                remove_leftover(self._root, leftover, now=self._clock())
        finally:
            writer.release()

    def _try_sync(self, sync: Callable[[], SyncReport]) -> SyncReport | None:
        """Runs a comparison whose failure must not end the watch. None when it failed."""
        try:
            return sync()
        except VaultbridgeError as error:
            log.warning("A change could not be indexed: %s", error)
            return None

    def _notify(self, paths: frozenset[VaultPath] | None) -> None:
        for listener in list(self._listeners):
            listener(paths)
