"""Checks the Host and Origin headers of requests to a local HTTP server, before any token is checked.

A page on any site can make the user's browser send requests to this machine, by its real address or, after
DNS rebinding, under the site's own name. So the Host must be a name of this server, and an Origin, which only
browsers send, must be this machine or an app. Works on header values; no I/O.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import TYPE_CHECKING, Final

from vaultbridge.protocols.http import LOOPBACK

if TYPE_CHECKING:
    from aiohttp import web

APP_ORIGINS: Final = frozenset({"app://obsidian.md", "capacitor://localhost"})
"""Obsidian's own windows, on the desktop and on mobile."""

API_KEY_HEADER: Final = "X-ObsiScripta-Api-Key"
"""Where the programs that Bridge v1 was made for send their token; `Authorization` means the same."""

EXPOSED_HEADERS: Final = "Mcp-Session-Id, MCP-Protocol-Version, ETag"
ALLOWED_HEADERS: Final = ", ".join(
    (
        "Authorization",
        API_KEY_HEADER,
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
"""A DNS name, an IPv4 address or an IPv6 address."""

_HOST: Final = re.compile(
    r"(?:\[(?P<ip6>[0-9a-f.:]+(?:%[0-9a-z._~-]+)?)\]|(?P<name>[0-9a-z][0-9a-z._-]*))(?::(?P<port>[0-9]{0,5}))?",
    re.IGNORECASE | re.ASCII,
)
"""RFC 9110 7.2: a name or an address, perhaps a port, and nothing else. A value that only begins like a valid
one (`[::1].evil.example`, `127.0.0.1:80:evil`) names another host."""

LARGEST_PORT: Final = 65535

_ORIGIN: Final = re.compile(r"[a-z][a-z0-9+.-]*://[^\s/?#@*]+/?", re.IGNORECASE)


class HostGuard:
    """Checks Host and Origin. `hosts` are further names of this server (a bound address, a proxy's name),
    `origins` are pages that may call it; `any_origin` switches the Origin check off."""

    def __init__(
        self, *, hosts: Iterable[str] = (), origins: Iterable[str] = (), any_origin: bool = False
    ) -> None:
        self._hosts = LOOPBACK | {host.lower().strip("[]") for host in hosts}
        self._origins = APP_ORIGINS | {origin.lower().rstrip("/") for origin in origins}
        self._any_origin = any_origin

    def find_refusal(self, host: str | None, origin: str | None) -> str | None:
        """Return why a request is refused, or None if it is allowed."""
        refusal = self.find_host_refusal(host)
        if refusal is None and origin is not None and not self.allows_origin(origin):
            if origin == "null":
                return (
                    "A page that was opened from disk, or runs in a sandbox, may not use this server: it has "
                    "no Origin that could be allowed. Serve it from http://localhost and let it send "
                    "a token; or the server's owner can let every page of every site use Bridge v1, with "
                    "`vaultbridge serve --cors any`."
                )
            return (
                "Pages of that Origin may not use this server. "
                "Its owner can allow one with `vaultbridge serve --allow-origin ORIGIN`."
            )
        return refusal

    def find_host_refusal(self, host: str | None) -> str | None:
        """The same, checking only the Host, for endpoints that refuse every Origin anyway."""
        if host is None or _hostname(host) not in self._hosts:
            return (
                "This server does not answer to that Host. "
                "Its owner can add a name with `vaultbridge serve --allow-host NAME`."
            )
        return None

    def allows_origin(self, origin: str) -> bool:
        if self._any_origin:
            return True
        if origin.lower() in self._origins:
            return True
        # An origin is a scheme, a host and a port; `null` (a sandboxed frame, a file) has none of them.
        scheme, _, host = origin.partition("://")
        return scheme.lower() in ("http", "https") and _hostname(host) in self._hosts

    def make_cors_headers(self, origin: str | None) -> dict[str, str]:
        """The headers that let an allowed page read the response; empty for any other page."""
        if origin is None or not self.allows_origin(origin):
            return {}
        return {
            "Access-Control-Allow-Origin": origin,
            "Access-Control-Expose-Headers": EXPOSED_HEADERS,
            "Vary": "Origin",
        }


def explain_bad_host(name: str) -> str:
    """Return what is wrong with a configured host name; "" if nothing is. A name that no Host header can have
    would silently match nothing."""
    plain = name[1:-1] if name.startswith("[") and name.endswith("]") else name
    # A single colon precedes a port; an IPv6 address has more.
    if _NAME.fullmatch(plain) and plain.count(":") != 1:
        return ""
    return "Write it like vault.home.arpa or 10.0.0.7, without http:// and without a port."


def explain_bad_origin(origin: str) -> str:
    """The same for the origin of a page."""
    if _ORIGIN.fullmatch(origin):
        return ""
    if origin == "*":
        return 'Write it like https://notes.example; with cors = "any" every page may call Bridge v1.'
    return "Write it like https://notes.example, without the path of a page."


def find_host(request: web.BaseRequest) -> str | None:
    """The host that a request is sent to. RFC 9112 3.2.2: when the request target is an absolute URL, its
    host counts and the Host header does not. None when there is no host, or more than one."""
    if not request.raw_path.startswith("/"):
        return request.url.host_subcomponent
    hosts = request.headers.getall("Host", [])
    return hosts[0] if len(hosts) == 1 else None


def _hostname(host: str) -> str | None:
    """The name in a Host header, without port and brackets, in lower case; None when the header is not
    valid."""
    parts = _HOST.fullmatch(host)
    if parts is None or int(parts["port"] or 0) > LARGEST_PORT:
        return None
    return (parts["ip6"] or parts["name"]).lower()
