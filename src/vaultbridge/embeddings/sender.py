"""Sends passages to the endpoint in the background and stores their vectors. Nothing waits for it.

One process per vault and machine sends, the one that holds a lock file. It reads the notes that changed,
checks for each, at the moment of sending, whether it may be sent, and sends the passages whose text has no
vector yet, a batch at a time. An endpoint that fails gets no requests for a while, twice as long each time;
what was not sent is found again by comparing, so no queue can overflow. A model whose vectors have a new
length, or that returns another vector for the same sentence, counts as a new one: all vectors are made again.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Final, Protocol

from msgspec import Struct

from vaultbridge.embeddings.client import EmbeddingClient, EndpointFailed
from vaultbridge.embeddings.nearest import signs_of
from vaultbridge.embeddings.passages import VERSION, EmbeddedPassage
from vaultbridge.embeddings.settings import EmbeddingSettings
from vaultbridge.embeddings.store import Quantized, VectorStore, quantize
from vaultbridge.errors import VaultbridgeError
from vaultbridge.markdown.text import replace_surrogates
from vaultbridge.vault.locking import FileLock

FIRST_PAUSE: Final = 1.0
LONGEST_PAUSE: Final = 300.0
"""The longest pause, in seconds, before a failing endpoint is used again. The pause doubles with each
failure. After a refused key or a wrong address it is the longest at once, because only a person can correct
that."""

CLOSE_SECONDS: Final = 2.0
"""How long closing waits for the thread. One that is still connecting is left to finish on its own."""

COMPARE_SECONDS: Final = 300.0
"""How often all notes are compared, in case a change was not reported."""

PATHS_KEPT: Final = 1000
"""The most changed paths that are stored until they are handled; with more, everything is compared."""

BATCH_CHARS: Final = 60_000
"""The most text in one request, whatever the batch: about 15,000 tokens."""

GROUP_NOTES: Final = 200
"""The most notes that are read before their passages are stored."""

PROBE: Final = "The quick brown fox jumps over the lazy dog."
"""The sentence by which a model is recognized again."""

PROBE_DIFFERS: Final = 0.06
"""The share of the signs that may differ for the same sentence. A server's results vary a little from day to
day; another model differs in about half of the signs."""

log = logging.getLogger(__name__)


class Sendable(Struct, frozen=True):
    """A note that may be sent, as the index has it now."""

    path: str
    hash: str


class ExclusionsUnknown(Exception):
    """It is not known now which notes may be sent; the text says why."""


class Source(Protocol):
    """Where notes come from. Each method may raise `ExclusionsUnknown`."""

    def may_send(self) -> Callable[[str], bool]:
        """Return a function that decides whether a note may be sent. Called again for each request."""
        ...

    def list_notes(self) -> Iterable[Sendable]:
        """The notes that exist and may be sent."""
        ...

    def read(self, path: str) -> tuple[str, tuple[EmbeddedPassage, ...]] | None:
        """The content hash and the passages of a note; None if it is gone or may not be sent."""
        ...


class _Waiting(Struct, frozen=True):
    """A note, all its passages, and those that have no vector yet."""

    path: str
    hash: str
    passages: tuple[EmbeddedPassage, ...]
    lacking: tuple[EmbeddedPassage, ...]


class SendStatus(Struct, frozen=True):
    """The state of sending. `problem` says, for people, why it has stopped; "" if it has not."""

    sending: bool = False
    left: int = 0
    problem: str = ""


class Sender:
    """Sends passages in a thread. Call `start` once, and `report_changes` from any thread; `close` cuts off a
    request in progress."""

    def __init__(self, settings: EmbeddingSettings, store: VectorStore, source: Source, folder: Path) -> None:
        self._settings = settings
        self._store = store
        self._source = source
        self._lock = FileLock(folder / "embeddings.lock")
        self._client = EmbeddingClient(settings)
        self._stop = threading.Event()
        self._wake = threading.Event()
        self._guard = threading.Lock()
        self._paths: set[str] | None = None
        """Paths that changed; None if anything may have changed."""
        self._thread: threading.Thread | None = None
        self._left = 0
        self._batch = settings.batch
        self._problem = ""
        self._probed = False
        self.idle = threading.Event()
        """Set while everything that may be sent has been sent, as far as is known."""

    def start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="embeddings", daemon=True)
            self._thread.start()

    def close(self) -> None:
        self._stop.set()
        self._wake.set()
        self._client.interrupt()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS)
        self._lock.release()

    def report_changes(self, paths: frozenset[str] | None) -> None:
        """Report that these notes have changed, or for None that anything may have. Never blocks."""
        with self._guard:
            self.idle.clear()
            if paths is None or self._paths is None or len(self._paths) + len(paths) > PATHS_KEPT:
                self._paths = None
            else:
                self._paths |= paths
        self._wake.set()

    @property
    def status(self) -> SendStatus:
        return SendStatus(self._thread is not None and self._lock.held, self._left, self._problem)

    def _run(self) -> None:
        try:
            self._send_until_closed()
        finally:
            self._client.close()

    def _send_until_closed(self) -> None:
        pause = FIRST_PAUSE
        while not self._stop.is_set():
            wait = COMPARE_SECONDS
            try:
                if self._lock.try_acquire():
                    self._send_missing()
                    if self._problem:
                        log.info("Embeddings are made again.")
                    self._problem, pause = "", FIRST_PAUSE
            except EndpointFailed as failure:
                if failure.slow:
                    # A large model on a small machine would never answer a whole batch in time.
                    self._batch = max(1, self._batch // 2)
                wait, pause = (LONGEST_PAUSE if failure.permanent else pause), min(pause * 2, LONGEST_PAUSE)
                self._report_problem(str(failure))
            except ExclusionsUnknown as unknown:
                wait, pause = pause, min(pause * 2, LONGEST_PAUSE)
                self._report_problem(str(unknown))
            except (VaultbridgeError, sqlite3.Error, OSError) as error:
                wait, pause = pause, min(pause * 2, LONGEST_PAUSE)
                self._report_problem(f"{type(error).__name__}")
            except Exception:
                log.exception("Making embeddings failed; searches go without them.")
                self._report_problem("an internal error of vaultbridge")
                return
            if self._problem:
                # Changes do not shorten the pause, or they would call a failing endpoint again and again.
                self._stop.wait(wait)
                with self._guard:
                    self._paths = None
            else:
                if not self._wake.wait(wait):
                    self.report_changes(None)
                self._wake.clear()

    def _report_problem(self, problem: str) -> None:
        if problem != self._problem and not self._stop.is_set():
            log.warning("No embeddings are made: %s. Searches go without them.", problem)
        self._problem = problem

    def _send_missing(self) -> None:
        """Send everything that is missing. Raises EndpointFailed."""
        if self._store.claim(self._settings.fingerprint(VERSION)):
            log.info("The model or its settings changed: all passages are embedded again.")
        with self._guard:
            paths, self._paths = self._paths, set()
        try:
            for batch in self._group_notes(self._find_pending(paths)):
                if not self._probed:
                    self._probe()
                self._send(batch)
                if self._stop.is_set():
                    return
        except BaseException:
            with self._guard:
                self._paths = None
            raise
        self._left = 0
        with self._guard:
            if self._paths == set():
                self.idle.set()

    def _find_pending(self, paths: set[str] | None) -> list[str]:
        stored = self._store.notes()
        if paths is None:
            wanted = {note.path: note.hash for note in self._source.list_notes()}
            if gone := stored.keys() - wanted.keys():
                self._store.drop_notes(gone)
            self._store.tidy()
            pending = [path for path, hash_ in wanted.items() if stored.get(path) != hash_]
        else:
            pending = sorted(paths)
        self._left = len(pending)
        return pending

    def _group_notes(self, paths: Iterable[str]) -> Iterator[list[_Waiting]]:
        """Group notes until their missing passages fill a request. A note with many forms its own group."""
        group: list[_Waiting] = []
        missing = chars = 0
        for path in paths:
            if self._stop.is_set():
                return
            found = self._source.read(path)
            if found is None:
                self._store.drop_notes([path])
                self._left = max(0, self._left - 1)
                continue
            note_hash, passages = found
            known = self._store.find_known(passage.hash for passage in passages)
            lacking = [passage for passage in passages if passage.hash not in known]
            group.append(_Waiting(path, note_hash, passages, tuple(lacking)))
            missing += len(lacking)
            chars += sum(len(passage.text) for passage in lacking)
            if missing >= self._batch or chars >= BATCH_CHARS or len(group) >= GROUP_NOTES:
                yield group
                group, missing, chars = [], 0, 0
        if group:
            yield group

    def _send(self, group: list[_Waiting]) -> None:
        waiting = {passage.hash: (note.path, passage) for note in group for passage in note.lacking}
        while waiting:
            # Checked again for each request, because a note may have become private while others were sent.
            may_send = self._source.may_send()
            waiting = {hash_: (path, passage) for hash_, (path, passage) in waiting.items() if may_send(path)}
            part = self._take(passage for _, passage in waiting.values())
            if part:
                self._store.put_vectors(
                    zip((passage.hash for passage in part), self._embed(part), strict=True)
                )
            for passage in part:
                del waiting[passage.hash]
            if self._stop.is_set():
                return
        may_send = self._source.may_send()
        for note in group:
            if not may_send(note.path):
                self._store.drop_notes([note.path])
            else:
                rows = [(passage.line, passage.hash) for passage in note.passages]
                self._store.put_note(note.path, note.hash, rows)
            self._left = max(0, self._left - 1)

    def _take(self, waiting: Iterable[EmbeddedPassage]) -> list[EmbeddedPassage]:
        """Take as many passages as fit into a request."""
        taken: list[EmbeddedPassage] = []
        chars = 0
        for passage in waiting:
            chars += len(passage.text)
            if len(taken) == self._batch or (taken and chars > BATCH_CHARS):
                break
            taken.append(passage)
        return taken

    def _embed(self, passages: list[EmbeddedPassage]) -> list[Quantized]:
        """Return one vector for each passage. A passage that the endpoint refuses even by itself and cut in
        half gets an empty vector, so that it is not sent again and again."""
        try:
            return self._ask([passage.text for passage in passages])
        except EndpointFailed as failure:
            if not failure.refused:
                raise
        if len(passages) > 1:
            middle = len(passages) // 2
            return self._embed(passages[:middle]) + self._embed(passages[middle:])
        text = passages[0].text
        try:
            return self._ask([text[: len(text) // 2] or text])
        except EndpointFailed as failure:
            if not failure.refused or not self._is_working():
                raise EndpointFailed(str(failure), permanent=failure.permanent) from None
        log.warning("The embeddings endpoint refuses one passage of %d characters.", len(text))
        return [Quantized(b"", 0.0)]

    def _is_working(self) -> bool:
        """Whether the endpoint accepts anything at all. Otherwise every passage of the vault would be given
        up."""
        try:
            self._ask([PROBE])
        except EndpointFailed:
            return False
        return True

    def _ask(self, texts: list[str]) -> list[Quantized]:
        prompt = self._settings.prompts[1]
        vectors = self._client.embed([replace_surrogates(prompt + text) for text in texts])
        before = self._store.check_dimensions(len(vectors[0]))
        if before:
            self._probed = False
            log.warning(
                "The model's vectors have %d numbers now instead of %d: all passages are embedded again.",
                len(vectors[0]),
                before,
            )
            raise EndpointFailed(f"its vectors had {before} numbers before, and {len(vectors[0])} now")
        return [quantize(vector) for vector in vectors]

    def _probe(self) -> None:
        """Check whether the model is still the one that made the stored vectors."""
        (vector,) = self._ask([PROBE])
        if not vector.data:
            raise EndpointFailed("it answers with zeros", permanent=True)
        before = self._store.read_probe()
        if before and len(before) == len(vector.data):
            differing = (signs_of(before) ^ signs_of(vector.data)).bit_count() / len(before)
            if differing > PROBE_DIFFERS:
                log.warning("The model answers differently than before: all passages are embedded again.")
                self._store.clear()
                self._store.write_probe(vector.data)
                self._probed = True
                raise EndpointFailed("the model has changed")
        self._store.write_probe(vector.data)
        self._probed = True
