"""Browsers that stay signed in: the page opens there from a bookmark, without a link, after restarts too.

    browsers = SignedInBrowsers(cache, token)
    browsers.add_routes(app, guard=guard)               # POST /page/sign-in
    add_browser_routes(api, browsers, command="…")      # GET, POST, DELETE /page/api/browsers

A browser keeps two secrets. One is a cookie, which no script can read, and which the browser sends to that
route only; but to that route of every server on this machine, because cookies do not distinguish ports. The
other is in the page's own storage, which belongs to this server's address alone. Whoever has only one of them
gets nothing. Here only a hash of both is stored, in a file that only its owner can read.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import hmac
import os
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Final

import msgspec
from aiohttp import web
from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.errors import JSON_ERRORS, EngineFailure, InvalidArgument
from vaultbridge.protocols.http.guard import HostGuard, find_host
from vaultbridge.protocols.http.request import BodyRefused, close_if_body_unread, defer_continue, read_body
from vaultbridge.system import make_private_folder, read_private, write_private
from vaultbridge.vault.locking import FileLock
from vaultbridge.web.api.routes import PageApi, PageCall, render_json
from vaultbridge.web.page import BASE

FILE_NAME: Final = "browsers.json"

SIGN_IN: Final = f"{BASE}/sign-in"

COOKIE_PREFIX: Final = "vaultbridge-"
"""With the browser's id after it: bridges on other ports of this machine have cookies in the same browser."""

SECRET_BYTES: Final = 32
"""256 bits: nobody can guess that, so a plain hash is enough."""

KEPT_DAYS: Final = 90
"""How long a browser stays signed in without being used. Each use starts the time again."""

BROWSERS: Final = 20
"""The most browsers: more than one person has. A further one takes the place of the one that was not used for
the longest time."""

NAME_CHARS: Final = 80

BODY_BYTES: Final = 1024
BODY_SECONDS: Final = 5.0
"""What a browser sends is short, and its page is on this machine."""

LOCK_SECONDS: Final = 5.0
"""How long a change waits for another bridge of this vault that changes the list, which takes
milliseconds."""

DAY_SECONDS: Final = 86_400.0


class SignedInBrowser(Struct, frozen=True):
    """`used` and `created` are in seconds since the epoch."""

    id: str
    name: str
    hash: str
    created: float
    used: float


class KeepRequest(Struct, frozen=True, forbid_unknown_fields=True):
    """`name` is what the person recognizes the browser by."""

    name: str


class _SignIn(Struct, frozen=True):
    id: str
    key: str


class SignedInBrowsers:
    """`folder` is the vault's cache folder, and `token` what a signed-in browser gets. Methods raise
    EngineFailure when the file cannot be used."""

    def __init__(self, folder: Path, token: str, *, clock: Callable[[], float] = time.time) -> None:
        self._file = folder / FILE_NAME
        self._token = token
        self._clock = clock

    def keep(self, name: str) -> tuple[SignedInBrowser, str, str]:
        """Sign a browser in. Returns it with its cookie and its key, neither of which is stored."""
        if not name.strip() or len(name) > NAME_CHARS or not name.isprintable():
            raise InvalidArgument(
                f"A browser's name has 1 to {NAME_CHARS} printable characters.", argument="name"
            )
        cookie, key = secrets.token_urlsafe(SECRET_BYTES), secrets.token_urlsafe(SECRET_BYTES)
        now = self._clock()
        browser = SignedInBrowser(secrets.token_hex(8), name.strip(), _hash(cookie, key), now, now)
        with self._writing() as browsers:
            browsers.sort(key=lambda known: known.used)
            del browsers[: max(0, len(browsers) - BROWSERS + 1)]
            browsers.append(browser)
        return browser, cookie, key

    def sign_in(self, browser_id: str, cookie: str, key: str) -> str | None:
        """The token for a browser that is signed in; None for any other."""
        wanted = _hash(cookie, key)
        browser = next((known for known in self.list_browsers() if known.id == browser_id), None)
        if browser is None or not hmac.compare_digest(browser.hash, wanted):
            return None
        now = self._clock()
        if now - browser.used > DAY_SECONDS:  # Not each time the page is opened: a day is exact enough.
            with self._writing() as browsers:
                browsers[:] = [replace(known, used=now) if known == browser else known for known in browsers]
        return self._token

    def list_browsers(self) -> list[SignedInBrowser]:
        """Those that are signed in now."""
        since = self._clock() - KEPT_DAYS * DAY_SECONDS
        return [browser for browser in self._read() if browser.used >= since]

    def revoke(self, browser_id: str) -> None:
        """Sign a browser out. Raises InvalidArgument when it is not signed in."""
        with self._writing() as browsers:
            remaining = [browser for browser in browsers if browser.id != browser_id]
            if len(remaining) == len(browsers):
                raise InvalidArgument("This browser is not signed in.", argument="id")
            browsers[:] = remaining

    def _read(self) -> list[SignedInBrowser]:
        data = read_private(self._file)
        if data is None:
            if self._file.exists():
                raise EngineFailure(f"{FILE_NAME} cannot be read.")
            return []
        try:
            return msgspec.json.decode(data, type=list[SignedInBrowser])
        except JSON_ERRORS as error:
            raise EngineFailure(
                f"{FILE_NAME} is damaged, so no browser is signed in.", hint="Delete it and sign in again."
            ) from error

    @contextlib.contextmanager
    def _writing(self) -> Iterator[list[SignedInBrowser]]:
        """Yield the list for changes, while no other process changes it."""
        try:
            make_private_folder(self._file.parent)
            with FileLock(self._file.with_suffix(".lock")).hold(LOCK_SECONDS, what="The list of browsers"):
                since = self._clock() - KEPT_DAYS * DAY_SECONDS
                browsers = [browser for browser in self._read() if browser.used >= since]
                yield browsers
                write_private(self._file, msgspec.json.encode(browsers))
        except OSError as error:
            raise EngineFailure(f"The browsers cannot be stored: {os.strerror(error.errno or 0)}.") from error

    def add_routes(self, app: web.Application, *, guard: HostGuard) -> None:
        async def sign_in(request: web.Request) -> web.StreamResponse:
            response = await self._sign_in(request, guard)
            close_if_body_unread(request, response)
            return response

        app.router.add_post(SIGN_IN, sign_in, expect_handler=defer_continue)

    async def _sign_in(self, request: web.Request, guard: HostGuard) -> web.Response:
        refusal = guard.find_refusal(find_host(request), request.headers.get("Origin"))
        if refusal is not None:
            return _refuse(403, "FORBIDDEN", refusal)
        try:
            body = msgspec.json.decode(
                await read_body(request, limit=BODY_BYTES, seconds=BODY_SECONDS), type=_SignIn
            )
        except BodyRefused as refused:
            return _refuse(refused.status, "BODY_REFUSED", refused.why)
        except JSON_ERRORS:
            return _refuse(400, "INVALID_PARAMS", 'The body is {"id": "…", "key": "…"}.')
        cookie = request.cookies.get(COOKIE_PREFIX + body.id, "")
        try:
            token = await asyncio.to_thread(self.sign_in, body.id, cookie, body.key)
        except EngineFailure as error:
            return _refuse(500, error.code, error.message)
        if token is None:
            return _refuse(403, "SIGNED_OUT", "This browser is no longer signed in.")
        response = render_json({"token": token})
        set_cookie(response, request, body.id, cookie)
        return response


def set_cookie(response: web.Response, request: web.Request, browser_id: str, cookie: str) -> None:
    response.set_cookie(
        COOKIE_PREFIX + browser_id,
        cookie,
        max_age=int(KEPT_DAYS * DAY_SECONDS),
        path=SIGN_IN,
        # Behind a proxy that handles TLS, only the Origin tells that the browser uses https.
        secure=request.headers.get("Origin", "").startswith("https:"),
        httponly=True,
        samesite="Strict",
    )


def add_browser_routes(api: PageApi, browsers: SignedInBrowsers, *, command: str) -> None:
    """`command` prints a new link to the page. A browser keeps it for the day when it needs one."""

    async def show(call: PageCall) -> Any:
        known = await asyncio.to_thread(browsers.list_browsers)
        return {"browsers": [_describe(browser) for browser in known], "command": command}

    async def keep(call: PageCall) -> Any:
        wanted = await call.body(KeepRequest)
        browser, cookie, key = await asyncio.to_thread(browsers.keep, wanted.name)
        response = render_json({**_describe(browser), "key": key})
        set_cookie(response, call.request, browser.id, cookie)
        return response

    async def revoke(call: PageCall) -> Any:
        await asyncio.to_thread(browsers.revoke, call.part("id"))
        return {"revoked": call.part("id")}

    api.get("/browsers", show, owner=True)
    api.post("/browsers", keep, owner=True)
    api.delete("/browsers/{id}", revoke, owner=True)


def _describe(browser: SignedInBrowser) -> dict[str, Any]:
    return {"id": browser.id, "name": browser.name, "created": browser.created, "used": browser.used}


def _refuse(status: int, code: str, message: str) -> web.Response:
    return render_json({"error": {"code": code, "message": message, "hint": ""}}, status=status)


def _hash(cookie: str, key: str) -> str:
    return hashlib.sha256(f"{cookie}:{key}".encode("utf-8", "surrogateescape")).hexdigest()
