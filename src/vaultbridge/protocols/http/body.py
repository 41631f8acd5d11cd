"""The body of a request: bounded in bytes and in time; asked for when it is wanted.

A compressed body is refused unread. Inflating costs a thousand times what sending did, and no client of MCP
or Bridge v1 compresses what it sends.

A caller that waits for leave to send (`Expect: 100-continue`) gets it only here, after everything that may
refuse its request has been looked at. What is wrong with a body is the caller's fault and in no log.
"""

from __future__ import annotations

import asyncio
from typing import Final

from aiohttp import HttpVersion11, web

PLAIN: Final = frozenset({"", "identity"})
"""Content encodings that change nothing (RFC 9110 8.4.1); the empty one stands between two commas."""


class BodyRefused(Exception):
    """`status` and `why` are for the caller. Where its next request would begin cannot be told: the
    connection ends with the answer."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


async def defer_continue(request: web.Request) -> None:
    """For routes, as `expect_handler`: leave is given by `read_body`."""


async def read_body(request: web.Request, *, most: int, seconds: float) -> bytes:
    """The whole body, counted in bytes as they arrive, whether its length was announced or not. Raises
    BodyRefused."""
    if any(name.strip().lower() not in PLAIN for name in _encodings(request)):
        raise BodyRefused(415, "Send the body without compression: Content-Encoding is not supported here.")
    if (request.content_length or 0) > most:
        raise _too_large(most)
    if request.content.is_eof() and request.content.exception() is None:
        # Nearly every body: it came with its headers, and nobody has to wait for it.
        came = request.content.read_nowait()
        if len(came) > most:
            raise _too_large(most)
        return came
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            await _give_leave(request)
            async for chunk in request.content.iter_any():
                body += chunk
                if len(body) > most:
                    raise _too_large(most)
    except TimeoutError:
        raise BodyRefused(408, f"The body did not arrive within {seconds:g} s.") from None
    except web.RequestPayloadError:
        raise BodyRefused(400, "The body does not end where its headers say.") from None
    except ConnectionError:
        # The caller has hung up: an answer that nobody reads.
        raise BodyRefused(400, "The body broke off.") from None
    return bytes(body)


def close_if_body_unread(request: web.Request, response: web.StreamResponse) -> None:
    """A caller that waited for leave and got an answer may send its body or not: nobody could tell the body
    from the next request, so the connection ends."""
    if "Expect" in request.headers and not request.content.is_eof():
        response.force_close()


def _encodings(request: web.Request) -> list[str]:
    return ",".join(request.headers.getall("Content-Encoding", [])).split(",")


async def _give_leave(request: web.Request) -> None:
    """RFC 9110 10.1.1. Other expectations are not known and may be passed over."""
    if request.version >= HttpVersion11 and request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        # It is no part of the answer, whose size is counted from here.
        request.writer.output_size = 0


def _too_large(most: int) -> BodyRefused:
    # The rest is not read as a request: aiohttp reads it away for a while, so that the caller gets to see
    # the answer instead of a reset, and closes.
    return BodyRefused(413, f"A body may have {most} bytes.")
