"""Changes made to the vault by anyone, told in settled batches.

The system's notices are gathered until they pause (`DEBOUNCE_MS`), so a save, a rename or a whole checkout
arrives once. What cannot be told exactly becomes `Rescan`: the receiver then compares the whole vault by
stat, which is its duty, as is reading the files. The vault's folder may vanish and come back.

The order of use: start, wait for the first `Rescan` (the watch stands from then on), compare everything
once, then follow the batches.
"""

from __future__ import annotations

import contextlib
import os
import threading
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from msgspec import Struct

from vaultbridge.errors import VaultbridgeError
from vaultbridge.vault.cloud import icloud_original_name
from vaultbridge.vault.obsidian import WORKSPACE_FILE
from vaultbridge.vault.paths import CONFIG_FOLDER, Root, VaultPath, normalize_name
from vaultbridge.vault.settings import SETTINGS_FILES
from vaultbridge.vault.walk import FileEntry, Unreadable, walk

if TYPE_CHECKING:
    from watchfiles._rust_notify import RustNotify

DEBOUNCE_MS: Final = 100
"""A batch is told after one to two of these pauses without a change: longer than the gaps within one save
or rename, short against the second within which a change must be searchable."""

BATCH_MS: Final = 700
"""The longest a batch is gathered while changes keep coming, so that a long checkout shows in between."""

CHECK_MS: Final = 1000
"""How often, when nothing happens, it is made sure that the vault's folder is still the one watched."""

BATCH_PATHS: Final = 1000
"""A batch with more paths is told as `Rescan`: a stat walk of the vault is no dearer by then, and a storm
that large may have overflowed the system's queue without a word (Linux holds 16,384 notices; one save makes
up to eight)."""

STALL_SECONDS: Final = 3.0
"""When a round of waiting for notices, which ends after a second, and of delivering the last ones has taken
longer, this process may have been stopped meanwhile and the queue have overflowed: everything is compared."""

RETRY_SECONDS: Final = (0.25, 0.5, 1.0, 2.0, 5.0)
"""How long to wait before trying again to watch a vault that cannot be watched; the last repeats."""


class Changed(Struct, frozen=True):
    """Files or folders that were made, changed, renamed (old and new name) or deleted. A deleted folder is
    told by its own path only: what was in it is known to the receiver alone."""

    paths: tuple[VaultPath, ...]


class Rescan(Struct, frozen=True):
    """Anything may have changed."""

    why: Literal["started", "many-changes", "lost-events", "vault-returned"]


class SettingsChanged(Struct, frozen=True):
    """Obsidian's settings were written."""


class WorkspaceChanged(Struct, frozen=True):
    """Obsidian's tabs changed."""


class VaultLost(Struct, frozen=True):
    """The vault cannot be watched at present: its folder is gone, or the system allows no more watches.
    `Rescan` follows when it can be again; until then only comparing by stat shows what changed."""

    why: str


WatchEvent: TypeAlias = Changed | Rescan | SettingsChanged | WorkspaceChanged | VaultLost


class VaultWatcher:
    """Watches one vault from a thread of its own, and hands each event to `deliver` in that thread."""

    def __init__(
        self, root: Root, deliver: Callable[[WatchEvent], None], *, batch_paths: int = BATCH_PATHS
    ) -> None:
        self._root = root
        self._batch_paths = batch_paths
        self._deliver = deliver
        self._stopping = threading.Event()
        self._thread: threading.Thread | None = None
        self._prefix = str(root.folder).rstrip(os.sep) + os.sep

    def start(self) -> None:
        thread = threading.Thread(target=self._run, name="vault-watch", daemon=True)
        thread.start()
        # Only now: `stop` may come from another thread at any time, and cannot wait for one not yet started.
        self._thread = thread

    def stop(self) -> None:
        """Ends the watch and waits for its thread, which takes at most a settling time."""
        self._stopping.set()
        if self._thread is not None and self._thread is not threading.current_thread():
            self._thread.join()

    def _run(self) -> None:
        why: Literal["started", "vault-returned"] = "started"
        attempt = 0
        told_lost = False
        while not self._stopping.is_set():
            lost = self._root.absence()
            if not lost:
                try:
                    identity, notices = self._identity(), self._open()
                except (OSError, RuntimeError) as error:
                    lost = _reason(error)
            if lost:
                if not told_lost:
                    self._deliver(VaultLost(lost))
                    told_lost = True
                self._stopping.wait(RETRY_SECONDS[min(attempt, len(RETRY_SECONDS) - 1)])
                attempt += 1
                continue
            attempt, told_lost = 0, False
            try:
                opened = time.monotonic()
                self._deliver(Rescan(why))
                lost = self._follow(notices, identity, opened)
            finally:
                notices.close()
            if lost:
                self._deliver(VaultLost(lost))
                told_lost = True
            why = "vault-returned"

    def _open(self) -> RustNotify:
        from watchfiles._rust_notify import RustNotify

        return RustNotify([str(self._root.folder)], False, False, 0, True, True)  # noqa: FBT003

    def _identity(self) -> tuple[int, int]:
        status = self._root.folder.stat()
        return status.st_dev, status.st_ino

    def _follow(self, notices: RustNotify, identity: tuple[int, int], looked: float) -> str:
        """Tells batches until the vault is lost; then why, or nothing when asked to stop. `looked` is when
        it was last certain that no notice had been lost."""
        while True:
            try:
                batch = notices.watch(BATCH_MS, DEBOUNCE_MS, CHECK_MS, self._stopping)
            except (OSError, RuntimeError) as error:
                return _reason(error)
            if self._stopping.is_set() or batch == "signal":
                return ""
            try:
                if self._identity() != identity:
                    return self._root.absence() or "another folder is in its place"
            except OSError as error:
                return _reason(error)
            stalled = time.monotonic() - looked > STALL_SECONDS
            looked = time.monotonic()
            if stalled:
                self._deliver(Rescan("lost-events"))
                # However long that took: a vault that is slow to compare must not be compared for ever.
                looked = time.monotonic()
            if isinstance(batch, set):
                for event in self._events(place for _, place in batch):
                    self._deliver(event)

    def _events(self, places: Iterable[str]) -> list[WatchEvent]:
        paths: set[VaultPath] = set()
        events: list[WatchEvent] = []
        settings = workspace = False
        for place in places:
            if not place.startswith(self._prefix):
                continue
            relative = place[len(self._prefix) :].replace(os.sep, "/")
            if relative.startswith(CONFIG_FOLDER + "/"):
                name = relative[len(CONFIG_FOLDER) + 1 :]
                workspace |= name == WORKSPACE_FILE
                settings |= name in SETTINGS_FILES
            elif (path := _shown(relative)) is not None:
                paths.add(path)
                if len(paths) <= self._batch_paths:
                    paths.update(self._beneath(path, place))
        if settings:
            events.append(SettingsChanged())
        if workspace:
            events.append(WorkspaceChanged())
        if len(paths) > self._batch_paths:
            events.append(Rescan("many-changes"))
        elif paths:
            events.append(Changed(tuple(sorted(paths))))
        return events

    def _beneath(self, path: VaultPath, place: str) -> list[VaultPath]:
        """The files in a folder that appeared: it may have been filled before the system watched it. Told
        by walking, because nobody else reports them."""
        folder = Path(place)
        found: list[VaultPath] = []
        if folder.is_symlink() or not folder.is_dir():
            return found
        # A folder that vanishes again meanwhile is told by its own path, like any deleted one.
        with contextlib.suppress(VaultbridgeError):
            for item in walk(self._root, path):
                if isinstance(item, (FileEntry, Unreadable)):
                    found.append(item.path)
                    if len(found) > self._batch_paths:
                        break
        return found


def _shown(relative: str) -> VaultPath | None:
    """The vault path of a place; None for what is hidden or cannot be named."""
    parts: list[str] = []
    for stored in relative.split("/"):
        name = normalize_name(icloud_original_name(stored) or stored)
        if not name or name.startswith("."):
            return None
        parts.append(name)
    return VaultPath("/".join(parts))


def _reason(error: BaseException) -> str:
    """Without the path that the system's text names."""
    if isinstance(error, FileNotFoundError):
        return "its folder is gone"
    return (
        os.strerror(error.errno) if isinstance(error, OSError) and error.errno else ""
    ) or "it cannot be watched"
