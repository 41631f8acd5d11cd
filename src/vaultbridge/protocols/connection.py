"""Runs one connection: the pure session, the dialect, and the asyncio tasks between them.

Every transport drives it in the same way:

    connection = Connection(make_dialect, sink)
    await connection.receive(data)      # one message; waits while too many are in flight
    await connection.drain()            # at the end of input: let requests in flight finish
    await connection.close()            # at any time: cancel everything, answer nothing more

`sink` is the transport's `MessageSink`. The connection handles neither files nor sockets, and the dialect
gives methods their meaning.
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections import deque
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Any, Final, Protocol

from vaultbridge.errors import AssistantPaused, TimedOut
from vaultbridge.jsonrpc import codec
from vaultbridge.jsonrpc.messages import (
    INTERNAL_ERROR,
    Batch,
    ErrorObject,
    ErrorResponse,
    Malformed,
    Message,
    Notification,
    Params,
    PeerDisconnected,
    PeerError,
    Request,
    RequestId,
    Response,
    RpcError,
)
from vaultbridge.jsonrpc.session import (
    AnswerReceived,
    CancelReceived,
    Event,
    Ignored,
    NotificationReceived,
    Outgoing,
    RequestReceived,
    Session,
)
from vaultbridge.limits import CALL_SECONDS
from vaultbridge.protocols import failures
from vaultbridge.protocols.dialect import (
    Call,
    CallExpired,
    Dialect,
    Handler,
    HandlerResult,
    Peer,
    TimeLimits,
    describe_call,
    describe_outcome,
    find_error_code,
)

if TYPE_CHECKING:
    from vaultbridge.activity.clients import SeenClient
    from vaultbridge.activity.records import CallRecord


async def cancel_and_wait(task: asyncio.Future[Any]) -> None:
    """Cancel a task and wait until it has ended. Raises what the task raised, unless it was cancelled.

    Awaiting the task itself could not tell our own cancellation (Ctrl-C) from the task's."""
    task.cancel()
    await asyncio.wait({task})
    if not task.cancelled():
        task.result()


OPENING: Final = frozenset({"initialize", "server/discover", "tools/list", "ping"})
"""The requests with which a session opens. A transport that must start fast records only what follows."""

MAX_RUNNING: Final = 64
"""Requests of one connection that run at once. A model calls a handful of tools in parallel; more would only
queue for the engine's lock."""

MAX_WAITING: Final = 1024
"""Requests that are read ahead beyond those. After that, reading stops and the peer's own buffers fill. Far
more than MAX_RUNNING, so that cancellations and answers behind a burst of requests are still read."""

DRAIN_SECONDS: Final = CALL_SECONDS + 5.0
"""How long `drain` waits for requests in flight: a little more than the longest call may take."""

CLOSE_SECONDS: Final = 5.0
"""How long `close` waits for cancelled handlers: they have files to close, not work to finish."""

log = logging.getLogger(__name__)


class MessageSink(Protocol):
    def send(self, item: Outgoing) -> None:
        """Queue a message, in order. Must not block, and must not raise when the peer has disconnected."""
        ...

    async def drain(self) -> None:
        """Wait while the peer is slower than we are."""
        ...

    def release(self, related: RequestId) -> None:
        """See `Peer.release_stream`."""
        ...


class Connection:
    """Implements `Peer` for its dialect. All methods belong to the event loop's thread."""

    def __init__(
        self,
        dialect: Callable[[Peer], Dialect],
        sink: MessageSink,
        *,
        principal: str = "",
        call_seconds: float = CALL_SECONDS,
        session: Session | None = None,
        client: SeenClient | None = None,
        attach: Callable[[Connection], SeenClient | None] | None = None,
    ) -> None:
        """`client` records the messages, and says whether a person has paused the peer. `attach` makes it
        later, when the first request arrives that is not in OPENING."""
        self._session = session or Session()
        self._client = client
        self._attach = attach
        self._sink = sink
        self._principal = principal
        self._call_seconds = call_seconds
        self._time_limits = TimeLimits()
        self._running: dict[RequestId, asyncio.Task[None]] = {}
        self._waiting: deque[tuple[Request, Handler, int]] = deque()
        self._background: set[asyncio.Future[None]] = set()
        self._sent_requests: dict[RequestId, asyncio.Future[Any]] = {}
        self._may_read = asyncio.Event()
        self._may_read.set()
        self._idle = asyncio.Event()
        self._idle.set()
        self.ending = asyncio.Event()
        """Set when the dialect wants to end the connection (`exit`): the transport should stop reading and
        drain."""
        self._closed = False
        self.dialect = dialect(self)

    @property
    def session(self) -> Session:
        return self._session

    def attach_client(self) -> None:
        """Record from now on, if `attach` was given and has not been called yet."""
        if self._attach is not None:
            attach, self._attach = self._attach, None
            self._client = attach(self)

    @property
    def principal(self) -> str:
        return self._principal

    async def receive(self, data: bytes) -> None:
        """Process the bytes of one message. Returns when the next one may be read."""
        await self._take(self._session.receive(data), len(data))

    async def receive_message(self, message: Message | Batch | Malformed, *, size: int = 0) -> None:
        """`receive` for a transport that has already decoded the message, of `size` bytes."""
        await self._take(self._session.receive_message(message), size)

    async def drain(self, seconds: float | None = None) -> None:
        """At the end of input: let the requests in flight finish and answer them, then close.

        Requests without a time limit (a listening stream, a question to a person) end at once: nothing can
        answer them now. The others get `seconds`, or DRAIN_SECONDS.
        """
        self._end_input()
        try:
            async with asyncio.timeout(DRAIN_SECONDS if seconds is None else seconds):
                await self._idle.wait()
                await self._sink.drain()
        except TimeoutError:
            log.warning("%d requests did not finish before the end", self._session.in_flight)
        await self.close()

    async def close(self) -> None:
        """Cancel everything and send no more answers. May be called more than once."""
        if self._closed:
            return
        self._closed = True
        self.ending.set()
        self._waiting.clear()
        self._may_read.set()
        for future in self._sent_requests.values():
            if not future.done():
                future.set_exception(PeerDisconnected())
        tasks = [*self._running.values(), *self._background]
        for task in tasks:
            task.cancel()
        if tasks:
            _, stuck = await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
            if stuck:
                log.error("%d tasks ignore their cancellation", len(stuck))
        self._time_limits.close()
        await self.dialect.close()

    # `Peer`: what a dialect may call.

    def notify(self, method: str, params: Params, *, related: RequestId | None = None) -> None:
        if self._closed:
            return
        if (client := self._client) is not None:
            if related is None and client.is_paused:
                # A paused client must not learn what a person does and writes.
                return
            self._session.notify(method, params, related=related)
            data = self._session.last_outgoing()
            client.record_message("out", "notification", method, len(data), data)
        else:
            self._session.notify(method, params, related=related)
        self._flush()

    def progress(
        self, id_: RequestId, done: float, total: float | None = None, message: str | None = None
    ) -> bool:
        sent = self._session.progress(id_, done, total, message)
        self._flush()
        return sent

    async def request(
        self, method: str, params: Params, *, related: RequestId | None = None, seconds: float | None = None
    ) -> Any:
        if self._closed:
            raise PeerDisconnected
        id_ = self._session.request(method, params, related=related)
        future: asyncio.Future[Any] = asyncio.get_running_loop().create_future()
        self._sent_requests[id_] = future
        if self._client is not None:
            data = self._session.last_outgoing()
            self._client.record_message("out", "request", method, len(data), data)
        self._flush()
        try:
            async with asyncio.timeout(seconds):
                return await future
        except TimeoutError:
            self._withdraw(id_, "timed out", related)
            raise TimedOut(f"The client did not answer {method} within {seconds} s.") from None
        except asyncio.CancelledError:
            self._withdraw(id_, "no longer needed", related)
            raise
        finally:
            self._sent_requests.pop(id_, None)

    def spawn(self, work: Awaitable[None]) -> None:
        task = asyncio.ensure_future(work)
        self._background.add(task)
        task.add_done_callback(self._background_done)

    def end(self) -> None:
        self.ending.set()

    def release_stream(self, related: RequestId) -> None:
        self._sink.release(related)

    # Requests.

    async def _take(self, events: list[Event], size: int) -> None:
        if self._flush():
            # The session has answered unreadable messages itself. If the peer does not read these answers,
            # its next messages must wait, or the answers would pile up.
            await self._sink.drain()
        for event in events:
            match event:
                case RequestReceived(request):
                    await self._accept(request, size)
                case NotificationReceived(notification):
                    if self._client is not None:
                        self._record_notification(self._client, notification, size)
                    try:
                        self.dialect.handle_notification(notification)
                    except Exception:
                        log.exception("notification %s failed", notification.method)
                case AnswerReceived(id_, outcome):
                    self._take_answer(id_, outcome)
                case CancelReceived(id_, reason):
                    log.debug("request %r cancelled: %s", id_, reason)
                    self._cancel_request(id_)
                case Ignored(why):
                    log.debug("ignored %s", why)
        self._flush()

    def _record_notification(self, client: SeenClient, notification: Notification, size: int) -> None:
        data = codec.encode(notification) if client.activity.json_wanted else b""
        client.record_message("in", "notification", notification.method, size, data)
        if notification.method == "ide_connected" and isinstance(pid := notification.params.get("pid"), int):
            client.pid = pid

    async def _accept(self, request: Request, size: int) -> None:
        if self._closed:
            return
        # The handler is looked up now and not when it runs, because the phase in which a request arrives
        # decides whether it is allowed.
        handler = self._find_handler(request)
        if request.method in self.dialect.in_order:
            await self._answer(request, handler, size)
            return
        self._idle.clear()
        if len(self._running) < MAX_RUNNING:
            self._start(request, handler, size)
            return
        self._waiting.append((request, handler, size))
        if len(self._waiting) >= MAX_WAITING:
            self._may_read.clear()
            await self._may_read.wait()

    def _find_handler(self, request: Request) -> Handler:
        try:
            handler = self.dialect.find_handler(request)
            if self._attach is not None and request.method not in OPENING:
                self.attach_client()
            if self._client is not None and self._client.must_refuse(request.method):
                return _make_raiser(AssistantPaused())
            return handler
        except RpcError as refusal:
            return _make_raiser(refusal)
        except Exception:
            log.exception("no handler for %s could be found", request.method)
            return _make_raiser(RpcError(INTERNAL_ERROR, failures.INTERNAL.message))

    def _start(self, request: Request, handler: Handler, size: int) -> None:
        task = asyncio.get_running_loop().create_task(self._run(request, handler, size))
        self._running[request.id] = task

    async def _run(self, request: Request, handler: Handler, size: int) -> None:
        # This is not a callback of the task, because that would take one more turn of the event loop for each
        # request.
        try:
            await self._answer(request, handler, size)
        except Exception:
            log.exception("answering request %r failed", request.id)
        finally:
            if self._running.get(request.id) is asyncio.current_task():
                del self._running[request.id]
            self._start_waiting()

    def _start_waiting(self) -> None:
        """Start waiting requests, now that one has ended."""
        while self._waiting and len(self._running) < MAX_RUNNING:
            request, handler, size = self._waiting.popleft()
            if self._session.is_in_flight(request.id):
                self._start(request, handler, size)
        if len(self._waiting) < MAX_WAITING:
            self._may_read.set()
        if not self._running and not self._waiting:
            self._idle.set()

    async def _answer(self, request: Request, handler: Handler, size: int) -> None:
        """Run one handler and send its outcome."""
        call = Call(request, self)
        record: CallRecord | None = None
        if (client := self._client) is not None:
            record = client.begin(request.method, request.params, request.id, size)
            if client.activity.json_wanted:
                client.activity.keep_json(record, "json_in", codec.encode(request))
        started = time.perf_counter()
        try:
            outcome = await self._run_handler(call, handler)
        except asyncio.CancelledError:
            # If the peer cancelled the request, the session has forgotten it, and a new request may already
            # use its id.
            if self._running.get(request.id) is asyncio.current_task():
                self._session.cancel(request.id)
            if record is not None:
                record.client.finish(record, "CANCELLED", b"")
            raise
        if log.isEnabledFor(logging.DEBUG):
            name, spent = (
                describe_call(request.method, request.params),
                (time.perf_counter() - started) * 1000,
            )
            log.debug("%s %s in %.1f ms", name, describe_outcome(outcome), spent)
        if isinstance(outcome, ErrorObject):
            self._session.fail(request.id, outcome)
        else:
            try:
                self._session.answer(request.id, outcome.result)
            except (TypeError, ValueError, OverflowError, RecursionError):
                log.exception("the result of %s is not JSON", request.method)
                outcome = failures.INTERNAL
                self._session.fail(request.id, outcome)
        if record is not None:
            error = call.error or _find_failure(outcome)
            record.client.finish(record, error, self._session.last_outgoing())
        self._flush()
        await self._sink.drain()

    async def _run_handler(self, call: Call, handler: Handler) -> ErrorObject | HandlerResult:
        limit = self.dialect.time_limit(call.method, self._call_seconds)
        try:
            return HandlerResult(await self._time_limits.run(call, handler, limit))
        except CallExpired:
            call.error = TimedOut.code
            return self.dialect.render_failure(TimedOut(f"{call.method} took longer than {limit:g} s."), call)
        except Exception as error:
            call.error = find_error_code(error)
            if not failures.is_expected(error):
                log.exception("%s failed", call.method)
            return self.dialect.render_failure(error, call)

    def _cancel_request(self, id_: RequestId) -> None:
        task = self._running.pop(id_, None)
        if task is not None:
            task.cancel()
            # A task that has not begun does not run `_run`, so this callback starts the next request.
            task.add_done_callback(lambda _: self._start_waiting())
            return
        self._waiting = deque(waiting for waiting in self._waiting if waiting[0].id != id_)

    def _take_answer(self, id_: RequestId, outcome: Response | ErrorResponse) -> None:
        future = self._sent_requests.get(id_)
        if future is None or future.done():
            return
        if isinstance(outcome, Response):
            future.set_result(outcome.result)
        else:
            future.set_exception(PeerError(outcome.error))

    def _withdraw(self, id_: RequestId, reason: str, related: RequestId | None) -> None:
        if not self._closed:
            self._session.withdraw(id_, reason, related=related)
            self._flush()

    def _end_input(self) -> None:
        """Nothing more will be read, so no request of ours will be answered."""
        self.ending.set()
        self.dialect.input_ended()
        for future in self._sent_requests.values():
            if not future.done():
                future.set_exception(PeerDisconnected())

    def _background_done(self, task: asyncio.Future[None]) -> None:
        self._background.discard(task)
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a background task failed", exc_info=error)

    def _flush(self) -> bool:
        """Send what is queued; False when there was nothing."""
        items = self._session.take_outgoing()
        for item in items:
            self._sink.send(item)
        return bool(items)


def _find_failure(outcome: ErrorObject | HandlerResult) -> str:
    """Return the error code of a failure that came as a result, not as an exception, as a plugin's tool may
    report one."""
    if isinstance(outcome, ErrorObject):
        return str(outcome.code)
    return "FAILED" if isinstance(outcome.result, dict) and outcome.result.get("isError") is True else ""


def _make_raiser(error: RpcError | AssistantPaused) -> Handler:
    async def fail(call: Call) -> None:
        raise error

    return fail
