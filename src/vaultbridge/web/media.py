"""Links to pictures, sounds and other files of a vault, for elements that cannot send a token.

    media = MediaLinks(is_valid=lambda principal: principal in access.list_principals())
    media.add_routes(app, guard=guard)                  # /page/media/TICKET/NAME
    address = media.make(grant, "Notes", "Attachments/sky.png")

A ticket is a random name for one file and one caller. It is in the memory of this process, expires, and ends
with its caller's token. The file is looked up again at each request, so a file that the scope hides by then
is not found. Files of the vault are not trusted: they are served with headers that let nothing in them run,
and only as the type that their suffix names.

`measure_picture` reads a picture's width and height, so that a page leaves room for it.
"""

from __future__ import annotations

import asyncio
import re
import secrets
import struct
import time
from collections import OrderedDict
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from aiohttp import ETag, web
from msgspec import Struct

from vaultbridge.errors import VaultbridgeError
from vaultbridge.protocols.http.guard import HostGuard, find_host
from vaultbridge.vault.file_types import media_kind, media_type
from vaultbridge.vault.read import content_hash
from vaultbridge.web.page import BASE, HEADERS

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.web.api.routes import PageGrant


PREFIX: Final = f"{BASE}/media"

TICKETS: Final = 10_000
"""How many tickets are valid at once: more than a person looks at files in an hour. Beyond that the oldest
becomes invalid."""

TICKET_SECONDS: Final = 3600.0
"""How long a ticket is valid: a page that is open for longer asks for the note again."""

_RANGE: Final = re.compile(r"bytes=(\d{1,15})?-(\d{1,15})?")

NOTHING_RUNS: Final = "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'self'"
"""The policy for every file: an SVG file may style itself, but do nothing else."""

_SANDBOX: Final = "; sandbox"
"""Added for all but PDF files, whose viewer Chromium does not start in a sandbox."""


class _Ticket(Struct, frozen=True):
    engines: Mapping[str, Engine]
    principal: str
    vault: str
    path: str
    ends: float


class MediaLinks:
    """`is_valid` says whether a principal still has access."""

    def __init__(
        self, *, is_valid: Callable[[str], bool], clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._is_valid = is_valid
        self._clock = clock
        self._tickets: OrderedDict[str, _Ticket] = OrderedDict()
        self._known: dict[tuple[str, str, str], str] = {}

    def make(self, grant: PageGrant, vault: str, path: str) -> str:
        """The address of a file: the same as before, as long as half of its time is left."""
        key = grant.principal, vault, path
        name = self._known.get(key, "")
        known = self._tickets.get(name)
        if known is None or known.ends - self._clock() < TICKET_SECONDS / 2:
            name = secrets.token_urlsafe(18)
            ends = self._clock() + TICKET_SECONDS
            self._tickets[name] = _Ticket(grant.engines, grant.principal, vault, path, ends)
            self._known[key] = name
            while len(self._tickets) > TICKETS:
                old_name, old = self._tickets.popitem(last=False)
                old_key = old.principal, old.vault, old.path
                if self._known.get(old_key) == old_name:
                    del self._known[old_key]
        return f"{PREFIX}/{name}/{quote(path.rpartition('/')[2], safe='')}"

    def add_routes(self, app: web.Application, *, guard: HostGuard) -> None:
        async def answer(request: web.Request) -> web.StreamResponse:
            refusal = guard.find_refusal(find_host(request), request.headers.get("Origin"))
            if refusal is not None:
                return _make_text_response(403, refusal)
            ticket = self._tickets.get(request.match_info["ticket"])
            if ticket is None or ticket.ends < self._clock() or not self._is_valid(ticket.principal):
                return _make_text_response(404, "This link has expired. Open the note again.")
            try:
                data = await asyncio.to_thread(_read, ticket)
            except VaultbridgeError as error:
                return _make_text_response(404, error.message)
            return _serve(request, ticket.path, data)

        app.router.add_get(PREFIX + "/{ticket}/{name}", answer)


def _read(ticket: _Ticket) -> bytes:
    engine = ticket.engines[ticket.vault]
    return engine.read_bytes(engine.find(ticket.path))


def _serve(request: web.Request, path: str, data: bytes) -> web.Response:
    kind = media_kind(path)
    sandbox = "" if kind == "pdf" else _SANDBOX
    headers = {
        **HEADERS,
        "Content-Security-Policy": NOTHING_RUNS + sandbox,
        "X-Frame-Options": "SAMEORIGIN",
        "Cache-Control": "private, no-cache",
        "Accept-Ranges": "bytes",
    }
    if kind is None:
        # Anything that a browser does not show in place is offered for saving, as bytes.
        name = quote(path.rpartition("/")[2], safe="")
        headers["Content-Disposition"] = f"attachment; filename*=UTF-8''{name}"
    response = _select_range(
        request, data, headers, "application/octet-stream" if kind is None else media_type(path)
    )
    response.etag = ETag(content_hash(data))
    return response


def _select_range(
    request: web.Request, data: bytes, headers: dict[str, str], content_type: str
) -> web.Response:
    """The whole file, the range that the request asks for, or 304 if the browser has the file."""
    if any(tag.value == content_hash(data) for tag in request.if_none_match or ()):
        return web.Response(status=304, headers=headers)
    range_ = _RANGE.fullmatch(request.headers.get("Range", ""))
    if range_ is None or not any(range_.groups()):
        return web.Response(body=data, content_type=content_type, headers=headers)
    size = len(data)
    if range_[1] is None:
        first, last = max(0, size - int(range_[2])), size - 1
    else:
        first, last = int(range_[1]), min(int(range_[2] or size - 1), size - 1)
    if first > last or first >= size:
        return web.Response(status=416, headers={**headers, "Content-Range": f"bytes */{size}"})
    headers["Content-Range"] = f"bytes {first}-{last}/{size}"
    return web.Response(status=206, body=data[first : last + 1], content_type=content_type, headers=headers)


def _make_text_response(status: int, text: str) -> web.Response:
    return web.Response(status=status, text=text + "\n", headers=HEADERS)


START_BYTES: Final = 64 * 1024
"""How much of a picture is read: a JPEG file may have a preview and a colour profile before its size."""

_JPEG_FRAMES: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""The markers that begin a frame, which contains the size."""

_JPEG_ALONE: Final = frozenset({0x01, *range(0xD0, 0xD9)})
"""The markers without a length."""

Size = tuple[int, int]


def measure_picture(start: bytes) -> Size | None:
    """Return width and height of a PNG, GIF, JPEG, WebP or BMP file that begins with these bytes."""
    try:
        size = _measure(start)
    except (struct.error, IndexError):
        return None
    return size if size is not None and min(size) > 0 else None


def _measure(start: bytes) -> Size | None:
    if start.startswith(b"\x89PNG\r\n\x1a\n") and start[12:16] == b"IHDR":
        width, height = struct.unpack_from(">II", start, 16)
        return width, height
    if start[:6] in (b"GIF87a", b"GIF89a"):
        width, height = struct.unpack_from("<HH", start, 6)
        return width, height
    if start.startswith(b"BM"):
        width, height = struct.unpack_from("<ii", start, 18)
        return width, abs(height)
    if start.startswith(b"RIFF") and start[8:12] == b"WEBP":
        return _measure_webp(start)
    if start.startswith(b"\xff\xd8"):
        return _measure_jpeg(start)
    return None


def _measure_webp(start: bytes) -> Size | None:
    match start[12:16]:
        case b"VP8X":
            low_width, width, low_height, height = struct.unpack_from("<HBHB", start, 24)
            return (width << 16 | low_width) + 1, (height << 16 | low_height) + 1
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", start, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", start, 26)
            return width & 0x3FFF, height & 0x3FFF
        case _:
            return None


def _measure_jpeg(start: bytes) -> Size | None:
    at = 2
    while at + 9 < len(start):
        if start[at] != 0xFF:
            return None
        marker = start[at + 1]
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", start, at + 5)
            return width, height
        if marker == 0xFF:
            at += 1
        elif marker in _JPEG_ALONE:
            at += 2
        else:
            (length,) = struct.unpack_from(">H", start, at + 2)
            at += 2 + length
    return None
