"""What a dialect is to a connection, and what a connection is to a dialect.

A dialect is made per connection by a function `(peer) -> Dialect`. The connection
(`protocols.connection.Connection`) asks it for the handler of each request, runs that handler as a task
under a time limit, and sends what it returns:

    async def read_file(call: Call) -> str:
        return await text_of(call.params["path"])

    def my_dialect(peer: Peer) -> Dialect:
        return MethodTable({"readFile": read_file}, {"ide_connected": on_connected})

A result is any JSON value, a bare string too. To refuse with an exact JSON-RPC error, raise
`jsonrpc.messages.Refused`; any `VaultbridgeError` becomes its application error (`failures`); anything else
is logged with its traceback and answered with "Internal error". A handler that waits for a person calls
`call.lift_time_limit()` first. This module holds no protocol's method names.

How a call is named in the log: its method or tool, never what was asked or answered.

Arguments hold the text of notes, and results do too. Names of tools come from the peer, so only what looks
like one is repeated.
"""

from __future__ import annotations

import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from vaultbridge.jsonrpc.messages import (
    METHOD_NOT_FOUND,
    ErrorObject,
    Notification,
    Params,
    Request,
    RequestId,
    RpcError,
)
from vaultbridge.protocols import failures

if TYPE_CHECKING:
    import asyncio

    from vaultbridge.jsonrpc.session import Session

_NAME: Final = re.compile(r"[A-Za-z0-9_./$-]{1,64}")
"""Method and tool names; whatever else a peer sends is told as `?`."""

CLIENT_NAME_CHARS: Final = 60
"""How much of what a client calls itself is repeated."""


def describe_call(method: str, params: Params) -> str:
    """`tools/call obsidian_read_note`, `resources/list`."""
    if method != "tools/call":
        return _plain(method)
    return f"{_plain(method)} {_plain(params.get('name'))}"


def describe_outcome(outcome: ErrorObject | HandlerResult) -> str:
    """`answered`, `failed (isError)`, `failed (-32602)`, `failed (-32001 NOTE_NOT_FOUND)`."""
    if isinstance(outcome, ErrorObject):
        word = outcome.data.get("errorCode") if isinstance(outcome.data, dict) else None
        return f"failed ({outcome.code}{f' {_plain(word)}' if word else ''})"
    result = outcome.result
    return "failed (isError)" if isinstance(result, dict) and result.get("isError") is True else "answered"


def describe_client(info: Any) -> str:
    """What a client calls itself: name and version, printable and short."""
    parts = [info.get("name"), info.get("version")] if isinstance(info, dict) else []
    text = " ".join(part for part in parts if isinstance(part, str))
    return "".join(char for char in text[:CLIENT_NAME_CHARS] if char.isprintable()) or "without a name"


def _plain(name: object) -> str:
    return name if isinstance(name, str) and _NAME.fullmatch(name) else "?"


class Peer(Protocol):
    """The other end of one connection, as a dialect may use it. Its methods may be called from the event loop
    only; after the connection has closed they do nothing (`request` raises PeerGone)."""

    @property
    def session(self) -> Session: ...

    @property
    def principal(self) -> str:
        """Who is at the other end, as the transport's authentication knows it; "" when it does not."""
        ...

    def notify(self, method: str, params: Params, *, related: RequestId | None = None) -> None:
        """Send a notification. `related` names the peer's request it belongs to."""
        ...

    def progress(
        self, id_: RequestId, done: float, total: float | None = None, message: str | None = None
    ) -> bool:
        """Tell how far a request has come; False when nobody asked or it is over."""
        ...

    async def request(
        self, method: str, params: Params, *, related: RequestId | None = None, seconds: float | None = None
    ) -> Any:
        """Ask the peer and wait. Raises PeerFailed, PeerGone, or TimedOut after `seconds` (None: no
        bound)."""
        ...

    def spawn(self, work: Awaitable[None]) -> None:
        """Run something beside the requests; it is cancelled when the connection closes."""
        ...

    def end(self) -> None:
        """Ask the transport to finish what is in flight and close."""
        ...

    def release_stream(self, related: RequestId) -> None:
        """Let go of the HTTP stream that waits for this request; the client comes back for the answer.
        Does nothing where a connection has only one stream."""
        ...


class Call:
    """One request being answered."""

    __slots__ = ("deadline", "peer", "request")

    def __init__(self, request: Request, peer: Peer) -> None:
        self.request = request
        self.peer = peer
        self.deadline: asyncio.Timeout | None = None

    @property
    def id(self) -> RequestId:
        return self.request.id

    @property
    def method(self) -> str:
        return self.request.method

    @property
    def params(self) -> Params:
        return self.request.params

    def notify(self, method: str, params: Params) -> None:
        """A notification that belongs to this request."""
        self.peer.notify(method, params, related=self.id)

    async def ask(self, method: str, params: Params) -> Any:
        """Ask the client while this request runs. The client may ask a person: the time limit is lifted."""
        self.lift_time_limit()
        return await self.peer.request(method, params, related=self.id)

    def lift_time_limit(self) -> None:
        """For a handler that waits for a person or streams: from now on only cancellation ends it."""
        if self.deadline is not None and not self.deadline.expired():
            self.deadline.reschedule(None)


Handler = Callable[[Call], Awaitable[Any]]
NotificationHandler = Callable[[Params], None]


class HandlerResult:
    """A failure that the protocol reports as a result (a failed tool in newer MCP versions)."""

    __slots__ = ("result",)

    def __init__(self, result: Any) -> None:
        self.result = result


class Dialect(Protocol):
    in_order: frozenset[str]
    """Requests that must be over before the next message is looked at, because they change what it means."""

    def find_handler(self, request: Request) -> Handler:
        """Who answers this request now. Raises Refused when nobody does."""
        ...

    def handle_notification(self, notification: Notification) -> None:
        """Take a notification. Called in order of arrival; must not block. What it raises is only logged."""
        ...

    def render_failure(self, error: Exception, call: Call) -> ErrorObject | HandlerResult:
        """The wire form of a failure. Never raises."""
        ...

    def time_limit(self, method: str, seconds: float) -> float | None:
        """The time limit of a method, given the ordinary one; None for no limit."""
        ...

    def input_ended(self) -> None:
        """No more input will come: end what waits without a time limit. What is in flight may still
        answer."""
        ...

    async def close(self) -> None:
        """The connection is over: give back what was taken."""
        ...


class MethodTable:
    """The simplest dialect: two tables."""

    in_order: frozenset[str] = frozenset()

    def __init__(
        self,
        requests: Mapping[str, Handler],
        notifications: Mapping[str, NotificationHandler] | None = None,
        *,
        unlimited: frozenset[str] = frozenset(),
    ) -> None:
        self._requests = requests
        self._notifications = notifications or {}
        self._unlimited = unlimited

    def has(self, method: str) -> bool:
        return method in self._requests

    def find_handler(self, request: Request) -> Handler:
        handler = self._requests.get(request.method)
        if handler is None:
            raise method_not_found(request.method)
        return handler

    def handle_notification(self, notification: Notification) -> None:
        handler = self._notifications.get(notification.method)
        if handler is not None:
            handler(notification.params)

    def render_failure(self, error: Exception, call: Call) -> ErrorObject | HandlerResult:
        return failures.to_error(error)

    def time_limit(self, method: str, seconds: float) -> float | None:
        return None if method in self._unlimited else seconds

    def input_ended(self) -> None:
        pass

    async def close(self) -> None:
        pass


def method_not_found(method: str) -> RpcError:
    return RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")
