"""Decides which redirects of a server are followed. A redirect repeats the request, with its headers and
message.

A redirect is followed within one origin, and only if it keeps the message, as when a server moves `/mcp` to
`/mcp/`. A redirect to another origin would send the token to any host that the server names, and a POST that
turns into a GET loses its message while the status looks like success.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from vaultbridge.client.errors import ConnectFailed

if TYPE_CHECKING:
    import aiohttp
    from yarl import URL

METHOD_PRESERVING: Final = (307, 308)
"""RFC 9110 section 15.4: these keep the method and the body."""

_PLAIN: Final = {"ws": "http", "wss": "https"}


def make_redirect_guard() -> aiohttp.TraceConfig:
    """Make a trace for a client session that raises ConnectFailed at a redirect we do not follow."""
    from aiohttp import TraceConfig

    trace = TraceConfig()
    trace.on_request_redirect.append(_check)
    return trace


async def _check(_: aiohttp.ClientSession, __: object, redirect: aiohttp.TraceRequestRedirectParams) -> None:
    response = redirect.response
    # The same choice as aiohttp's, which follows the obsolete `URI` if there is no `Location`.
    wanted = response.headers.get("Location") or response.headers.get("URI") or ""
    host = f"{redirect.url.host}:{redirect.url.port}"
    try:
        target = redirect.url.join(type(redirect.url)(wanted))
        is_near = _origin(target) == _origin(redirect.url)
    except ValueError:
        raise ConnectFailed(f"{host} redirects to something that is not a URL.") from None
    if not is_near:
        raise ConnectFailed(
            f"{host} redirects to {target.host}:{target.port}, which is not followed.",
            hint="Use that server's URL, if you trust it.",
        )
    if redirect.method != "GET" and response.status not in METHOD_PRESERVING:
        raise ConnectFailed(
            f"{host} redirects to {target.path} in a way that would lose the message"
            f" (HTTP {response.status}).",
            hint="Use the URL it points to.",
        )


def _origin(url: URL) -> tuple[str, str | None, int | None]:
    return _PLAIN.get(url.scheme, url.scheme), url.host, url.port
