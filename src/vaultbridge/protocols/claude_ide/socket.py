"""The rules of Claude Code's socket: the token of the lock file in a header, and no web page."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final

from aiohttp import hdrs, web

from vaultbridge.activity.clients import Activity
from vaultbridge.protocols.claude_ide.lock_files import TOKEN_HEADER
from vaultbridge.protocols.dialect import Dialect, Peer
from vaultbridge.protocols.http.guard import HostGuard, find_host
from vaultbridge.protocols.http.request import describe_peer
from vaultbridge.protocols.websocket.endpoint import EndpointRules, WebSocketEndpoint, run_connection
from vaultbridge.protocols.websocket.socket import WebSocket

HOW_TO_CONNECT: Final = (
    f"Send the header {TOKEN_HEADER} with the authToken of the bridge's lock file, "
    "~/.claude/ide/<port>.lock (with CLAUDE_CONFIG_DIR set: ide/<port>.lock in that folder)."
)
"""The hint for a program that was refused. Only the owner can read the file, so its path is not a secret."""

MakeDialect = Callable[[str], Callable[[Peer], Dialect]]
"""Takes a connection's name and returns the factory of its dialect."""


def refuse_any_origin(request: web.Request) -> str | None:
    """No IDE client is a web page, so an Origin means that some page is probing the port (CVE-2025-52882)."""
    if hdrs.ORIGIN not in request.headers:
        return None
    return f"Requests with an Origin header are refused: no web page may connect here. {HOW_TO_CONNECT}"


def make_ide_endpoint(
    token: str,
    dialect: MakeDialect,
    guard: HostGuard,
    *,
    ping_seconds: float,
    call_seconds: float,
    activity: Activity | None,
) -> WebSocketEndpoint:
    """The endpoint of Claude Code's socket. It refuses every Origin; `guard` checks the Host."""

    async def serve(socket: WebSocket, request: web.Request) -> None:
        client = None
        if activity is not None:
            client = activity.join("ide", **describe_peer(request, "ide"))
        try:
            await run_connection(
                socket, dialect(socket.name), "ide", call_seconds=call_seconds, client=client
            )
        finally:
            if activity is not None and client is not None:
                activity.leave(client)

    rules = EndpointRules(
        name="claude",
        check_origin=lambda request: (
            refuse_any_origin(request) or guard.find_host_refusal(find_host(request))
        ),
        token_header=TOKEN_HEADER,
        token=token,
        how_to_connect=HOW_TO_CONNECT,
        ping_seconds=ping_seconds,
    )
    return WebSocketEndpoint(rules, serve)
