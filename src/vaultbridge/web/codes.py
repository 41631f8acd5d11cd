"""One-time codes in the page's links, so that a link that was used, logged or shared opens nothing.

    codes = LinkCodes(token)
    codes.add_routes(app, guard=guard)                  # POST /page/code
    link = code_link(url, codes.make())

The code is in the link's fragment, which browsers do not send. The page exchanges it for the token, once.
"""

from __future__ import annotations

import secrets
import time
from collections import OrderedDict
from collections.abc import Callable
from typing import Final

from aiohttp import web
from msgspec import DecodeError, Struct
from msgspec.json import decode

from vaultbridge.protocols.http.guard import HostGuard, requested_host
from vaultbridge.protocols.http.request import BodyRefused, close_if_body_unread, defer_continue, read_body
from vaultbridge.web.page import BASE, HEADERS

CODES: Final = 32
"""How many unused codes are valid at once; an older one makes room."""

CODE_SECONDS: Final = 24 * 3600.0
"""How long an unused code is valid: the link of this morning's start still opens in the evening."""

CODE_BYTES: Final = 12
"""96 random bits: guessing is hopeless, so wrong codes need not be counted."""

BODY_BYTES: Final = 1024
BODY_SECONDS: Final = 5.0
"""A code is short and is sent by a page on this machine."""

SPENT: Final = (
    "This link was used already or is too old. Run `vaultbridge page VAULT` in a terminal for a new one."
)


def code_link(url: str, code: str) -> str:
    """The link that a person opens. It works once."""
    return f"{url}/#code={code}"


class _Exchange(Struct, frozen=True):
    code: str


class LinkCodes:
    """`token` is what a code is exchanged for."""

    def __init__(self, token: str, *, clock: Callable[[], float] = time.monotonic) -> None:
        self._token = token
        self._clock = clock
        self._made: OrderedDict[str, float] = OrderedDict()

    def make(self) -> str:
        code = secrets.token_urlsafe(CODE_BYTES)
        self._made[code] = self._clock() + CODE_SECONDS
        while len(self._made) > CODES:
            self._made.popitem(last=False)
        return code

    def redeem(self, code: str) -> str | None:
        """The token, for a code that is valid; it is not valid any more then."""
        ends = self._made.pop(code, None)
        return self._token if ends is not None and self._clock() <= ends else None

    def add_routes(self, app: web.Application, *, guard: HostGuard) -> None:
        async def exchange(request: web.Request) -> web.StreamResponse:
            response = await self._exchange(request, guard)
            close_if_body_unread(request, response)
            return response

        app.router.add_post(f"{BASE}/code", exchange, expect_handler=defer_continue)

    async def _exchange(self, request: web.Request, guard: HostGuard) -> web.Response:
        refusal = guard.refusal(requested_host(request), request.headers.get("Origin"))
        if refusal is not None:
            return _refuse(403, "FORBIDDEN", refusal)
        try:
            asked = decode(await read_body(request, limit=BODY_BYTES, seconds=BODY_SECONDS), type=_Exchange)
        except BodyRefused as refused:
            return _refuse(refused.status, "BODY_REFUSED", refused.why)
        except DecodeError:
            return _refuse(400, "INVALID_PARAMS", 'The body is {"code": "…"}.')
        token = self.redeem(asked.code)
        if token is None:
            return _refuse(403, "SPENT", SPENT)
        return web.json_response({"token": token}, headers={**HEADERS, "Cache-Control": "no-store"})


def _refuse(status: int, code: str, message: str) -> web.Response:
    body = {"error": {"code": code, "message": message, "hint": ""}}
    return web.json_response(body, status=status, headers={**HEADERS, "Cache-Control": "no-store"})
