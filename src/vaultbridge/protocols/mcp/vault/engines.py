"""The engines of a server's vaults by name, each opened on first use.

Opening a vault loads the engine, recovers what a killed process left behind, and may fail; a server must be
able to answer before that. If a vault cannot be opened, the next call tries again, because a drive may have
been mounted or a folder restored. The caller passes functions that open the vaults.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from vaultbridge.engine import DirectEngine


class VaultEngines(Mapping[str, "DirectEngine"]):
    """May be used from any thread. `engines[name]` raises what opening raises, above all VaultNotFound."""

    def __init__(self, openers: Mapping[str, Callable[[], DirectEngine]]) -> None:
        self._openers = dict(openers)
        self._opened: dict[str, DirectEngine] = {}
        self._locks = {name: threading.Lock() for name in self._openers}
        self._closed = False
        self.on_open: Callable[[str, DirectEngine], None] | None = None
        """Called once per vault, in the thread that opened it, before anything uses it."""

    def __getitem__(self, name: str) -> DirectEngine:
        engine = self._opened.get(name)
        if engine is not None:
            return engine
        opener = self._openers[name]
        with self._locks[name]:
            if name not in self._opened:
                if self._closed:
                    raise RuntimeError("the server is closing")
                engine = opener()
                try:
                    if self.on_open is not None:
                        self.on_open(name, engine)
                except BaseException:
                    engine.close()
                    raise
                self._opened[name] = engine
            return self._opened[name]

    def __contains__(self, name: object) -> bool:
        return name in self._openers

    def __iter__(self) -> Iterator[str]:
        return iter(self._openers)

    def __len__(self) -> int:
        return len(self._openers)

    def opened(self) -> dict[str, DirectEngine]:
        """The vaults that are open already."""
        return dict(self._opened)

    def close(self) -> None:
        self._closed = True
        for name, lock in self._locks.items():
            with lock:
                engine = self._opened.pop(name, None)
            if engine is not None:
                engine.close()
