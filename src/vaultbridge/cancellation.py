"""Ends work whose result nobody is waiting for any more.

Code that runs work for a caller (`protocols.mcp.vault.workers`, `web.api.routes`) runs it in the context of a
`Cancellation`, and requests the cancellation when the caller gives up. The index checks for it while SQLite
computes and between the steps of a query, and the process that matches patterns is killed. Only work that
changes nothing may run in such a context: a change must not end halfway.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import Context, ContextVar
from typing import Final

from vaultbridge.errors import TimedOut


class Cancellation:
    """Any thread may request it. It is never withdrawn."""

    __slots__ = ("_hooks", "_lock", "_requested")

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._hooks: list[Callable[[], object]] = []
        self._requested = False

    def request(self) -> None:
        with self._lock:
            self._requested = True
            for hook in self._hooks:
                hook()

    def is_requested(self) -> bool:
        return self._requested

    def check(self) -> None:
        """Raises TimedOut when it has been requested. Nobody sees the error."""
        if self._requested:
            raise TimedOut("Nobody is waiting for this answer any more.")

    @contextmanager
    def call_on_request(self, hook: Callable[[], object]) -> Iterator[None]:
        """In this block a request calls `hook`, which must neither wait nor raise. It is called once, from
        the thread that makes the request, or immediately if the request has already been made."""
        with self._lock:
            self._hooks.append(hook)
            if self._requested:
                hook()
        try:
            yield
        finally:
            with self._lock:
                self._hooks.remove(hook)


_current: ContextVar[Cancellation] = ContextVar("cancellation")

NEVER_CANCELLED: Final = Cancellation()
"""For work that no caller can cancel: a command, the index's own threads, a change."""


def current_cancellation() -> Cancellation:
    return _current.get(NEVER_CANCELLED)


def make_cancellable(context: Context) -> Cancellation:
    """Makes the work that will run in this context cancellable."""
    cancellation = Cancellation()
    context.run(_current.set, cancellation)
    return cancellation
