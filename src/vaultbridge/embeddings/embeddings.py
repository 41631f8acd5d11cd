"""Manages the embeddings of one vault: sends its passages, ranks passages for a question, and reports the
state.

The engine has one of these if an endpoint is configured. Several processes may share the file of vectors;
only one that keeps running sends passages (`start`), but any may rank. Questions have their own thread, so
that a search waits for the model only as long as it chooses.
"""

from __future__ import annotations

import logging
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from vaultbridge.embeddings.client import EmbeddingClient, EndpointFailed
from vaultbridge.embeddings.nearest import Nearest, NearPassage
from vaultbridge.embeddings.passages import VERSION, EmbeddedPassage, cut_passages
from vaultbridge.embeddings.sender import (
    CLOSE_SECONDS,
    FIRST_PAUSE,
    LONGEST_PAUSE,
    PROBE,
    ExclusionsUnknown,
    Sendable,
    Sender,
    SendStatus,
)
from vaultbridge.embeddings.settings import EmbeddingSettings
from vaultbridge.embeddings.store import VectorStore
from vaultbridge.index.ranking.views import ExtraView
from vaultbridge.links.syntax import note_name
from vaultbridge.markdown.parse import parse
from vaultbridge.markdown.text import replace_surrogates
from vaultbridge.vault.paths import Visible
from vaultbridge.vault.scope import Scope

if TYPE_CHECKING:
    from vaultbridge.index.store.database import Index


PASSAGES_ASKED: Final = 4
"""How many passages of a note are compared with others: its beginning says what it is about."""

NEAR_PASSAGES: Final = 60
"""How many passages are in a model's view of a question: from about as many notes as are read for it."""

log = logging.getLogger(__name__)


class Ranked(Struct, frozen=True):
    """The nearest passages, nearest first. `problem` is why there are none, for people."""

    passages: tuple[NearPassage, ...] = ()
    problem: str = ""


class EmbeddingStatus(Struct, frozen=True):
    """How many notes and vectors are stored, and what is wrong, if anything is."""

    model: str
    notes: int
    vectors: int
    left: int
    sending: bool
    problem: str


def check_model(settings: EmbeddingSettings, folder: Path) -> tuple[str, str]:
    """Embed one sentence. Returns what was found and what is wrong, one of them empty."""
    if settings.problem:
        return "", settings.problem
    client = EmbeddingClient(settings)
    try:
        (vector,) = client.embed([PROBE])
    except EndpointFailed as failure:
        return "", str(failure)
    finally:
        client.close()
    store = VectorStore(folder)
    try:
        notes, vectors = store.counts() if store.matches(settings.fingerprint(VERSION)) else (0, 0)
    except sqlite3.Error:
        return "", "the file of embeddings cannot be read"
    finally:
        store.close()
    return f"answers with {len(vector)} numbers; {notes} notes and {vectors} passages are stored", ""


class Embeddings:
    """The embeddings of one vault. `index` returns the vault's index. `shown` returns a function that accepts
    the notes that the owner shows to assistants: what a scope denies or the app ignores is never sent, nor is
    what `settings.private` names. `unknown` returns why it cannot be told now what the app ignores, or ""."""

    def __init__(
        self,
        settings: EmbeddingSettings,
        folder: Path,
        *,
        index: Callable[[], Index],
        shown: Callable[[], Visible | None],
        unknown: Callable[[], str],
    ) -> None:
        self.settings = settings
        self._index = index
        self._shown = shown
        self._unknown = unknown
        self._private = Scope(deny=settings.private)
        self._store = VectorStore(folder)
        self._nearest = Nearest(self._store)
        self._questions = Questions(settings)
        self._sender: Sender | None = None
        self._folder = folder
        self._last_problem = ""

    def start(self) -> Callable[[frozenset[str] | None], None]:
        """Send what is missing, from now on. Returns the function to call when notes have changed."""
        if self._sender is None:
            self._sender = Sender(self.settings, self._store, self, self._folder)
            if problem := self.settings.problem:
                log.warning("No embeddings are made: %s.", problem)
            else:
                self._sender.start()
        return self._sender.report_changes

    def close(self) -> None:
        self._questions.close()
        if self._sender is not None:
            self._sender.close()
        self._store.close()

    def wait_sent(self, seconds: float) -> bool:
        """Wait until everything that may be sent has been sent. Returns whether that is so."""
        return self._sender is not None and self._sender.idle.wait(seconds)

    def rank(self, question: str, *, limit: int, visible: Visible | None = None) -> Ranked:
        """Rank passages by a question. Waits for the endpoint no longer than the settings say."""
        ranked = self._rank(question, limit, visible)
        self._last_problem = ranked.problem
        return ranked

    def view(self, question: str, *, visible: Visible | None = None) -> tuple[ExtraView, ...]:
        """The model's view of a question, for ranking; empty if it does not answer in time."""
        near = self.rank(question, limit=NEAR_PASSAGES, visible=visible).passages
        if not near:
            return ()
        # Models differ in how similar they rate everything, so a passage is scored relative to the last one.
        low, high = near[-1].score, near[0].score
        places = (
            (passage.path, passage.line, (passage.score - low + 0.01) / (high - low + 0.01))
            for passage in near
        )
        return (ExtraView("meaning", tuple(places)),)

    def _rank(self, question: str, limit: int, visible: Visible | None) -> Ranked:
        if problem := self.settings.problem:
            return Ranked(problem=problem)
        try:
            if not self._store.matches(self.settings.fingerprint(VERSION)):
                return Ranked(problem="no note has been embedded with this model yet")
            # Requested before the passages are loaded, so that both happen at the same time.
            self._questions.request(question)
            self._nearest.refresh()
            vector = self._questions.ask(question, self.settings.wait_ms / 1000)
            if vector is None:
                return Ranked(problem=self._questions.problem or "the endpoint did not answer in time")
            return Ranked(tuple(self._nearest.find(vector, limit=limit, visible=visible)))
        except sqlite3.Error as error:
            log.warning("The file of embeddings failed: %s", error)
            return Ranked(problem="the file of embeddings failed")

    def rank_by_note(self, path: str, *, limit: int, visible: Visible | None = None) -> list[NearPassage]:
        """Rank the passages of other notes by a note's own, best first, one for each note. Sends nothing."""
        try:
            if not self._store.matches(self.settings.fingerprint(VERSION)):
                return []
            best: dict[str, NearPassage] = {}
            for vector in self._store.vectors_of_note(path)[:PASSAGES_ASKED]:
                for near in self._nearest.find_near(vector, limit=limit, visible=visible):
                    if near.path != path and (near.path not in best or best[near.path].score < near.score):
                        best[near.path] = near
        except sqlite3.Error as error:
            log.warning("The file of embeddings failed: %s", error)
            return []
        return sorted(best.values(), key=lambda near: (-near.score, near.path))[:limit]

    def status(self) -> EmbeddingStatus:
        sent = self._sender.status if self._sender is not None else SendStatus()
        problem = self.settings.problem or sent.problem or self._last_problem
        try:
            notes, vectors = self._store.counts()
        except sqlite3.Error:
            notes = vectors = 0
            problem = problem or "the file of embeddings failed"
        return EmbeddingStatus(self.settings.model, notes, vectors, sent.left, sent.sending, problem)

    # `sender.Source`: what the sender calls.

    def may_send(self) -> Visible:
        if unknown := self._unknown():
            raise ExclusionsUnknown(f"it is not known which notes are excluded in Obsidian ({unknown})")
        shown, private = self._shown(), self._private.visible
        return lambda path: private(path) and (shown is None or shown(path))

    def list_notes(self) -> Iterator[Sendable]:
        may_send = self.may_send()
        with self._index().reading() as db:
            rows = db.execute("SELECT path, hash FROM files WHERE kind = 'note' AND hash != ''").fetchall()
        return (Sendable(path, hash_) for path, hash_ in rows if may_send(path))

    def read(self, path: str) -> tuple[str, tuple[EmbeddedPassage, ...]] | None:
        """The content hash and the passages of a note; None if it is gone or may not be sent."""
        if not self.may_send()(path):
            return None
        with self._index().reading() as db:
            row = db.execute(
                "SELECT hash, text FROM files JOIN texts USING (id) WHERE path = ? AND kind = 'note'", (path,)
            ).fetchone()
        if row is None or not row[0]:
            return None
        return row[0], cut_passages(row[1], parse(row[1]), note_name(path))


QUESTIONS_KEPT: Final = 64
"""How many questions have their vectors cached: for the pages of one answer, and for a question that is soon
repeated."""

QUESTIONS_WAITING: Final = 8
"""The most questions that wait for the endpoint; further ones are answered without embeddings."""

QUESTION_CHARS: Final = 2000
"""How much of a question is sent. A longer one is a pasted text, whose beginning says what it is about."""


class Questions:
    """Embeds questions in a thread. A vector that arrives late is cached for the next time. An endpoint that
    failed gets no requests for a while."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._settings = settings
        self._guard = threading.Condition()
        self._known: dict[str, tuple[float, ...]] = {}
        self._asked: list[str] = []
        self._failed_until = 0.0
        self._failures = 0
        self._stopped = False
        self._client: EmbeddingClient | None = None
        self._thread: threading.Thread | None = None
        self.problem = ""

    def ask(self, question: str, seconds: float) -> tuple[float, ...] | None:
        """Return the vector of a question, or None if it does not arrive in time. While the endpoint is
        failing, there is no wait at all."""
        deadline = time.monotonic() + seconds
        with self._guard:
            if question in self._known:
                return self._known[question]
            if self._stopped or time.monotonic() < self._failed_until:
                return None
            self._request(question)
            while question not in self._known:
                left = deadline - time.monotonic()
                if left <= 0 or self._stopped or question not in self._asked:
                    break
                self._guard.wait(left)
            return self._known.get(question)

    def request(self, question: str) -> None:
        """Request the vector of a question, without waiting."""
        with self._guard:
            if question not in self._known and time.monotonic() >= self._failed_until and not self._stopped:
                self._request(question)

    def close(self) -> None:
        with self._guard:
            self._stopped = True
            self._guard.notify_all()
            client = self._client
        if client is not None:
            client.interrupt()
        if self._thread is not None:
            self._thread.join(CLOSE_SECONDS)

    def _request(self, question: str) -> None:
        if question not in self._asked and len(self._asked) < QUESTIONS_WAITING:
            self._asked.append(question)
            self._guard.notify_all()
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="embedding-questions", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        client = self._client = EmbeddingClient(self._settings)
        while True:
            with self._guard:
                while not self._asked and not self._stopped:
                    self._guard.wait()
                if self._stopped:
                    break
                question = self._asked[0]
            self._answer(client, question)
        client.close()

    def _answer(self, client: EmbeddingClient, question: str) -> None:
        vector: tuple[float, ...] | None = None
        problem = ""
        try:
            text = replace_surrogates(self._settings.prompts[0] + question[:QUESTION_CHARS])
            vector = tuple(client.embed([text])[0])
        except EndpointFailed as failure:
            problem = str(failure)
        except Exception:
            log.exception("A question could not be embedded.")
            problem = "an internal error of vaultbridge"
        with self._guard:
            self._report_problem(problem)
            if vector is None:
                self._failures += 1
                pause = min(FIRST_PAUSE * 2 ** min(self._failures - 1, 10), LONGEST_PAUSE)
                self._failed_until = time.monotonic() + pause
                self._asked.clear()
            else:
                self._failures = 0
                while len(self._known) >= QUESTIONS_KEPT:
                    del self._known[next(iter(self._known))]
                self._known[question] = vector
                self._asked.remove(question)
            self._guard.notify_all()

    def _report_problem(self, problem: str) -> None:
        if problem and problem != self.problem and not self._stopped:
            log.warning("Questions are answered without embeddings: %s.", problem)
        self.problem = problem
