"""The ids of requests that a transport makes itself: a repeated handshake, and what an earlier process left.

Integers, because not every peer keeps an id as it was: a popular gateway reads them all as numbers, and gives
back null for a text.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Final

FIRST_OWN_ID: Final = 2_000_000_000
"""Below 2**31, so that a peer with ids of 32 bits keeps them, and far above what a session counts up to."""


class OwnIds:
    """Counts up, passing over ids that the caller's own requests have: `in_use` says which these are."""

    def __init__(self, in_use: Callable[[int], bool] | None = None) -> None:
        self._numbers = itertools.count(FIRST_OWN_ID)
        self._in_use = in_use

    def next(self) -> int:
        return next(n for n in self._numbers if self._in_use is None or not self._in_use(n))
