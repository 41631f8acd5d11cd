"""Opens the scoped indexes of one vault, lets them catch up, and deletes those that nobody uses.

They are in the folder `scopes` of the vault's cache folder, one file for each set of patterns that hides
something from somebody, shared by all processes and callers with these patterns. Which file is used is asked
for each query, because a scope may change while its engine is open. How they follow the full index:
`index.scope_sync`.
"""

from __future__ import annotations

import json
import logging
import os
import threading
import time
from collections.abc import Callable, Collection, Mapping
from contextlib import suppress
from hashlib import blake2b
from pathlib import Path
from typing import Final

from vaultbridge.errors import EngineFailure, VaultbridgeError
from vaultbridge.index.scope_sync import ScopeSynchronizer
from vaultbridge.index.store import schema
from vaultbridge.index.store.database import Index
from vaultbridge.vault.file_links import find_links_to_hidden
from vaultbridge.vault.locking import FileLock
from vaultbridge.vault.paths import VaultFolder
from vaultbridge.vault.scope import Scope

FOLDER: Final = "scopes"

KEPT_FILES: Final = 16
"""How many scoped indexes of one vault stay on disk: more than a person has assistants with scopes of their
own. Each may be as large as the full index; one that was deleted is filled again when it is needed."""

KEPT_OPEN: Final = 4
"""How many one engine has open: one, and those before it if its scope was changed while queries ran."""

TOUCH_SECONDS: Final = 3600.0
"""How often the time of last use is noted, as the file's time."""

POLL_SECONDS: Final = 0.2
"""How often whoever fills an index looks whether the full one has more, or another process has finished."""

SMALL_SECONDS: Final = 1.0
"""How long a query waits for an index that is being filled: that of some hundred notes is by then, so that
only the first answers about a large scope are partial."""

OTHER_SECONDS: Final = 10.0
"""How long a query waits for another process that fills its index; then it goes on by itself, which only
costs time."""

log = logging.getLogger(__name__)


def name_scope(parts: Collection[Scope]) -> str:
    """The name of the file for a scope. Its order of patterns makes no difference."""
    patterns = sorted((sorted(part.allow), sorted(part.deny)) for part in parts if not part.unrestricted)
    return blake2b(json.dumps(patterns).encode(), digest_size=12).hexdigest() + _SUFFIX


_SUFFIX: Final = ".sqlite3"


def delete_scoped_indexes(cache: Path, names: Collection[str]) -> None:
    """Deletes these files in a vault's cache folder. A process that has one open notices, and fills it
    again."""
    for name in names:
        # On Windows, a file that is open stays; it is the least used one soon.
        with suppress(OSError):
            schema.remove(cache / FOLDER / name)


def list_scoped_indexes(cache: Path) -> list[str]:
    """The files of a vault, the last used first."""
    times: dict[str, int] = {}
    for place in (cache / FOLDER).glob(f"*{_SUFFIX}"):
        with suppress(FileNotFoundError):
            times[place.name] = place.stat().st_mtime_ns
    return sorted(times, key=lambda name: (-times[name], name))


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    except OSError as error:
        raise EngineFailure(
            f"The index of a scope cannot be written: {os.strerror(error.errno or 0)}.",
            hint="Check that the cache folder is writable and has free space.",
        ) from error


class _Members:
    """Which files are in a scope: see `scope_sync.Membership`."""

    def __init__(self, root: VaultFolder, parts: tuple[Scope, ...]) -> None:
        self._parts = parts
        self._root = root

    def shows(self, path: str) -> bool:
        return all(part.visible(path) for part in self._parts)

    def find_links_to_hidden(self, folders: Mapping[str, Collection[str]]) -> frozenset[str]:
        return find_links_to_hidden(self._root, folders, self.shows, self._may_contain)

    def _may_contain(self, folder: str) -> bool:
        return all(part.may_contain(folder) for part in self._parts)


class _Opened:
    """One scoped index in this process."""

    def __init__(self, index: Index, sync: ScopeSynchronizer) -> None:
        self.index = index
        self.sync = sync
        self.one_at_a_time = threading.Lock()
        self.touched = 0.0
        self.filler: threading.Thread | None = None


class ScopedIndexes:
    """Those that one engine uses. Any thread may call it."""

    def __init__(
        self, root: VaultFolder, cache: Path, *, filled: Callable[[], object] = lambda: None
    ) -> None:
        """`filled` is called when an index that was filled in the background is complete."""
        self._root = root
        self._cache = cache
        self._filled = filled
        self._list_lock = threading.Lock()
        self._opened: dict[str, _Opened] = {}
        self._stop = threading.Event()
        self._in_background = False

    def fill_in_background(self) -> None:
        """From now on, queries do not wait until an index is filled."""
        self._in_background = True

    def prepare(self, get_full: Callable[[], Index], parts: tuple[Scope, ...]) -> None:
        """Fills the index of a scope in the background. Does not raise: a query says what is wrong."""
        try:
            self._start_filling(self._open(get_full(), parts))
        except VaultbridgeError as error:
            log.warning("The index of a scope cannot be opened: %s", error)

    def catch_up(self, full: Index, parts: tuple[Scope, ...]) -> Index:
        """The index of a scope, as far as the full one is. It is incomplete while either is being filled."""
        opened = self._open(full, parts)
        if not self._in_background:
            self._fill(opened)
        elif opened.index.status().complete:
            with opened.one_at_a_time:
                complete = opened.sync.catch_up(self._stop.is_set)
            if not complete:
                self._start_filling(opened)
        else:
            filler = self._start_filling(opened)
            if filler is not None and full.status().complete:
                filler.join(SMALL_SECONDS)
        return opened.index

    def _open(self, full: Index, parts: tuple[Scope, ...]) -> _Opened:
        name = name_scope(parts)
        folder = self._cache / FOLDER
        with self._list_lock:
            opened = self._opened.pop(name, None)
            if opened is None:
                _make_folder(folder)
                index = Index.open(folder, name)
                opened = _Opened(index, ScopeSynchronizer(full, index, _Members(self._root, parts)))
            self._opened[name] = opened
            superseded = list(self._opened)[:-KEPT_OPEN]
            closed = [self._opened.pop(key) for key in superseded]
        for other in closed:
            other.index.close()
        now = time.monotonic()
        if not opened.touched or now - opened.touched > TOUCH_SECONDS:
            opened.touched = now
            with suppress(OSError):
                os.utime(opened.index.file)
            kept = [name, *(other for other in list_scoped_indexes(self._cache) if other != name)]
            delete_scoped_indexes(self._cache, kept[KEPT_FILES:])
        return opened

    def _fill(self, opened: _Opened, *, wait: bool = False) -> None:
        """Takes steps until the index is current, or the full one has no more; with `wait`, until that is
        complete too. While another process fills the index, we wait for it, unless it takes too long."""
        filling = FileLock(opened.index.file.with_suffix(".lock"))
        deadline = time.monotonic() + OTHER_SECONDS
        try:
            while not self._stop.is_set():
                alone = wait or time.monotonic() < deadline
                if alone and not opened.index.status().complete and not filling.try_acquire():
                    self._stop.wait(POLL_SECONDS)
                    continue
                with opened.one_at_a_time:
                    step = opened.sync.step()
                if step == "current" or (step == "waiting" and not wait):
                    return
                if step == "waiting":
                    self._stop.wait(POLL_SECONDS)
        finally:
            filling.release()

    def _start_filling(self, opened: _Opened) -> threading.Thread | None:
        """Returns the thread that fills the index; None after `close`."""
        with self._list_lock:
            if self._stop.is_set():
                return None
            if opened.filler is None or not opened.filler.is_alive():
                opened.filler = threading.Thread(
                    target=self._fill_and_log, args=(opened,), name="scope-filler", daemon=True
                )
                opened.filler.start()
            return opened.filler

    def _fill_and_log(self, opened: _Opened) -> None:
        try:
            self._fill(opened, wait=True)
            if not self._stop.is_set():
                self._filled()
        except VaultbridgeError as error:
            # The next query starts it again.
            log.warning("The index of a scope could not be filled: %s", error)
        except Exception:
            log.exception("The index of a scope could not be filled; the next query tries again.")

    def close(self) -> None:
        self._stop.set()
        with self._list_lock:
            opened = list(self._opened.values())
            self._opened.clear()
        for one in opened:
            if one.filler is not None:
                one.filler.join()
            one.index.close()
