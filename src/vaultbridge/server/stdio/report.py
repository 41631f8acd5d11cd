"""Reports the client of a stdio process, and its calls, to the `vaultbridge serve` of its vaults, if one is
running.

Two tasks talk to the server that the endpoint file names. One asks whether a person wants anything (to
disconnect this client); the server answers when that is so, or after a while. The other reports calls soon
after they have ended. While no server is running, a small file is read every two seconds. A new server gets
everything that is remembered, so it does not matter which of the two is started first.

Requests are plain HTTP without a library: every assistant starts processes like this one, and each should
stay small. `web/api/clients.py` receives them.
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
from vaultbridge.protocols.bridge_v1.http_client import parse_address, send_request
from vaultbridge.system import describe_process

if TYPE_CHECKING:
    from vaultbridge.protocols.editor.endpoint_file import Endpoint
    from vaultbridge.server.stdio.watch import StdioVaults

LOOK_SECONDS: Final = 2.0
"""How often a process checks whether a server has started: a person who opens the page waits no longer than
this for its clients."""

SOON_SECONDS: Final = 0.3
"""How long calls are collected before they are reported."""

ANSWER_SECONDS: Final = 5.0
"""How long a server on this machine may take to accept a report."""

log = logging.getLogger("vaultbridge.report")


class Reporter:
    """Implements `activity.clients.ActivityListener`."""

    def __init__(self, client: SeenClient, vaults: StdioVaults) -> None:
        self._activity = client.activity
        self._client = client
        self._vaults = vaults
        self._id = os.urandom(8).hex()
        self._changed = asyncio.Event()
        self._reported: dict[str, int] = {}
        """The last call that each server has, by address and process; 0 for a server that has none."""
        self._parent = describe_process(client.parent_pid).name
        self._tasks: list[asyncio.Task[None]] = []
        self._changed.set()
        self._activity.listen(self)

    # `ActivityListener`.

    def client_changed(self, client: SeenClient) -> None:
        self._changed.set()

    def call_added(self, record: CallRecord) -> None:
        self._changed.set()

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
        """Ask the servers what a person wants, until cancelled."""
        while True:
            began = time.monotonic()
            servers = await asyncio.to_thread(self._vaults.list_servers)
            await asyncio.to_thread(self._vaults.mark)
            await asyncio.gather(
                *(self._report(server, folders, wait=True) for server, folders in servers.items())
            )
            # A server that is about to end answers at once, and one that has ended fails at once.
            await asyncio.sleep(max(0.0, LOOK_SECONDS - (time.monotonic() - began)))

    async def push(self) -> None:
        """Report calls soon after they have ended, until cancelled."""
        while True:
            await self._changed.wait()
            await asyncio.sleep(SOON_SECONDS)
            self._changed.clear()
            await self.report_to_servers()

    async def report_to_servers(self, *, ended: bool = False) -> None:
        for server, folders in (await asyncio.to_thread(self._vaults.list_servers)).items():
            # A server accepts a limited number of calls at once.
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
        """Send one report. Returns whether the server accepted it. `wait`: it may wait with the answer until
        a person wants something. `ended`: this is the last report."""
        name = _name(server)
        reported = self._reported.get(name)
        # The first report to a server contains no calls: its answer says which ones it already has.
        calls: list[CallRecord] = []
        if reported is not None and not wait:
            newer = (call for call in self._activity.calls if call.order > reported)
            calls = [call for call, _ in zip(newer, range(CALLS_AT_ONCE), strict=False)]
        served = set(folders)
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
            calls=[make_reported_call(record, served.__contains__) for record in calls],
            running=[call.tool or call.method for call in client.running.values()],
            wait=wait and reported is not None,
            ended=ended and reported is not None and self._is_last(calls),
        )
        answer = await _post(server, report, WAIT_SECONDS + ANSWER_SECONDS if wait else ANSWER_SECONDS)
        if answer is None:
            self._reported.pop(name, None)
            return False
        self._reported[name] = answer.seen
        if answer.seen == 0 and not calls:
            self._changed.set()
        if answer.disconnect and client.end is not None:
            client.end()
        return True


def _name(server: Endpoint) -> str:
    return f"{server.url} {server.pid}"


async def _post(server: Endpoint, report: StdioReport, seconds: float) -> ReportAnswer | None:
    """Send the report; None if the server does not answer, or not as ours do."""
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
