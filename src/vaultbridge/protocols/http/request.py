"""Reads the body of a request, with limits on its size and its time, notices when its client disconnects, and
describes the program that sent it.

A compressed body is refused unread: inflating it can cost a thousand times as much as sending it, and no
client of MCP or Bridge v1 compresses its requests.

A client that waits for permission to send (`Expect: 100-continue`) gets it only here, after every check that
may refuse its request. A bad body is the client's fault and is not logged.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Final, TypedDict

from aiohttp import HttpVersion11, web

PLAIN: Final = frozenset({"", "identity"})
"""Content encodings that change nothing (RFC 9110 8.4.1); an empty one appears between two commas."""


DISCONNECT_CHECK_SECONDS: Final = 0.5
"""How often a waiting response checks whether its client is still connected; aiohttp has no event for
that."""


class BodyRefused(Exception):
    """A body was refused; `status` and `why` are for the client. Where its next request would begin is
    unknown, so the connection ends with the answer."""

    def __init__(self, status: int, why: str) -> None:
        super().__init__(why)
        self.status = status
        self.why = why


async def defer_continue(request: web.Request) -> None:
    """The `expect_handler` of our routes: `read_body` sends "100 Continue" instead."""


async def read_body(request: web.Request, *, limit: int, seconds: float) -> bytes:
    """Read the whole body. Bytes are counted as they arrive, whether the length was announced or not. Raises
    BodyRefused."""
    if any(name not in ("", "chunked") for name in _list_codings(request, "Transfer-Encoding")):
        # RFC 9112 6.1. aiohttp accepts others before "chunked" and passes on what it cannot decode.
        raise BodyRefused(501, "Send the body plain or chunked: no other Transfer-Encoding is known here.")
    if any(name not in PLAIN for name in _list_codings(request, "Content-Encoding")):
        raise BodyRefused(415, "Send the body without compression: Content-Encoding is not supported here.")
    if (request.content_length or 0) > limit:
        raise _too_large(limit)
    if request.content.is_eof() and request.content.exception() is None:
        # Nearly every body arrives with its headers, so there is nothing to wait for.
        data = request.content.read_nowait()
        if len(data) > limit:
            raise _too_large(limit)
        return data
    body = bytearray()
    try:
        async with asyncio.timeout(seconds):
            await _send_continue(request)
            async for chunk in request.content.iter_any():
                body += chunk
                if len(body) > limit:
                    raise _too_large(limit)
    except TimeoutError:
        raise BodyRefused(408, f"The body did not arrive within {seconds:g} s.") from None
    except web.RequestPayloadError:
        raise BodyRefused(400, "The body does not end where its headers say.") from None
    except ConnectionError:
        # The client has disconnected and will not read this.
        raise BodyRefused(400, "The body broke off.") from None
    return bytes(body)


def close_if_body_unread(request: web.Request, response: web.StreamResponse) -> None:
    """Close the connection if the client waited for "100 Continue" and got an answer instead. It may still
    send the body, which could not be told from its next request."""
    if "Expect" in request.headers and not request.content.is_eof():
        response.force_close()


def has_disconnected(request: web.Request) -> bool:
    """Whether the client has closed its connection, or its own side of it. The two look the same to a server,
    so a client that still wants its answer must not do either."""
    return request.transport is None or request.transport.is_closing()


@contextmanager
def while_connected(request: web.Request, give_up: Callable[[], object]) -> Iterator[None]:
    """While the block runs, its answer is for the client of `request`: if that disconnects, `give_up` is
    called, once. Only what changes nothing may be given up."""
    loop = asyncio.get_running_loop()
    next_check: asyncio.TimerHandle | None = None

    def check() -> None:
        if has_disconnected(request):
            give_up()
        else:
            plan_check()

    def plan_check() -> None:
        nonlocal next_check
        next_check = loop.call_later(DISCONNECT_CHECK_SECONDS, check)

    plan_check()
    try:
        yield
    finally:
        if next_check is not None:
            next_check.cancel()


def _list_codings(request: web.Request, header: str) -> list[str]:
    value = ",".join(request.headers.getall(header, []))
    return [name.strip().lower() for name in value.split(",")]


async def _send_continue(request: web.Request) -> None:
    """RFC 9110 10.1.1. Other expectations are unknown and may be ignored."""
    if request.version >= HttpVersion11 and request.headers.get("Expect", "").lower() == "100-continue":
        await request.writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
        # This is not part of the response, whose size is counted from here.
        request.writer.output_size = 0


def _too_large(limit: int) -> BodyRefused:
    # aiohttp discards the rest for a while before it closes, so that the client sees the answer instead of a
    # reset.
    return BodyRefused(413, f"The body is too large: at most {limit} bytes are accepted.")


class PeerFacts(TypedDict):
    principal: str
    address: str
    user_agent: str


def describe_peer(request: web.Request, principal: str) -> PeerFacts:
    """Describe the program that sent a request. `principal` is the owner of its token."""
    return PeerFacts(
        principal=principal,
        address=find_address(request),
        user_agent=request.headers.get("User-Agent", ""),
    )


def find_address(request: web.Request) -> str:
    """Where the request comes from; "" if that is unknown."""
    transport = request.transport
    peer = transport.get_extra_info("peername") if transport is not None else None
    if not isinstance(peer, tuple):
        return ""
    host = str(peer[0])
    return f"[{host}]:{peer[1]}" if ":" in host else f"{host}:{peer[1]}"
