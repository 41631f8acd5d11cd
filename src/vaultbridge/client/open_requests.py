"""The requests of a transport that have no answer yet, for transports whose line does not come back. Pure."""

from __future__ import annotations

from vaultbridge.client.errors import InvalidMessage, UnknownAnswer
from vaultbridge.client.messages import (
    CONNECTION_LOST,
    Kind,
    Message,
    RequestId,
    classify,
    encode,
    error_answer,
    plain,
    short,
)


class OpenRequests:
    """Checks what goes out and what comes in against each other."""

    def __init__(self, max_message_bytes: int) -> None:
        self._max_message_bytes = max_message_bytes
        self._open: dict[RequestId, tuple[str, float]] = {}

    def __len__(self) -> int:
        return len(self._open)

    def __contains__(self, request_id: object) -> bool:
        return request_id in self._open

    def outgoing(self, message: object, now: float) -> tuple[Kind, Message, bytes]:
        """Check and encode a message to be sent; a request is open from here on. Raises InvalidMessage."""
        value = plain(message)
        kind = classify(value)
        data = encode(value)
        if len(data) > self._max_message_bytes:
            raise InvalidMessage(
                f"The message has {len(data)} bytes; the limit is {self._max_message_bytes}."
            )
        if kind is Kind.REQUEST:
            if value["id"] in self._open:
                raise InvalidMessage(
                    f"The request id {value['id']!r} is in use by a request without an answer."
                )
            self._open[value["id"]] = (value["method"], now)
        return kind, value, data

    def incoming(self, kind: Kind, message: Message) -> float | None:
        """Enter a received message: when its request was sent, if it answers one. Raises UnknownAnswer."""
        if kind in (Kind.REQUEST, Kind.NOTIFICATION) or message["id"] is None:
            return None
        found = self._open.pop(message["id"], None)
        if found is None:
            raise UnknownAnswer(f"An answer came to no open request (id {short(message['id'])}).")
        return found[1]

    def forget(self, request_id: RequestId) -> None:
        """The request is not accepted after all: its caller is told otherwise."""
        del self._open[request_id]

    def fail(self, request_id: RequestId, why: str, *, sent: bool = True) -> Message | None:
        """The answer for a request that will not get the server's; None when it has had one."""
        found = self._open.pop(request_id, None)
        if found is None:
            return None
        reason = "connection-lost" if sent else "not-sent"
        return error_answer(request_id, CONNECTION_LOST, f"{why} ({found[0]}).", reason=reason, sent=sent)

    def fail_all(self, why: str) -> list[Message]:
        answers = [self.fail(request_id, why) for request_id in list(self._open)]
        return [answer for answer in answers if answer is not None]
