"""Other processes that serve the same vaults: allowed, and seldom meant.

What is remembered of a process that was killed may name one that lives for something else, so each is asked.
"""

from __future__ import annotations

import asyncio
import os
from collections.abc import Sequence
from typing import Final

from msgspec import Struct

from vaultbridge.engine import Engine
from vaultbridge.errors import VaultbridgeError
from vaultbridge.protocols.editor.client import connect
from vaultbridge.protocols.editor.endpoint_file import find_running

ASKING_SECONDS: Final = 2.0
"""How long another bridge may take to greet us: the start of this one waits for it."""


class OtherBridge(Struct, frozen=True):
    vault: str
    port: int
    pid: int


async def other_bridges(engines: Sequence[Engine]) -> tuple[OtherBridge, ...]:
    """The bridges that answer for these vaults now. To be asked before we are remembered ourselves."""
    found = []
    for engine in engines:
        known = find_running(engine.cache)
        if known is None or known.pid == os.getpid():
            continue
        try:
            async with asyncio.timeout(ASKING_SECONDS), connect(known):
                found.append(OtherBridge(engine.name, known.port, known.pid))
        except (VaultbridgeError, TimeoutError):
            continue
    return tuple(found)
