"""The rules of `/editor`, the socket of people's editors: the token in the upgrade request or in `hello`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Protocol

from aiohttp import hdrs, web

from vaultbridge.protocols.claude_ide.lock_files import TOKEN_HEADER
from vaultbridge.protocols.dialect import Dialect, Peer
from vaultbridge.protocols.http.guard import HostGuard, find_host
from vaultbridge.protocols.websocket.endpoint import (
    EndpointRules,
    WebSocketEndpoint,
    has_valid_token,
    run_connection,
)
from vaultbridge.protocols.websocket.socket import WebSocket

EDITOR_CONNECTIONS: Final = 32
"""The most editors at once: each open page is one, and a command is one for a moment."""

EDITOR_PROTOCOL: Final = "vaultbridge.editor.v1"


class MakeEditorDialect(Protocol):
    """Takes a connection's name and returns the factory of its dialect. `authenticated` says whether the
    upgrade request carried the right token; otherwise the dialect calls `on_authenticated` once a message
    has brought it."""

    def __call__(
        self, name: str, *, authenticated: bool, on_authenticated: Callable[[], None]
    ) -> Callable[[Peer], Dialect]: ...


def make_editor_endpoint(
    token: str, dialect: MakeEditorDialect, guard: HostGuard, *, ping_seconds: float, call_seconds: float
) -> WebSocketEndpoint:
    """The endpoint of `/editor`; `guard` checks Host and Origin."""

    async def serve(socket: WebSocket, request: web.Request) -> None:
        made = dialect(socket.name, authenticated=socket.authenticated, on_authenticated=socket.authenticate)
        await run_connection(socket, made, "editor", call_seconds=call_seconds)

    rules = EndpointRules(
        name="editor",
        check_origin=lambda request: guard.find_refusal(find_host(request), request.headers.get(hdrs.ORIGIN)),
        token_header=TOKEN_HEADER,
        is_authenticated=lambda request: has_valid_token(request, token, TOKEN_HEADER),
        protocols=(EDITOR_PROTOCOL,),
        connections=EDITOR_CONNECTIONS,
        ping_seconds=ping_seconds,
    )
    return WebSocketEndpoint(rules, serve)
