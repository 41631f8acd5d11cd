"""Keeping the index as new as the disk: by whom, when, and how a question waits for it.

One process per vault and machine, the keeper, holds a lock in the vault's cache folder, watches the
vault and follows every change; the others read the same index and one of them takes over when the keeper
goes. A process that only asks a question or two does not keep: it compares the vault by stat before it asks,
unless a keeper watches. Whoever writes notes brings their rows up to date before the next question.

Which process keeps a vault's index fresh.

One process a machine walks and watches a vault: the one that holds a lock file in the vault's cache folder.
The system releases the lock when that process dies, however it dies, and the next that asks takes over.
A process may also hold it for one comparison only; a mark beside the lock says that its holder watches, and
its age that the holder is alive.
Every process may write the rows of files that it changed itself.
"""

from __future__ import annotations

import contextlib
import logging
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vaultbridge.errors import EngineFailure, TimedOut, VaultbridgeError
from vaultbridge.vault.locking import FileLock
from vaultbridge.vault.paths import Root, VaultPath
from vaultbridge.vault.write.replace import remove_leftover

if TYPE_CHECKING:
    from vaultbridge.index.store.database import Index
    from vaultbridge.index.sync.sync import Synchroniser, SyncReport
    from vaultbridge.vault.watch import VaultWatcher, WatchEvent

TAKEOVER_SECONDS: Final = 2.0
"""How often a process that is not the keeper should ask again: a dead keeper is then missed for no longer."""

STALLED_SECONDS: Final = 60.0
"""How old the mark may be: its holder renews it every ten seconds. One that stands still (stopped from the
terminal, or by a debugger) keeps the lock, and nothing follows the disk."""

_LOCK_FILE: Final = "keeper.lock"
_WATCH_MARK: Final = "keeper.watches"


class IndexLeader:
    """The claim to keep one vault's index. Hold it as long as you walk and watch."""

    __slots__ = ("_lock", "_mark")

    def __init__(self, folder: Path) -> None:
        self._lock = FileLock(folder / _LOCK_FILE)
        self._mark = folder / _WATCH_MARK

    @property
    def held(self) -> bool:
        return self._lock.held

    def claim(self) -> bool:
        """Become the keeper unless another process is. True when we are."""
        if self._lock.held:
            return True
        if not self._lock.try_acquire():
            return False
        # Left by one that died: whoever holds the lock watches only when it says so itself.
        self._mark.unlink(missing_ok=True)
        return True

    def release(self) -> None:
        if self._lock.held:
            self._mark.unlink(missing_ok=True)
        self._lock.release()

    def mark_watching(self, *, watching: bool) -> None:
        """For the keeper, now and then: whether the index follows every change from now on."""
        if watching:
            self._mark.touch()
        else:
            self._mark.unlink(missing_ok=True)

    @property
    def is_watched(self) -> bool:
        """Whether the holder of the lock, if there is one, watches the vault."""
        try:
            # Nor may it be of the future, as after a clock was set back.
            return abs(time.time() - self._mark.stat().st_mtime) < STALLED_SECONDS
        except OSError:
            return False

    @property
    def is_stalled(self) -> bool:
        """Whether the holder of the lock watched the vault, and has not been heard of for long."""
        return self._mark.exists() and not self.is_watched


TRUSTED_SECONDS: Final = 0.5
"""Without a keeper, how long a comparison with the disk is good for the next question."""

HEAL_SECONDS: Final = 300.0
"""How often the keeper compares everything by stat, in case the system lost a notice without a word."""

DAMAGE_SECONDS: Final = 10.0
"""How often the keeper makes sure that the index is whole: another process may have met a damaged one and
thrown it away, and only the keeper fills it again."""

WAIT_SECONDS: Final = 10.0
"""The longest a question waits for a change that is being indexed."""

FOLLOWED_AT_ONCE: Final = 16
"""Changed files whose rows are brought up to date before the change is answered: some milliseconds. More, as
after the rename of a much linked note, follow in a thread, and whoever asks next waits for it."""

COMPLETE_SECONDS: Final = 20.0
"""The longest a rename waits for a first build: below the time a call may take."""

COMPLETE_POLL_SECONDS: Final = 0.05
"""How often it looks: another process may be the one that builds."""

log = logging.getLogger(__name__)

Listener = Callable[[frozenset[VaultPath] | None], None]
"""Told the paths that changed, or None when anything may have; called from any thread, must not block."""


class IndexSync:
    """Owns the index of one vault in this process. Any thread may call."""

    def __init__(self, root: Root, folder: Path, *, clock: Callable[[], float] = time.time) -> None:
        self._root = root
        self._folder = folder
        self._clock = clock
        self._leader = IndexLeader(folder)
        self._syncing = threading.RLock()
        self._own_writes = threading.Lock()
        self._opening = threading.Lock()
        self._index: Index | None = None
        self._closed = False
        self._sync: Synchroniser | None = None
        self._watcher: VaultWatcher | None = None
        self._thread: threading.Thread | None = None
        self._stop = threading.Event()
        self._taken = threading.Event()
        """The keeper's lock came to us by a question: whoever stands by need not wait for its next turn."""
        self._incomplete = threading.Event()
        """Somebody asked an index that is not whole: wakes the keeper, should it not be building already."""
        self._watching = False
        self._behind = False
        """The vault is watched, but a change is not in the index: the keeper compares everything soon."""
        self._trusting = threading.Lock()
        """Held while it is decided whether the watch is trusted: whoever writes may find that it is not."""
        self._compared = -TRUSTED_SECONDS
        self._looked = -TRUSTED_SECONDS
        """When the last comparison ended, and when it began."""
        self._unusable_names = 0
        """How many names that cannot be used were told in the log: each finding is told once."""
        self._followers: list[threading.Thread] = []
        self._listeners: list[Listener] = []
        self.problem = ""
        """Why the vault cannot be watched at present, for people; empty when all is well."""

    @property
    def index(self) -> Index:
        """Opened on first need. Raises EngineFailure after the end: nobody would close it then."""
        if self._index is None:
            with self._opening:
                if self._closed:
                    raise EngineFailure("The vault is closed.")
                if self._index is None:
                    from vaultbridge.index.store.database import Index

                    self._index = Index.open(self._folder)
        return self._index

    def _synchroniser(self) -> Synchroniser:
        if self._sync is None:
            from vaultbridge.index.sync.sync import Synchroniser

            self._sync = Synchroniser(self._root, self.index)
        return self._sync

    @property
    def is_leader(self) -> bool:
        return self._leader.held

    @property
    def watching(self) -> bool:
        """Whether changes are noticed as they come, so that a question need not compare with the disk."""
        return self._watching

    def listen(self, listener: Listener) -> Callable[[], None]:
        """Tell `listener` of changes from now on; returns how to stop."""
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    # For one question.

    def refresh(self, progress: Callable[[int, int], None] | None = None) -> SyncReport:
        """Compare the whole vault now, unless another process watches it. Waits for one that compares."""
        from vaultbridge.index.sync.sync import SyncReport

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
        """Take the keeper's lock for one comparison. False when its holder watches the vault or is building
        the index for the first time (the answer says so). One that stands still is not waited for: to compare
        beside it costs time and nothing else, an answer from yesterday's index would be wrong."""
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
        """Before a question: wait for changes that are being indexed, and compare with the disk when nobody
        watches it. Does not wait for a first build: the answer then says that it is partial."""
        self._await_followers()
        complete = self.index.status().complete
        if self._thread is not None and not complete:
            self._incomplete.set()
            return
        if not self._syncing.acquire(timeout=WAIT_SECONDS):
            return
        try:
            trusted = time.monotonic() - self._compared < TRUSTED_SECONDS
            # One that was just compared and is not complete was made anew since.
            if not self._watching and not (trusted and complete):
                self.refresh()
        finally:
            self._syncing.release()

    def index_written(self, paths: Iterable[VaultPath]) -> None:
        """This process has changed these files: bring their rows up to date before anybody asks."""
        changed = frozenset(paths)
        if len(changed) <= FOLLOWED_AT_ONCE:
            self._index_own_writes(changed)
            return
        follower = threading.Thread(target=self._index_own_writes, args=(changed,), name="vault-follow")
        self._followers.append(follower)
        follower.start()

    def _index_own_writes(self, changed: frozenset[VaultPath]) -> None:
        from vaultbridge.index.sync.sync import Synchroniser

        with self._own_writes:
            # Not the keeper's synchroniser: a first build, which may take minutes, must not hold up an edit.
            # The index itself keeps the two writers apart.
            own = Synchroniser(self._root, self.index)
            # The notes are written; that the copy lags must not look like a failed edit.
            if self._guarded(lambda: own.paths(changed)) is None:
                self._fall_behind()
        self._notify(changed)

    def _await_followers(self) -> None:
        """Wait for the rows of what this process has written itself."""
        while self._followers:
            follower = self._followers[0]
            follower.join(WAIT_SECONDS)
            if follower.is_alive():
                return
            with contextlib.suppress(ValueError):
                self._followers.remove(follower)

    def wait_complete(self) -> None:
        """Before a change that must know every link: wait for a first build. Raises TimedOut."""
        deadline = time.monotonic() + COMPLETE_SECONDS
        while not (status := self.index.status()).complete:
            if time.monotonic() > deadline or self._stop.wait(COMPLETE_POLL_SECONDS):
                raise TimedOut(
                    f"The index is still being built: {status.done} of {status.total} notes so far.",
                    hint="Every link must be known before a rename. Try again in a moment.",
                )

    def compare_since(self, moment: float) -> None:
        """Before a change that must know every link: nothing that was on the disk at `moment`, in the
        monotonic clock, is missing. A watch tells of a change when it has paused, which is soon enough for
        questions; but a link saved just now would be broken for good. Raises TimedOut."""
        if not self._syncing.acquire(timeout=COMPLETE_SECONDS):
            raise TimedOut("The vault is being compared with its index.", hint="Try again in a moment.")
        try:
            report = self._compare() if self._looked < moment else None
        finally:
            self._syncing.release()
        if report:
            self._notify(None)

    # For a process that stays.

    def start(self) -> None:
        """Keep the index fresh from now on, or stand by while another process does. Returns at once."""
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="vault-keeper", daemon=True)
            self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._taken.set()
        self._incomplete.set()
        if self._watcher is not None:
            self._watcher.stop()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()
        self._await_followers()
        with self._syncing, self._opening:
            self._closed = True
            if self._index is not None:
                self._index.close()
            self._leader.release()

    def _run(self) -> None:
        """The keeper's thread: take the lock when it is free, then watch; compare everything now and then."""
        try:
            while not self._stop.is_set():
                if self._leader.claim():
                    self._watch()
                    return
                self._taken.wait(TAKEOVER_SECONDS)
                self._taken.clear()
        except Exception:
            log.exception("Keeping the index fresh failed; questions will compare with the disk themselves.")
            self._watching = False
            self._thread = None
            self._leader.release()

    def _watch(self) -> None:
        from vaultbridge.vault.watch import VaultWatcher

        self._watcher = VaultWatcher(self._root, self._follow)
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
        """Somebody may have deleted the cache folder, and the lock with it: then it is claimed again."""
        try:
            if self._leader.claim() and self._watching:
                self._leader.mark_watching(watching=True)
        except (VaultbridgeError, OSError) as error:
            log.warning("The index cannot be kept: %s", type(error).__name__)

    def _fall_behind(self) -> None:
        """A change could not be followed: questions compare with the disk themselves until the keeper has."""
        with self._trusting:
            self._behind = self._watcher is not None
            if self._watching:
                self._set_watching(watching=False)
        self._compared = -TRUSTED_SECONDS

    def _catch_up(self) -> None:
        """Only when everything was compared, and nothing was missed meanwhile, may questions trust the
        watch."""
        self._behind = False
        done = self._compare_all()
        with self._trusting:
            self._behind = self._behind or not done
            self._set_watching(watching=not self._behind and not self.problem)

    def _is_incomplete(self) -> bool:
        try:
            return not self.index.status().complete
        except VaultbridgeError as error:
            log.warning("The index could not be looked at: %s", error)
            return True

    def _follow(self, event: WatchEvent) -> None:
        try:
            self._handle(event)
        except Exception:
            log.exception("A change could not be followed; questions will compare with the disk themselves.")
            self._fall_behind()

    def _handle(self, event: WatchEvent) -> None:
        from vaultbridge.vault.watch import Changed, Rescan, VaultLost

        match event:
            case Changed(paths=paths):
                with self._syncing:
                    if self._guarded(lambda: self._synchroniser().paths(paths)) is None:
                        self._fall_behind()
                self._notify(frozenset(paths))
            case Rescan():
                self.problem = ""
                self._catch_up()
            case VaultLost(why=why):
                self.problem = why
                self._behind = False
                self._set_watching(watching=False)
                log.warning("The vault cannot be watched: %s", why)
            case _:
                self._notify(frozenset())

    def _set_watching(self, *, watching: bool) -> None:
        """While the watch fails, questions compare with the disk themselves, held and those of others."""
        self._watching = watching
        if not watching:
            self._compared = -TRUSTED_SECONDS
        if self._leader.held:
            self._leader.mark_watching(watching=watching)

    def _compare_all(self) -> bool:
        """False when that failed."""
        with self._syncing:
            # Closing ends a comparison under way; the next one in the queue must not begin.
            report = None if self._stop.is_set() else self._guarded(self._compare)
        if report:
            self._notify(None)
        return report is not None

    def _compare(self, progress: Callable[[int, int], None] | None = None) -> SyncReport:
        """Everything, by stat. Also takes away temporary files that a writer left whose journal is gone: a
        journal that is there has done so already."""
        started = time.monotonic()
        report = self._synchroniser().full(progress, self._stop.is_set)
        self._compared = time.monotonic()
        self._looked = started
        if len(report.unusable_names) > self._unusable_names:
            log.warning(
                "%d files or folders are left out: their names are not UTF-8 or hold control characters. "
                "`vaultbridge index` and vault_info name them.",
                len(report.unusable_names),
            )
        self._unusable_names = len(report.unusable_names)
        for leftover in report.leftovers:
            remove_leftover(self._root, leftover, now=self._clock())
        return report

    def _guarded(self, sync: Callable[[], SyncReport]) -> SyncReport | None:
        """A failed look at the disk must not end the watch. None when it failed."""
        try:
            return sync()
        except VaultbridgeError as error:
            log.warning("The index could not follow a change: %s", error)
            return None

    def _notify(self, paths: frozenset[VaultPath] | None) -> None:
        for listener in list(self._listeners):
            listener(paths)
