"""What must be sent to a server again after a reconnection: the handshake, subscriptions, the log level.
Pure.

MCP up to 2025-11-25 binds a session to a handshake, and over a new connection the server has forgotten it.
`Handshake` records it, and the transport repeats it before it sends anything else. Then follow the
subscriptions and the log level that the server had accepted (`ServerState`); otherwise a subscriber would get
nothing more without noticing. From 2026-07-28 on every request carries its own context, and nothing is
repeated.

Requests that the transport makes itself get ids from `OwnIds`. They are integers because a popular gateway
reads every id as a number and returns null for a string.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable
from typing import Any, Final

from vaultbridge.client.errors import ConnectFailed, NotRenewed
from vaultbridge.client.messages import Message, MessageKind, RequestId

FIRST_OWN_ID: Final = 2_000_000_000
"""Below 2**31 for peers with 32-bit ids, and far above what a session counts up to."""


class OwnIds:
    """Counts up, skipping ids of the caller's own requests, which `in_use` recognizes."""

    def __init__(self, in_use: Callable[[int], bool] | None = None) -> None:
        self._numbers = itertools.count(FIRST_OWN_ID)
        self._in_use = in_use

    def next(self) -> int:
        return next(n for n in self._numbers if self._in_use is None or not self._in_use(n))


SUBSCRIPTIONS: Final = 10_000
"""The most subscriptions that are renewed: a client watches files, not a whole disk."""

METHODS: Final = frozenset({"resources/subscribe", "resources/unsubscribe", "logging/setLevel"})


class ServerState:
    """What the server stores for a session, as seen in requests and their answers."""

    __slots__ = ("_accepted", "_asked")

    def __init__(self) -> None:
        self._asked: dict[RequestId, Message] = {}
        self._accepted: dict[tuple[str, object], Message] = {}

    def note_sent(self, request: Message) -> None:
        self.note_reused(request["id"])
        if request["method"] in METHODS and len(self._asked) < SUBSCRIPTIONS:
            self._asked[request["id"]] = request

    def note_reused(self, request_id: RequestId) -> None:
        """An id may be reused once its request has been answered or has failed."""
        if self._asked:
            self._asked.pop(request_id, None)

    def note_received(self, kind: MessageKind, message: Message) -> None:
        request = self._asked.pop(message["id"], None) if self._asked else None
        if request is None or kind is not MessageKind.RESPONSE:
            return
        params = request.get("params")
        uri = params.get("uri") if isinstance(params, dict) else None
        if request["method"] == "logging/setLevel":
            self._accepted["level", None] = request
        elif not isinstance(uri, str):
            return
        elif request["method"] == "resources/unsubscribe":
            self._accepted.pop(("uri", uri), None)
        elif len(self._accepted) < SUBSCRIPTIONS:
            self._accepted["uri", uri] = request

    def requests(self) -> tuple[Message, ...]:
        """The requests that the server had accepted and that must be repeated."""
        return tuple(self._accepted.values())

    def forget(self, request: Message) -> None:
        """Forget a request that the server refused to renew."""
        self._accepted = {key: held for key, held in self._accepted.items() if held is not request}


OPENING: Final = frozenset({"initialize", "notifications/initialized", "initialized"})
"""Messages that open a session and belong only to it."""

WATCHED: Final = OPENING | METHODS
"""The methods whose whole message `note_sent` must see."""


class Handshake:
    """Follows one session, which `is_established` once the server has accepted `initialize`."""

    __slots__ = (
        "_asked",
        "_asked_id",
        "_confirmation",
        "_ids",
        "_renewing",
        "_replayed",
        "_request",
        "_server_state",
        "_version",
    )

    def __init__(self, ids: OwnIds | None = None) -> None:
        """`ids` are for repeated requests; the transport shares its own, so that all ids differ."""
        self._asked: Message | None = None
        self._asked_id: RequestId | None = None
        self._request: Message | None = None
        self._version: Any = None
        self._confirmation: Message | None = None
        self._ids = ids or OwnIds()
        self._server_state = ServerState()
        self._replayed: int | None = None
        self._renewing: dict[int, Message] = {}

    @property
    def is_established(self) -> bool:
        return self._request is not None

    def note_sent(self, kind: MessageKind, message: Message) -> None:
        """Note that one of `WATCHED` is being sent.

        Not when it is queued: a queued confirmation would be repeated with the handshake, and then sent again
        from the queue.
        """
        method = message.get("method")
        if kind is MessageKind.REQUEST:
            self._server_state.note_sent(message)
            if method == "initialize":
                self._asked, self._asked_id = message, message["id"]
        elif kind is MessageKind.NOTIFICATION and method in ("notifications/initialized", "initialized"):
            self._confirmation = message

    def note_reused(self, request_id: RequestId) -> None:
        """Note that another request is sent under an id that one of `WATCHED` may have had."""
        self._server_state.note_reused(request_id)

    def note_received(self, kind: MessageKind, message: Message) -> None:
        """Note an answer of the server."""
        self._server_state.note_received(kind, message)
        if self._asked is None or message.get("id") != self._asked_id:
            return
        if kind is MessageKind.RESPONSE:
            result = message["result"]
            self._request, self._version = self._asked, read_version(result)
            self._asked = self._asked_id = None
        elif kind is MessageKind.ERROR:
            self._asked = self._asked_id = None

    def note_lost(self) -> None:
        """Note that the connection is gone: an unanswered handshake will get no answer."""
        self._asked = self._asked_id = None
        self._replayed, self._renewing = None, {}

    def make_replay(self) -> Message:
        """Make the repeated `initialize` request, under a new id."""
        assert self._request is not None
        self._replayed = self._ids.next()
        return {**self._request, "id": self._replayed}

    def check_replay(self, kind: MessageKind, message: Message) -> None:
        """Check the answer to `make_replay()`. Raises ConnectFailed when the session cannot continue."""
        self._replayed = None
        if kind is MessageKind.ERROR:
            error = message["error"]
            raise ConnectFailed(
                f"The server refused to initialize the session again: {error['message']} ({error['code']})."
            )
        version = read_version(message["result"])
        if version != self._version:
            raise ConnectFailed(
                f"The server now speaks MCP {version}; the session was negotiated at {self._version}.",
                hint="Open a new session.",
            )

    def confirmation(self) -> Message | None:
        """The notification that completes the handshake, if the session had got that far."""
        return self._confirmation

    def make_renewals(self) -> tuple[Message, ...]:
        """Make the requests that follow the handshake, under new ids."""
        self._renewing = {self._ids.next(): request for request in self._server_state.requests()}
        return tuple({**request, "id": id_} for id_, request in self._renewing.items())

    def is_repeated(self, request_id: object) -> bool:
        """Whether an id belongs to a repeated request that has no answer yet."""
        if not isinstance(request_id, int):
            return False
        return request_id == self._replayed or request_id in self._renewing

    def take_renewal(self, kind: MessageKind, message: Message) -> NotRenewed | None:
        """Take the answer to one of `make_renewals()`. Returns the error when the server refused it."""
        request = self._renewing.pop(message["id"], None)
        if request is None or kind is not MessageKind.ERROR:
            return None
        self._server_state.forget(request)
        return NotRenewed(request, message["error"]["message"])


def read_version(result: object) -> Any:
    return result.get("protocolVersion") if isinstance(result, dict) else None
