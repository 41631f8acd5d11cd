"""When to try again after a line is lost. Pure: yields delays, never waits."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

LONGEST_DELAY: Final = 60.0
"""Seconds. Beyond a minute a person has given up or the server is not coming back by itself; without a
bound, the doubling reaches hours within a dozen attempts."""


def delays(
    attempts: int,
    base: float,
    *,
    longest: float = LONGEST_DELAY,
    jitter: float = 0.0,
    random: Callable[[], float] = lambda: 0.5,
) -> Iterator[float]:
    """Seconds to wait before each of `attempts` attempts: 0, base·2⁰, base·2¹, base·2² …

    The first is immediate: most lost lines are a server that restarts or a laptop that wakes. `jitter` is
    the share of a delay that is spread evenly around it (0.2: from 0.9 to 1.1 of it), so that many clients
    of one server do not come back in step; `random` gives numbers in [0, 1).
    """
    for attempt in range(attempts):
        if attempt == 0:
            yield 0.0
            continue
        # The exponent is bounded too: 2.0 ** 1100 overflows long before a patient caller's last attempt.
        delay = min(base * 2.0 ** min(attempt - 1, 64), longest)
        yield delay * (1.0 + jitter * (random() - 0.5))
