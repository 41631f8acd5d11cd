"""Records the client of a stdio process from its first call on, and obeys a person's pauses.

    watch = StdioWatch(texts, environ)
    serve_stdio(dialect, attach=watch.attach, at_end=…)

Loaded with the first call, or a moment later if there is none. When the first call has been answered,
`report` begins to send what it records to the running server.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from vaultbridge.activity.clients import Activity, SeenClient
from vaultbridge.activity.pauses import Pauses
from vaultbridge.errors import VaultbridgeError
from vaultbridge.protocols.editor.endpoint_file import find_running
from vaultbridge.protocols.mcp.dialect import McpDialect
from vaultbridge.server.sessions import SessionMark
from vaultbridge.server.stdio.report import Reporter
from vaultbridge.server.vault_choice import choose_known_vault
from vaultbridge.vault.folders import find_bases, vault_cache, vault_state
from vaultbridge.vault.obsidian import find_vault

if TYPE_CHECKING:
    from vaultbridge.protocols.connection import Connection
    from vaultbridge.protocols.editor.endpoint_file import Endpoint

REPORT_SECONDS: Final = 0.5
"""How long after the client is attached reporting begins: the first call should be answered before that."""

LAST_SECONDS: Final = 0.5
"""How long the last report may take, when somebody waits for this process to exit."""

FIND_SECONDS: Final = 1.0
"""How often a vault that was not there is looked for again."""

log = logging.getLogger("vaultbridge.report")


class StdioWatch:
    """`texts` name the vaults as the command line does; empty means those in Obsidian's list."""

    def __init__(self, texts: Sequence[str], environ: Mapping[str, str]) -> None:
        self._vaults = StdioVaults(tuple(texts), environ)
        self._client: SeenClient | None = None
        self._starting: asyncio.TimerHandle | None = None
        self._reporter: Reporter | None = None

    def attach(self, connection: Connection) -> SeenClient:
        client = Activity(gate=self._vaults).join("stdio")
        client.pid, client.parent_pid = os.getpid(), os.getppid()
        client.end = connection.end
        dialect = connection.dialect
        if isinstance(dialect, McpDialect):
            client.introduce(dialect.client.info)
        self._client = client
        self._starting = asyncio.get_running_loop().call_later(REPORT_SECONDS, self._start)
        return client

    def _start(self) -> Reporter | None:
        if self._reporter is None and self._client is not None:
            self._reporter = Reporter(self._client, self._vaults)
            self._reporter.start()
        return self._reporter

    async def finish(self) -> None:
        """Report what is not reported yet, and stop. Takes no longer than LAST_SECONDS."""
        if self._starting is not None:
            self._starting.cancel()
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(LAST_SECONDS):
                if self._reporter is None and not await asyncio.to_thread(self._vaults.list_servers):
                    return
                if (reporter := self._start()) is not None:
                    await reporter.finish()
        self._vaults.remove_marks()


class StdioVaults:
    """The folders of a stdio process's vaults, and their pauses. Implements `activity.clients.PauseGate`."""

    def __init__(self, texts: Sequence[str], environ: Mapping[str, str]) -> None:
        self._texts = texts
        self._environ = environ
        self._pauses = Pauses(())
        self._looked = -FIND_SECONDS
        self._complete = False
        self.caches: dict[str, Path] = {}
        """The cache folder of each vault that is there, by the vault's folder."""
        self._marks: dict[Path, SessionMark] = {}

    def is_paused(self, identity: str) -> bool:
        self.find()
        return self._pauses.is_paused(identity)

    def find(self) -> None:
        """Find the vaults; tried again, at most once per FIND_SECONDS, until all are there."""
        now = time.monotonic()
        if self._complete or now - self._looked < FIND_SECONDS:
            return
        self._looked = now
        states: list[Path] = []
        try:
            texts = self._texts or choose_known_vault(self._environ).vaults
            for text in texts:
                folder = find_vault(text, environ=self._environ).resolve()
                bases = find_bases(self._environ)
                states.append(vault_state(folder, bases))
                self.caches[str(folder)] = vault_cache(folder, bases)
            self._complete = True
        except (VaultbridgeError, OSError) as error:
            log.debug("A vault is not there yet: %s", error)
        self._pauses = Pauses(states)

    def mark(self) -> None:
        """Mark each vault as one that this process uses. Writes files."""
        for cache in tuple(self.caches.values()):
            if cache not in self._marks:
                self._marks[cache] = SessionMark(cache)
                self._marks[cache].write()

    def remove_marks(self) -> None:
        for mark in self._marks.values():
            mark.remove()

    def list_servers(self) -> dict[Endpoint, tuple[str, ...]]:
        """The servers that run now, each with the folders of the vaults it serves. Reads files."""
        self.find()
        servers: dict[Endpoint, tuple[str, ...]] = {}
        for folder, cache in tuple(self.caches.items()):
            running = find_running(cache)
            if running is not None and running.pid != os.getpid():
                # Each vault's file names that vault; without it, the entries of one server are equal.
                server = replace(running, vault="")
                servers[server] = (*servers.get(server, ()), folder)
        return servers
