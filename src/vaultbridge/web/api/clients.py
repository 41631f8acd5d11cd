"""`/clients`: the reports of stdio processes on this machine, whose clients are then listed here too.

`server/stdio/report.py` sends them. A report with `wait` is answered when a person wants the client to be
disconnected, when the time is up, or when the server stops. A client is gone when its process is.
"""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import web
from msgspec import Struct

from vaultbridge.activity.clients import Activity, SeenClient
from vaultbridge.activity.records import EVENT
from vaultbridge.activity.report import WAIT_SECONDS, ReportAnswer, StdioReport, make_record
from vaultbridge.system import is_process_alive
from vaultbridge.web.api.routes import ApiFailure, PageApi, PageCall

CLIENTS: Final = 64
"""The most processes that may report at once: nobody has that many assistants."""

ALIVE_SECONDS: Final = 1.0
"""How often we check that each reporting process is alive, which is one system call."""


class _Reported(Struct):
    client: SeenClient
    wanted: asyncio.Event
    """Set when a waiting report should be answered."""
    seen: int = 0
    disconnect: bool = False


class ReportedClients:
    def __init__(self, activity: Activity) -> None:
        self._activity = activity
        self._known: dict[str, _Reported] = {}
        self._checking: asyncio.TimerHandle | None = None
        self._closed = False

    async def report(self, call: PageCall) -> ReportAnswer:
        report = await call.body(StdioReport)
        known = self._known.get(report.id) or self._join(report)
        self._update(known, report)
        if report.ended:
            self._leave(report.id)
        elif report.wait and not known.disconnect and not self._closed:
            known.wanted.clear()
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    await known.wanted.wait()
            except TimeoutError:
                pass
        return ReportAnswer(known.seen, known.disconnect)

    async def close(self, app: web.Application | None = None) -> None:
        """Answer all waiting reports: the server is stopping."""
        self._closed = True
        if self._checking is not None:
            self._checking.cancel()
        for known in self._known.values():
            known.wanted.set()

    def _join(self, report: StdioReport) -> _Reported:
        if len(self._known) >= CLIENTS:
            raise ApiFailure(503, "SERVER_ERROR", f"{CLIENTS} processes report already.")
        client = self._activity.join("stdio")
        client.since = report.since
        known = self._known[report.id] = _Reported(client, asyncio.Event())

        def end() -> None:
            known.disconnect = True
            known.wanted.set()

        client.end = end
        self._check_later()
        return known

    def _update(self, known: _Reported, report: StdioReport) -> None:
        client, activity = known.client, self._activity
        client.pid, client.parent_pid, client.parent_name = report.pid, report.parent_pid, report.parent_name
        client.folders = report.folders
        if (report.name, report.title, report.version) != (client.name, client.title, client.version):
            client.introduce({"name": report.name, "title": report.title, "version": report.version})
        client.running_elsewhere = tuple(report.running)
        for call in report.calls:
            if call.order <= known.seen:
                continue
            known.seen = call.order
            if call.method.startswith(EVENT):
                # Connecting and disconnecting, which is already recorded here.
                continue
            record = make_record(call, client, next(activity.numbers))
            record.answer_number = next(activity.numbers)
            activity.add(record)

    def _leave(self, id_: str) -> None:
        known = self._known.pop(id_)
        known.wanted.set()
        self._activity.leave(known.client)

    def _check_later(self) -> None:
        if self._checking is None and not self._closed:
            self._checking = asyncio.get_running_loop().call_later(ALIVE_SECONDS, self._check)

    def _check(self) -> None:
        self._checking = None
        for id_, known in tuple(self._known.items()):
            if not is_process_alive(known.client.pid):
                self._leave(id_)
        if self._known:
            self._check_later()


def add_client_routes(api: PageApi, reported: ReportedClients) -> None:
    api.post("/clients", reported.report, owner=True)
