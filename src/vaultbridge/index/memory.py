"""Giving memory back to the system after work that needed much of it for a moment.

The C library keeps what was freed, for each thread apart. A server whose first build of an index took 100 MB
would hold most of that for as long as it runs. Only glibc has the call; elsewhere nothing is done.
"""

from __future__ import annotations

import sys
from typing import Final

ARENAS: Final = 2
"""Separate heaps of the C library, which makes up to eight for each processor so that threads need not wait
for each other. Ours wait for the interpreter anyway, and each heap keeps what its threads freed: some MB."""

_M_ARENA_MAX: Final = -8
"""The number of the option in <malloc.h>."""


def bound_heaps() -> None:
    """From now on, make no more heaps than ARENAS."""
    if sys.platform == "linux":
        import ctypes

        mallopt = getattr(ctypes.CDLL(None), "mallopt", None)
        if mallopt is not None:
            mallopt(_M_ARENA_MAX, ARENAS)


def give_back() -> None:
    """Return what is free to the system: some milliseconds."""
    if sys.platform == "linux":
        import ctypes

        trim = getattr(ctypes.CDLL(None), "malloc_trim", None)
        if trim is not None:
            trim(0)
