"""The other bridges that serve a server's vaults: finding them, and ending those that were only temporary."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import signal
from collections.abc import Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from vaultbridge.errors import VaultbridgeError
from vaultbridge.protocols.editor.client import connect
from vaultbridge.protocols.editor.endpoint_file import Endpoint, find_running

if TYPE_CHECKING:
    from vaultbridge.engine import DirectEngine

log = logging.getLogger("vaultbridge.serve")

ASKING_SECONDS: Final = 2.0
"""How long another bridge may take to answer: our start waits for it."""


ENDING_SECONDS: Final = 15.0
"""How long a temporary bridge that is asked to end may take: more than it gives its own requests."""

ENDING_POLL_SECONDS: Final = 0.05
"""How often we look whether it has ended: our start waits for it."""


class OtherBridge(Struct, frozen=True):
    """`temporary`: it was started in the background by `vaultbridge page`, and only until it is not used."""

    vault: str
    host: str
    port: int
    pid: int
    temporary: bool = False

    def __str__(self) -> str:
        return (
            f"Another bridge (port {self.port}, process {self.pid}) serves {self.vault} already: "
            "Claude Code asks which one to use, and commands go to that one."
        )


async def find_other_bridges(engines: Sequence[DirectEngine]) -> tuple[OtherBridge, ...]:
    """Find other bridges that serve these vaults. Call it before our own endpoint file is written.

    Two bridges for one vault are allowed, but seldom intended.
    """
    bridges = []
    for engine in engines:
        known = find_running(engine.cache)
        if known is not None and known.pid != os.getpid() and await is_answering(known):
            bridges.append(OtherBridge(engine.name, known.host, known.port, known.pid, known.temporary))
    return tuple(bridges)


async def is_answering(known: Endpoint) -> bool:
    """Whether this bridge really runs: the endpoint file of a killed one may name a process id that is in use
    again."""
    try:
        async with asyncio.timeout(ASKING_SECONDS), connect(known):
            return True
    except (VaultbridgeError, TimeoutError):
        return False


async def replace_temporary(bridges: Sequence[OtherBridge]) -> tuple[OtherBridge, ...]:
    """End the temporary ones, whose port and token our server then takes, so that a page that is open there
    stays connected. Each must have answered. Returns the others."""
    for bridge in {bridge.pid: bridge for bridge in bridges if bridge.temporary}.values():
        log.info("Ending the bridge that was started in the background (process %d)", bridge.pid)
        with contextlib.suppress(OSError, TimeoutError):
            os.kill(bridge.pid, signal.SIGTERM)
            async with asyncio.timeout(ENDING_SECONDS):
                await _wait_until_closed(bridge)
    return tuple(bridge for bridge in bridges if not bridge.temporary)


async def _wait_until_closed(bridge: OtherBridge) -> None:
    """Wait until nothing listens on its port."""
    while True:
        try:
            _, writer = await asyncio.open_connection(bridge.host, bridge.port)
        except OSError:
            return
        writer.close()
        await asyncio.sleep(ENDING_POLL_SECONDS)
