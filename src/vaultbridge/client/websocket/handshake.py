"""What must be said again to a server after a reconnection. Pure.

MCP up to 2025-11-25 binds a session to a handshake, and a server that is met again over a new line has
forgotten it. The transport watches the handshake pass and repeats it before it sends anything else; then what
the session held at the server (`standing`). From 2026-07-28 every request carries its own context, and there
is nothing to repeat.

The ids of requests that a transport makes itself: a repeated handshake, and what an earlier process left.

Integers, because not every peer keeps an id as it was: a popular gateway reads them all as numbers, and gives
back null for a text.

What a server holds for a session until it is told otherwise: subscriptions, and the log level. Pure.

A server that is met again over a new line has forgotten both. Whoever subscribed would hear nothing more and
would not know it, so what the server had accepted is asked for again.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Final

from vaultbridge.client.errors import ConnectFailed, NotRenewed
from vaultbridge.client.messages import Kind, Message, RequestId

FIRST_OWN_ID: Final = 2_000_000_000
"""Below 2**31, so that a peer with ids of 32 bits keeps them, and far above what a session counts up to."""


class OwnIds:
    """Counts up, passing over ids that the caller's own requests have: `in_use` says which these are."""

    def __init__(self, in_use: Callable[[int], bool] | None = None) -> None:
        self._numbers = itertools.count(FIRST_OWN_ID)
        self._in_use = in_use

    def next(self) -> int:
        return next(n for n in self._numbers if self._in_use is None or not self._in_use(n))


SUBSCRIPTIONS: Final = 10_000
"""The most that are asked for again: a client watches files, not a whole disk."""

METHODS: Final = frozenset({"resources/subscribe", "resources/unsubscribe", "logging/setLevel"})


class ServerState:
    """Watches requests and their answers pass."""

    __slots__ = ("_asked", "_held")

    def __init__(self) -> None:
        self._asked: dict[RequestId, Message] = {}
        self._held: dict[tuple[str, object], Message] = {}

    def sent(self, request: Message) -> None:
        self.reused(request["id"])
        if request["method"] in METHODS and len(self._asked) < SUBSCRIPTIONS:
            self._asked[request["id"]] = request

    def reused(self, request_id: RequestId) -> None:
        """An id may be used again once its request was answered or has failed."""
        if self._asked:
            self._asked.pop(request_id, None)

    def received(self, kind: Kind, message: Message) -> None:
        request = self._asked.pop(message["id"], None) if self._asked else None
        if request is None or kind is not Kind.RESPONSE:
            return
        params = request.get("params")
        uri = params.get("uri") if isinstance(params, dict) else None
        if request["method"] == "logging/setLevel":
            self._held["level", None] = request
        elif not isinstance(uri, str):
            return
        elif request["method"] == "resources/unsubscribe":
            self._held.pop(("uri", uri), None)
        elif len(self._held) < SUBSCRIPTIONS:
            self._held["uri", uri] = request

    def requests(self) -> tuple[Message, ...]:
        """What the server had accepted and must be asked for again."""
        return tuple(self._held.values())

    def refused(self, request: Message) -> None:
        """The server does not take this up again."""
        self._held = {key: held for key, held in self._held.items() if held is not request}


OPENING: Final = frozenset({"initialize", "notifications/initialized", "initialized"})
"""What begins a session, and belongs to it alone."""

WATCHED: Final = OPENING | METHODS
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
        self._standing = ServerState()
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
