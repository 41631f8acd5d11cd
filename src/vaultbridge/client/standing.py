"""What a server holds for a session until it is told otherwise: subscriptions, and the log level. Pure.

A server that is met again over a new line has forgotten both. Whoever subscribed would hear nothing more and
would not know it, so what the server had accepted is asked for again.
"""

from __future__ import annotations

from typing import Final

from vaultbridge.client.messages import Kind, Message, RequestId

SUBSCRIPTIONS: Final = 10_000
"""The most that are asked for again: a client watches files, not a whole disk."""

METHODS: Final = frozenset({"resources/subscribe", "resources/unsubscribe", "logging/setLevel"})


class Standing:
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
