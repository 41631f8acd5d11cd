"""What a client is told that was refused without a token and now wants to register by OAuth.

MCP clients do that by themselves, at addresses they guess when none are told to them, and show their person
what they are answered there. We have tokens that a person makes, so this says so, in OAuth's form too.
"""

from __future__ import annotations

from typing import Final

from aiohttp import web

REGISTER: Final = "/register"
"""Where a client looks that was told of no other place (MCP 2025-03-26, Authorization: the default paths)."""

HOW: Final = (
    "This server has no OAuth. Make a token with `vaultbridge token make NAME` and have the client send it "
    "as the header `Authorization: Bearer …`."
)


def add_no_oauth_route(app: web.Application) -> None:
    async def refuse(request: web.Request) -> web.Response:
        told = {"error": "Not found", "message": HOW, "error_description": HOW}
        return web.json_response(told, status=404)

    app.router.add_post(REGISTER, refuse)
