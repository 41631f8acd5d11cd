"""What each MCP version has, and the phases of a session: two tables.

The first has a row per version and a column for everything that was added or removed. `wire` derives the
shapes of values from it (which member a tool or a content block may have); nothing else does.

The second is the lifecycle. A phase is something that both ends can observe on the wire, and a method is
listed only if the protocol forbids it in some phase.

    NEW ──initialize answered──> OPEN ──initialized──> READY
     │                            │                      │
     └──────────── exit or end of input ─────────────────┴──> CLOSING ──drained──> CLOSED

`NEW` admits only what `ADMITTED` lists. A 2026-07-28 request carries its own version and is admitted in every
phase but CLOSED (the caller checks that first). `OPEN` and `READY` admit the same requests, because document
004 has no `initialized` notification; only our own requests to the client wait for READY, as 2024-11-05 to
2025-11-25 demand (Lifecycle, Initialization).
"""

from __future__ import annotations

from enum import Enum, auto
from typing import Final

import msgspec

from vaultbridge.jsonrpc.messages import INVALID_PARAMS, RESOURCE_NOT_FOUND

VERSION_KEY: Final = "io.modelcontextprotocol/protocolVersion"
CLIENT_KEY: Final = "io.modelcontextprotocol/clientInfo"
CAPABILITIES_KEY: Final = "io.modelcontextprotocol/clientCapabilities"
LOG_LEVEL_KEY: Final = "io.modelcontextprotocol/logLevel"
SERVER_INFO_KEY: Final = "io.modelcontextprotocol/serverInfo"
"""The members of `_meta` by which 2026-07-28 carries what was in the handshake before."""

SESSION_HEADER: Final = "Mcp-Session-Id"
VERSION_HEADER: Final = "MCP-Protocol-Version"
METHOD_HEADER: Final = "Mcp-Method"
NAME_HEADER: Final = "Mcp-Name"
PARAM_PREFIX: Final = "Mcp-Param-"
"""The headers of Streamable HTTP. 2026-07-28 has no session; its last three repeat parts of the message."""

NAME_SOURCES: Final = {"tools/call": "name", "prompts/get": "name", "resources/read": "uri"}
"""Which parameter `Mcp-Name` repeats, by method."""

HEADER_MARK: Final = "x-mcp-header"
"""In a tool's schema: the argument that has it is repeated in a `Mcp-Param-` header."""


class Version(msgspec.Struct, frozen=True, kw_only=True):
    name: str
    modern: bool = False
    """Stateless: no handshake, every request carries its version (2026-07-28)."""
    batches: bool = False
    """Added in 2025-03-26, removed in 2025-06-18."""
    tool_errors_as_results: bool = True
    """Document 004, written for 2024-11-05, reports failed tools as JSON-RPC errors."""
    audio: bool = True
    tool_annotations: bool = True
    completions_capability: bool = True
    progress_message: bool = True
    titles: bool = True
    output_schemas: bool = True
    resource_links: bool = True
    value_meta: bool = True
    """`_meta` on tools, resources, prompts and content."""
    elicitation: bool = True
    icons: bool = True
    server_description: bool = True
    any_structured_content: bool = False
    """structuredContent may be any JSON value; before, only an object."""
    resource_not_found_code: int = RESOURCE_NOT_FOUND


V2024_11_05: Final = Version(
    name="2024-11-05",
    tool_errors_as_results=False,
    audio=False,
    tool_annotations=False,
    completions_capability=False,
    progress_message=False,
    titles=False,
    output_schemas=False,
    resource_links=False,
    value_meta=False,
    elicitation=False,
    icons=False,
    server_description=False,
)
V2025_03_26: Final = Version(
    name="2025-03-26",
    batches=True,
    titles=False,
    output_schemas=False,
    resource_links=False,
    value_meta=False,
    elicitation=False,
    icons=False,
    server_description=False,
)
V2025_06_18: Final = Version(name="2025-06-18", icons=False, server_description=False)
V2025_11_25: Final = Version(name="2025-11-25")
V2026_07_28: Final = Version(
    name="2026-07-28",
    modern=True,
    any_structured_content=True,
    resource_not_found_code=INVALID_PARAMS,
)

VERSIONS: Final[dict[str, Version]] = {
    version.name: version for version in (V2024_11_05, V2025_03_26, V2025_06_18, V2025_11_25, V2026_07_28)
}
"""Oldest first."""

HANDSHAKE_VERSIONS: Final = tuple(name for name, version in VERSIONS.items() if not version.modern)
MODERN_VERSIONS: Final = tuple(name for name, version in VERSIONS.items() if version.modern)

SUPPORTED_NEWEST_FIRST: Final = tuple(reversed(VERSIONS))


def negotiate(requested: str) -> Version:
    """The version that answers an `initialize` request.

    It is the requested version if it has a handshake, else the newest that has one: "the server MUST respond
    with another protocol version it supports. This SHOULD be the latest version" (Lifecycle, Version
    Negotiation). 2026-07-28 has no handshake, so a client asking for it this way gets 2025-11-25.
    """
    version = VERSIONS.get(requested)
    return version if version is not None and not version.modern else VERSIONS[HANDSHAKE_VERSIONS[-1]]


class Phase(Enum):
    NEW = auto()
    OPEN = auto()
    READY = auto()
    CLOSING = auto()
    CLOSED = auto()


class Signal(Enum):
    INITIALIZE_ANSWERED = auto()
    INITIALIZED = auto()
    ENDING = auto()
    DRAINED = auto()


TRANSITIONS: Final[dict[tuple[Phase, Signal], Phase]] = {
    (Phase.NEW, Signal.INITIALIZE_ANSWERED): Phase.OPEN,
    (Phase.OPEN, Signal.INITIALIZED): Phase.READY,
    # A client may repeat the notification, or send it before our answer is sent. That is harmless.
    (Phase.NEW, Signal.INITIALIZED): Phase.NEW,
    (Phase.READY, Signal.INITIALIZED): Phase.READY,
    (Phase.CLOSING, Signal.INITIALIZED): Phase.CLOSING,
    (Phase.NEW, Signal.ENDING): Phase.CLOSING,
    (Phase.OPEN, Signal.ENDING): Phase.CLOSING,
    (Phase.READY, Signal.ENDING): Phase.CLOSING,
    (Phase.CLOSING, Signal.ENDING): Phase.CLOSING,
    # The answer to an initialize that was in flight when the input ended.
    (Phase.CLOSING, Signal.INITIALIZE_ANSWERED): Phase.CLOSING,
    (Phase.CLOSING, Signal.DRAINED): Phase.CLOSED,
}

ADMITTED: Final[dict[Phase, frozenset[str] | None]] = {
    Phase.NEW: frozenset({"initialize", "ping"}),
    Phase.OPEN: None,
    Phase.READY: None,
    Phase.CLOSING: frozenset(),
    Phase.CLOSED: frozenset(),
}
"""Requests admitted in each phase; None means all of them."""


class IllegalTransition(Exception):
    """Our own code requested a transition that is not in the table. This is never the peer's fault."""

    def __init__(self, phase: Phase, signal: Signal) -> None:
        super().__init__(f"{signal.name} in phase {phase.name}")


def next_phase(phase: Phase, signal: Signal) -> Phase:
    try:
        return TRANSITIONS[phase, signal]
    except KeyError:
        raise IllegalTransition(phase, signal) from None


def explain_refusal(phase: Phase, method: str) -> str | None:
    """Why a request of a session is not allowed now, or None when it is."""
    admitted = ADMITTED[phase]
    if admitted is None:
        return f"{method} was sent twice on one connection" if method == "initialize" else None
    if method in admitted:
        return None
    if phase is Phase.NEW:
        return f"{method} was sent before initialize; send initialize first"
    return f"{method} was sent after the end of the session"
