"""How a call is named in the log: its method or tool, never what was asked or answered.

Arguments hold the text of notes, and results do too. Names of tools come from the peer, so only what looks
like one is repeated.
"""

from __future__ import annotations

import re
from typing import Any, Final

from vaultbridge.dialects.dialect import Succeeded
from vaultbridge.rpc.messages import ErrorObject, Params

_NAME: Final = re.compile(r"[A-Za-z0-9_./$-]{1,64}")
"""Method and tool names; whatever else a peer sends is told as `?`."""

SHOWN_CHARS: Final = 60
"""How much of what a client calls itself is repeated."""


def call_name(method: str, params: Params) -> str:
    """`tools/call obsidian_read_note`, `resources/list`."""
    if method != "tools/call":
        return _plain(method)
    return f"{_plain(method)} {_plain(params.get('name'))}"


def call_outcome(outcome: ErrorObject | Succeeded) -> str:
    """`answered`, `failed (isError)`, `failed (-32602)`, `failed (-32001 NOTE_NOT_FOUND)`."""
    if isinstance(outcome, ErrorObject):
        word = outcome.data.get("errorCode") if isinstance(outcome.data, dict) else None
        return f"failed ({outcome.code}{f' {_plain(word)}' if word else ''})"
    result = outcome.result
    return "failed (isError)" if isinstance(result, dict) and result.get("isError") is True else "answered"


def client_name(info: Any) -> str:
    """What a client calls itself: name and version, printable and short."""
    parts = [info.get("name"), info.get("version")] if isinstance(info, dict) else []
    text = " ".join(part for part in parts if isinstance(part, str))
    return "".join(char for char in text[:SHOWN_CHARS] if char.isprintable()) or "without a name"


def _plain(name: object) -> str:
    return name if isinstance(name, str) and _NAME.fullmatch(name) else "?"
