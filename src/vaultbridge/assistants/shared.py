"""Entries by which an assistant shares a bridge that runs, instead of starting a process of its own.

Most assistants take an address and a header with a token. One whose maker documents no such entry starts
`vaultbridge bridge`, which is small and passes everything on to the same address.
"""

from __future__ import annotations

import contextlib
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final
from urllib.parse import urlsplit

from msgspec import Struct

from vaultbridge.assistants.catalog import ASSISTANTS, Assistant, find_config_file
from vaultbridge.assistants.config_file import list_servers, read_text
from vaultbridge.assistants.entry import find_own_command, parse_entry, starts_vaultbridge
from vaultbridge.errors import VaultbridgeError
from vaultbridge.tokens import PREFIX, AccessToken, TokenStore

KEY_VARIABLE: Final = "OBSIDIAN_MCP_API_KEY"
"""Where `vaultbridge bridge` finds its token."""

PATH: Final = "/mcp"
SCHEME: Final = "Bearer "

TIMEOUT_SECONDS: Final = 300
"""How long Goose may wait for an answer: a call may wait for a person."""

_ADDRESS_KEYS: Final = ("url", "serverUrl", "httpUrl", "uri")
_HEADER_KEYS: Final = ("headers", "http_headers")
_OWN_KEYS: Final = frozenset(
    {
        *_ADDRESS_KEYS, *_HEADER_KEYS, "command", "cmd", "args", "env", "envs", "environment", "type",
        "transport", "tools", "name", "enabled", "timeout",
    }
)  # fmt: skip
"""What belongs to how a server is reached; anything else in an entry is its owner's."""


class SharedEntry(Struct, frozen=True):
    """The bridge's address, without a path, and the token that the assistant sends."""

    url: str
    token: str


def make_shared_entry(assistant: Assistant, name: str, url: str, token: str) -> dict[str, Any]:
    address, headers = f"{url}{PATH}", {"Authorization": f"{SCHEME}{token}"}
    match assistant.http:
        case "":
            command, *rest = find_own_command()
            started = {"command": command, "args": [*rest, "bridge", "--url", url]}
            return {**started, "env": {KEY_VARIABLE: token}}
        case "url":
            return {"url": address, "headers": headers}
        case "serverUrl" | "httpUrl":
            return {assistant.http: address, "headers": headers}
        case "transport":
            return {"url": address, "transport": "http", "headers": headers}
        case "copilot":
            return {"type": "http", "url": address, "headers": headers, "tools": ["*"]}
        case "codex":
            return {"url": address, "http_headers": headers}
        case "goose":
            settings = {"enabled": True, "type": "streamable_http", "name": name, "timeout": TIMEOUT_SECONDS}
            return {**settings, "uri": address, "headers": headers}
        case kind:
            return {"type": kind, "url": address, "headers": headers}


def keep_owners(former: Any) -> dict[str, Any]:
    """What an entry has besides how its server is reached, such as tools that its owner approved."""
    if not isinstance(former, dict):
        return {}
    return {key: value for key, value in former.items() if key not in _OWN_KEYS}


def read_shared_entry(entry: Any) -> SharedEntry | None:
    """How an entry reaches a bridge of ours; None if it does something else. A token of ours shows that."""
    if not isinstance(entry, dict):
        return None
    if starts_vaultbridge(entry):
        words, variables = parse_entry(entry), entry.get("env")
        token = variables.get(KEY_VARIABLE) if isinstance(variables, dict) else None
        url = words[words.index("--url") + 1] if "--url" in words[:-1] else ""
        is_ours = "bridge" in words and url and isinstance(token, str) and token.startswith(PREFIX)
        return SharedEntry(url, str(token)) if is_ours else None
    address = next((entry[key] for key in _ADDRESS_KEYS if isinstance(entry.get(key), str)), "")
    headers: dict[str, Any] = next(
        (entry[key] for key in _HEADER_KEYS if isinstance(entry.get(key), dict)), {}
    )
    sent = headers.get("Authorization")
    if not isinstance(sent, str) or not sent.startswith(SCHEME + PREFIX):
        return None
    try:
        parts = urlsplit(address)
    except ValueError:
        return None
    return SharedEntry(f"{parts.scheme}://{parts.netloc}", sent.removeprefix(SCHEME))


def find_token(shared: SharedEntry | None, store: TokenStore) -> AccessToken | None:
    """The token of an entry, as long as it is valid."""
    if shared is None:
        return None
    try:
        return store.check(shared.token)
    except VaultbridgeError:
        return None


def find_shared_vault(entry: Any, store: TokenStore) -> Path | None:
    """The vault that an entry is for: its token says so."""
    token = find_token(read_shared_entry(entry), store)
    folders = [Path(vault) for vault in token.vaults] if token is not None else []
    return next((folder for folder in folders if folder.is_absolute()), None)


def list_shared_entries(environ: Mapping[str, str], url: str) -> list[tuple[Assistant, str]]:
    """The assistants that share the bridge at this address, each with the server's name there."""
    found = []
    for assistant in ASSISTANTS:
        with contextlib.suppress(VaultbridgeError):
            text = read_text(find_config_file(assistant, environ, here=Path.cwd()))
            for name, entry in list_servers(text or "", assistant).items():
                shared = read_shared_entry(entry)
                if shared is not None and shared.url == url:
                    found.append((assistant, name))
    return found
