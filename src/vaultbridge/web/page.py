"""Serves the page: its bundle of static files, from memory, with headers that block all content from other
hosts.

    page = add_page_routes(app, guard=guard)        # `/page/…`; `page` is the handler for `/`

The files are made from `web/` by `make web`. They contain no secret and are served to everyone who passes the
Host and Origin checks. The page itself fetches what it shows over `/editor` and `/page/api`, which check the
token. The token is in the fragment of the page's link, which browsers do not send, so this module never sees
it.

    codes = LinkCodes(token, renew="vaultbridge page ~/Notes")
    codes.add_routes(app, guard=guard)              # POST /page/code
    link = make_code_link(url, codes.make())

A link may contain a code instead of the token, so that one that was used, logged or shared opens nothing: the
page exchanges it for the token, once.
"""

from __future__ import annotations

import functools
import gzip
import hashlib
import re
import secrets
import time
from collections import OrderedDict
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from aiohttp import ETag, web
from msgspec import DecodeError, Struct
from msgspec.json import decode

from vaultbridge.protocols.http.guard import HostGuard, find_host
from vaultbridge.protocols.http.request import BodyRefused, close_if_body_unread, defer_continue, read_body

BASE: Final = "/page"

FRONT: Final = "index.html"

MEDIA_TYPES: Final = {
    ".html": "text/html",
    ".css": "text/css",
    ".js": "text/javascript",
    ".svg": "image/svg+xml",
    ".txt": "text/plain",
    ".png": "image/png",
    ".webmanifest": "application/manifest+json",
}

HASHED: Final = re.compile(r"-[0-9A-Z]{8}\.js")
"""The names of parts that the bundler names by their content: a browser never needs to ask for one again."""

TRUSTED_TYPES_POLICY: Final = "vaultbridge"
"""The one policy that may make markup from text. Only `web/src/note/sanitize.ts` has it, and gives it to
DOMPurify."""

WORKER_POLICY: Final = "vaultbridge-worker"
"""The policy that may start a worker. `web/src/graph/layout.ts` has it, and allows a single address."""

CONTENT_SECURITY_POLICY: Final = "; ".join(
    (
        "default-src 'none'",
        "script-src 'self'",
        "style-src 'self'",
        # `data:` is for images embedded in the note itself. No other host: an image in a note must not reveal
        # to its author when the note is read.
        "img-src 'self' data:",
        "media-src 'self'",
        # PDF files of the vault, which are served with a separate policy.
        "frame-src 'self'",
        "connect-src 'self'",
        # So that a browser can install the page as an app.
        "manifest-src 'self'",
        "base-uri 'none'",
        "form-action 'none'",
        "frame-ancestors 'none'",
        # Text becomes markup in one place only, after DOMPurify. Anywhere else, in browsers that support
        # this, assigning to innerHTML and the like throws.
        "require-trusted-types-for 'script'",
        f"trusted-types {TRUSTED_TYPES_POLICY} {WORKER_POLICY}",
    )
)

HEADERS: Final = {
    "Content-Security-Policy": CONTENT_SECURITY_POLICY,
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Opener-Policy": "same-origin",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Permissions-Policy": "camera=(), geolocation=(), microphone=()",
    # Requested each time and answered with 304: after an update no part of the page is older than another.
    "Cache-Control": "no-cache",
}

IMMUTABLE: Final = {**HEADERS, "Cache-Control": "private, max-age=31536000, immutable"}

HttpHandler = Callable[[web.Request], Awaitable[web.StreamResponse]]


def make_page_link(url: str, token: str) -> str:
    """The link that a person opens. It grants full access, so print it only in their own terminal."""
    return f"{url}/#token={token}"


class StaticFile(Struct, frozen=True):
    body: bytes
    media_type: str
    etag: str


@functools.cache
def compress(body: bytes) -> bytes:
    """Compress a file of the page, once. The cache is bounded because only the bundle is compressed."""
    return gzip.compress(body, mtime=0)


def load_static_files(folder: Path | None = None) -> dict[str, StaticFile]:
    """The page's files by name, read once: they are few and small."""
    files = {}
    for file in sorted((folder or Path(__file__).parent / "static").iterdir()):
        media_type = MEDIA_TYPES.get(file.suffix)
        if media_type is not None:
            body = file.read_bytes()
            files[file.name] = StaticFile(body, media_type, hashlib.blake2b(body, digest_size=8).hexdigest())
    return files


def add_page_routes(app: web.Application, *, guard: HostGuard) -> HttpHandler:
    """Serve `/page/…`, and return the handler for `/`, a path that WebSocket clients use too."""
    files = load_static_files()

    async def answer(request: web.Request, name: str) -> web.StreamResponse:
        refusal = guard.find_refusal(find_host(request), request.headers.get("Origin"))
        if refusal is not None:
            return _text(403, refusal)
        file = files.get(name)
        if file is None:
            return _text(404, "There is nothing at this address. The page is at /.")
        headers = {**(IMMUTABLE if HASHED.search(name) else HEADERS), "Vary": "Accept-Encoding"}
        tags = request.if_none_match or ()
        if any(tag.value in (file.etag, "*") for tag in tags):
            response = web.Response(status=304, headers=headers)
        else:
            body = file.body
            if "gzip" in request.headers.get("Accept-Encoding", ""):
                body = compress(body)
                headers["Content-Encoding"] = "gzip"
            charset = None if file.media_type == "image/png" else "utf-8"
            response = web.Response(body=body, content_type=file.media_type, charset=charset, headers=headers)
        response.etag = ETag(file.etag, is_weak=True)
        return response

    async def answer_front(request: web.Request) -> web.StreamResponse:
        return await answer(request, FRONT)

    async def answer_part(request: web.Request) -> web.StreamResponse:
        return await answer(request, request.match_info["name"])

    app.router.add_get(BASE + "/{name:.*}", answer_part)
    return answer_front


def _text(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text + "\n", headers=HEADERS)


CODES: Final = 32
"""How many unused codes are valid at once, and how many used ones are remembered; beyond that the oldest
becomes invalid, or is forgotten."""

CODE_SECONDS: Final = 24 * 3600.0
"""How long an unused code is valid: a link printed in the morning still works in the evening."""

CODE_BYTES: Final = 12
"""96 random bits: guessing is hopeless, so wrong codes need not be counted."""

BODY_BYTES: Final = 1024
BODY_SECONDS: Final = 5.0
"""A code is short and is sent by a page on this machine."""

ANY_VAULT: Final = "vaultbridge page"
"""The command that prints a link, for whoever may not learn where the vault is."""


SPENT: Final = "This link was already used, or has expired."


def make_code_link(url: str, code: str) -> str:
    """The link that a person opens. It works once."""
    return f"{url}/#code={code}"


class _Exchange(Struct, frozen=True):
    code: str


class LinkCodes:
    """`token` is what a code is exchanged for. `renew` is the command that prints a new link to this page: it
    contains paths of this machine, so only those see it who show a code that was valid once."""

    def __init__(
        self, token: str, *, renew: str = ANY_VAULT, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._token = token
        self.renew = renew
        self._clock = clock
        self._made: OrderedDict[str, float] = OrderedDict()
        self._spent: OrderedDict[str, None] = OrderedDict()

    def make(self) -> str:
        code = secrets.token_urlsafe(CODE_BYTES)
        self._made[code] = self._clock() + CODE_SECONDS
        while len(self._made) > CODES:
            self._made.popitem(last=False)
        return code

    def redeem(self, code: str) -> str | None:
        """Exchange a valid code for the token; None for any other. The code is then no longer valid."""
        ends = self._made.pop(code, None)
        if ends is None:
            return None
        self._spent[code] = None
        if len(self._spent) > CODES:
            self._spent.popitem(last=False)
        return self._token if self._clock() <= ends else None

    def find_command(self, code: str) -> str:
        """The command that prints a new link, for whoever has this code, which was refused."""
        return self.renew if code in self._spent else ANY_VAULT

    def add_routes(self, app: web.Application, *, guard: HostGuard) -> None:
        async def exchange(request: web.Request) -> web.StreamResponse:
            response = await self._exchange(request, guard)
            close_if_body_unread(request, response)
            return response

        app.router.add_post(f"{BASE}/code", exchange, expect_handler=defer_continue)

    async def _exchange(self, request: web.Request, guard: HostGuard) -> web.Response:
        refusal = guard.find_refusal(find_host(request), request.headers.get("Origin"))
        if refusal is not None:
            return _refuse(403, "FORBIDDEN", refusal)
        try:
            body = decode(await read_body(request, limit=BODY_BYTES, seconds=BODY_SECONDS), type=_Exchange)
        except BodyRefused as refused:
            return _refuse(refused.status, "BODY_REFUSED", refused.why)
        except DecodeError:
            return _refuse(400, "INVALID_PARAMS", 'The body is {"code": "…"}.')
        token = self.redeem(body.code)
        if token is None:
            command = self.find_command(body.code)
            message = f"{SPENT} For a new one, run this in a terminal: {command}"
            return _refuse(403, "SPENT", message, command=command)
        return web.json_response({"token": token}, headers={**HEADERS, "Cache-Control": "no-store"})


def _refuse(status: int, code: str, message: str, **more: str) -> web.Response:
    body = {"error": {**more, "code": code, "message": message, "hint": ""}}
    return web.json_response(body, status=status, headers={**HEADERS, "Cache-Control": "no-store"})
