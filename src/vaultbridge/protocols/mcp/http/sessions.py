"""MCP 2025-03-26 to 2025-11-25 over HTTP: sessions with resumable streams.

A session is one connection whose messages are sent on several streams: the answer to each POST on its own,
everything else on the GET stream. Streams are buffered for a while, so that a client that lost its TCP
connection can continue with `Last-Event-ID`; losing it does not cancel the request.
"""

from __future__ import annotations

import asyncio
import secrets
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from typing import Final

from aiohttp import web

from vaultbridge.activity.clients import Activity, SeenClient
from vaultbridge.jsonrpc.messages import Batch, Malformed, Message, Request, RequestId
from vaultbridge.jsonrpc.session import Outgoing
from vaultbridge.limits import MIB
from vaultbridge.protocols.connection import Connection
from vaultbridge.protocols.http.request import PeerFacts
from vaultbridge.protocols.mcp.dialect import McpDialect, mcp_dialect
from vaultbridge.protocols.mcp.http.reply import ClientDisconnected, Reply, refuse
from vaultbridge.protocols.mcp.http.stream import MayStay, Stream
from vaultbridge.protocols.mcp.server import McpServer
from vaultbridge.protocols.mcp.versions import SESSION_HEADER, Phase

MAX_SESSIONS: Final = 256
"""Sessions of one server. A user has a handful of clients; each session costs some kilobytes."""

PRINCIPAL_SESSIONS: Final = 64
"""Sessions of one principal. After that a new session replaces another one of the same principal, so that a
client that keeps opening sessions affects nobody else."""

HANDSHAKE_USES: Final = 2
"""The messages of a handshake. Sessions with nothing else are closed first, so that a burst of handshakes
replaces its own sessions and not an idle one that somebody works with."""

USES_COUNTED: Final = 16
"""Messages after which a session counts as well used: it may then be idle for that many times longer than one
with a single message before it is closed to make room."""

IDLE_SECONDS: Final = 3600.0
"""A session that is unused for this long is closed: most clients disappear without a DELETE."""

MAX_STREAMS: Final = 128
"""Streams of one session, including the open ones."""

SESSION_BYTES: Final = 8 * MIB
"""What the finished streams of one session may buffer for clients that resume."""

EVENT_DIGITS: Final = 15
"""The longest event number that is parsed: no stream will ever have that many."""

_GET_STREAM: Final = "0"


class HttpSession:
    """Also the sink of its connection: routes each message to its stream."""

    def __init__(
        self,
        server: McpServer,
        principal: str,
        *,
        call_seconds: float,
        clock: Callable[[], float],
        client: SeenClient | None = None,
    ) -> None:
        self.id = secrets.token_urlsafe(24)
        self.principal = principal
        self._clock = clock
        self._streams: OrderedDict[str, Stream] = OrderedDict()
        self._by_request: dict[RequestId, Stream] = {}
        self._next_stream = 1
        self._readers = 0
        self.used = clock()
        self._uses = 0
        self._streams[_GET_STREAM] = Stream(_GET_STREAM, resumable=True)
        self.client = client
        self.connection = Connection(
            mcp_dialect(server), self, principal=principal, call_seconds=call_seconds, client=client
        )

    # `MessageSink`.

    def send(self, item: Outgoing) -> None:
        stream = self._by_request.get(item.related) if item.related is not None else None
        final = item.final and stream is not None
        (stream or self._streams[_GET_STREAM]).push(item.data, final=final, notice=item.notice)
        if item.final and item.related is not None:
            self._by_request.pop(item.related, None)

    async def drain(self) -> None:
        # Each stream has its own reader, and a slow one must not delay the others. `Stream` limits what it
        # buffers.
        return

    def release(self, related: RequestId) -> None:
        stream = self._by_request.get(related)
        if stream is not None:
            stream.release()

    # HTTP.

    @property
    def is_initialized(self) -> bool:
        dialect = self.connection.dialect
        return isinstance(dialect, McpDialect) and dialect.phase is not Phase.NEW

    @property
    def is_idle(self) -> bool:
        return self._readers == 0 and self.connection.session.in_flight == 0

    @property
    def worth(self) -> tuple[int, float]:
        """Of several idle sessions, the one with the smallest value is closed first. A well used one whose
        client is gone must not outlast those that have begun to work since."""
        if self._uses <= HANDSHAKE_USES:
            return self._uses, self.used
        return HANDSHAKE_USES + 1, (self.used - self._clock()) / self._uses

    def _use(self) -> None:
        self.used = self._clock()
        self._uses = min(self._uses + 1, USES_COUNTED)

    async def post(
        self, request: web.Request, message: Message | Batch | Malformed, *, size: int
    ) -> web.StreamResponse:
        """Process a message; the response has the answers to its requests, if there are any."""
        self._use()
        ids = _list_request_ids(message)
        if any(self.connection.session.is_in_flight(id_) for id_ in ids):
            return refuse(400, "Invalid Request: the id belongs to a request still in flight")
        if isinstance(message, Batch) and (why := self._explain_unfit(message, ids)):
            return refuse(400, f"Invalid Request: {why}")
        stream = self._open_stream(ids) if ids else None
        await self.connection.receive_message(message, size=size)
        self._end_cancelled()
        if stream is None:
            return web.Response(status=202)
        reply = Reply(
            request,
            stream,
            headers={SESSION_HEADER: self.id},
            event_ids=True,
            prime=self._should_prime(),
        )
        return await self._read(reply.answer)

    async def get(self, request: web.Request) -> web.StreamResponse:
        """The stream of all messages that answer no request, or the rest of an earlier stream."""
        self._use()
        name, after = _GET_STREAM, None
        if last := request.headers.get("Last-Event-ID"):
            name, _, number = last.rpartition("-")
            after = _parse_event_number(number)
            if name not in self._streams or after is None or after > self._streams[name].last:
                return refuse(404, "Not found: there is no such event; the stream has expired")
        reply = Reply(request, self._streams[name], headers={SESSION_HEADER: self.id}, event_ids=True)
        return await self._read(lambda: reply.send_events(after=after))

    async def close(self, seconds: float = 0.0) -> None:
        """Close the session. Calls in flight get `seconds` to finish."""
        if seconds:
            await self.connection.drain(seconds)
        await self.connection.close()
        for stream in self._streams.values():
            stream.end()

    async def _read(self, respond: Callable[[], Awaitable[web.StreamResponse]]) -> web.StreamResponse:
        self._readers += 1
        try:
            return await respond()
        except ClientDisconnected:
            return web.Response(status=499)
        finally:
            self._readers -= 1
            self.used = self._clock()

    def _explain_unfit(self, batch: Batch, ids: list[RequestId]) -> str:
        """Why a batch is refused: its answer would belong to no request, and so to no stream."""
        if not self.connection.session.batches:
            return "batches are not part of this protocol version"
        if not ids and any(isinstance(member, Malformed) for member in batch.members):
            return "no member of the batch is a request"
        return ""

    def _open_stream(self, ids: list[RequestId]) -> Stream:
        stream = Stream(str(self._next_stream), ids, resumable=True)
        self._next_stream += 1
        self._streams[stream.name] = stream
        for id_ in ids:
            self._by_request[id_] = stream
        self._forget_streams()
        return stream

    def _forget_streams(self) -> None:
        """Enforce the limits by forgetting the oldest finished streams."""
        finished = [
            stream for stream in self._streams.values() if stream.ended and stream.name != _GET_STREAM
        ]
        buffered = sum(stream.buffered_bytes for stream in finished)
        for stream in finished:
            if len(self._streams) <= MAX_STREAMS and buffered <= SESSION_BYTES:
                return
            buffered -= stream.buffered_bytes
            del self._streams[stream.name]

    def _end_cancelled(self) -> None:
        """A cancelled request gets no answer: end the stream that waits for it. The requests of a batch are
        answered together, so their stream waits until none of them is in flight."""
        for stream in set(self._by_request.values()):
            if not any(map(self.connection.session.is_in_flight, stream.waiting)):
                stream.end()
        self._by_request = {id_: stream for id_, stream in self._by_request.items() if not stream.ended}

    def _should_prime(self) -> bool:
        """Whether the client can parse an event without data, which older ones cannot."""
        dialect = self.connection.dialect
        return isinstance(dialect, McpDialect) and dialect.client.version.name >= "2025-11-25"


class Sessions:
    def __init__(
        self, *, call_seconds: float, clock: Callable[[], float], activity: Activity | None = None
    ) -> None:
        self._call_seconds = call_seconds
        self._clock = clock
        self._activity = activity
        self._sessions: dict[str, HttpSession] = {}
        self._ending: set[asyncio.Task[None]] = set()

    async def open(self, server: McpServer, facts: PeerFacts) -> HttpSession | None:
        """A new session; None when too many are in use."""
        principal = facts["principal"]
        await self._close_expired()
        own = [session for session in self._sessions.values() if session.principal == principal]
        if len(own) >= PRINCIPAL_SESSIONS or len(self._sessions) >= MAX_SESSIONS:
            idle = [session for session in own or self._sessions.values() if session.is_idle]
            if not idle:
                return None
            await self.drop(min(idle, key=lambda session: session.worth))
        client = None if self._activity is None else self._activity.join("mcp", **facts)
        session = HttpSession(
            server, principal, call_seconds=self._call_seconds, clock=self._clock, client=client
        )
        self._sessions[session.id] = session
        if client is not None:
            client.end = lambda: self._disconnect(session)
        return session

    def _disconnect(self, session: HttpSession) -> None:
        """End a session because a person has disconnected it."""
        ending = asyncio.get_running_loop().create_task(self.drop(session))
        self._ending.add(ending)
        ending.add_done_callback(self._ending.discard)

    def find(self, id_: str, principal: str) -> HttpSession | None:
        """A session of this principal; None for an unknown id and for another principal's session."""
        session = self._sessions.get(id_)
        return session if session is not None and session.principal == principal else None

    async def drop(self, session: HttpSession) -> None:
        self._forget(session)
        await session.close()

    def _forget(self, session: HttpSession) -> None:
        self._sessions.pop(session.id, None)
        if self._activity is not None and session.client is not None:
            self._activity.leave(session.client)

    async def end(self, stays: MayStay, seconds: float) -> None:
        """End the sessions of principals that may not stay; calls in flight get `seconds`."""
        leaving = [session for session in self._sessions.values() if not stays(session.principal)]
        for session in leaving:
            self._forget(session)
        await asyncio.gather(*(session.close(seconds) for session in leaving))

    async def _close_expired(self) -> None:
        limit = self._clock() - IDLE_SECONDS
        for session in tuple(self._sessions.values()):
            if session.is_idle and session.used < limit:
                await self.drop(session)


def _parse_event_number(text: str) -> int | None:
    """Parse the number of an event; None if no event of ours can have it."""
    is_valid = text.isascii() and text.isdigit() and len(text) <= EVENT_DIGITS
    return int(text) if is_valid else None


def _list_request_ids(message: Message | Batch | Malformed) -> list[RequestId]:
    members = message.members if isinstance(message, Batch) else (message,)
    return [member.id for member in members if isinstance(member, Request)]
