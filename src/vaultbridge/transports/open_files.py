"""How many connections this process has room for.

Each is an open file, and so is everything a vault needs: where callers use them all up, no note can be read.
Many systems allow few files until a process asks for more (256 on a Mac), so a server asks.
"""

from __future__ import annotations

from typing import Final

CONNECTIONS: Final = 1000
"""Connections at once: all the exchanges and sessions that there may be, and the editors beside them."""

RESERVED: Final = 128
"""Files kept for the vaults: indexes, journals, watches and the notes that are being read."""

FEWEST: Final = 16
"""Let in however few files there may be: somebody has to be told what is wrong."""


def room_for_connections() -> int:
    """Ask the system for as many open files as are needed, and give how many connections then fit."""
    try:
        import resource
    except ImportError:
        # Windows has no such limit.
        return CONNECTIONS
    wanted = CONNECTIONS + RESERVED
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        better = wanted if hard == resource.RLIM_INFINITY else min(wanted, hard)
        try:
            resource.setrlimit(resource.RLIMIT_NOFILE, (better, hard))
            soft = better
        except (OSError, ValueError):
            # A rule of the system that the limits do not show.
            pass
    unlimited = soft == resource.RLIM_INFINITY or soft >= wanted
    return CONNECTIONS if unlimited else max(soft - RESERVED, FEWEST)
