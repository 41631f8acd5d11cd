"""`/assistants`: who is connected and what they did; pausing, resuming and disconnecting them.

`AssistantsView` also provides what `status` shows and what `ActivityFeed` sends to a page over its socket
(`/editor`, ability `activity`). Changes are collected for a moment, so that a burst of calls becomes a few
messages: an assistant that reads a hundred notes must not make the page draw a hundred times. A page that
misses something asks for the lists.
"""

from __future__ import annotations

import asyncio
import logging
from collections import deque
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from vaultbridge.activity.clients import Activity, SeenClient
from vaultbridge.activity.pauses import Pauses
from vaultbridge.activity.records import CallRecord, TraceMessage, list_messages
from vaultbridge.errors import InvalidArgument
from vaultbridge.web.api.activity import (
    LIMIT,
    ActivityFilter,
    parse_cursor,
    parse_kinds,
    read_entries,
    render_entries,
)
from vaultbridge.web.api.routes import ApiFailure, PageApi, PageCall
from vaultbridge.web.api.view import TokenFacts, Viewer, copy_client, copy_clients, open_vaults

if TYPE_CHECKING:
    from vaultbridge.engine import Engine


ACTIONS: Final = ("pause", "resume", "disconnect")

EVENT_WORDS: Final = {
    "pause": "was paused",
    "resume": "was resumed",
    "disconnect": "was disconnected by a person",
}


class Editor(Struct, frozen=True):
    """A person's front end: a page, a companion, a terminal."""

    name: str
    app: str
    vault: str


class _Control(Struct, frozen=True, forbid_unknown_fields=True):
    revoke: bool = False


class AssistantsView:
    """`tokens` returns the tokens by principal, `revoke` revokes a token by id, `editors` lists people's
    front ends. `engines` are those of the owner."""

    def __init__(
        self,
        activity: Activity,
        pauses: Pauses,
        engines: Mapping[str, Engine],
        *,
        tokens: Callable[[], Mapping[str, TokenFacts]],
        revoke: Callable[[str], Any],
        editors: Callable[[], Sequence[Editor]],
        owner: str,
    ) -> None:
        self.activity = activity
        self.pauses = pauses
        self._engines = engines
        self._tokens = tokens
        self._revoke = revoke
        self._editors = editors
        self._owner = owner
        self._feeds: list[ActivityFeed] = []

    async def make_viewer(self, call: PageCall | None = None) -> Viewer:
        """What the caller may see; without a call, what the owner may see."""
        engines = self._engines if call is None else call.grant.engines
        vaults = await asyncio.to_thread(open_vaults, engines)
        principal = self._owner if call is None else call.grant.principal
        return Viewer(vaults, principal, call is None or call.grant.owner, self._tokens())

    async def render(self, viewer: Viewer, clients: Sequence[SeenClient] | None = None) -> dict[str, Any]:
        """Render these clients, or all."""
        if clients is None:
            copies = copy_clients(self.activity, viewer)
        else:
            copies = [copy_client(client) for client in clients if viewer.sees(client)]
        rendered = await asyncio.to_thread(lambda: [viewer.render_client(copy) for copy in copies])
        return {"assistants": rendered, "pausedAll": self.pauses.everyone}

    async def list_assistants(self) -> dict[str, Any]:
        """The assistants as the owner sees them, for `status`."""
        return await self.render(await self.make_viewer())

    async def list_entries(
        self, vault: str, *, limit: int, before: str = "", kinds: Sequence[str] = ()
    ) -> dict[str, Any]:
        """What was done in a vault, for a person's editor. Raises InvalidArgument."""
        if not 1 <= limit <= LIMIT:
            raise InvalidArgument(f"limit is from 1 to {LIMIT}.", argument="limit")
        filter_ = ActivityFilter(vault=vault, or_none=True, kinds=parse_kinds(kinds))
        cursor = parse_cursor("before", before)
        return await read_entries(self.activity, await self.make_viewer(), filter_, limit, before=cursor)

    async def list_all(self, call: PageCall) -> dict[str, Any]:
        viewer = await self.make_viewer(call)
        shown = await self.render(viewer)
        editors = self._editors() if viewer.owner else ()
        return {**shown, "editors": editors, "now": self.activity.clock()}

    async def control_one(self, call: PageCall) -> dict[str, Any]:
        client = self.activity.find(call.part("id"))
        if client is None:
            raise ApiFailure(404, "NOT_FOUND", "There is no such assistant.", hint="Ask for the list again.")
        return await self._control(call, [client])

    async def control_all(self, call: PageCall) -> dict[str, Any]:
        return await self._control(call, None)

    async def _control(self, call: PageCall, clients: list[SeenClient] | None) -> dict[str, Any]:
        action = call.part("action")
        if action not in ACTIONS:
            raise ApiFailure(
                404, "NOT_FOUND", f"There is no action {action[:40]!r}.", hint=", ".join(ACTIONS)
            )
        body = await call.body(_Control)
        if body.revoke and action != "disconnect":
            raise InvalidArgument("revoke works only with disconnect.", argument="revoke")
        affected, revoked = await self.control(action, clients, revoke=body.revoke)
        shown = await self.render(await self.make_viewer(call), affected)
        return {**shown, "revoked": revoked}

    async def control(
        self, action: str, clients: list[SeenClient] | None, *, revoke: bool = False
    ) -> tuple[list[SeenClient], list[str]]:
        """Pause, resume or disconnect clients (None: all). Returns those affected, and the names of revoked
        tokens. A disconnected assistant is paused too: otherwise it would reconnect at once."""
        everyone = clients is None
        connected = [
            client for client in self.activity.list_clients() if client.is_connected and client.is_known
        ]
        chosen = connected if clients is None else clients
        identities = {client.identity for client in chosen}
        affected = [
            *chosen,
            *(client for client in connected if client.identity in identities and client not in chosen),
        ]
        tokens = self._tokens()
        if action == "resume":
            await asyncio.to_thread(self._resume, affected, connected, everyone=everyone)
        elif everyone:
            await asyncio.to_thread(self.pauses.pause_everyone)
        else:
            named = [
                (client.identity, client.title or client.name or client.user_agent) for client in affected
            ]
            await asyncio.to_thread(self.pauses.pause, named)
        revoked = []
        if revoke:
            ids = {
                tokens[client.principal].id: tokens[client.principal].name
                for client in affected
                if client.principal in tokens
            }
            for id_, name in ids.items():
                await asyncio.to_thread(self._revoke, id_)
                revoked.append(name)
        for client in affected:
            self.activity.record_event(client, "control", EVENT_WORDS[action])
            if action == "disconnect":
                self.disconnect(client)
            self.activity.changed(client)
        for feed in self._feeds:
            feed.pauses_changed()
        return affected, revoked

    def _resume(self, clients: list[SeenClient], connected: list[SeenClient], *, everyone: bool) -> None:
        if everyone:
            self.pauses.resume_everyone()
            return
        chosen = {client.identity for client in clients}
        if self.pauses.everyone:
            # Everyone was paused: the others stay paused, each by name.
            others = [
                (client.identity, client.title or client.name)
                for client in connected
                if client.identity not in chosen
            ]
            self.pauses.pause(others)
        self.pauses.resume(chosen)

    async def control_named(self, action: str, name: str, *, revoke: bool) -> dict[str, Any]:
        """Like `control`, for what a person types: an id, a name, or "" for all. Raises InvalidArgument."""
        viewer = await self.make_viewer()
        clients = None
        if name:
            folded = name.casefold()
            clients = [
                client
                for client in self.activity.list_clients()
                if client.is_known
                and folded
                in (client.id, client.name.casefold(), viewer.name(client).casefold(), str(client.pid or ""))
            ]
            if not clients:
                known = ", ".join(
                    sorted(
                        {viewer.name(client) for client in self.activity.list_clients() if client.is_known}
                    )
                )
                raise InvalidArgument(
                    f"No assistant is called {name[:60]!r}.",
                    argument="assistant",
                    hint=f"Choose one of: {known}." if known else "None is connected.",
                )
        affected, revoked = await self.control(action, clients, revoke=revoke)
        return {**await self.render(viewer, affected), "revoked": revoked}

    def open_feed(self, notify: Notify) -> ActivityFeed:
        feed = ActivityFeed(self, notify, self._feeds.remove)
        self._feeds.append(feed)
        return feed

    def disconnect(self, client: SeenClient) -> None:
        if client.end is not None:
            client.end()
        elif client.kind in ("stateless", "bridge"):
            # It has no connection to close: it is forgotten until it calls again.
            self.activity.forget_group(client)


def add_assistant_routes(api: PageApi, view: AssistantsView) -> None:
    api.get("/assistants", view.list_all)
    api.post("/assistants/{id}/{action}", view.control_one, owner=True)
    api.post("/assistants/{action}", view.control_all, owner=True)


COLLECT_SECONDS: Final = 0.2
"""How long changes are collected: a person does not notice the delay."""

BURST: Final = 200
"""Entries and messages of one notification; of a larger burst only the newest are sent."""

log = logging.getLogger("vaultbridge.page")

Notify = Callable[[str, dict[str, Any]], None]


class ActivityFeed:
    """One page's subscription; it ends with `close`. Implements `activity.clients.ActivityListener`."""

    def __init__(
        self, assistants: AssistantsView, notify: Notify, closed: Callable[[ActivityFeed], None]
    ) -> None:
        self._assistants = assistants
        self._notify = notify
        self._on_close = closed
        self._loop = asyncio.get_running_loop()
        self._timer: asyncio.TimerHandle | None = None
        self._sending: asyncio.Task[None] | None = None
        self._clients: dict[str, SeenClient] = {}
        self._calls: deque[CallRecord] = deque(maxlen=BURST)
        self._messages: deque[CallRecord | TraceMessage] = deque(maxlen=BURST)
        self._pauses_changed = False
        self._traces = False
        self._json = False
        self._closed = False
        self._stop = assistants.activity.listen(self)
        for client in assistants.activity.list_clients():
            self._clients[client.id] = client
        self._schedule()

    def watch_trace(self, *, on: bool, json: bool) -> None:
        """Start or stop sending protocol messages, and keeping their JSON."""
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
        self._on_close(self)
        self.watch_trace(on=False, json=False)
        if self._timer is not None:
            self._timer.cancel()
        if self._sending is not None:
            self._sending.cancel()

    def pauses_changed(self) -> None:
        """Send the pauses even if no client has changed: everyone may be paused while none is connected."""
        self._pauses_changed = True
        self._schedule()

    # `ActivityListener`.

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
            # The previous changes are still being sent: these wait.
            self._schedule()
            return
        self._sending = self._loop.create_task(self._send())
        self._sending.add_done_callback(_log_failure)

    async def _send(self) -> None:
        clients = [client for client in self._clients.values() if client.is_known]
        calls, messages = list(self._calls), list(self._messages)
        self._clients.clear()
        self._calls.clear()
        self._messages.clear()
        pauses_changed, self._pauses_changed = self._pauses_changed, False
        viewer = await self._assistants.make_viewer()
        if clients or pauses_changed:
            self._notify("assistantsSeen", await self._assistants.render(viewer, clients))
        if calls:
            entries = await asyncio.to_thread(render_entries, viewer, calls)
            if entries:
                self._notify("activityAdded", {"entries": entries})
        if messages:
            traced = [message for entry in messages for message in list_messages(entry)]
            traced.sort(key=lambda message: message.number)
            rendered = [viewer.render_message(message) for message in traced]
            self._notify("traceAdded", {"messages": rendered})


def _log_failure(task: asyncio.Task[None]) -> None:
    if not task.cancelled() and (error := task.exception()) is not None:
        log.error("sending activity to a page failed", exc_info=error)
