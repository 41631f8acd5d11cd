"""What went wrong with an HTTP exchange, in the words of an error's text."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import aiohttp


def status_of(response: aiohttp.ClientResponse) -> str:
    return f"HTTP {response.status} {response.reason or ''}".rstrip()


def cause_of(error: BaseException) -> str:
    """In words: the library's own texts carry addresses, and its class names say nothing to a person."""
    import aiohttp

    cause = getattr(error, "os_error", error)
    if isinstance(cause, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "it ended the connection without an answer"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "its answer was cut short"
    if isinstance(error, aiohttp.ClientResponseError):
        return "it answered with something that is not HTTP"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror.lower()
    return "timed out" if isinstance(error, TimeoutError) else type(error).__name__
