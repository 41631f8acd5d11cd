"""A page of a foreign site, in a real browser, can neither read nor call anything of a running server.

Chromium resolves FOREIGN_HOST to this machine, so that the page truly has another origin; it tries every
way that a page has and sends what it got to its own server. A page that may call is tried as well: a test
whose page can never reach anything would prove nothing.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from aiohttp import web

from browser.chromium import FOREIGN_HOST, Chromium
from cli.test_bridge import serving
from support.web_app import serve_app

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

PAGE_SECONDS = 150.0
"""A browser is slow on a busy machine, and the page gives each of its ways 40 s."""

PAGE = (Path(__file__).parent / "foreign_page.html").read_text("utf-8")


@asynccontextmanager
async def page_server(base: str) -> AsyncIterator[tuple[int, asyncio.Future[dict[str, Any]]]]:
    """The foreign site: its page, and where the page reports what it got."""
    result: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    async def page(request: web.Request) -> web.Response:
        return web.Response(text=PAGE.replace("BASE", base), content_type="text/html")

    async def report(request: web.Request) -> web.Response:
        if not result.done():
            result.set_result(json.loads(await request.text()))
        return web.Response()

    app = web.Application()
    app.router.add_get("/", page)
    app.router.add_post("/report", report)
    async with serve_app(app) as url:
        yield int(url.rpartition(":")[2]), result


async def visit(chromium: Chromium, page_host: str, base: str) -> dict[str, Any]:
    """What a page on `page_host` got from the server at `base`."""
    async with page_server(base) as (port, result), chromium.page(f"http://{page_host}:{port}/"):
        return await asyncio.wait_for(result, PAGE_SECONDS)


def list_names(vault: Path) -> list[str]:
    return sorted(file.name for file in vault.rglob("*.md"))


VAULT = {"Hello.md": "some text\n"}

NOTHING = {
    **dict.fromkeys(["tools", "health", "call", "simpleCall", "mcp", "front", "form"], "refused TypeError"),
    **dict.fromkeys(["script", "events", "ide", "editor"], "refused"),
    # The browser sends these without telling the page what came back.
    **dict.fromkeys(["blindCall", "beacon"], ""),
}
"""What every way of the page gets from a server that gives it nothing."""


async def test_a_page_of_a_foreign_site_can_neither_read_nor_call_anything(
    chromium: Chromium, vault: Path
) -> None:
    async with serving(vault) as (port, _):
        for base in (f"http://127.0.0.1:{port}", f"http://localhost:{port}"):
            assert await visit(chromium, FOREIGN_HOST, base) == NOTHING
        # The page's own name, pointed at this machine: DNS rebinding.
        assert await visit(chromium, FOREIGN_HOST, f"http://{FOREIGN_HOST}:{port}") == NOTHING
    assert list_names(vault) == ["Hello.md"]


async def test_a_local_page_may_use_bridge_v1_and_nothing_else(chromium: Chromium, vault: Path) -> None:
    async with serving(vault) as (port, _):
        got = await visit(chromium, "localhost", f"http://127.0.0.1:{port}")
    assert json.loads(got["tools"])["tools"][0]["name"]
    assert json.loads(got["call"])["success"] is True
    assert "A bearer token is required" in got["mcp"]
    assert got["ide"] == "refused"
    assert (vault / "Planted.md").read_text() == "by a page"
