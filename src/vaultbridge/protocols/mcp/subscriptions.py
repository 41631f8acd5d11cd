"""The subscriptions of one connection: `resources/subscribe` and `subscriptions/listen`.

It turns the provider's changes into the notifications of each subscriber's version. It sends nothing that was
not requested, except list changes, which every session gets.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any, Final

import msgspec

from vaultbridge.errors import InvalidArgument
from vaultbridge.jsonrpc.messages import Params, RequestId
from vaultbridge.protocols.dialect import Call, Peer
from vaultbridge.protocols.mcp import wire as mcp_wire
from vaultbridge.protocols.mcp.server import McpServer
from vaultbridge.protocols.mcp.values import (
    PromptsChanged,
    ProviderChange,
    ResourcesChanged,
    ResourceUpdated,
    ToolsChanged,
)

if TYPE_CHECKING:
    from vaultbridge.protocols.mcp.context import Client

SUBSCRIPTION_KEY: Final = "io.modelcontextprotocol/subscriptionId"

MAX_WATCHED: Final = 1000
"""Resources that one connection may watch: each is checked at every change."""

MAX_LISTENING: Final = 32
"""Listening streams of one connection. A client needs one; some open one per kind of change."""


class _Filter(msgspec.Struct, frozen=True):
    tools: bool
    prompts: bool
    resources: bool
    uris: frozenset[str]
    shows_views: bool

    def wants(self, change: ProviderChange) -> bool:
        match change:
            case ToolsChanged(views):
                return self.tools and (self.shows_views or not views)
            case PromptsChanged():
                return self.prompts
            case ResourcesChanged():
                return self.resources
            case ResourceUpdated(uri):
                return uri in self.uris

    def render(self) -> dict[str, Any]:
        form: dict[str, Any] = {}
        if self.tools:
            form["toolsListChanged"] = True
        if self.prompts:
            form["promptsListChanged"] = True
        if self.resources:
            form["resourcesListChanged"] = True
        if self.uris:
            form["resourceSubscriptions"] = sorted(self.uris)
        return form


class Subscriptions:
    """The subscriptions of one connection. `session` is the client of an open session, which gets list
    changes without subscribing."""

    def __init__(self, server: McpServer, peer: Peer) -> None:
        self._server = server
        self._peer = peer
        self._watched: set[str] = set()
        self._streams: dict[RequestId, _Filter] = {}
        self._ending = asyncio.Event()
        self.session: Client | None = None
        server.listen(self._changed)

    async def subscribe(self, params: Params) -> dict[str, Any]:
        """`resources/subscribe`. Subscribing twice is the same as once."""
        uri = mcp_wire.read_string(params, "uri")
        if uri not in self._watched:
            self._check_room(1)
            await self._server.watch(uri)
            self._watched.add(uri)
        return {}

    async def unsubscribe(self, params: Params) -> dict[str, Any]:
        uri = mcp_wire.read_string(params, "uri")
        if uri in self._watched:
            self._watched.discard(uri)
            await self._server.unwatch(uri)
        return {}

    async def listen(self, call: Call, client: Client) -> dict[str, Any]:
        """`subscriptions/listen`: acknowledge, then wait until the client cancels or the connection ends.

        The result that ends it gracefully is the stream's last message (Subscriptions, Graceful Closure).
        """
        filter_ = self._read_filter(mcp_wire.read_object(call.params, "notifications", required=True), client)
        if len(self._streams) >= MAX_LISTENING:
            raise InvalidArgument(
                f"This connection already has {MAX_LISTENING} listening streams.", hint="Cancel one first."
            )
        self._check_room(len(filter_.uris))
        # Changes are announced by the provider, so it is needed now.
        provider = await self._server.provider()
        if filter_.resources:
            await provider.watch_resources()
        watched: list[str] = []
        tag = {SUBSCRIPTION_KEY: call.id}
        try:
            for uri in sorted(filter_.uris):
                await self._server.watch(uri)
                watched.append(uri)
            acknowledged = {"_meta": tag, "notifications": filter_.render()}
            call.notify("notifications/subscriptions/acknowledged", acknowledged)
            self._streams[call.id] = filter_
            await self._ending.wait()
        finally:
            self._streams.pop(call.id, None)
            for uri in watched:
                await self._server.unwatch(uri)
        return {"_meta": tag}

    def end(self) -> None:
        """Let the listening streams finish gracefully."""
        self._ending.set()

    async def close(self) -> None:
        self._server.unlisten(self._changed)
        self._ending.set()
        watched, self._watched = self._watched, set()
        for uri in watched:
            await self._server.unwatch(uri)

    def _read_filter(self, form: dict[str, Any], client: Client) -> _Filter:
        """What was requested, without what the server does not offer."""
        offer = self._server.offer
        uris = form.get("resourceSubscriptions", [])
        if not isinstance(uris, list) or not all(isinstance(uri, str) for uri in uris):
            raise mcp_wire.make_invalid_param(
                "notifications.resourceSubscriptions", uris, "an array of strings"
            )
        return _Filter(
            tools=form.get("toolsListChanged") is True and offer.tools,
            prompts=form.get("promptsListChanged") is True and offer.prompts,
            resources=form.get("resourcesListChanged") is True and offer.resources,
            uris=frozenset(uris) if offer.subscriptions else frozenset(),
            shows_views=client.shows_views,
        )

    def _check_room(self, more: int) -> None:
        watched = len(self._watched) + sum(len(stream.uris) for stream in self._streams.values())
        if watched + more > MAX_WATCHED:
            raise InvalidArgument(
                f"A connection may watch {MAX_WATCHED} resources.",
                argument="uri",
                hint="Listen to list changes instead.",
            )

    def _changed(self, change: ProviderChange) -> None:
        method, params = _make_notification(change)
        if self.session is not None and self._concerns(change, self.session):
            self._peer.notify(method, params)
        for id_, filter_ in tuple(self._streams.items()):
            if filter_.wants(change):
                self._peer.notify(method, {**params, "_meta": {SUBSCRIPTION_KEY: id_}}, related=id_)

    def _concerns(self, change: ProviderChange, session: Client) -> bool:
        match change:
            case ResourceUpdated(uri):
                return uri in self._watched
            case ToolsChanged(views=True):
                return session.shows_views
            case _:
                return True


def _make_notification(change: ProviderChange) -> tuple[str, Params]:
    match change:
        case ToolsChanged():
            return "notifications/tools/list_changed", {}
        case PromptsChanged():
            return "notifications/prompts/list_changed", {}
        case ResourcesChanged():
            return "notifications/resources/list_changed", {}
        case ResourceUpdated(uri):
            return "notifications/resources/updated", {"uri": uri}
