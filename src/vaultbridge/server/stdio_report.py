"""What a stdio process reports to the `vaultbridge serve` of its vaults, if one is running: who its client is
and what it did.

Two tasks talk to the server that the endpoint file names. One asks for what a person wants (to disconnect
this client) and is answered when there is something or after a while; the other reports calls soon after they
ended. A server that is not there, or that ends, costs a look at a small file every two seconds. A new one
gets everything that is remembered, so the order in which the two are started does not matter.

Requests are plain HTTP, by a client without a library: every assistant starts processes like this one, and
each should stay small. `web/api/clients.py` is the other end.
"""

from __future__ import annotations

import asyncio
import logging
import os
import time
from typing import TYPE_CHECKING, Final

import msgspec

from vaultbridge.activity.clients import SeenClient
from vaultbridge.activity.records import CallRecord, TraceMessage
from vaultbridge.activity.report import (
    CALLS_AT_ONCE,
    CLIENTS_PATH,
    WAIT_SECONDS,
    ReportAnswer,
    StdioReport,
    make_reported_call,
)
from vaultbridge.errors import JSON_ERRORS, VaultbridgeError
from vaultbridge.system import describe_process

if TYPE_CHECKING:
    from vaultbridge.protocols.editor.endpoint_file import Endpoint
    from vaultbridge.server.stdio_watch import StdioVaults

LOOK_SECONDS: Final = 2.0
"""How often a process checks whether a server has started: somebody who opens the page waits no longer than
this."""

SOON_SECONDS: Final = 0.3
"""How long calls are collected before they are reported."""

ANSWER_SECONDS: Final = 5.0
"""How long a server on this machine may take to take a report."""

log = logging.getLogger("vaultbridge.report")


class Reporter:
    """Implements `activity.clients.Listener`."""

    def __init__(self, client: SeenClient, vaults: StdioVaults) -> None:
        self._activity = client.activity
        self._client = client
        self._vaults = vaults
        self._id = os.urandom(8).hex()
        self._news = asyncio.Event()
        self._reported: dict[str, int] = {}
        """The last call that each server has, by address and process; 0 for a server that has none."""
        self._parent = describe_process(client.parent_pid).name
        self._tasks: list[asyncio.Task[None]] = []
        self._news.set()
        self._activity.listen(self)

    # `Listener`.

    def client_changed(self, client: SeenClient) -> None:
        self._news.set()

    def call_added(self, record: CallRecord) -> None:
        self._news.set()

    def message_added(self, entry: CallRecord | TraceMessage) -> None:
        pass

    def start(self) -> None:
        loop = asyncio.get_running_loop()
        self._tasks = [loop.create_task(work()) for work in (self.listen, self.push)]

    async def finish(self) -> None:
        """Report what is not reported yet, and that this is the end."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._activity.count_ended()
        await self.report_to_servers(ended=True)

    async def listen(self) -> None:
        """Ask the servers, forever, what a person wants."""
        while True:
            began = time.monotonic()
            servers = await asyncio.to_thread(self._vaults.list_servers)
            await asyncio.gather(
                *(self._report(server, folders, wait=True) for server, folders in servers.items())
            )
            # A server that is not there, or that is about to end, answers at once.
            await asyncio.sleep(max(0.0, LOOK_SECONDS - (time.monotonic() - began)))

    async def push(self) -> None:
        """Report calls soon after they ended, forever."""
        while True:
            await self._news.wait()
            await asyncio.sleep(SOON_SECONDS)
            self._news.clear()
            await self.report_to_servers()

    async def report_to_servers(self, *, ended: bool = False) -> None:
        for server, folders in (await asyncio.to_thread(self._vaults.list_servers)).items():
            # A server takes only so many calls at once.
            while await self._report(server, folders, ended=ended) and self._has_more(server):
                pass

    def _has_more(self, server: Endpoint) -> bool:
        calls = self._activity.calls
        return bool(calls) and calls[-1].order > self._reported.get(_name(server), 0)

    def _is_last(self, calls: list[CallRecord]) -> bool:
        """Whether nothing is left to report after these calls."""
        return not self._activity.calls or not calls or self._activity.calls[-1] is calls[-1]

    async def _report(
        self, server: Endpoint, folders: tuple[str, ...], *, wait: bool = False, ended: bool = False
    ) -> bool:
        """Send one report. Returns whether the server took it. `wait`: let it answer when there is something
        that a person wants. `ended`: this is the last one."""
        name = _name(server)
        reported = self._reported.get(name)
        # A server that we do not know is asked first what it has.
        calls: list[CallRecord] = []
        if reported is not None and not wait:
            newer = (call for call in self._activity.calls if call.order > reported)
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
            wait=wait and reported is not None,
            ended=ended and reported is not None and self._is_last(calls),
        )
        answer = await _post(server, report, WAIT_SECONDS + ANSWER_SECONDS if wait else ANSWER_SECONDS)
        if answer is None:
            self._reported.pop(name, None)
            return False
        self._reported[name] = answer.seen
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
        log.debug("The report to the server at %s failed: %s", server.url, error)
        return None
