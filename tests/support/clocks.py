"""Clocks that tests hand to the code in place of the machine's."""

from __future__ import annotations

import time

from vaultbridge.system import RACY_NS


def read_later_clock() -> float:
    """The time when the status of a file that is written now can be trusted."""
    return time.time() + RACY_NS / 1e9 + 1
