"""Which version of MCP to speak with a server, from what it said of itself. Pure.

The rules are the specification's (2026-07-28, Versioning and Compatibility): a server that answers
`server/discover`, or refuses it with one of the errors that came with 2026-07-28, is a modern one, and is
asked again at a version it names; any other error, or silence, is that of a server with a handshake.
"""

from __future__ import annotations

from typing import Any, Final

from vaultbridge.client.errors import RpcError
from vaultbridge.rpc.versions import SUPPORTED_NEWEST_FIRST

HEADER_MISMATCH: Final = -32020
MISSING_CAPABILITY: Final = -32021
UNSUPPORTED_VERSION: Final = -32022

MODERN_ERRORS: Final = frozenset({HEADER_MISMATCH, MISSING_CAPABILITY, UNSUPPORTED_VERSION})
"""Errors that no server of the handshake era gives."""

NAMED_VERSIONS: Final = 10
"""How many versions an error's text repeats: there are five today, and a peer may name any number."""


def named_by(error: RpcError) -> tuple[str, ...]:
    """The versions that a server named when it refused ours; none when it named none."""
    return read_versions(error.data.get("supported") if isinstance(error.data, dict) else None)


def read_versions(value: Any) -> tuple[str, ...]:
    return tuple(item for item in value if isinstance(item, str)) if isinstance(value, list) else ()


def newest_common(offered: tuple[str, ...], spoken: tuple[str, ...]) -> str | None:
    """The newest version of `spoken` that is offered too."""
    return next((name for name in SUPPORTED_NEWEST_FIRST if name in offered and name in spoken), None)


def no_common_version(offered: tuple[str, ...], spoken: tuple[str, ...]) -> RpcError:
    theirs = ", ".join(repr(name)[1:-1][:40] for name in offered[:NAMED_VERSIONS])
    said = f"The server speaks MCP {theirs}" if theirs else "The server named no version of MCP"
    return RpcError(UNSUPPORTED_VERSION, f"{said}; this client was to speak {', '.join(spoken)}.")
