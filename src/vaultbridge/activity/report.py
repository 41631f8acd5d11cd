"""The report that a stdio process sends to the running server: its client and calls, as values.

Names, times and sizes only. A process may serve vaults that the server does not, so it leaves out what it did
there. The server checks every member and bounds every list: anything with its token may send this.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Annotated, Final

from msgspec import Meta, Struct

from vaultbridge.activity.clients import SeenClient
from vaultbridge.activity.records import (
    EVENT,
    NAMES_CHARS,
    PATHS_RECORDED,
    QUERY_CHARS,
    CallEffects,
    CallRecord,
)

CLIENTS_PATH: Final = "/page/api/clients"

CALLS_AT_ONCE: Final = 200
"""The most calls in one report; the rest follow in the next."""

WAIT_SECONDS: Final = 20.0
"""How long the server holds a report with `wait`: below the 30 s after which an idle connection is closed."""

PATH_CHARS: Final = 4_096
"""The longest path of a folder or a note: what file systems allow."""

FOLDERS: Final = 64
"""The most vaults of one process."""

ShortText = Annotated[str, Meta(max_length=NAMES_CHARS)]
PathText = Annotated[str, Meta(max_length=PATH_CHARS)]
ReadPath = tuple[PathText, PathText]
Seconds = Annotated[float, Meta(ge=0, le=1e12)]
WholeNumber = Annotated[int, Meta(ge=0, le=2**53)]
ChangedFiles = Annotated[tuple[tuple[PathText, ShortText, PathText], ...], Meta(max_length=PATHS_RECORDED)]


class ReportedCall(Struct, frozen=True, array_like=True):
    """A `CallRecord` and what it touched."""

    order: WholeNumber
    method: ShortText
    tool: ShortText
    query: Annotated[str, Meta(max_length=QUERY_CHARS)]
    at: Seconds
    seconds: Seconds
    bytes_in: WholeNumber
    bytes_out: WholeNumber
    error: ShortText
    reads: Annotated[list[ReadPath], Meta(max_length=PATHS_RECORDED)] = []
    more_reads: WholeNumber = 0
    changes: Annotated[list[tuple[PathText, WholeNumber, ChangedFiles]], Meta(max_length=PATHS_RECORDED)] = []
    proposals: Annotated[list[tuple[PathText, PathText, ShortText]], Meta(max_length=PATHS_RECORDED)] = []
    thinking: Seconds = 0.0


class StdioReport(Struct, frozen=True, kw_only=True, forbid_unknown_fields=True, rename="camel"):
    """`id` is new for each process. `wait`: answer when a person wants something. `ended`: the last one."""

    id: Annotated[str, Meta(min_length=8, max_length=64)]
    pid: Annotated[int, Meta(ge=1, le=2**31)]
    parent_pid: Annotated[int, Meta(ge=0, le=2**31)] = 0
    parent_name: ShortText = ""
    name: ShortText = ""
    title: ShortText = ""
    version: ShortText = ""
    since: Seconds
    folders: Annotated[tuple[PathText, ...], Meta(max_length=FOLDERS)]
    calls: Annotated[list[ReportedCall], Meta(max_length=CALLS_AT_ONCE)] = []
    running: Annotated[list[ShortText], Meta(max_length=CALLS_AT_ONCE)] = []
    wait: bool = False
    ended: bool = False


class ReportAnswer(Struct, frozen=True):
    """`seen` is the order of the last call that the server has. `disconnect`: a person wants this client to
    be disconnected."""

    seen: int
    disconnect: bool = False


def make_reported_call(record: CallRecord, serves: Callable[[str], bool]) -> ReportedCall:
    """`serves` says whether the server has the vault in a folder."""
    touched = record.touched or CallEffects()
    return ReportedCall(
        record.order,
        record.method[:NAMES_CHARS],
        record.tool[:NAMES_CHARS],
        record.query[:QUERY_CHARS],
        record.at,
        record.seconds,
        record.bytes_in,
        record.bytes_out,
        record.error,
        [read for read in touched.reads if serves(read[0])],
        touched.more_reads,
        [change for change in touched.changes if serves(change[0])],
        [proposal for proposal in touched.proposals if serves(proposal[0])],
        touched.thinking,
    )


def make_record(call: ReportedCall, client: SeenClient, number: int) -> CallRecord:
    record = CallRecord(client, number, call.method, call.at)
    record.tool, record.query, record.error = call.tool, call.query, call.error
    record.seconds, record.bytes_in, record.bytes_out = call.seconds, call.bytes_in, call.bytes_out
    if not call.method.startswith(EVENT):
        record.touched = touched = CallEffects()
        touched.reads, touched.more_reads = tuple(call.reads), call.more_reads
        touched.changes, touched.proposals = tuple(call.changes), tuple(call.proposals)
        touched.thinking = call.thinking
    return record
