"""Tells those who wait for the store that this or another process has changed it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Final

FOLLOW_SECONDS: Final = 0.1
"""How often the store is checked for what other processes have changed, while somebody listens: nobody
notices the delay, and a check takes a few microseconds."""


class StoreListeners:
    """Can be used in any thread. `read_version` returns a value that changes whenever another process may
    have changed something."""

    def __init__(self, read_version: Callable[[], object]) -> None:
        self._read_version = read_version
        self._changed = threading.Condition()
        self._listeners: list[Callable[[], None]] = []
        self._following: threading.Thread | None = None

    def close(self) -> None:
        with self._changed:
            self._listeners.clear()
            self._changed.notify_all()
            following = self._following
        if following is not None:
            following.join()

    def add(self, listener: Callable[[], None]) -> Callable[[], None]:
        """Call `listener`, in any thread, whenever this or another process may have changed something, until
        the returned function is called."""
        with self._changed:
            self._listeners.append(listener)
            if self._following is None:
                self._following = threading.Thread(
                    target=self._follow, args=(self._read_version(),), name="review-follow", daemon=True
                )
                self._following.start()

        def stop() -> None:
            with self._changed:
                if listener in self._listeners:
                    self._listeners.remove(listener)

        return stop

    def wait_until(self, holds: Callable[[], bool], seconds: float) -> None:
        """Wait at most `seconds` until `holds`, which is asked after each change."""
        deadline = time.monotonic() + seconds
        stop = self.add(lambda: None)
        try:
            with self._changed:
                while not holds() and (left := deadline - time.monotonic()) > 0:
                    self._changed.wait(left)
        finally:
            stop()

    def announce(self) -> None:
        with self._changed:
            self._changed.notify_all()
            listeners = tuple(self._listeners)
        for listener in listeners:
            listener()

    def _follow(self, seen: object) -> None:
        """The one place that asks for what other processes have changed, for all that listen or wait."""
        while True:
            with self._changed:
                if self._listeners:
                    self._changed.wait(FOLLOW_SECONDS)
                if not self._listeners:
                    self._following = None
                    return
            version = self._read_version()
            if version != seen:
                seen = version
                self.announce()
