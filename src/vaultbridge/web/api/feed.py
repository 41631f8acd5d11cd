"""Sends a page what happens, over the socket that it holds (`/editor`, ability `activity`).

Changes are collected for a moment, so that a burst of calls is a few messages: an assistant that reads a
hundred notes must not make the page work a hundred times. A page that misses something asks for the lists.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Final

from vaultbridge.activity.clients import SeenClient
from vaultbridge.activity.records import CallRecord, TraceMessage, list_messages

if TYPE_CHECKING:
    from vaultbridge.web.api.assistants import AssistantsView

COLLECT_SECONDS: Final = 0.2
"""How long changes are collected: a person sees it as at once."""

BURST: Final = 200
"""Entries and messages of one notification; of a larger burst only the newest are sent."""

log = logging.getLogger("vaultbridge.page")

Notify = Callable[[str, dict[str, Any]], None]


class ActivityFeed:
    """One page's subscription; it ends with `close`. Implements `activity.clients.Listener`."""

    def __init__(self, assistants: AssistantsView, notify: Notify) -> None:
        self._assistants = assistants
        self._notify = notify
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._sending: asyncio.Task[None] | None = None
        self._clients: dict[str, SeenClient] = {}
        self._calls: deque[CallRecord] = deque(maxlen=BURST)
        self._messages: deque[CallRecord | TraceMessage] = deque(maxlen=BURST)
        self._traces = False
        self._json = False
        self._closed = False
        self._stop = assistants.activity.listen(self)
        for client in assistants.activity.listed():
            self._clients[client.id] = client
        self._schedule()

    def watch_trace(self, *, on: bool, json: bool) -> None:
        """Begin or end sending messages of the protocols, and keeping their JSON."""
        self._traces = on
        wanted = on and json
        if wanted != self._json:
            self._json = wanted
            self._assistants.activity.want_json(wanted=wanted)

    def close(self) -> None:
        if self._closed:
            return
        self._closed = True
        self._stop()
        self.watch_trace(on=False, json=False)
        if self._timer is not None:
            self._timer.cancel()
        if self._sending is not None:
            self._sending.cancel()

    # `Listener`.

    def client_changed(self, client: SeenClient) -> None:
        self._clients[client.id] = client
        self._schedule()

    def call_added(self, record: CallRecord) -> None:
        self._clients[record.client.id] = record.client
        self._calls.append(record)
        self._schedule()

    def message_added(self, entry: CallRecord | TraceMessage) -> None:
        if self._traces:
            self._messages.append(entry)
            self._schedule()

    def _schedule(self) -> None:
        if self._timer is None and not self._closed:
            self._timer = self._loop.call_later(COLLECT_SECONDS, self._start)

    def _start(self) -> None:
        self._timer = None
        if self._sending is not None and not self._sending.done():
            # The last lot is still being rendered: this one waits for it.
            self._schedule()
            return
        self._sending = self._loop.create_task(self._send())
        self._sending.add_done_callback(_log_failure)

    async def _send(self) -> None:
        clients = [one for one in self._clients.values() if one.is_known]
        calls, messages = list(self._calls), list(self._messages)
        self._clients.clear()
        self._calls.clear()
        self._messages.clear()
        viewer = await self._assistants.make_viewer()
        if clients:
            self._notify("assistantsSeen", await self._assistants.render(viewer, clients))
        if calls:
            from vaultbridge.web.api.activity import render_entries

            entries = await asyncio.to_thread(render_entries, viewer, calls)
            if entries:
                self._notify("activityAdded", {"entries": entries})
        if messages:
            listed = [one for entry in messages for one in list_messages(entry)]
            listed.sort(key=lambda one: one.number)
            self._notify("traceAdded", {"messages": [viewer.render_message(one) for one in listed]})


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("telling a page what happened failed", exc_info=error)
