"""Who may speak to a local HTTP server at all: the Host and Origin rules, before any token is looked at.

A page on any site can make the user's browser send requests to this machine, by its real address or, with a
rebound DNS name, as if the site itself lived here. So the Host must be a name this server answers to, and an
Origin, which only browsers send, must be this machine or an app. Without I/O: it judges header values.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final
from urllib.parse import urlsplit

if TYPE_CHECKING:
    from aiohttp import web

LOOPBACK: Final = frozenset({"localhost", "127.0.0.1", "::1"})

APP_ORIGINS: Final = frozenset({"app://obsidian.md", "capacitor://localhost"})
"""Obsidian's own windows, on the desktop and on mobile."""

EXPOSED_HEADERS: Final = "Mcp-Session-Id, MCP-Protocol-Version, ETag"
ALLOWED_HEADERS: Final = ", ".join(
    (
        "Authorization",
        "Content-Type",
        "Accept",
        "Last-Event-ID",
        "If-None-Match",
        "Mcp-Session-Id",
        "MCP-Protocol-Version",
        "Mcp-Method",
        "Mcp-Name",
    )
)


_NAME: Final = re.compile(r"[0-9a-z][0-9a-z._-]*|[0-9a-f.:]*:[0-9a-f.:]*(%[0-9a-z]+)?", re.IGNORECASE)
"""A name in DNS, an address of IPv4, or one of IPv6."""

_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@*]+/?", re.IGNORECASE)


class HostGuard:
    """`hosts` are further names this server is reached by (a bound address, a proxy's name); `origins`
    further pages that may call it; `any_origin` gives up the Origin rule."""

    def __init__(
        self, *, hosts: Iterable[str] = (), origins: Iterable[str] = (), any_origin: bool = False
    ) -> None:
        self._hosts = LOOPBACK | {host.lower().strip("[]") for host in hosts}
        self._origins = APP_ORIGINS | {origin.lower().rstrip("/") for origin in origins}
        self._any_origin = any_origin

    def refusal(self, host: str | None, origin: str | None) -> str | None:
        """Why a request may not pass, or None when it may."""
        if host is None or _hostname(host) not in self._hosts:
            return "This server does not answer to that Host."
        if origin is not None and not self.allows_origin(origin):
            return "Pages of that Origin may not use this server."
        return None

    def allows_origin(self, origin: str) -> bool:
        if self._any_origin:
            return True
        if origin.lower() in self._origins:
            return True
        try:
            parts = urlsplit(origin)
            name = parts.hostname
        except ValueError:
            return False
        # An origin is scheme, host and port and nothing more; `null` (a sandboxed frame, a file) has none.
        plain = (
            parts.scheme in ("http", "https") and not parts.path and not parts.query and not parts.username
        )
        return plain and name is not None and name in self._hosts

    def cors_headers(self, origin: str | None) -> dict[str, str]:
        """What lets an allowed page read the answer; empty for one that is not allowed."""
        if origin is None or not self.allows_origin(origin):
            return {}
        return {
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Expose-Headers": EXPOSED_HEADERS,
            "Vary": "Origin",
        }


def host_fault(name: str) -> str:
    """What is wrong with a name that somebody gives to this server; "" when nothing is. One that no Host
    header can bear would stand in the list and let nobody in."""
    plain = name[1:-1] if name.startswith("[") and name.endswith("]") else name
    # One colon is a port's; an address of IPv6 has more.
    if _NAME.fullmatch(plain) and plain.count(":") != 1:
        return ""
    return "Such as vault.home.arpa or 10.0.0.7, without http:// and without a port."


def origin_fault(origin: str) -> str:
    """The same for a page's origin."""
    if _ORIGIN.fullmatch(origin):
        return ""
    if origin == "*":
        return 'Such as https://notes.example; every page may call Bridge v1 when cors = "any".'
    return "Such as https://notes.example, without the path of a page."


def called_host(request: web.BaseRequest) -> str | None:
    """By which name a request calls us. RFC 9112 3.2.2: when its target is a whole address, the host in it
    counts and the Host header does not."""
    return request.headers.get("Host") if request.raw_path.startswith("/") else request.url.host_subcomponent


def _hostname(host: str) -> str:
    """The name in a Host header: without port, brackets and case."""
    if host.startswith("["):
        return host[1:].partition("]")[0].lower()
    return host.partition(":")[0].lower()
