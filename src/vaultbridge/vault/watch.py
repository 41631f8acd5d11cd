"""Watches a vault for changes by any program and reports them in batches.

The system's events are collected until they pause (`DEBOUNCE_MS`), so a save, a move or a whole checkout
arrives once. What is not known exactly becomes a `Rescan`: the receiver then compares the whole vault by
stat. Comparing and reading files is left to the receiver. The vault's folder may vanish and come back.

Use it in this order: start, wait for the first `Rescan` (no change is missed from then on), compare
everything once, then handle the batches.
"""

from __future__ import annotations

import contextlib
import errno
import os
import sys
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from msgspec import Struct

from vaultbridge.errors import VaultbridgeError
from vaultbridge.system import MOUNTS, find_disk_kind
from vaultbridge.vault.cloud import icloud_original_name
from vaultbridge.vault.identity.record import CONFIG_FOLDER
from vaultbridge.vault.obsidian import WORKSPACE_FILE
from vaultbridge.vault.paths import VaultFolder, VaultPath, normalize_name
from vaultbridge.vault.settings import SETTINGS_FILES
from vaultbridge.vault.walk import FileEntry, Unreadable, walk
from vaultbridge.vault.watched_folders import list_unwatched, list_watched

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

DEBOUNCE_MS: Final = 100
"""A batch is reported after one to two of these pauses without a change: longer than the gaps within one save
or move, short compared with the second within which a change must be searchable."""

BATCH_MS: Final = 700
"""The longest time that a batch is collected while changes keep coming, so that a long checkout shows
early."""

CHECK_MS: Final = 1000
"""How often, when nothing happens, we check that the vault's folder is still the one that we watch."""

BATCH_PATHS: Final = 1000
"""A batch with more paths is reported as `Rescan`: a stat walk of the vault costs no more then, and so many
events may have overflowed the system's queue silently (Linux holds 16,384 events; one save makes up to
eight)."""

STALL_SECONDS: Final = 3.0
"""Waiting for events, which ends after a second, and delivering the last ones usually takes less than this.
When it takes longer, this process may have been stopped and the queue may have overflowed: everything is
compared."""

RETRY_SECONDS: Final = (0.25, 0.5, 1.0, 2.0, 5.0)
"""How long we wait before trying again to watch a vault that cannot be watched; the last value repeats."""


CROWDED_SECONDS: Final = 60.0
"""The same if the system allows no more watches, the disk reports no changes, or the watch itself failed. An
attempt uses up all watches that are left, if only for a moment, and other programs need them too; a disk
seldom changes its kind, and a folder its name."""

SILENT_DISKS: Final = frozenset(
    {
        *("9p", "drvfs", "virtiofs", "vboxsf", "fuse.vmhgfs-fuse"),
        *("nfs", "nfs4", "cifs", "smb3", "smbfs", "afs", "ceph"),
        *("fuse.sshfs", "fuse.rclone", "fuse.s3fs", "fuse.davfs2", "fuse.google-drive-ocamlfuse"),
    }
)
"""File systems that another machine, or the Windows around a WSL, also writes. inotify reports only what goes
through this kernel (inotify(7), "Limitations and caveats"), so a watch there would miss the app's changes."""


class PathsChanged(Struct, frozen=True):
    """Files or folders that were created, changed, moved (old and new path) or deleted. A deleted folder is
    reported by its own path only; the receiver has a record of what was in it."""

    paths: tuple[VaultPath, ...]


class Rescan(Struct, frozen=True):
    """Anything may have changed."""

    why: Literal["started", "many-changes", "lost-events", "vault-returned"]


class SettingsChanged(Struct, frozen=True):
    """Obsidian's settings changed."""


class WorkspaceChanged(Struct, frozen=True):
    """Obsidian's tabs changed."""


class VaultLost(Struct, frozen=True):
    """The vault cannot be watched now: its folder is gone, or the system allows no more watches. `Rescan`
    follows when it can be watched again; until then only comparing by stat shows what changed."""

    why: str


WatchEvent: TypeAlias = PathsChanged | Rescan | SettingsChanged | WorkspaceChanged | VaultLost


class VaultWatcher:
    """Watches one vault in its own thread, and passes each event to `deliver` in that thread."""

    def __init__(
        self,
        root: VaultFolder,
        deliver: Callable[[WatchEvent], None],
        *,
        batch_paths: int = BATCH_PATHS,
        mounts: Path = MOUNTS,
    ) -> None:
        self._root = root
        self._mounts = mounts
        self._batch_paths = batch_paths
        self._deliver = deliver
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._prefix = str(root.folder).rstrip(os.sep) + os.sep
        self._has_new_folders = False
        self._has_gone = False
        """Whether something, perhaps a folder, was moved or deleted since the folders were last checked."""
        self._watched: frozenset[int] = frozenset()
        """The inodes that were watched when the folders were last checked; none if they cannot be."""
        self._unwatched: frozenset[int] = frozenset()
        """Those of folders that were found unwatched; if they are again, watching anew does not help."""
        self._failed = False
        """Whether the last watch failed by itself, and not because of the vault's folder."""

    def start(self) -> None:
        thread = threading.Thread(target=self._run, name="vault-watch", daemon=True)
        thread.start()
        # Set only now: another thread may call `stop` at any time, and cannot join a thread that has not
        # started.
        self._thread = thread

    def stop(self) -> None:
        """Stops watching and waits for the thread, at most one `DEBOUNCE_MS`."""
        self._stopping.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        why: Literal["started", "lost-events", "vault-returned"] = "started"
        attempt = 0
        reported_lost = False
        while not self._stopping.is_set():
            silent = self._find_silence()
            lost = self._root.absence() or silent
            if not lost:
                try:
                    identity, notices = self._identity(), self._open()
                except (OSError, RuntimeError) as error:
                    lost = _describe_error(error)
                else:
                    if lost := self._find_limit() or self._find_gap(identity) or self._try_again(notices):
                        notices.close()
            if lost:
                if not reported_lost:
                    self._deliver(VaultLost(lost))
                    reported_lost = True
                pause = RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)]
                # The first time, the system may still count the watches that were just closed.
                slow = self._failed or lost == silent or (lost == NO_MORE_WATCHES and attempt > 0)
                self._stopping.wait(CROWDED_SECONDS if slow else pause)
                attempt += 1
                continue
            attempt, reported_lost = 0, False
            try:
                opened = time.monotonic()
                self._expect_watches(identity)
                self._deliver(Rescan(why))
                lost = self._follow(notices, identity, opened)
            finally:
                notices.close()
            if lost == FOLDER_LOST:
                why = "lost-events"
                continue
            self._watched = frozenset()
            if lost:
                self._deliver(VaultLost(lost))
                reported_lost = True
                self._stopping.wait(CROWDED_SECONDS if self._failed else 0)
            why = "vault-returned"

    def _open(self) -> RustNotify:
        from watchfiles._rust_notify import RustNotify

        return RustNotify([str(self._root.folder)], False, False, 0, True, True)  # noqa: FBT003 - it takes no names

    def _find_silence(self) -> str:
        """Why changes made elsewhere would not be noticed; empty where they are."""
        try:
            kind = find_disk_kind(str(self._root.folder), self._mounts.read_text("utf-8", "surrogateescape"))
        except OSError:
            return ""  # on another system, whose watches report them
        return (
            f"changes made elsewhere are not reported on {kind}. {_INSTEAD}" if kind in SILENT_DISKS else ""
        )

    def _identity(self) -> tuple[int, int]:
        status = self._root.folder.stat()
        return status.st_dev, status.st_ino

    def _find_limit(self) -> str:
        """Why folders may be unwatched; empty when all are watched. watchfiles adds a watch for each folder,
        and silently leaves out those for which the system has none left."""
        self._has_new_folders = False
        return "" if _may_watch_one_more(self._root.folder) else NO_MORE_WATCHES

    def _find_gap(self, identity: tuple[int, int]) -> str:
        """Why folders are not watched that were before; empty when all are. A closed watch ends in a thread
        of its own: while a new one was opened, its watches may still have counted, and been free right
        after."""
        if not self._watched:
            return ""
        watched = list_watched()
        if identity[1] in watched and not self._watched & list_unwatched(self._root.folder, watched):
            return ""
        return NO_MORE_WATCHES

    def _try_again(self, notices: RustNotify) -> str:
        """Why a watch that failed fails again; empty if it works now. Opening it looked into every folder, so
        what it cannot report shows at once."""
        if self._failed:
            try:
                notices.watch(BATCH_MS, DEBOUNCE_MS, CHECK_MS, self._stopping)
            except (OSError, RuntimeError) as error:
                return _describe_error(error)
            self._failed = False
        return ""

    def _follow(self, notices: RustNotify, identity: tuple[int, int], looked: float) -> str:
        """Reports batches until the vault is lost, and returns why; empty when asked to stop. `looked` is
        when it was last certain that no event had been lost."""
        while True:
            try:
                batch = notices.watch(BATCH_MS, DEBOUNCE_MS, CHECK_MS, self._stopping)
            except (OSError, RuntimeError) as error:
                self._failed = True
                return _describe_error(error)
            if self._stopping.is_set() or batch == "signal":
                return ""
            try:
                if self._identity() != identity:
                    return self._root.absence() or "another folder is in its place"
            except OSError as error:
                return _describe_error(error)
            stalled = time.monotonic() - looked > STALL_SECONDS
            looked = time.monotonic()
            if stalled:
                self._deliver(Rescan("lost-events"))
                # The comparison itself does not count: a vault that is slow to compare must not cause the
                # next.
                looked = time.monotonic()
            if isinstance(batch, set):
                for event in self._events(place for _, place in batch):
                    self._deliver(event)
                if (self._has_new_folders or self._has_gone) and self._has_lost_folder():
                    return FOLDER_LOST
                if self._has_new_folders and (limit := self._find_limit()):
                    return limit

    def _expect_watches(self, identity: tuple[int, int]) -> None:
        """Remembers what is watched, right after the watch was opened."""
        self._has_gone = False
        watched = list_watched()
        # Some file systems list other numbers than they show to programs.
        self._watched = watched if identity[1] in watched else frozenset()
        if self._watched and self._unwatched:
            self._unwatched &= list_unwatched(self._root.folder, watched)

    def _has_lost_folder(self) -> bool:
        """Whether a folder is no longer watched because of how it was moved: see `watched_folders`."""
        self._has_gone = False
        if not self._watched:
            return False
        before, self._watched = self._watched, list_watched()
        if before <= self._watched and not self._has_new_folders:
            return False
        lost = list_unwatched(self._root.folder, self._watched) - self._unwatched
        self._unwatched |= lost
        return bool(lost)

    def _events(self, places: Iterable[str]) -> list[WatchEvent]:
        paths: set[VaultPath] = set()
        events: list[WatchEvent] = []
        settings = workspace = False
        for place in places:
            if not place.startswith(self._prefix):
                continue
            self._has_gone = self._has_gone or not os.path.lexists(place)
            relative = place[len(self._prefix) :].replace(os.sep, "/")
            if relative.startswith(CONFIG_FOLDER + "/"):
                name = relative[len(CONFIG_FOLDER) + 1 :]
                workspace |= name == WORKSPACE_FILE
                settings |= name in SETTINGS_FILES
            elif (path := _to_vault_path(relative)) is not None:
                paths.add(path)
                if len(paths) <= self._batch_paths:
                    paths.update(self._beneath(path, place))
        if settings:
            events.append(SettingsChanged())
        if workspace:
            events.append(WorkspaceChanged())
        if len(paths) > self._batch_paths:
            self._has_new_folders = True  # Perhaps: we did not look at all of them.
            events.append(Rescan("many-changes"))
        elif paths:
            events.append(PathsChanged(tuple(sorted(paths))))
        return events

    def _beneath(self, path: VaultPath, place: str) -> list[VaultPath]:
        """The files in a new folder: it may have been filled before the system watched it, and then only a
        walk finds them."""
        folder = Path(place)
        found: list[VaultPath] = []
        if folder.is_symlink() or not folder.is_dir():
            return found
        self._has_new_folders = True
        # A folder that vanishes again in the meantime is reported by its own path, like any deleted one.
        with contextlib.suppress(VaultbridgeError):
            for item in walk(self._root, path):
                if isinstance(item, (FileEntry, Unreadable)):
                    found.append(item.path)
                    if len(found) > self._batch_paths:
                        break
        return found


def _to_vault_path(relative: str) -> VaultPath | None:
    """The vault path of a place; None for one that is hidden or has no valid name."""
    parts: list[str] = []
    for stored in relative.split("/"):
        name = normalize_name(icloud_original_name(stored) or stored)
        if not name or name.startswith("."):
            return None
        parts.append(name)
    return VaultPath("/".join(parts))


FOLDER_LOST: Final = "a folder is no longer watched"

_INSTEAD: Final = "Searches compare the vault with the disk instead, which takes longer."
NO_MORE_WATCHES: Final = f"you may watch no more folders (fs.inotify.max_user_watches). {_INSTEAD}"
NO_MORE_WATCHERS: Final = f"you may have no more watchers (fs.inotify.max_user_instances). {_INSTEAD}"
BAD_NAME: Final = f"it contains a file or folder whose name is not UTF-8. {_INSTEAD}"

_NOT_DECODED: Final = "Unable to decode path"
"""How the message of watchfiles begins when it cannot report a name."""

_TOO_MANY_FILES: Final = f"(os error {errno.EMFILE})"
"""How the message of watchfiles ends when it gets no inotify instance."""


def _may_watch_one_more(folder: Path) -> bool:
    """Whether the system lets this user watch one more folder; true when that cannot be found out."""
    if sys.platform != "linux":
        return True
    import ctypes

    attributes_changed = 4
    library = ctypes.CDLL(None, use_errno=True)
    descriptor = library.inotify_init1(os.O_CLOEXEC)
    if descriptor < 0:
        return True
    try:
        watch = library.inotify_add_watch(descriptor, os.fsencode(folder), attributes_changed)
        return watch >= 0 or ctypes.get_errno() != errno.ENOSPC
    finally:
        os.close(descriptor)


def _describe_error(error: BaseException) -> str:
    """The error without the path that the system's text contains."""
    if isinstance(error, FileNotFoundError):
        return "its folder is gone"
    if sys.platform == "linux" and str(error).endswith(_TOO_MANY_FILES):
        return NO_MORE_WATCHERS
    if str(error).startswith(_NOT_DECODED):
        return BAD_NAME
    return os.strerror(error.errno) if isinstance(error, OSError) and error.errno else "unknown error"
