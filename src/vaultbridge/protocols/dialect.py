"""The interface between a connection and the protocol spoken on it, which is called its dialect.

Every connection has its own dialect, made by a function `(peer) -> Dialect`. The connection
(`protocols.connection.Connection`) gets the handler of each request from it, runs the handler as a task with
a time limit, and sends what it returns:

    async def read_file(call: Call) -> str:
        return await read_text(call.params["path"])

    def make_dialect(peer: Peer) -> Dialect:
        return MethodTable({"readFile": read_file}, {"ide_connected": on_connected})

A result is any JSON value, including a bare string. To answer with an exact JSON-RPC error, raise
`jsonrpc.messages.RpcError`; a `VaultbridgeError` becomes its application error (`failures`); anything else is
logged with its traceback and answered with "Internal error". No method names are in this module.

A call is cancelled when it takes too long (`TimeLimits`); a handler that waits for a person first calls
`call.lift_time_limit()`. Nearly all calls end long before their limit, so a limit must cost them as little as
possible.

It also describes calls for the log: by method and tool, never by arguments or results, which contain the text
of notes. Names come from the peer, so only a string that looks like one is repeated.
"""

from __future__ import annotations

import asyncio
import re
from collections.abc import Awaitable, Callable, Mapping
from typing import TYPE_CHECKING, Any, Final, Protocol

from vaultbridge.errors import AssistantPaused, VaultbridgeError
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
    from vaultbridge.jsonrpc.session import Session

_NAME: Final = re.compile(r"[A-Za-z0-9_./$-]{1,64}")
"""Method and tool names; anything else that a peer sends is logged as `?`."""

CLIENT_NAME_CHARS: Final = 60
"""The most characters of a client's name for itself that are logged, and that the history keeps."""


def label_call(method: str, params: Params) -> str:
    """`tools/call obsidian_read_note`, `resources/list`."""
    if method != "tools/call":
        return _make_loggable(method)
    return f"{_make_loggable(method)} {_make_loggable(params.get('name'))}"


def label_outcome(outcome: ErrorObject | HandlerResult) -> str:
    """`answered`, `failed (isError)`, `failed (-32602)`, `failed (-32001 NOTE_NOT_FOUND)`."""
    if isinstance(outcome, ErrorObject):
        word = outcome.data.get("errorCode") if isinstance(outcome.data, dict) else None
        return f"failed ({outcome.code}{f' {_make_loggable(word)}' if word else ''})"
    result = outcome.result
    return "failed (isError)" if isinstance(result, dict) and result.get("isError") is True else "answered"


def find_error_code(error: Exception) -> str:
    """Return the code of what a handler raised, for the record of its call: a word such as FILE_NOT_FOUND, or
    a JSON-RPC number."""
    match error:
        case AssistantPaused():
            return "PAUSED"
        case VaultbridgeError():
            return error.code
        case RpcError():
            return str(error.error.code)
        case _:
            return "INTERNAL"


def label_client(info: Any) -> str:
    """A client's own name and version, printable and short."""
    parts = [info.get("name"), info.get("version")] if isinstance(info, dict) else []
    return _make_plain(" ".join(part for part in parts if isinstance(part, str))) or "without a name"


def read_client_name(info: object) -> str:
    """A client's own name, printable and short; "" if it has none. It becomes the author of the client's
    changes, which other programs read and people see in a terminal."""
    name = info.get("name") if isinstance(info, dict) else None
    return _make_plain(name) if isinstance(name, str) else ""


def _make_plain(name: str) -> str:
    return "".join(char for char in name[:CLIENT_NAME_CHARS] if char.isprintable()).strip()


def _make_loggable(name: object) -> str:
    return name if isinstance(name, str) and _NAME.fullmatch(name) else "?"


class Peer(Protocol):
    """The other end of a connection, as a dialect sees it. Call its methods only from the event loop; once
    the connection has closed they do nothing (`request` raises PeerDisconnected)."""

    @property
    def session(self) -> Session: ...

    @property
    def principal(self) -> str:
        """The authenticated identity of the peer; "" if the transport does not authenticate."""
        ...

    def notify(self, method: str, params: Params, *, related: RequestId | None = None) -> None:
        """Send a notification. `related` names the peer's request it belongs to."""
        ...

    def progress(
        self, id_: RequestId, done: float, total: float | None = None, message: str | None = None
    ) -> bool:
        """Report the progress of a request; False if the client did not ask for it or the request has
        ended."""
        ...

    async def request(
        self, method: str, params: Params, *, related: RequestId | None = None, seconds: float | None = None
    ) -> Any:
        """Send a request and wait for its answer. Raises PeerError, PeerDisconnected, or TimedOut after
        `seconds` (None: no bound)."""
        ...

    def spawn(self, work: Awaitable[None]) -> None:
        """Run something in the background; it is cancelled when the connection closes."""
        ...

    def end(self) -> None:
        """Ask the transport to finish the requests in flight and close."""
        ...

    def release_stream(self, related: RequestId) -> None:
        """End the HTTP response that waits for this request; the client fetches the answer later. Does
        nothing where a connection has only one stream."""
        ...

    def pass_turn(self, id_: RequestId) -> None:
        """Let the next change begin although this one has not ended, because it waits for a person."""
        ...


class Call:
    """One request being answered."""

    __slots__ = ("error", "expired", "expires", "peer", "request", "task")

    def __init__(self, request: Request, peer: Peer) -> None:
        self.request = request
        self.peer = peer
        self.error = ""
        """The code of what the handler raised. Not the exception: it would keep its frames alive."""
        self.task: asyncio.Task[Any] | None = None
        self.expires: float | None = None
        """When it times out, by the event loop's clock; None while it has no time limit."""
        self.expired = False

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
        """Send a notification that belongs to this request."""
        self.peer.notify(method, params, related=self.id)

    async def ask(self, method: str, params: Params) -> Any:
        """Send the client a request while this one runs. The client may ask a person, so the time limit is
        lifted."""
        self.lift_time_limit()
        return await self.peer.request(method, params, related=self.id)

    def lift_time_limit(self) -> None:
        """For a handler that streams or waits for a person: from now on only cancellation ends it, and later
        changes of the same client do not wait for it."""
        self.expires = None
        self.peer.pass_turn(self.id)


Handler = Callable[[Call], Awaitable[Any]]
NotificationHandler = Callable[[Params], None]


class CallExpired(Exception):
    """A call took longer than its time limit."""


class TimeLimits:
    """Cancels the calls of a connection that take too long, with one timer for all of them. Setting and
    removing a timer for each call would add a tenth to the time of a short call."""

    __slots__ = ("_calls", "_timer")

    def __init__(self) -> None:
        self._calls: set[Call] = set()
        self._timer: asyncio.TimerHandle | None = None

    async def run(self, call: Call, handler: Handler, seconds: float | None) -> Any:
        """Run the handler and return its result. Raises CallExpired when it takes longer than `seconds`,
        unless the limit is lifted."""
        if seconds is None:
            return await handler(call)
        loop, task = asyncio.get_running_loop(), asyncio.current_task()
        assert task is not None
        call.task, call.expires = task, loop.time() + seconds
        if self._timer is None or call.expires < self._timer.when():
            self._set_timer(loop, call.expires)
        self._calls.add(call)
        cancelled = task.cancelling()
        try:
            return await handler(call)
        except asyncio.CancelledError:
            # The task may have been cancelled for another reason as well.
            if call.expired and task.cancelling() - 1 <= cancelled:
                raise CallExpired from None
            raise
        finally:
            self._calls.discard(call)
            if call.expired:
                task.uncancel()

    def close(self) -> None:
        if self._timer is not None:
            self._timer.cancel()

    def _set_timer(self, loop: asyncio.AbstractEventLoop, when: float) -> None:
        self.close()
        self._timer = loop.call_at(when, self._cancel_expired, loop)

    def _cancel_expired(self, loop: asyncio.AbstractEventLoop) -> None:
        self._timer = None
        now = loop.time()
        for call in self._calls:
            if call.expires is not None and call.expires <= now and not call.expired:
                call.expired = True
                assert call.task is not None
                call.task.cancel()
        remaining = [call.expires for call in self._calls if call.expires is not None and not call.expired]
        if remaining:
            self._set_timer(loop, min(remaining))


class HandlerResult:
    """What a handler returned, or a failure that the protocol reports as a result (a failed tool in newer MCP
    versions)."""

    __slots__ = ("result",)

    def __init__(self, result: Any) -> None:
        self.result = result


class Dialect(Protocol):
    in_order: frozenset[str]
    """Requests that must be answered before the next message is processed, because they change its
    meaning."""

    def find_handler(self, request: Request) -> Handler:
        """The handler of this request. Raises RpcError when there is none."""
        ...

    def is_change(self, request: Request) -> bool:
        """Whether this request may change something, and so must not overtake an earlier one that may."""
        ...

    def handle_notification(self, notification: Notification) -> None:
        """Called in order of arrival; must not block. What it raises is only logged."""
        ...

    def render_failure(self, error: Exception, call: Call) -> ErrorObject | HandlerResult:
        """The wire form of a failure. Never raises."""
        ...

    def time_limit(self, method: str, seconds: float) -> float | None:
        """The time limit of a method, given the ordinary one; None for no limit."""
        ...

    def input_ended(self) -> None:
        """There will be no more input: end the requests that wait without a time limit. The others may still
        be answered."""
        ...

    async def close(self) -> None:
        """The connection has ended: release its resources."""
        ...


class MethodTable:
    """The simplest dialect: a table of requests and one of notifications."""

    in_order: frozenset[str] = frozenset()

    def __init__(
        self,
        requests: Mapping[str, Handler],
        notifications: Mapping[str, NotificationHandler] | None = None,
    ) -> None:
        self._requests = requests
        self._notifications = notifications or {}

    def find_handler(self, request: Request) -> Handler:
        handler = self._requests.get(request.method)
        if handler is None:
            raise make_method_not_found(request.method)
        return handler

    def is_change(self, request: Request) -> bool:
        return False

    def handle_notification(self, notification: Notification) -> None:
        handler = self._notifications.get(notification.method)
        if handler is not None:
            handler(notification.params)

    def render_failure(self, error: Exception, call: Call) -> ErrorObject | HandlerResult:
        return failures.to_error(error)

    def time_limit(self, method: str, seconds: float) -> float | None:
        return seconds

    def input_ended(self) -> None:
        pass

    async def close(self) -> None:
        pass


def make_method_not_found(method: str) -> RpcError:
    return RpcError(METHOD_NOT_FOUND, f"Method not found: {method}")
