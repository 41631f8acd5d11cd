"""The two WebSocket routes of a bridge: `/` for Claude Code, `/editor` for people's editors.

It connects endpoints, connections and dialects, and contains the rules in which the two routes differ. The
caller provides the aiohttp application; only `open_socket` opens a port.
"""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Awaitable, Callable, Sequence
from typing import Final, Protocol

from aiohttp import hdrs, web

from vaultbridge.activity.clients import Activity, SeenClient
from vaultbridge.errors import EngineFailure
from vaultbridge.jsonrpc import codec
from vaultbridge.jsonrpc.messages import Malformed
from vaultbridge.limits import CALL_SECONDS
from vaultbridge.protocols.connection import Connection, cancel_and_wait
from vaultbridge.protocols.dialect import Dialect, Peer
from vaultbridge.protocols.http.guard import HostGuard, find_host
from vaultbridge.protocols.http.request import describe_peer
from vaultbridge.protocols.websocket.endpoint import (
    PING_SECONDS,
    EndpointRules,
    WebSocketEndpoint,
    has_valid_token,
    is_upgrade,
    refuse_any_origin,
)
from vaultbridge.protocols.websocket.socket import WebSocket

EDITOR_CONNECTIONS: Final = 32
"""The most editors at once: each open page is one, and a command is one for a moment."""

BAD_MESSAGES: Final = 64
"""How many unreadable messages in a row close a connection. Each is answered with what is wrong; a program
that sends this many is not reading the answers."""

EDITOR_PROTOCOL: Final = "vaultbridge.editor.v1"

MakeDialect = Callable[[str], Callable[[Peer], Dialect]]
"""Takes a connection's name and returns the factory of its dialect."""


class MakeEditorDialect(Protocol):
    """The same for editors. `authenticated` says whether the upgrade request carried the right token;
    otherwise the dialect calls `on_authenticated` once a message has brought it."""

    def __call__(
        self, name: str, *, authenticated: bool, on_authenticated: Callable[[], None]
    ) -> Callable[[Peer], Dialect]: ...


PageHandler = Callable[[web.Request], Awaitable[web.StreamResponse]]


class IdeServer:
    """Call `start` when the application runs, and `stop` before it ends. `guard` checks the Host of both
    sockets and the Origin of editors; Claude Code's socket refuses every Origin."""

    def __init__(
        self,
        token: str,
        ide: MakeDialect,
        editor: MakeEditorDialect,
        *,
        guard: HostGuard | None = None,
        ping_seconds: float = PING_SECONDS,
        call_seconds: float = CALL_SECONDS,
        activity: Activity | None = None,
    ) -> None:
        self._activity = activity
        self._call_seconds = call_seconds
        guard = guard or HostGuard()
        self._token = token
        self._ide_dialect = ide
        self._editor_dialect = editor
        self.ide = WebSocketEndpoint(
            EndpointRules(
                name="claude",
                check_origin=lambda request: (
                    refuse_any_origin(request) or guard.find_host_refusal(find_host(request))
                ),
                token=token,
                ping_seconds=ping_seconds,
            ),
            self._serve_ide,
        )
        self.editor = WebSocketEndpoint(
            EndpointRules(
                name="editor",
                check_origin=lambda request: guard.find_refusal(
                    find_host(request), request.headers.get(hdrs.ORIGIN)
                ),
                is_authenticated=lambda request: has_valid_token(request, token),
                protocols=(EDITOR_PROTOCOL,),
                connections=EDITOR_CONNECTIONS,
                ping_seconds=ping_seconds,
            ),
            self._serve_editor,
        )
        self._health: list[asyncio.Task[None]] = []

    def add_routes(self, app: web.Application, *, page: PageHandler | None = None) -> None:
        """`/` upgrades to the IDE socket; `page`, if there is one, answers any other GET of it."""

        async def answer(request: web.Request) -> web.StreamResponse:
            if page is not None and not is_upgrade(request):
                return await page(request)
            return await self.ide.request_handler(request)

        app.router.add_get("/", answer)
        app.router.add_get("/editor", self.editor.request_handler)

    def start(self) -> None:
        self._health = [
            asyncio.create_task(endpoint.run_health_checks()) for endpoint in (self.ide, self.editor)
        ]

    async def stop(self) -> None:
        """Close every connection (1001) and stop the health checks."""
        for task in self._health:
            await cancel_and_wait(task)
        self._health = []
        await asyncio.gather(self.ide.shut_down(), self.editor.shut_down())

    async def _serve_ide(self, socket: WebSocket, request: web.Request) -> None:
        activity = self._activity
        client = None
        if activity is not None:
            client = activity.join("ide", **describe_peer(request, "ide"))
        try:
            await self._run_connection(socket, self._ide_dialect(socket.name), "ide", client)
        finally:
            if activity is not None and client is not None:
                activity.leave(client)

    async def _serve_editor(self, socket: WebSocket, request: web.Request) -> None:
        dialect = self._editor_dialect(
            socket.name, authenticated=socket.authenticated, on_authenticated=socket.authenticate
        )
        await self._run_connection(socket, dialect, "editor")

    async def _run_connection(
        self,
        socket: WebSocket,
        dialect: Callable[[Peer], Dialect],
        principal: str,
        client: SeenClient | None = None,
    ) -> None:
        """Run one connection until the peer disconnects or the dialect ends it."""
        connection = Connection(
            dialect, socket, principal=principal, call_seconds=self._call_seconds, client=client
        )
        if client is not None:
            client.end = connection.end
        closing = asyncio.ensure_future(_close_when_ended(connection, socket))
        try:
            bad = 0
            while (data := await socket.receive()) is not None:
                message = codec.decode(data)
                await connection.receive_message(message, size=len(data))
                bad = bad + 1 if isinstance(message, Malformed) else 0
                if bad >= BAD_MESSAGES:
                    await socket.close(1008, f"{bad} messages in a row were not JSON-RPC")
                    return
        finally:
            closing.cancel()
            await connection.close()


async def _close_when_ended(connection: Connection, socket: WebSocket) -> None:
    await connection.ending.wait()
    await socket.close(1008, "the connection was refused")


def open_socket(host: str, ports: Sequence[int]) -> socket.socket:
    """A socket that listens on the first free one of `ports` (0: any). Raises EngineFailure when none is
    free.

    An address still in TIME_WAIT after a crash may be taken again; one that somebody listens on may not.
    """
    family = socket.AF_INET6 if ":" in host else socket.AF_INET
    problem: OSError | None = None
    for port in dict.fromkeys(ports):
        candidate = socket.socket(family, socket.SOCK_STREAM)
        try:
            if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):
                candidate.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
            else:
                candidate.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            candidate.bind((host, port))
            candidate.listen(128)
        except OSError as error:
            candidate.close()
            problem = error
        else:
            candidate.settimeout(0)
            return candidate
    tried = ", ".join(str(port) for port in ports)
    why = problem.strerror if problem is not None else "none was given"
    raise EngineFailure(
        f"No port could be opened (tried {tried}): {why}.", hint="Choose another one with --port."
    )
