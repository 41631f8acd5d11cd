"""The base of every client transport: its interface, its life cycle, its callbacks, its open requests.

`Transport` is the interface. `Callbacks` implements the half that faces the user and keeps three promises:
`on_close` is called once, nothing is called after it, and a callback that raises affects nothing else.
`Lifecycle` is a table of states, events and legal moves. A transport ends once: it begins and ends as
`disconnected`; `Lifecycle.ended` distinguishes the two. `PendingRequests` serves transports that never
reconnect; the WebSocket transport has its own accounting.
"""

from __future__ import annotations

import asyncio
import enum
import logging
from collections.abc import Awaitable, Callable, Container
from types import TracebackType
from typing import TYPE_CHECKING, Any, Final, Literal, Protocol, cast

from vaultbridge.client.errors import InvalidMessage, UnknownAnswer
from vaultbridge.client.messages import (
    CONNECTION_LOST,
    Message,
    MessageKind,
    RequestId,
    classify,
    encode,
    make_error_answer,
    shorten,
    to_dict,
)
from vaultbridge.client.metrics import Metrics
from vaultbridge.errors import VaultbridgeError

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams


class State(enum.StrEnum):
    DISCONNECTED = "disconnected"
    CONNECTING = "connecting"
    CONNECTED = "connected"
    RECONNECTING = "reconnecting"
    DISCONNECTING = "disconnecting"


LifecycleEvent = Literal["start", "opened", "failed", "lost", "spent", "close", "closed"]

MOVES: Final[dict[tuple[State, LifecycleEvent], State]] = {
    (State.DISCONNECTED, "start"): State.CONNECTING,
    (State.DISCONNECTED, "close"): State.DISCONNECTING,
    (State.CONNECTING, "opened"): State.CONNECTED,
    (State.CONNECTING, "failed"): State.DISCONNECTED,
    (State.CONNECTING, "close"): State.DISCONNECTING,
    (State.CONNECTED, "lost"): State.RECONNECTING,
    (State.CONNECTED, "close"): State.DISCONNECTING,
    (State.RECONNECTING, "opened"): State.CONNECTED,
    (State.RECONNECTING, "spent"): State.DISCONNECTED,
    (State.RECONNECTING, "close"): State.DISCONNECTING,
    (State.DISCONNECTING, "closed"): State.DISCONNECTED,
}
"""`start` may be called again after it failed. Running out of attempts and `close()` are final."""

ENDINGS: Final[frozenset[LifecycleEvent]] = frozenset({"spent", "closed"})


class Lifecycle:
    """The state of a transport. An illegal move is a KeyError, and a bug in this package."""

    __slots__ = ("ended", "state")

    def __init__(self) -> None:
        self.state = State.DISCONNECTED
        self.ended = False

    def allows(self, event: LifecycleEvent) -> bool:
        return not self.ended and (self.state, event) in MOVES

    def move(self, event: LifecycleEvent) -> State:
        if self.ended:
            raise KeyError((self.state, event))
        self.state = MOVES[self.state, event]
        self.ended = event in ENDINGS
        return self.state


logger = logging.getLogger(__name__)

ALIVE_SECONDS: Final = 5.0
"""How long a health check waits for a sign of life."""


class Connected(int):
    """Whether a transport is connected: a truth value that may also be called, because the protocol's
    document writes `isConnected()`."""

    def __call__(self) -> bool:
        return bool(self)

    def __repr__(self) -> str:
        return repr(bool(self))

    __str__ = __repr__


class Transport(Protocol):
    """What the WebSocket, stdio and Streamable HTTP transports have in common.

    Every request that `send` accepts gets exactly one answer through `on_message`: the server's, or an error
    that says why there is none. Every other accepted message arrives, or `on_error` reports it.
    """

    on_message: Callable[[Message], Awaitable[None] | None] | None
    """Called for each message, in order. If it returns an awaitable, that is awaited before the next message
    is read, so it must not wait for an answer, which could only be read afterwards."""
    on_close: Callable[[], object] | None
    """Called once, as the last callback, when the transport has ended permanently."""
    on_error: Callable[[Exception], object] | None
    """Called for every error, including those that `start` and `send` raise. An error does not end the
    transport."""
    on_state: Callable[[State], object] | None
    """Called for every change of `state`."""

    @property
    def state(self) -> State: ...
    @property
    def is_connected(self) -> Connected: ...
    @property
    def queue_size(self) -> int: ...
    async def start(self) -> None: ...
    async def close(self) -> None: ...
    async def send(self, message: object) -> None: ...
    async def is_alive(self, patience: float = ...) -> bool: ...


class Callbacks:
    """The half of a transport that faces its user."""

    def __init__(self) -> None:
        self.on_message: Callable[[Message], Awaitable[None] | None] | None = None
        self.on_close: Callable[[], object] | None = None
        self.on_error: Callable[[Exception], object] | None = None
        self.on_state: Callable[[State], object] | None = None
        self._life = Lifecycle()
        self._metrics = Metrics()
        self._silent = False
        self._streams: Any = None
        self._closer: asyncio.Task[Any] | None = None
        self._ended = asyncio.Event()

    @property
    def state(self) -> State:
        return self._life.state

    @property
    def is_connected(self) -> Connected:
        return Connected(self._life.state is State.CONNECTED)

    async def __aenter__(self) -> TransportStreams:
        """Start, and return the streams that the official SDK's `Client` takes. Leaving the context
        closes."""
        from vaultbridge.client.sdk import open_streams

        self._streams = open_streams(cast(Transport, self))
        streams: TransportStreams = await self._streams.__aenter__()
        return streams

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self._streams.__aexit__(kind, error, trace)

    def _move(self, event: LifecycleEvent) -> None:
        state = self._life.move(event)
        if self.on_state is not None and not self._silent:
            self._guard(self.on_state, state)

    def _report(self, error: Exception) -> None:
        self._metrics.count_error(error.reason if isinstance(error, VaultbridgeError) else "callback")
        if self._silent:
            return
        if self.on_error is None:
            logger.debug("transport error: %s", error)
        else:
            self._guard(self.on_error, error)

    async def _deliver(self, message: Message) -> None:
        if self.on_message is None or self._silent:
            return
        try:
            pending = self.on_message(message)
            if pending is not None:
                await pending
        except Exception as error:
            # The user's code failed, which must not end the connection.
            logger.exception("on_message raised")
            self._report(error)

    async def _wait_for_end(self, own_tasks: Container[object]) -> None:
        """Let a second `close` wait for the first, unless the first is itself waiting for the caller."""
        me = asyncio.current_task()
        if not self._life.ended and me is not self._closer and me not in own_tasks:
            await self._ended.wait()

    def _call_on_close(self) -> None:
        """Call `on_close`, and no callback after it."""
        if self._silent:
            return
        self._silent = True
        if self.on_close is not None:
            self._guard(self.on_close)

    def _guard(self, callback: Callable[..., object], *values: Any) -> None:
        try:
            callback(*values)
        except Exception:
            logger.exception("%s raised", getattr(callback, "__name__", "a callback"))


class PendingRequests:
    """The requests that have no answer yet; matches answers to them."""

    def __init__(self, max_message_bytes: int) -> None:
        self._max_message_bytes = max_message_bytes
        self._open: dict[RequestId, tuple[str, float]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, request_id: object) -> bool:
        return request_id in self._open

    def register(self, message: object, now: float) -> tuple[MessageKind, Message, bytes]:
        """Check and encode a message to send. From here on a request is open. Raises InvalidMessage."""
        value = to_dict(message)
        kind = classify(value)
        data = encode(value)
        if len(data) > self._max_message_bytes:
            raise InvalidMessage(
                f"The message has {len(data)} bytes; the limit is {self._max_message_bytes}."
            )
        if kind is MessageKind.REQUEST:
            if value["id"] in self._open:
                raise InvalidMessage(
                    f"The request id {value['id']!r} is in use by a request without an answer."
                )
            self._open[value["id"]] = (value["method"], now)
        return kind, value, data

    def match_answer(self, kind: MessageKind, message: Message) -> float | None:
        """Return when the request that `message` answers was sent; None for other messages. Raises
        UnknownAnswer."""
        if kind in (MessageKind.REQUEST, MessageKind.NOTIFICATION) or message["id"] is None:
            return None
        request = self._open.pop(message["id"], None)
        if request is None:
            raise UnknownAnswer(f"An answer matches no open request (id {shorten(message['id'])}).")
        return request[1]

    def forget(self, request_id: RequestId) -> None:
        """Drop a request that was refused after all; its caller gets an exception instead of an answer."""
        del self._open[request_id]

    def fail(self, request_id: RequestId, why: str, *, sent: bool = True, reason: str = "") -> Message | None:
        """Make the answer of a request that the server will not answer; None when it has been answered. The
        `reason` is that of a lost connection, or of a request not sent, unless another is given."""
        request = self._open.pop(request_id, None)
        if request is None:
            return None
        reason = reason or ("connection-lost" if sent else "not-sent")
        return make_error_answer(
            request_id, CONNECTION_LOST, f"{why} ({request[0]}).", reason=reason, sent=sent
        )

    def fail_all(self, why: str) -> list[Message]:
        answers = [self.fail(request_id, why) for request_id in list(self._open)]
        return [answer for answer in answers if answer is not None]
