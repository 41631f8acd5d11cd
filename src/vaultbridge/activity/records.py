"""The record of one call, of one message, and of what a call touches in a vault: names, times and sizes,
never the text.

A connection puts a `CallEffects` into `CURRENT` before it runs a call. The engine, deep below, reports to it
what it reads and writes; neither knows the other. If nobody is watching, `CURRENT` is empty and reporting
costs nothing. Threads that work for a call run in a copy of its context, so what they do counts as the
call's. Vaults are given by their real folder: two may have the same name.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Literal, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from vaultbridge.activity.clients import SeenClient

PATHS_RECORDED: Final = 50
"""Paths of each kind that are recorded for one call: as many notes as one call may read. More are only
counted."""

ChangedPath = tuple[str, str, str]
"""A path, what happened to it (created, changed, moved, deleted), and its path before a move or ""."""

NAMES_CHARS: Final = 80
"""The most characters that are kept of a client's name for itself."""

QUERY_CHARS: Final = 80
"""The most characters that are kept of a query, to show "searched for …"."""

TOOL_PREFIX: Final = "obsidian_"
"""What our tools' names start with over MCP, for clients that mix the tools of several servers. A record has
the bare name, which Bridge v1 uses too."""

EVENT: Final = "@"
"""The start of the method of a record that is not a call."""


class CallEffects(Struct, gc=False, eq=False):
    """`reads` are (folder, path); `changes` are (folder, number in the journal, files); `proposals` are
    (folder, path, id). `more_reads` counts what `reads` has no room for. `thinking` is how many seconds the
    call waited for a person. Every call makes one of these, and most fill one list."""

    reads: Sequence[tuple[str, str]] = ()
    more_reads: int = 0
    changes: Sequence[tuple[str, int, tuple[ChangedPath, ...]]] = ()
    proposals: Sequence[tuple[str, str, str]] = ()
    thinking: float = 0.0


CURRENT: Final[ContextVar[CallEffects | None]] = ContextVar("vaultbridge_touched", default=None)


class RecordedChange(Protocol):
    """A file of a change (`engine.outcome.ChangedFile`)."""

    @property
    def path(self) -> str: ...

    @property
    def change(self) -> str: ...

    @property
    def was(self) -> str: ...


def record_read(folder: Path, path: str) -> None:
    touched = CURRENT.get()
    if touched is None or (read := (str(folder), path)) in touched.reads:
        return
    if len(touched.reads) < PATHS_RECORDED:
        touched.reads = (*touched.reads, read)
    else:
        touched.more_reads += 1


def record_change(folder: Path, number: int | None, files: Sequence[RecordedChange]) -> None:
    """`number` is the change's id in the journal, None or 0 if nothing was written."""
    touched = CURRENT.get()
    if touched is not None and number and len(touched.changes) < PATHS_RECORDED:
        listed = tuple((file.path, file.change, file.was) for file in files[:PATHS_RECORDED])
        touched.changes = (*touched.changes, (str(folder), number, listed))


def record_proposal(folder: Path, path: str, proposal_id: str) -> None:
    """`proposal_id` is the id under which a person decides on it."""
    touched = CURRENT.get()
    if touched is not None and len(touched.proposals) < PATHS_RECORDED:
        touched.proposals = (*touched.proposals, (str(folder), path, proposal_id))


def record_thinking(seconds: float) -> None:
    touched = CURRENT.get()
    if touched is not None:
        touched.thinking += seconds


class CallRecord(Struct, gc=False, eq=False):
    """One request. `tool` is "" unless it is a call of a tool. `error` is "" for a success, else a code.

    `order` is its place among the remembered calls, given at the end: a call that began before another may
    end after it. Thousands are kept, and no cycle leads through them, so the garbage collector can skip
    them."""

    client: SeenClient
    number: int
    method: str
    at: float
    bytes_in: int = 0
    rpc: str | int | float | None = None
    tool: str = ""
    query: str = ""
    touched: CallEffects | None = None
    started: float = 0.0
    seconds: float = 0.0
    bytes_out: int = 0
    error: str = ""
    order: int = 0
    answer_number: int = 0
    json_in: str | None = None
    json_out: str | None = None

    @property
    def is_rejected(self) -> bool:
        """Whether a person rejected the change that it proposed: an answer, and no failure."""
        return self.error == "PERMISSION_DENIED" and self.touched is not None and bool(self.touched.proposals)

    @property
    def is_failed(self) -> bool:
        return bool(self.error) and not self.is_rejected

    @property
    def work_seconds(self) -> float:
        """How long it took, without the time in which a person thought about its change."""
        return max(0.0, self.seconds - (self.touched.thinking if self.touched is not None else 0.0))


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
    request = TraceMessage(
        entry.number, entry.at, entry.client, "in", "request", entry.method, entry.bytes_in
    )
    request.tool, request.rpc, request.json = entry.tool, entry.rpc, entry.json_in
    if not entry.answer_number:
        return [request]
    answer = TraceMessage(
        entry.answer_number,
        entry.at + entry.seconds,
        entry.client,
        "out",
        "error" if entry.error else "response",
        entry.method,
        entry.bytes_out,
    )
    answer.tool, answer.rpc, answer.json = entry.tool, entry.rpc, entry.json_out
    answer.ms = entry.seconds * 1000
    return [request, answer]
