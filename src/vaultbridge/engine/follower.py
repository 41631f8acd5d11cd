"""Indexes what was written, before the next query.

`Follower` indexes what one engine wrote, in a separate thread: an edit is answered as soon as it is on disk,
and the engine's next query waits until it is in the index too. Edits in quick succession are indexed
together, in one transaction. `OthersChanges` asks the journal what other engines and processes have written
meanwhile, so that a query includes every change that was answered before it, whoever made it.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Final

from vaultbridge.errors import EngineFailure
from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.write.journal import HISTORY_LIMIT, Journal
from vaultbridge.vault.write.steps import affected_paths

ANSWER_SECONDS: Final = 0.002
"""Indexing begins when nothing has been edited for this long, or a query is waiting for it: it would compete
for the interpreter with the thread that answers, or that carries out the next edit."""

LONGEST_DELAY_SECONDS: Final = 0.01
"""After this it begins anyway: other processes read the same index, and edits may follow each other for
hours. With a longer delay so many notes accumulate that an edit in the meantime takes over 30 ms."""

PAUSE_SECONDS: Final = 0.02
"""How long indexing may pause in all for the edits that are made in the meantime. An edit takes 2 ms; next to
indexing it takes 10, because each of its many short waits for the disk ends with a wait for the interpreter.
While indexing pauses, other processes cannot write to the index."""


class Follower:
    """`index` is called with the files that changed, in a thread that the first change starts; `tidy` is
    called with their number, when nobody has to wait for it. They must not raise."""

    def __init__(
        self, index: Callable[[frozenset[VaultPath]], None], tidy: Callable[[int], None] = lambda _: None
    ) -> None:
        self._index = index
        self._tidy = tidy
        self._state = threading.Condition()
        self._written: set[VaultPath] = set()
        self._busy = False
        self._editing = 0
        self._edits = 0
        """How often an edit has begun or ended."""
        self._awaited = 0
        self._closed = False
        self._thread: threading.Thread | None = None

    @contextmanager
    def during_edit(self) -> Iterator[None]:
        """Held while an edit is carried out: indexing is put off for a moment."""
        with self._state:
            self._editing += 1
            self._edits += 1
        try:
            yield
        finally:
            with self._state:
                self._editing -= 1
                self._edits += 1
                self._state.notify_all()

    def add(self, paths: Iterable[VaultPath]) -> None:
        """Called after these files were written. Returns at once."""
        with self._state:
            self._written.update(paths)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="vault-follow", daemon=True)
                self._thread.start()
            self._state.notify_all()

    def make_pause(self) -> Callable[[], None]:
        """Returns a function for whoever indexes, to be called between two files: it waits while an edit is
        carried out, unless a query waits for the index."""
        left = PAUSE_SECONDS

        def pause() -> None:
            nonlocal left
            if not self._editing or left <= 0:
                return
            start = time.monotonic()
            with self._state:
                self._state.wait_for(lambda: not self._editing or self._awaited or self._closed, left)
            left -= time.monotonic() - start

        return pause

    def wait(self, seconds: float) -> bool:
        """Waits until everything that was added is indexed. False when that takes longer than this."""
        with self._state:
            if self._is_idle():
                return True
            self._awaited += 1
            self._state.notify_all()
            try:
                return self._state.wait_for(self._is_idle, seconds)
            finally:
                self._awaited -= 1

    def close(self, seconds: float) -> None:
        """Indexes what is left, for as long as this at most, and ends the thread."""
        self.wait(seconds)
        with self._state:
            self._closed = True
            self._state.notify_all()
        if self._thread is not None:
            self._thread.join(seconds)

    def _is_idle(self) -> bool:
        return not self._written and not self._busy

    def _wait_until_quiet(self) -> None:
        """Waits until nothing has been edited for a moment, or a query waits for us."""

        def is_disturbed() -> bool:
            return self._awaited > 0 or self._closed or self._edits != seen

        latest = time.monotonic() + LONGEST_DELAY_SECONDS
        while not self._awaited and not self._closed and (left := latest - time.monotonic()) > 0:
            seen = self._edits
            if not self._state.wait_for(is_disturbed, left if self._editing else min(left, ANSWER_SECONDS)):
                return

    def _run(self) -> None:
        while True:
            with self._state:
                self._state.wait_for(lambda: self._written or self._closed)
                if self._closed:
                    return
                self._wait_until_quiet()
                written = frozenset(self._written)
                self._written.clear()
                self._busy = True
            try:
                self._index(written)
            finally:
                with self._state:
                    self._busy = False
                    self._state.notify_all()
            self._tidy(len(written))


FIRST_CHECKED: Final = 16
"""How many changes from before the first query are checked: the last ones may not be in the index yet."""


class OthersChanges:
    """The changes that other engines have recorded in the journal."""

    def __init__(self, journal: Journal) -> None:
        self._journal = journal
        self._known: int | None = None
        """The last change that is in the index, as are all before it."""
        self._guard = threading.Lock()

    def skip(self, number: int) -> None:
        """Called with a change of our own, which the follower indexes."""
        # If a query holds the lock, it checks this change too, which costs less than waiting here.
        if self._guard.acquire(blocking=False):
            if self._known == number - 1:
                self._known = number
            self._guard.release()

    def index_new(self, index: Callable[[frozenset[VaultPath]], None]) -> bool:
        """Calls `index` with the files of the changes that are not known yet. False if there are too many."""
        try:
            # Usually there are none, and that needs no lock.
            last = self._journal.last_finished()
            if last == self._known:
                return True
            with self._guard:
                return self._index_up_to(last, index)
        except EngineFailure:
            # Without a journal, nobody can have changed the vault.
            return True

    def _index_up_to(self, last: int, index: Callable[[frozenset[VaultPath]], None]) -> bool:
        known = last - FIRST_CHECKED if self._known is None else min(self._known, last)
        if last - known <= HISTORY_LIMIT:
            entries = self._journal.history(limit=last - known) if last > known else ()
            acts = (act for entry in entries if entry.id > known for act in entry.acts)
            if paths := frozenset(path for act in acts for path in affected_paths(act)):
                index(paths)
        self._known = last
        return last - known <= HISTORY_LIMIT
