"""The record of one call, and of one message: names, times and sizes, never the text."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal

from msgspec import Struct

from vaultbridge.activity.touched import Touched

if TYPE_CHECKING:
    from vaultbridge.activity.clients import SeenClient

NAMES_CHARS: Final = 80
"""How much of a name that a client gives itself is kept."""

QUERY_CHARS: Final = 80
"""How much of a search is kept, for the words "searched for …"."""

EVENT: Final = "@"
"""The start of the method of a record that is not a call."""


class CallRecord(Struct, gc=False, eq=False):
    """One request. `tool` is "" unless it is a call of a tool. `error` is "" for a success, else a code.

    `order` is its place among the remembered calls, given at the end: a call that began before another may
    end after it. Thousands are kept, and no cycle leads through them, so the garbage collector need not look
    at them."""

    client: SeenClient
    number: int
    method: str
    at: float
    bytes_in: int = 0
    rpc: str | int | float | None = None
    tool: str = ""
    query: str = ""
    touched: Touched | None = None
    started: float = 0.0
    seconds: float = 0.0
    bytes_out: int = 0
    error: str = ""
    order: int = 0
    answer_number: int = 0
    json_in: str | None = None
    json_out: str | None = None


Direction = Literal["in", "out"]
MessageType = Literal["request", "response", "error", "notification"]


class TraceMessage:
    """One message of the protocol view. `direction` is "in" for what a client sent us."""

    tool = ""
    rpc: str | int | float | None = None
    ms: float | None = None
    json: str | None = None

    def __init__(
        self,
        number: int,
        at: float,
        client: SeenClient,
        direction: Direction,
        type_: MessageType,
        method: str,
        size: int,
    ) -> None:
        self.number = number
        self.at = at
        self.client = client
        self.direction: Direction = direction
        self.type: MessageType = type_
        self.method = method
        self.bytes = size


def list_messages(entry: CallRecord | TraceMessage) -> list[TraceMessage]:
    """The messages that a call consists of: the request, and its answer if there is one yet."""
    if isinstance(entry, TraceMessage):
        return [entry]
    asked = TraceMessage(entry.number, entry.at, entry.client, "in", "request", entry.method, entry.bytes_in)
    asked.tool, asked.rpc, asked.json = entry.tool, entry.rpc, entry.json_in
    if not entry.answer_number:
        return [asked]
    answered = TraceMessage(
        entry.answer_number,
        entry.at + entry.seconds,
        entry.client,
        "out",
        "error" if entry.error else "response",
        entry.method,
        entry.bytes_out,
    )
    answered.tool, answered.rpc, answered.json = entry.tool, entry.rpc, entry.json_out
    answered.ms = entry.seconds * 1000
    return [asked, answered]
