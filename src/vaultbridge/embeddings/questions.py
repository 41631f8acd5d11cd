"""Asks for the vectors of questions, in a thread of its own: a search waits only as long as it wants to."""

from __future__ import annotations

import logging
import threading
import time
from typing import Final

from vaultbridge.embeddings.client import EmbeddingClient, EndpointFailed
from vaultbridge.embeddings.sender import CLOSE_SECONDS, FIRST_PAUSE, LONGEST_PAUSE
from vaultbridge.embeddings.settings import EmbeddingSettings
from vaultbridge.markdown.text import replace_surrogates

QUESTIONS_KEPT: Final = 64
"""Questions whose vectors are remembered: pages of one answer, and a question asked again after a moment."""

QUESTIONS_WAITING: Final = 8
"""Questions that wait for the endpoint; further ones go without."""

QUESTION_CHARS: Final = 2000
"""How much of a question is sent: more is a pasted text, whose beginning says what it is about."""

log = logging.getLogger(__name__)


class Questions:
    """A late vector is remembered for the next time. An endpoint that failed is left alone for a while."""

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
        """Return the vector of a question, or None if it is not there in time. While the endpoint is failing
        it is not waited for at all."""
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
        """Begin to ask, without waiting."""
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
            problem = "a fault of vaultbridge's own"
        with self._guard:
            self._problem_changed(problem)
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

    def _problem_changed(self, problem: str) -> None:
        if problem and problem != self.problem and not self._stopped:
            log.warning("Questions are answered without embeddings: %s.", problem)
        self.problem = problem
