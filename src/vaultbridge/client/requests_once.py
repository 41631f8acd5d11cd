"""Keeps the HTTP library from repeating a request by itself.

aiohttp sends a GET again, without a word, when the server ends the connection before it answers. An attempt
to connect would then be two, and so would the delays between attempts, which we count and report ourselves.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from aiohttp import ClientHandlerType, ClientRequest, ClientResponse


class NotRepeated(Exception):
    """Not an error of aiohttp's, so that it does not try again. `error` is the one that it would have
    repeated the request for."""

    def __init__(self, error: Exception) -> None:
        super().__init__(str(error))
        self.error = error


async def send_once(request: ClientRequest, handler: ClientHandlerType) -> ClientResponse:
    """A middleware for a client session. The request raises NotRepeated instead of being sent again."""
    import aiohttp

    try:
        return await handler(request)
    except aiohttp.ClientConnectorError:
        raise  # Never repeated, and explained by its kind.
    except (aiohttp.ClientOSError, aiohttp.ServerDisconnectedError) as error:
        raise NotRepeated(error) from error
