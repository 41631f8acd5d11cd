"""What a request tells about the program that sent it, for the list of clients."""

from __future__ import annotations

from typing import TypedDict

from aiohttp import web


class PeerFacts(TypedDict):
    principal: str
    address: str
    user_agent: str


def describe_peer(request: web.Request, principal: str) -> PeerFacts:
    """`principal` is what its token says."""
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
