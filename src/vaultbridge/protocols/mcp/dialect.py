"""Speaks MCP on one connection: all five versions, with a handshake or stateless, on the same stream.

A request whose `_meta` names a protocol version is of 2026-07-28 and independent; every other request belongs
to the session that `initialize` opens. Both may arrive on one connection (Versioning, Compatibility Matrix:
"A dual-era server MAY serve both eras concurrently").

    connection = Connection(mcp_dialect(server), sink)

This module answers the methods that depend on the connection; `methods` answers the rest.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Final

from vaultbridge.errors import VaultbridgeError
from vaultbridge.jsonrpc.messages import (
    INVALID_REQUEST,
    ErrorObject,
    Notification,
    Params,
    Request,
    RpcError,
)
from vaultbridge.protocols.dialect import (
    Call,
    Dialect,
    Handler,
    HandlerResult,
    Peer,
    label_client,
    make_method_not_found,
    read_client_name,
)
from vaultbridge.protocols.mcp import apps as mcp_apps
from vaultbridge.protocols.mcp import failures as mcp_failures
from vaultbridge.protocols.mcp import versions as lifecycle
from vaultbridge.protocols.mcp import wire as mcp_wire
from vaultbridge.protocols.mcp.context import LOG_LEVELS, Client, InputRequired
from vaultbridge.protocols.mcp.methods import CACHE_MS, MAY_REQUIRE_INPUT, METHODS, MethodHandler
from vaultbridge.protocols.mcp.server import McpServer
from vaultbridge.protocols.mcp.subscriptions import Subscriptions
from vaultbridge.protocols.mcp.versions import (
    CAPABILITIES_KEY,
    CLIENT_KEY,
    LOG_LEVEL_KEY,
    MODERN_VERSIONS,
    SERVER_INFO_KEY,
    V2024_11_05,
    VERSION_KEY,
    VERSIONS,
    Phase,
    Signal,
    Version,
    negotiate,
)

DEFAULT_LOG_LEVEL: Final = "info"
"""Until `logging/setLevel` the server decides (Logging). Debug messages go only to clients that request
them."""

log = logging.getLogger("vaultbridge.mcp")

MODERN_ONLY: Final = frozenset({"server/discover", "subscriptions/listen"})


def mcp_dialect(
    server: McpServer, *, stateless: bool = False, honours_exit: bool = False
) -> Callable[[Peer], Dialect]:
    """The function that makes the dialect of a connection.

    `stateless`: every request must be of 2026-07-28 (an HTTP request declares this in a header).
    `honours_exit`: the `exit` notification ends the connection (stdio).
    """

    def make(peer: Peer) -> Dialect:
        return McpDialect(server, peer, stateless=stateless, honours_exit=honours_exit)

    return make


class McpDialect:
    in_order = frozenset({"initialize"})

    def __init__(self, server: McpServer, peer: Peer, *, stateless: bool, honours_exit: bool) -> None:
        self._server = server
        self._peer = peer
        self._stateless = stateless
        self._honours_exit = honours_exit
        self._subscriptions = Subscriptions(server, peer)
        self.phase = Phase.NEW
        self.client = Client(V2024_11_05, {}, "", None)
        """The client of the session; meaningless before `initialize`."""
        self._session_methods: dict[str, Handler] = {
            "initialize": self._initialize,
            "ping": self._ping,
        }
        if server.offer.logging:
            self._session_methods["logging/setLevel"] = self._set_level
        if server.offer.resources and server.offer.subscriptions:
            self._session_methods["resources/subscribe"] = self._subscribe
            self._session_methods["resources/unsubscribe"] = self._unsubscribe

    def find_handler(self, request: Request) -> Handler:
        if self._is_modern(request):
            return self._find_modern_handler(request)
        why = lifecycle.explain_refusal(self.phase, request.method)
        if why is not None:
            raise RpcError(INVALID_REQUEST, f"Invalid Request: {why}")
        handler = self._session_methods.get(request.method)
        if handler is not None:
            return handler
        method = self._find_method(request.method)
        return lambda call: method(self._server, call, self.client)

    def has_method(self, name: str) -> bool:
        """Whether this server has the method in a session, now or after `initialize`."""
        return name in self._session_methods or self._offers(name)

    def is_change(self, request: Request) -> bool:
        return request.method == "tools/call" and self._server.may_change(request.params.get("name"))

    def wrap_handler(self, request: Request, handler: Handler) -> Handler:
        """Return `handler` with its result completed as the version of this request demands, for a dialect
        that answers some of MCP's methods itself."""
        if not self._is_modern(request):
            return handler
        _read_modern_client(request.params)  # Raises for a request that lacks a field.
        return lambda call: self._run_and_complete(handler(call), call)

    def _is_modern(self, request: Request) -> bool:
        return (
            self._stateless
            or request.method in MODERN_ONLY
            or _read_declared_version(request.params) is not None
        )

    def handle_notification(self, notification: Notification) -> None:
        match notification.method:
            case "notifications/initialized" | "initialized":
                self.phase = lifecycle.next_phase(self.phase, Signal.INITIALIZED)
            case "exit" if self._honours_exit:
                self._peer.end()

    def render_failure(self, error: Exception, call: Call) -> ErrorObject | HandlerResult:
        version = self.version_of(call.request)
        tool = None
        if call.method == "tools/call":
            tool = self._server.cached_tool(str(call.params.get("name")))
        errors = self._server.tool_errors
        answer = mcp_failures.to_wire(error, version, call.method, tool_errors=errors, tool=tool)
        if isinstance(answer, HandlerResult) and version.modern:
            return HandlerResult(self._complete(answer.result, call.method))
        return answer

    def time_limit(self, method: str, seconds: float) -> float | None:
        return None if method == "subscriptions/listen" else seconds

    def input_ended(self) -> None:
        self.phase = lifecycle.next_phase(self.phase, Signal.ENDING)
        self._subscriptions.end()

    async def close(self) -> None:
        await self._subscriptions.close()

    # 2026-07-28: every request is independent.

    def _find_modern_handler(self, request: Request) -> Handler:
        client = _read_modern_client(request.params)
        if request.method == "server/discover":
            return lambda call: self._run_and_complete(self._discover(client), call)
        if request.method == "subscriptions/listen":
            return lambda call: self._run_and_complete(self._subscriptions.listen(call, client), call)
        method = self._find_method(request.method)
        return lambda call: self._run_and_complete(method(self._server, call, client), call)

    async def _run_and_complete(self, work: Any, call: Call) -> dict[str, Any]:
        try:
            result = await work
        except InputRequired as required:
            if call.method not in MAY_REQUIRE_INPUT:
                raise RuntimeError(f"{call.method} must not ask the client") from None
            result = required.render()
        return self._complete(result, call.method)

    def _complete(self, result: dict[str, Any], method: str) -> dict[str, Any]:
        """Add the members that 2026-07-28 requires in every result."""
        result.setdefault("resultType", "complete")
        if method in CACHE_MS and result["resultType"] == "complete":
            result["ttlMs"] = CACHE_MS[method]
            # What a client may see depends on the scope of its token.
            result["cacheScope"] = "private"
        info = mcp_wire.render_server_info(self._server.offer, VERSIONS[MODERN_VERSIONS[-1]])
        result["_meta"] = {SERVER_INFO_KEY: info, **result.get("_meta", {})}
        return result

    async def _discover(self, client: Client) -> dict[str, Any]:
        self._create_provider()
        log.debug("client %s speaks MCP %s", label_client({"name": client.name}), client.version.name)
        result: dict[str, Any] = {
            "supportedVersions": list(MODERN_VERSIONS),
            "capabilities": self._render_capabilities(client),
        }
        if self._server.offer.instructions:
            result["instructions"] = self._server.offer.instructions
        return result

    def _render_capabilities(self, client: Client) -> dict[str, Any]:
        offer = self._server.offer
        capabilities = mcp_wire.render_capabilities(offer, client.version)
        if offer.views and client.shows_views:
            capabilities["extensions"] = mcp_apps.describe_extension()
        return capabilities

    # The session of the older versions.

    async def _initialize(self, call: Call) -> dict[str, Any]:
        version = negotiate(mcp_wire.read_string(call.params, "protocolVersion"))
        capabilities = mcp_wire.read_object(call.params, "capabilities")
        name = read_client_name(call.params.get("clientInfo"))
        self.client = Client(version, capabilities, name, DEFAULT_LOG_LEVEL)
        self.client.info = call.params.get("clientInfo")
        log.debug("client %s speaks MCP %s", label_client(call.params.get("clientInfo")), version.name)
        self.phase = lifecycle.next_phase(self.phase, Signal.INITIALIZE_ANSWERED)
        self._peer.session.batches = version.batches
        self._subscriptions.session = self.client
        self._create_provider()
        offer = self._server.offer
        result: dict[str, Any] = {
            "protocolVersion": version.name,
            "capabilities": self._render_capabilities(self.client),
            "serverInfo": mcp_wire.render_server_info(offer, version),
        }
        if offer.instructions:
            result["instructions"] = offer.instructions
        return result

    async def _ping(self, call: Call) -> dict[str, Any]:
        return {}

    async def _set_level(self, call: Call) -> dict[str, Any]:
        self.client.log_level = _check_log_level(mcp_wire.read_string(call.params, "level"), "level")
        return {}

    async def _subscribe(self, call: Call) -> dict[str, Any]:
        return await self._subscriptions.subscribe(call.params)

    async def _unsubscribe(self, call: Call) -> dict[str, Any]:
        return await self._subscriptions.unsubscribe(call.params)

    def _find_method(self, name: str) -> MethodHandler:
        if not self._offers(name):
            raise make_method_not_found(name)
        return METHODS[name][0]

    def _offers(self, name: str) -> bool:
        return name in METHODS and METHODS[name][1](self._server.offer)

    def version_of(self, request: Request) -> Version:
        declared = _read_declared_version(request.params)
        if self._stateless or declared in MODERN_VERSIONS:
            return VERSIONS[MODERN_VERSIONS[-1]]
        return self.client.version

    def _create_provider(self) -> None:
        """Create the provider once this answer has been sent, so that the next request finds it."""

        async def make() -> None:
            try:
                await self._server.provider()
            except VaultbridgeError:
                # The next request that needs it tries again and reports the error.
                return

        self._peer.spawn(make())


def _read_declared_version(params: Params) -> object:
    meta = params.get("_meta")
    return meta.get(VERSION_KEY) if isinstance(meta, dict) else None


def _read_modern_client(params: Params) -> Client:
    """Read the per-request fields. Raises RpcError: -32602 for a missing one, -32022 for a version we
    lack."""
    meta = mcp_wire.read_object(params, "_meta", required=True)
    requested = mcp_wire.read_string(meta, VERSION_KEY)
    if requested not in MODERN_VERSIONS:
        # Only the versions that such a request can name; the others begin with `initialize`.
        raise mcp_failures.make_unsupported_version(requested, MODERN_VERSIONS)
    capabilities = mcp_wire.read_object(meta, CAPABILITIES_KEY, required=True)
    level = meta.get(LOG_LEVEL_KEY)
    return Client(
        VERSIONS[requested],
        capabilities,
        read_client_name(meta.get(CLIENT_KEY)),
        None if level is None else _check_log_level(level, LOG_LEVEL_KEY),
    )


def _check_log_level(level: object, argument: str) -> str:
    if level not in LOG_LEVELS:
        raise mcp_wire.make_invalid_param(argument, level, f"one of {', '.join(LOG_LEVELS)}")
    return str(level)
