"""What must be said again to a server after a reconnection. Pure.

MCP up to 2025-11-25 binds a session to a handshake, and a server that is met again over a new line has
forgotten it. The transport watches the handshake pass and repeats it before it sends anything else; then what
the session held at the server (`standing`). From 2026-07-28 every request carries its own context, and there
is nothing to repeat.
"""

from __future__ import annotations

from typing import Any, Final

from vaultbridge.client import standing
from vaultbridge.client.errors import ConnectFailed, NotRenewed
from vaultbridge.client.messages import Kind, Message, RequestId
from vaultbridge.client.own_ids import OwnIds
from vaultbridge.client.standing import Standing

OPENING: Final = frozenset({"initialize", "notifications/initialized", "initialized"})
"""What begins a session, and belongs to it alone."""

WATCHED: Final = OPENING | standing.METHODS
"""The methods that `sent` must see whole."""


class Handshake:
    """Follows one session. `established` once the server has accepted `initialize`."""

    __slots__ = (
        "_asked",
        "_asked_id",
        "_confirmation",
        "_ids",
        "_renewing",
        "_replayed",
        "_request",
        "_standing",
        "_version",
    )

    def __init__(self, ids: OwnIds | None = None) -> None:
        """`ids` are for what is repeated; the transport shares its own, so that no two requests have one."""
        self._asked: Message | None = None
        self._asked_id: RequestId | None = None
        self._request: Message | None = None
        self._version: Any = None
        self._confirmation: Message | None = None
        self._ids = ids or OwnIds()
        self._standing = Standing()
        self._replayed: int | None = None
        self._renewing: dict[int, Message] = {}

    @property
    def established(self) -> bool:
        return self._request is not None

    def sent(self, kind: Kind, message: Message) -> None:
        """Watch one of `WATCHED` go to the line.

        Not when it is queued: a confirmation that waits would be repeated with the handshake, and go out
        again from the queue.
        """
        method = message.get("method")
        if kind is Kind.REQUEST:
            self._standing.sent(message)
            if method == "initialize":
                self._asked, self._asked_id = message, message["id"]
        elif kind is Kind.NOTIFICATION and method in ("notifications/initialized", "initialized"):
            self._confirmation = message

    def reused(self, request_id: RequestId) -> None:
        """Another request goes to the line under an id that one of `WATCHED` may have had."""
        self._standing.reused(request_id)

    def received(self, kind: Kind, message: Message) -> None:
        """Watch what the server answers."""
        self._standing.received(kind, message)
        if self._asked is None or message.get("id") != self._asked_id:
            return
        if kind is Kind.RESPONSE:
            result = message["result"]
            self._request, self._version = self._asked, version_of(result)
            self._asked = self._asked_id = None
        elif kind is Kind.ERROR:
            self._asked = self._asked_id = None

    def lost(self) -> None:
        """The line is gone: a handshake without an answer will not get one."""
        self._asked = self._asked_id = None
        self._replayed, self._renewing = None, {}

    def replay(self) -> Message:
        """The `initialize` request to repeat, under an id of its own."""
        assert self._request is not None
        self._replayed = self._ids.next()
        return {**self._request, "id": self._replayed}

    def check(self, kind: Kind, message: Message) -> None:
        """Accept the answer to `replay()`. Raises ConnectFailed when the session cannot go on as it was."""
        self._replayed = None
        if kind is Kind.ERROR:
            error = message["error"]
            raise ConnectFailed(
                f"The server refused to initialise the session again: {error['message']} ({error['code']})."
            )
        version = version_of(message["result"])
        if version != self._version:
            raise ConnectFailed(
                f"The server now speaks MCP {version}; the session was negotiated at {self._version}.",
                hint="Open a new session.",
            )

    def confirmation(self) -> Message | None:
        """The notification that completes the handshake, if the session had come so far."""
        return self._confirmation

    def renewals(self) -> tuple[Message, ...]:
        """What follows the handshake, under ids of their own."""
        self._renewing = {self._ids.next(): request for request in self._standing.requests()}
        return tuple({**request, "id": id_} for id_, request in self._renewing.items())

    def is_repeated(self, request_id: object) -> bool:
        """Whether an id belongs to something that we repeated and that has no answer yet."""
        if not isinstance(request_id, int):
            return False
        return request_id == self._replayed or request_id in self._renewing

    def renewed(self, kind: Kind, message: Message) -> NotRenewed | None:
        """Take the answer to one of the `renewals`: what to tell when the server refused it."""
        request = self._renewing.pop(message["id"], None)
        if request is None or kind is not Kind.ERROR:
            return None
        self._standing.refused(request)
        return NotRenewed(request, message["error"]["message"])


def version_of(result: object) -> Any:
    return result.get("protocolVersion") if isinstance(result, dict) else None
