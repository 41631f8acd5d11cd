"""Who may use the HTTP side, after the Host and Origin rules: bearer tokens, and this machine's own programs.

A token that is sent is always checked: a wrong one is refused even where none is needed. Without one, only a
program on this machine may come, and only while the server listens on loopback for itself: behind a proxy
everybody seems to be local.

What a client is told that was refused without a token and now wants to register by OAuth.

MCP clients do that by themselves, at addresses they guess when none are told to them, and show their person
what they are answered there. We have tokens that a person makes, so this says so, in OAuth's form too.
"""

from __future__ import annotations

import hmac
from ipaddress import ip_address
from typing import TYPE_CHECKING, Final

from aiohttp import web

from vaultbridge.errors import PermissionDenied, VaultbridgeError
from vaultbridge.protocols.http.guard import requested_host
from vaultbridge.protocols.mcp.http.endpoint import Grant

if TYPE_CHECKING:
    from vaultbridge.server.servers import Servers
    from vaultbridge.server.tokens import AccessToken, TokenStore

REGISTER: Final = "/register"
"""Where a client looks that was told of no other place (MCP 2025-03-26, Authorization: the default paths)."""

HOW: Final = (
    "This server has no OAuth. Make a token with `vaultbridge token make NAME` and have the client send it "
    "as the header `Authorization: Bearer …`."
)


def add_no_oauth_route(app: web.Application) -> None:
    async def refuse(request: web.Request) -> web.Response:
        told = {"error": "Not found", "message": HOW, "error_description": HOW}
        return web.json_response(told, status=404)

    app.router.add_post(REGISTER, refuse)


BROWSER_HEADERS: Final = ("Origin", "Sec-Fetch-Site")
"""What browsers add to requests and pages cannot take away. Not `Sec-Fetch-Mode`: Node adds it to each fetch,
and many assistants run on Node. A browser never sends it without `Sec-Fetch-Site`."""

OWNER: Final = "owner"
"""The principal of who knows the bridge's own token."""

LOCAL: Final = ""
"""The principal of a program on this machine that sent no token."""

TOKEN_CHARS: Final = 512
"""The longest token that is looked at; ours have 47 characters."""


class Access:
    """`own_token` is the bridge's own secret from its lock file, which opens everything. `open_locally`: a
    local program needs no token."""

    def __init__(self, servers: Servers, tokens: TokenStore, *, own_token: str, open_locally: bool) -> None:
        self._servers = servers
        self._tokens = tokens
        self._own_token = own_token
        self.open_locally = open_locally

    async def bridge(self, request: web.Request) -> Grant:
        """For Bridge v1, whose document lets local pages in. Raises 401, 403 or 503."""
        return self._grant(request, pages=True)

    async def mcp(self, request: web.Request) -> Grant:
        """For MCP: a page in a browser needs a token even on this machine, unless this server itself gave it
        out. Raises 401, 403 or 503."""
        return self._grant(request, pages=False)

    def valid_tokens(self) -> tuple[str, ...]:
        """The principals of all tokens that are valid now; none when the list cannot be read."""
        try:
            return tuple(token.principal for token in self._tokens.all() if not self._tokens.expired(token))
        except VaultbridgeError:
            return ()

    def principals(self) -> frozenset[str]:
        """Everybody who may be here now. A stream that was opened by anybody else must end: nothing asks
        again who reads it."""
        local = (LOCAL,) if self.open_locally else ()
        return frozenset((OWNER, *local, *self.valid_tokens()))

    def _grant(self, request: web.Request, *, pages: bool) -> Grant:
        secret = _bearer(request)
        if secret is not None:
            return self._of_token(secret)
        browser = any(name in request.headers for name in BROWSER_HEADERS) and not _is_our_page(request)
        if not self.open_locally or not _is_local(request) or (browser and not pages):
            raise _unauthorized("A bearer token is needed here; `vaultbridge token make` makes one.")
        return Grant(self._servers.full, LOCAL)

    def _of_token(self, secret: str) -> Grant:
        if hmac.compare_digest(secret.encode("utf-8", "surrogateescape"), self._own_token.encode()):
            return Grant(self._servers.full, OWNER)
        try:
            token: AccessToken | None = self._tokens.check(secret)
            if token is None:
                raise _unauthorized("The bearer token is not valid.", error="invalid_token")
            return Grant(self._servers.for_token(token), token.principal)
        except PermissionDenied as error:
            raise web.HTTPForbidden(text=str(error)) from None
        except VaultbridgeError as error:
            # The list of tokens cannot be read: nobody is let in, and the caller is not to blame.
            raise web.HTTPServiceUnavailable(text=str(error)) from None


def _bearer(request: web.Request) -> str | None:
    """The token that was sent; "" for an Authorization that is none, which is then refused."""
    given = request.headers.getall("Authorization", [])
    if not given:
        return None
    scheme, _, secret = given[0].partition(" ")
    fits = len(given) == 1 and scheme.lower() == "bearer" and len(secret) <= TOKEN_CHARS
    return secret.strip() if fits else ""


def _is_our_page(request: web.Request) -> bool:
    """Whether a request says that it comes from a page of this very server, by the name it calls us by. Pages
    cannot set these headers; that the name is one of ours was checked before."""
    scheme = "https" if request.secure else "http"
    own = f"{scheme}://{requested_host(request)}".lower()
    origins = [origin.lower() for origin in request.headers.getall("Origin", [])]
    return origins == [own] and request.headers.get("Sec-Fetch-Site", "same-origin") == "same-origin"


def _is_local(request: web.Request) -> bool:
    transport = request.transport
    peer = transport.get_extra_info("peername") if transport is not None else None
    if not isinstance(peer, tuple):
        return False
    # Nearly every caller: asked without taking the address apart.
    return peer[0] in ("127.0.0.1", "::1") or ip_address(str(peer[0]).partition("%")[0]).is_loopback


def _unauthorized(text: str, *, error: str = "") -> web.HTTPUnauthorized:
    challenge = 'Bearer realm="vaultbridge"' + (f', error="{error}"' if error else "")
    return web.HTTPUnauthorized(text=text, headers={"WWW-Authenticate": challenge})
