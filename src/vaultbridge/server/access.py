"""Decides who may use the HTTP endpoints: bearer tokens, and programs on this machine.

It runs after the Host and Origin checks. A token that is sent is always checked: a wrong one is refused even
where none is needed. Without a token, only programs on this machine are allowed, and only while the server
listens on loopback and is not behind a proxy, where every caller seems to be local. A page in a browser is
not a program.

A server that is only for this machine may be reached from elsewhere all the same, through a tunnel that its
owner has started. `refuse_forwarded` sees every request before its route does, so that no route can forget
it: what came through a proxy needs an access token, and reaches only the routes that take one.

An MCP client that is refused because it has no token tries to register by OAuth, at addresses that it
guesses, and shows its user the answer. We have no OAuth, so `add_no_oauth_route` answers there with how to
make a token.
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from typing import TYPE_CHECKING, Final

from aiohttp import web

from vaultbridge.errors import PermissionDenied, VaultbridgeError
from vaultbridge.protocols.http import LOOPBACK
from vaultbridge.protocols.http.callers import find_forwarding_mark, is_foreign_page, is_local
from vaultbridge.protocols.http.failures import from_refusal, to_response
from vaultbridge.protocols.http.guard import API_KEY_HEADER
from vaultbridge.protocols.http.request import close_if_body_unread
from vaultbridge.protocols.mcp.http.endpoint import Grant
from vaultbridge.web.api.routes import PageGrant
from vaultbridge.web.api.view import TokenFacts

if TYPE_CHECKING:
    from vaultbridge.protocols.mcp.server import McpServer
    from vaultbridge.server.config.model import Config
    from vaultbridge.server.servers import McpServers
    from vaultbridge.tokens import AccessToken, TokenStore

REGISTER: Final = "/register"
"""Where a client registers if no other address is known (MCP 2025-03-26, Authorization: default paths)."""

TOKEN_HELP: Final = (
    "This server has no OAuth. Make a token with `vaultbridge token make NAME` and have the client send it "
    "as the header `Authorization: Bearer …`."
)


def add_no_oauth_route(app: web.Application) -> None:
    async def refuse(request: web.Request) -> web.Response:
        body = {"error": "Not found", "message": TOKEN_HELP, "error_description": TOKEN_HELP}
        return web.json_response(body, status=404)

    app.router.add_post(REGISTER, refuse)


OWNER: Final = "owner"
"""The principal of a caller with the bridge's own token."""

LOCAL: Final = ""
"""The principal of a program on this machine that sent no token."""

TOKEN_CHARS: Final = 512
"""The longest token that is checked; ours have 47 characters."""


TOKEN_ROUTES: Final = ("/mcp", "/sse", "/messages", "/bridge", "/page/api")
"""The routes, with all below them, that take an access token. All others are for the owner's own machine,
unless the server is meant for more."""

SEND_TOKEN: Final = (
    "`vaultbridge token make NAME` makes a token; send it as the header `Authorization: Bearer …`."
)


def is_for_this_machine(config: Config) -> bool:
    """Whether the server is meant for callers on this machine only."""
    return config.server.host in LOOPBACK and not config.server.behind_proxy


def allows_local_programs(config: Config) -> bool:
    """Whether programs on this machine need no token."""
    return is_for_this_machine(config) and not config.tokens.required


class Access:
    """`own_token` is the bridge's own secret from its lock file; it grants everything. With `open_locally`, a
    local program needs no token, and with `open_to_pages` a page needs none for Bridge v1 either."""

    def __init__(
        self,
        servers: McpServers,
        tokens: TokenStore,
        *,
        own_token: str,
        open_locally: bool,
        open_to_pages: bool = False,
    ) -> None:
        self._servers = servers
        self._tokens = tokens
        self._own_token = own_token
        self.open_locally = open_locally
        self._open_to_pages = open_to_pages

    @web.middleware
    async def refuse_forwarded(
        self, request: web.Request, handler: Callable[[web.Request], Awaitable[web.StreamResponse]]
    ) -> web.StreamResponse:
        """The middleware of a server that is only for this machine."""
        mark = find_forwarding_mark(request)
        if mark:
            try:
                self._check_forwarded(request, mark)
            except web.HTTPException as refusal:
                response = to_response(from_refusal(refusal))
                close_if_body_unread(request, response)
                return response
        return await handler(request)

    def _check_forwarded(self, request: web.Request, mark: str) -> None:
        """Raises 401, 403 or 503."""
        came = f"came through a proxy or a tunnel (it has {mark})"
        resource = request.match_info.route.resource
        path = "" if resource is None else resource.canonical
        if not any(path == route or path.startswith(f"{route}/") for route in TOKEN_ROUTES):
            raise web.HTTPForbidden(
                text=f"This address is only for this machine, and the request {came}. A server for other "
                "machines is started with `vaultbridge serve --behind-proxy --allow-host NAME`."
            )
        secret = _read_bearer(request)
        if secret is None:
            raise _unauthorized(f"A bearer token is required, because the request {came}. {SEND_TOKEN}")
        if self._is_own(secret):
            raise web.HTTPForbidden(
                text=f"This token is only for this machine, and the request {came}. {SEND_TOKEN}"
            )
        self._admit(secret)

    async def authorize_bridge(self, request: web.Request) -> Grant:
        """Authorize a request to Bridge v1, as for MCP unless it is open to every page. Raises 401, 403 or
        503."""
        return self._grant(
            request,
            pages=self._open_to_pages,
            page_hint=" Its owner can let every page of every site in without one, with "
            "`vaultbridge serve --cors any`.",
        )

    async def authorize_mcp(self, request: web.Request) -> Grant:
        """Authorize a request to MCP: a page in a browser needs a token even on this machine, unless this
        server served the page. Raises 401, 403 or 503."""
        return self._grant(request, pages=False)

    async def authorize_page(self, request: web.Request) -> PageGrant:
        """Authorize a request to the page's API, which needs a token always. Raises 401, 403 or 503."""
        secret = _read_bearer(request)
        if secret is None:
            raise _unauthorized("The page's token is required; `vaultbridge page` prints a link with it.")
        if self._is_own(secret):
            return PageGrant(self._servers.full, self._servers.engines, OWNER, owner=True)
        token, server = self._admit(secret)
        return PageGrant(
            server,
            self._servers.engines_for(token),
            token.principal,
            owner=False,
            review=lambda engine: self._servers.find_rules(engine, token),
        )

    def list_valid_principals(self) -> tuple[str, ...]:
        """List the principals of all valid tokens; empty when the tokens cannot be read."""
        try:
            return tuple(
                token.principal for token in self._tokens.list_tokens() if not self._tokens.is_expired(token)
            )
        except VaultbridgeError:
            return ()

    def list_tokens(self) -> tuple[AccessToken, ...]:
        """All tokens; none when they cannot be read."""
        try:
            return tuple(self._tokens.list_tokens())
        except VaultbridgeError:
            return ()

    def describe_principals(self) -> dict[str, TokenFacts]:
        """The token of each principal; empty when the tokens cannot be read."""
        try:
            return {
                token.principal: TokenFacts(token.id, token.name, self._servers.list_names(token))
                for token in self._tokens.list_tokens()
            }
        except VaultbridgeError:
            return {}

    def list_principals(self) -> frozenset[str]:
        """List all principals that have access now. A stream that anybody else opened must be closed, because
        its reader is not authorized again."""
        local = (LOCAL,) if self.open_locally else ()
        return frozenset((OWNER, *local, *self.list_valid_principals()))

    def _grant(self, request: web.Request, *, pages: bool, page_hint: str = "") -> Grant:
        secret = _read_bearer(request)
        if secret is not None:
            return self._grant_token(secret)
        if not self.open_locally or not is_local(request):
            raise _unauthorized(f"A bearer token is required. {SEND_TOKEN}")
        if not pages and is_foreign_page(request):
            raise _unauthorized(
                "A bearer token is required, because the request comes from a browser: any page that is open "
                f"there could send it. {SEND_TOKEN}{page_hint}"
            )
        return Grant(self._servers.full, LOCAL)

    def _grant_token(self, secret: str) -> Grant:
        if self._is_own(secret):
            return Grant(self._servers.full, OWNER)
        token, server = self._admit(secret)
        return Grant(server, token.principal)

    def _is_own(self, secret: str) -> bool:
        return hmac.compare_digest(secret.encode("utf-8", "surrogateescape"), self._own_token.encode())

    def _admit(self, secret: str) -> tuple[AccessToken, McpServer]:
        """Find the access token with this text, and its server. Raises 401, 403 or 503."""
        try:
            token: AccessToken | None = self._tokens.check(secret)
            if token is None:
                raise _unauthorized("The bearer token is not valid.", error="invalid_token")
            return token, self._servers.for_token(token)
        except PermissionDenied as error:
            raise web.HTTPForbidden(text=str(error)) from None
        except VaultbridgeError as error:
            # The tokens cannot be read: nobody is admitted, but it is not the caller's fault.
            raise web.HTTPServiceUnavailable(text=str(error)) from None


def _read_bearer(request: web.Request) -> str | None:
    """The token that was sent, None without one; "" for an invalid header, a repeated one, or two that
    disagree, which is refused later."""
    authorizations = request.headers.getall("Authorization", [])
    keys = request.headers.getall(API_KEY_HEADER, [])
    if not authorizations and not keys:
        return None
    secrets = set(keys)
    for value in authorizations:
        scheme, _, secret = value.partition(" ")
        secrets.add(secret.strip() if scheme.lower() == "bearer" else "")
    is_valid = len(authorizations) <= 1 and len(keys) <= 1 and len(secrets) == 1
    secret = secrets.pop()
    return secret if is_valid and len(secret) <= TOKEN_CHARS else ""


def _unauthorized(text: str, *, error: str = "") -> web.HTTPUnauthorized:
    challenge = 'Bearer realm="vaultbridge"' + (f', error="{error}"' if error else "")
    return web.HTTPUnauthorized(text=text, headers={"WWW-Authenticate": challenge})
