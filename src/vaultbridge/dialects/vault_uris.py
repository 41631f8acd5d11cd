"""The addresses of a vault's files as MCP resources: `obsidian://vault/VAULT/PATH`.

It is the app's own short form of a link to a note, so an address that a client shows can be clicked and opens
Obsidian. Every character but letters, digits, `-._~` and the slashes between folders is percent-encoded as
UTF-8. Reading is forgiving: a client that fills in a template may encode more, or less.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import quote, unquote

from msgspec import Struct

from vaultbridge.errors import NoteNotFound
from vaultbridge.limits import PATH_CHARS

SCHEME: Final = "obsidian://vault/"

URI_CHARS: Final = len(SCHEME) + 12 * PATH_CHARS
"""The longest address that is looked at: a path of the longest length, each character four bytes encoded."""


class Place(Struct, frozen=True):
    """What an address names: a vault by name, and a path in it that nobody has checked yet."""

    vault: str
    path: str


def uri_of(vault: str, path: str) -> str:
    return f"{SCHEME}{quote(vault, safe='')}/{quote(path, safe='/')}"


def template_of(vault: str = "") -> str:
    """The address of any file, of one vault or, without a name, of one still to be chosen."""
    return f"{SCHEME}{quote(vault, safe='') if vault else '{vault}'}/{{+path}}"


def place_of(uri: str) -> Place:
    """Raises NoteNotFound for an address that is not of this kind: there is nothing there."""
    head, rest = uri[: len(SCHEME)], uri[len(SCHEME) :]
    if head.lower() != SCHEME or len(uri) > URI_CHARS:
        raise NoteNotFound(uri[:URI_CHARS], what="resource")
    vault, slash, path = rest.partition("/")
    # A template filled in with the plain operator has its slashes encoded too.
    vault, path = unquote(vault), unquote(path)
    if not slash or not vault or not path:
        raise NoteNotFound(uri, what="resource")
    return Place(vault, path)
