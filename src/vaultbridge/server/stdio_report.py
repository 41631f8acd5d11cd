"""What a stdio process tells the `vaultbridge serve` of its vaults, if one runs: who its client is and what
it did.

    watch = StdioWatch(texts, environ)
    serve_stdio(dialect, attach=watch.attach, at_end=…)

Loaded after the session has opened: with the first call, or a moment later if there is none. From then on the
client's calls are recorded here, pauses are obeyed (`activity.pauses`), and two tasks talk to the server that
the endpoint file names. One asks for what a person wants (to disconnect this client) and is answered when
there is something or after a while; the other reports calls soon after they ended. A server that is not
there, or that ends, costs a look at a small file every two seconds. A new one is told everything that is
remembered, so the order in which the two are started does not matter.

Requests are plain HTTP, by a client without a library: every assistant starts processes like this one, and
each should stay small.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import secrets
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

import msgspec

from vaultbridge.activity.clients import Activity, CallRecord, SeenClient, TraceMessage
from vaultbridge.activity.pauses import Pauses
from vaultbridge.activity.report import (
    CALLS_AT_ONCE,
    CLIENTS_PATH,
    WAIT_SECONDS,
    ReportAnswer,
    StdioReport,
    make_reported_call,
)
from vaultbridge.errors import JSON_ERRORS, VaultbridgeError
from vaultbridge.protocols.mcp.dialect import McpDialect
from vaultbridge.system import describe_process

if TYPE_CHECKING:
    from vaultbridge.protocols.connection import Connection
    from vaultbridge.protocols.editor.endpoint_file import Endpoint

LOOK_SECONDS: Final = 2.0
"""How often a process looks whether a server has started: nobody who opens the page waits longer for it."""

SOON_SECONDS: Final = 0.3
"""How long calls are collected before they are reported."""

ANSWER_SECONDS: Final = 5.0
"""How long a server on this machine may take to take a report."""

LAST_SECONDS: Final = 0.5
"""The same at the end of the session, when somebody waits for this process to exit."""

FIND_SECONDS: Final = 1.0
"""How often a vault that was not there is looked for again."""

log = logging.getLogger("vaultbridge.report")


class StdioWatch:
    """`texts` name the vaults as the command line does; empty means those in Obsidian's list."""

    def __init__(self, texts: Sequence[str], environ: Mapping[str, str]) -> None:
        self._texts = tuple(texts)
        self._environ = environ
        self._vaults = _Vaults(self._texts, environ)
        self._tasks: list[asyncio.Task[None]] = []
        self._reporter: _Reporter | None = None

    def attach(self, connection: Connection) -> SeenClient:
        activity = Activity(gate=self._vaults)
        client = activity.join("stdio")
        client.pid, client.parent_pid = os.getpid(), os.getppid()
        client.end = connection.end
        dialect = connection.dialect
        if isinstance(dialect, McpDialect):
            client.introduce(dialect.client.info)
        self._reporter = _Reporter(activity, client, self._vaults)
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(work()) for work in (self._reporter.listen, self._reporter.push)]
        return client

    async def finish(self) -> None:
        """Report what is not reported yet, and stop. Takes no longer than LAST_SECONDS."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        if self._reporter is not None:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(LAST_SECONDS):
                    await self._reporter.tell_servers(ended=True)


class _Vaults:
    """The folders of this process's vaults, and their pauses. Implements `activity.clients.Gate`."""

    def __init__(self, texts: Sequence[str], environ: Mapping[str, str]) -> None:
        self._texts = texts
        self._environ = environ
        self._pauses = Pauses(())
        self._looked = -FIND_SECONDS
        self._complete = False
        self.caches: dict[str, Path] = {}
        """The cache folder of each vault that is there, by the vault's folder."""

    def is_paused(self, identity: str) -> bool:
        self.find()
        return self._pauses.is_paused(identity)

    def find(self) -> None:
        """Find the vaults, again and again until all are there."""
        now = time.monotonic()
        if self._complete or now - self._looked < FIND_SECONDS:
            return
        self._looked = now
        from vaultbridge.server.vault_choice import list_obsidian_vaults
        from vaultbridge.vault.cache_folder import cache_base, vault_cache
        from vaultbridge.vault.obsidian import find_vault

        try:
            texts = self._texts or list_obsidian_vaults(self._environ)
            for text in texts:
                folder = find_vault(text, environ=self._environ).resolve()
                self.caches[str(folder)] = vault_cache(folder, cache_base(self._environ))
            self._complete = True
        except (VaultbridgeError, OSError) as error:
            log.debug("A vault is not there yet: %s", error)
        self._pauses = Pauses(self.caches.values())

    def list_servers(self) -> dict[Endpoint, tuple[str, ...]]:
        """The servers that run now, each with the folders of the vaults it serves. Reads files."""
        from vaultbridge.protocols.editor.endpoint_file import find_running

        self.find()
        found: dict[Endpoint, tuple[str, ...]] = {}
        for folder, cache in tuple(self.caches.items()):
            running = find_running(cache)
            if running is not None and running.pid != os.getpid():
                # Each vault's file names its own vault: the same server otherwise.
                server = msgspec.structs.replace(running, vault="")
                found[server] = (*found.get(server, ()), folder)
        return found


class _Reporter:
    """Implements `activity.clients.Listener`."""

    def __init__(self, activity: Activity, client: SeenClient, vaults: _Vaults) -> None:
        self._activity = activity
        self._client = client
        self._vaults = vaults
        self._id = secrets.token_hex(8)
        self._news = asyncio.Event()
        self._told: dict[str, int] = {}
        """The last call that each server has, by address and process; 0 for a server that has none."""
        self._parent = describe_process(client.parent_pid).name
        activity.listen(self)

    # `Listener`.

    def client_changed(self, client: SeenClient) -> None:
        self._news.set()

    def call_added(self, record: CallRecord) -> None:
        self._news.set()

    def message_added(self, message: TraceMessage) -> None:
        pass

    async def listen(self) -> None:
        """Ask the servers what a person wants, for ever."""
        while True:
            began = time.monotonic()
            servers = await asyncio.to_thread(self._vaults.list_servers)
            await asyncio.gather(
                *(self._tell(server, folders, wait=True) for server, folders in servers.items())
            )
            # A server that is not there, or that is about to end, answers at once.
            await asyncio.sleep(max(0.0, LOOK_SECONDS - (time.monotonic() - began)))

    async def push(self) -> None:
        """Report calls soon after they ended, for ever."""
        while True:
            await self._news.wait()
            await asyncio.sleep(SOON_SECONDS)
            self._news.clear()
            await self.tell_servers()

    async def tell_servers(self, *, ended: bool = False) -> None:
        for server, folders in (await asyncio.to_thread(self._vaults.list_servers)).items():
            while await self._tell(server, folders, ended=ended) and self._has_more(server):
                """A server takes so many calls at once."""

    def _has_more(self, server: Endpoint) -> bool:
        calls = self._activity.calls
        return bool(calls) and calls[-1].order > self._told.get(_name(server), 0)

    async def _tell(
        self, server: Endpoint, folders: tuple[str, ...], *, wait: bool = False, ended: bool = False
    ) -> bool:
        """Send one report. Returns whether the server took it. `wait`: let it answer when there is something
        that a person wants. `ended`: this is the last one."""
        name = _name(server)
        told = self._told.get(name)
        # A server that we do not know is asked first what it has.
        calls: list[CallRecord] = []
        if told is not None and not wait:
            newer = (call for call in self._activity.calls if call.order > told)
            calls = [call for call, _ in zip(newer, range(CALLS_AT_ONCE), strict=False)]
        seen = set(folders)
        client = self._client
        report = StdioReport(
            id=self._id,
            pid=client.pid,
            parent_pid=client.parent_pid,
            parent_name=self._parent,
            name=client.name,
            title=client.title,
            version=client.version,
            since=client.since,
            folders=folders,
            calls=[make_reported_call(call, seen.__contains__) for call in calls],
            running=[one.tool or one.method for one in client.running.values()],
            wait=wait and told is not None,
            ended=ended and told is not None,
        )
        answer = await _post(server, report, WAIT_SECONDS + ANSWER_SECONDS if wait else ANSWER_SECONDS)
        if answer is None:
            self._told.pop(name, None)
            return False
        self._told[name] = answer.seen
        if answer.seen == 0 and not calls:
            self._news.set()
        if answer.disconnect and client.end is not None:
            client.end()
        return True


def _name(server: Endpoint) -> str:
    return f"{server.url} {server.pid}"


async def _post(server: Endpoint, report: StdioReport, seconds: float) -> ReportAnswer | None:
    """None when the server does not answer, or not as ours do."""
    from vaultbridge.protocols.bridge_v1.http_client import parse_address, send_request

    try:
        answer = await send_request(
            parse_address(server.url),
            "POST",
            CLIENTS_PATH,
            headers={"Authorization": f"Bearer {server.token}", "Content-Type": "application/json"},
            body=msgspec.json.encode(report),
            seconds=seconds,
            certificate=server.certificate,
        )
        return msgspec.json.decode(answer.body, type=ReportAnswer) if answer.status == 200 else None
    except (VaultbridgeError, *JSON_ERRORS) as error:
        log.debug("The server at %s was not told: %s", server.url, error)
        return None
