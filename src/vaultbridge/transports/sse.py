"""Server-Sent Events, as bytes: the few lines of the HTML standard that MCP needs, without I/O."""

from __future__ import annotations

from typing import Final

COMMENT: Final = b":\n\n"
"""Carries nothing; keeps proxies and clients from giving up a silent stream."""

HEADERS: Final = {
    "Content-Type": "text/event-stream",
    "Cache-Control": "no-cache, no-transform",
    # Streamable HTTP, Receiving Messages: tells reverse proxies not to hold events back.
    "X-Accel-Buffering": "no",
}


def event(data: bytes, *, name: str = "", id_: str = "", retry_ms: int | None = None) -> bytes:
    """One event. `data` may hold several lines; names and ids are ours and hold none."""
    lines: list[bytes] = []
    if name:
        lines.append(b"event: " + name.encode())
    if id_:
        lines.append(b"id: " + id_.encode())
    if retry_ms is not None:
        lines.append(b"retry: %d" % retry_ms)
    lines.extend(b"data: " + line for line in data.replace(b"\r\n", b"\n").replace(b"\r", b"\n").split(b"\n"))
    return b"\n".join(lines) + b"\n\n"
