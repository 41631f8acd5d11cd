"""Keeps track of one JSON-RPC session: which requests are in flight, in both directions. No I/O.

Feed it the bytes of each message with `receive`, act on the events it returns, report outcomes with `answer`,
`fail` and `cancel`, and after every call send what `take_outgoing` returns. It holds back the answers of a
batch until all have arrived, drops answers to cancelled requests, and sends progress only while the request
runs. It interprets no method except `notifications/cancelled`, which concerns the requests that it tracks.

    events = session.receive(line)          # RequestReceived, NotificationReceived, …
    session.answer(request.id, result)      # or fail(request.id, error)
    for item in session.take_outgoing(): write(item.data)
"""

from __future__ import annotations

from typing import Any, Final

import msgspec

from vaultbridge.jsonrpc import codec
from vaultbridge.jsonrpc.messages import (
    INVALID_REQUEST,
    Batch,
    ErrorObject,
    ErrorResponse,
    Malformed,
    MalformedAnswer,
    Message,
    Notification,
    Params,
    Request,
    RequestId,
    Response,
)

CANCELLED: Final = "notifications/cancelled"
PROGRESS: Final = "notifications/progress"


class RequestReceived(msgspec.Struct, frozen=True):
    """The caller must call `answer`, `fail` or `cancel` with its id exactly once."""

    request: Request


class NotificationReceived(msgspec.Struct, frozen=True):
    notification: Notification


class AnswerReceived(msgspec.Struct, frozen=True):
    """The peer answered our request `id`."""

    id: RequestId
    outcome: Response | ErrorResponse


class CancelReceived(msgspec.Struct, frozen=True):
    """The peer no longer wants an answer to request `id`, which is no longer in flight."""

    id: RequestId
    reason: str


class Ignored(msgspec.Struct, frozen=True):
    """A message without effect, for the log only. `why` quotes nothing of it."""

    why: str


Event = RequestReceived | NotificationReceived | AnswerReceived | CancelReceived | Ignored


class Outgoing(msgspec.Struct, frozen=True):
    """One message to send.

    `related` is the peer's request that it belongs to (None if none), `final` says whether it ends that
    request. A transport with one stream per request routes by them; a transport with a single stream ignores
    them. A `notice` is a notification: nobody waits for it, so a transport may drop it instead of buffering
    it for a peer that does not read.
    """

    data: bytes
    related: RequestId | None
    final: bool
    notice: bool = False


class _PendingBatch:
    """A batch whose answer is sent when all its members are answered."""

    def __init__(self, waiting: int, first: RequestId | None) -> None:
        self.waiting = waiting
        self.first = first
        self.answers: list[bytes] = []


class _InFlight(msgspec.Struct):
    method: str
    progress_token: int | str | None
    progress: float | None
    batch: _PendingBatch | None


class Session:
    """`batches` says whether a JSON array is accepted now; a dialect may change it. The module's docstring
    explains the rest."""

    def __init__(self, *, batches: bool = False) -> None:
        self.batches = batches
        self._in_flight: dict[RequestId, _InFlight] = {}
        self._sent_requests: dict[RequestId, str] = {}
        self._next_id = 1
        self._outgoing: list[Outgoing] = []

    @property
    def in_flight(self) -> int:
        """How many of the peer's requests are not answered yet."""
        return len(self._in_flight)

    def is_in_flight(self, id_: RequestId) -> bool:
        return id_ in self._in_flight

    def take_outgoing(self) -> list[Outgoing]:
        """The messages to send now, in order. Each is returned once."""
        items, self._outgoing = self._outgoing, []
        return items

    def last_outgoing(self) -> bytes:
        """The message that was queued last and is not taken yet; empty if there is none."""
        return self._outgoing[-1].data if self._outgoing else b""

    def receive(self, data: bytes) -> list[Event]:
        """Process one message. Errors for the sender are queued in `take_outgoing`; nothing is raised."""
        return self.receive_message(codec.decode(data))

    def receive_message(self, message: Message | Batch | Malformed) -> list[Event]:
        """`receive` for a transport that has already decoded the message."""
        if isinstance(message, Batch):
            return self._take_batch(message.members)
        return self._take(message, None)

    def answer(self, id_: RequestId, result: Any) -> bool:
        """Answer a request. Returns False, and sends nothing, when it is no longer in flight (cancelled).

        A result that is not made of JSON types raises as `codec.encode` does, and the request stays in
        flight.
        """
        return self._finish(id_, Response(id_, result))

    def fail(self, id_: RequestId, error: ErrorObject) -> bool:
        return self._finish(id_, ErrorResponse(id_, error))

    def cancel(self, id_: RequestId) -> bool:
        """Forget a request without answering it."""
        entry = self._in_flight.pop(id_, None)
        if entry is None:
            return False
        self._complete_member(entry.batch, None)
        return True

    def notify(self, method: str, params: Params, *, related: RequestId | None = None) -> None:
        self._queue(Notification(method, params), related)

    def progress(
        self, id_: RequestId, progress: float, total: float | None = None, message: str | None = None
    ) -> bool:
        """Report the progress of a request in flight that asked for it.

        Returns False, and sends nothing, when it is over, had no token, or the value does not increase
        (Progress: "MUST increase with each notification"; "MUST stop after completion").
        """
        entry = self._in_flight.get(id_)
        if entry is None or entry.progress_token is None:
            return False
        if entry.progress is not None and progress <= entry.progress:
            return False
        entry.progress = progress
        params: Params = {"progressToken": entry.progress_token, "progress": progress}
        if total is not None:
            params["total"] = total
        if message is not None:
            params["message"] = message
        self._queue(Notification(PROGRESS, params), id_)
        return True

    def request(self, method: str, params: Params, *, related: RequestId | None = None) -> RequestId:
        """Send the peer a request; its answer arrives as `AnswerReceived` with the id returned here."""
        id_ = self._next_id
        self._next_id += 1
        self._sent_requests[id_] = method
        self._queue(Request(id_, method, params), related)
        return id_

    def withdraw(self, id_: RequestId, reason: str, *, related: RequestId | None = None) -> None:
        """Stop waiting for the peer's answer, and cancel the request. A late answer is ignored."""
        if self._sent_requests.pop(id_, None) is not None:
            self._queue(Notification(CANCELLED, {"requestId": id_, "reason": reason}), related)

    def _take_batch(self, members: tuple[Message | Malformed, ...]) -> list[Event]:
        if not self.batches:
            error = ErrorObject(
                INVALID_REQUEST, "Invalid Request: batches are not part of this protocol version"
            )
            self._reply(codec.encode(ErrorResponse(None, error)), None, None)
            return []
        # Every request and every malformed member gets one answer; notifications and answers get none.
        expected = sum(
            isinstance(member, Request | Malformed) and not isinstance(member, MalformedAnswer)
            for member in members
        )
        first = next((member.id for member in members if isinstance(member, Request)), None)
        pending = _PendingBatch(expected, first)
        return [event for member in members for event in self._take(member, pending)]

    def _take(self, message: Message | Malformed, batch: _PendingBatch | None) -> list[Event]:
        match message:
            case Request():
                return self._take_request(message, batch)
            case Notification(method, params):
                return self._take_cancel(params) if method == CANCELLED else [NotificationReceived(message)]
            case Response(id_) | ErrorResponse(id_):
                if id_ is None or self._sent_requests.pop(id_, None) is None:
                    return [Ignored("an answer to no request of ours")]
                return [AnswerReceived(id_, message)]
            case MalformedAnswer(id_, error):
                # The caller that waits for it must not wait any longer.
                return self._take(ErrorResponse(id_, error), batch)
            case Malformed(id_, error):
                self._reply(codec.encode(ErrorResponse(id_, error)), id_, batch)
                return []

    def _take_request(self, request: Request, batch: _PendingBatch | None) -> list[Event]:
        if request.id in self._in_flight:
            error = ErrorObject(
                INVALID_REQUEST,
                f"Invalid Request: the id {request.id!r} belongs to a request still in flight",
            )
            # Not related to the id, so that no transport ends the stream of the first request, which is still
            # to be answered.
            self._reply(codec.encode(ErrorResponse(request.id, error)), None, batch)
            return []
        self._in_flight[request.id] = _InFlight(request.method, _progress_token(request.params), None, batch)
        return [RequestReceived(request)]

    def _take_cancel(self, params: Params) -> list[Event]:
        id_ = params.get("requestId")
        reason = params.get("reason")
        if not isinstance(id_, str | int | float) or isinstance(id_, bool):
            return [Ignored("a cancellation without a request id")]
        entry = self._in_flight.get(id_)
        if entry is None:
            return [Ignored("a cancellation of a request that is not in flight")]
        if entry.method == "initialize":
            # Cancellation, Behavior Requirements: "The initialize request MUST NOT be cancelled by clients".
            return [Ignored("a cancellation of initialize")]
        self.cancel(id_)
        return [CancelReceived(id_, reason if isinstance(reason, str) else "")]

    def _finish(self, id_: RequestId, message: Response | ErrorResponse) -> bool:
        entry = self._in_flight.get(id_)
        if entry is None:
            return False
        data = codec.encode(message)
        del self._in_flight[id_]
        self._reply(data, id_, entry.batch)
        return True

    def _reply(self, data: bytes, related: RequestId | None, batch: _PendingBatch | None) -> None:
        if batch is None:
            self._outgoing.append(Outgoing(data, related, final=True))
        else:
            self._complete_member(batch, data)

    def _complete_member(self, batch: _PendingBatch | None, answer: bytes | None) -> None:
        """Count one member of a batch as done. The last one sends the array, which is never empty."""
        if batch is None:
            return
        if answer is not None:
            batch.answers.append(answer)
        batch.waiting -= 1
        if batch.waiting == 0 and batch.answers:
            self._outgoing.append(Outgoing(b"[" + b",".join(batch.answers) + b"]", batch.first, final=True))

    def _queue(self, message: Message, related: RequestId | None) -> None:
        notice = isinstance(message, Notification)
        self._outgoing.append(Outgoing(codec.encode(message), related, final=False, notice=notice))


def _progress_token(params: Params) -> int | str | None:
    meta = params.get("_meta")
    token = meta.get("progressToken") if isinstance(meta, dict) else None
    return token if isinstance(token, str | int) and not isinstance(token, bool) else None
