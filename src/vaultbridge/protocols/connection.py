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
from collections.abc import Awaitable, Callable
from functools import partial
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
    find_error_code,
    label_call,
    label_outcome,
)
from vaultbridge.protocols.request_queue import RequestQueue

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

DRAIN_SECONDS: Final = CALL_SECONDS + 5.0
"""How long `drain` waits for requests in flight: a little more than the longest call may take."""

UNREAD_SECONDS: Final = 2.0
"""How long a process that was told to stop waits for a peer that does not read. A peer on this machine that
is merely busy reads something in that time, and Docker ends a process by force after 10 s."""

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
        self._queue = RequestQueue()
        self._background: set[asyncio.Future[None]] = set()
        self._sent_requests: dict[RequestId, asyncio.Future[Any]] = {}
        self.ending = asyncio.Event()
        """Set when the dialect wants to end the connection (`exit`): the transport should stop reading and
        drain."""
        self._stopping = asyncio.Event()
        self._drained = 0
        """How many answers the sink has had room for."""
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
        answered = asyncio.ensure_future(self._wait_until_answered())
        unread = asyncio.ensure_future(self._wait_until_unread())
        limit = DRAIN_SECONDS if seconds is None else seconds
        try:
            await asyncio.wait((answered, unread), timeout=limit, return_when=asyncio.FIRST_COMPLETED)
            if not answered.done():
                log.warning("%d requests did not finish before the end", self._session.in_flight)
        finally:
            answered.cancel()
            unread.cancel()
            # A cancelled task lives on until the event loop has run it once more.
            await asyncio.gather(answered, unread, return_exceptions=True)
        await self.close()

    def end_soon(self) -> None:
        """Like `end`, because the process was told to stop: requests that run are finished and answered, but
        those that wait are not begun, and `drain` does not wait for a peer that does not read. May be called
        while it waits."""
        self._stopping.set()
        self._queue.clear()
        self.ending.set()

    @property
    def is_stopping(self) -> bool:
        """Whether `end_soon` was called."""
        return self._stopping.is_set()

    async def _wait_until_answered(self) -> None:
        await self._queue.idle.wait()
        await self._sink.drain()

    async def _wait_until_unread(self) -> None:
        """Return when a process that was told to stop waits for nothing but a peer that does not read: the
        answers are ready, and the sink has had room for none of them."""
        await self._stopping.wait()
        drained = -1
        while drained != self._drained or any(map(self._session.is_in_flight, self._queue.running)):
            drained = self._drained
            await asyncio.sleep(UNREAD_SECONDS)

    async def close(self) -> None:
        """Cancel everything and send no more answers. May be called more than once."""
        if self._closed:
            return
        self._closed = True
        self.ending.set()
        self._queue.clear()
        for future in self._sent_requests.values():
            if not future.done():
                future.set_exception(PeerDisconnected())
        tasks = [*self._queue.running.values(), *self._background]
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

    def pass_turn(self, id_: RequestId) -> None:
        self._queue.pass_turn(id_)

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
                    self._queue.cancel(id_)
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
        work = partial(self._run, request, handler, size)
        self._queue.add(request.id, work, is_change=self.dialect.is_change(request))
        await self._queue.wait_for_room()

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

    async def _run(self, request: Request, handler: Handler, size: int) -> None:
        try:
            await self._answer(request, handler, size)
        except Exception:
            log.exception("answering request %r failed", request.id)

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
            # If the peer cancelled the request, the session has forgotten it.
            if self._queue.runs_now(request.id):
                self._session.cancel(request.id)
            if record is not None:
                record.client.finish(record, "CANCELLED", b"")
            raise
        if log.isEnabledFor(logging.DEBUG):
            name, spent = (
                label_call(request.method, request.params),
                (time.perf_counter() - started) * 1000,
            )
            log.debug("%s %s in %.1f ms", name, label_outcome(outcome), spent)
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
        self._drained += 1

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
