"""A foreign page, in a real browser, can neither read nor call anything of a running server, whether it is of
a site or of another program on this machine.

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
from support.serve import serve_beside
from support.web_app import serve_app
from vaultbridge.tokens import TokenStore

pytestmark = [pytest.mark.browser, pytest.mark.timeout(600)]

PAGE_SECONDS = 150.0
"""A browser is slow on a busy machine, and the page gives each of its ways 40 s."""

PAGE = (Path(__file__).parent / "foreign_page.html").read_text("utf-8")


@asynccontextmanager
async def page_server(
    base: str, token: str = "", policy: str = ""
) -> AsyncIterator[tuple[int, asyncio.Future[dict[str, Any]]]]:
    """The foreign site: its page, and where the page reports what it got."""
    result: asyncio.Future[dict[str, Any]] = asyncio.get_running_loop().create_future()

    async def page(request: web.Request) -> web.Response:
        headers = {"Content-Security-Policy": policy} if policy else None
        text = PAGE.replace("BASE", base).replace("TOKEN", token)
        return web.Response(text=text, content_type="text/html", headers=headers)

    async def report(request: web.Request) -> web.Response:
        if not result.done():
            result.set_result(json.loads(await request.text()))
        return web.Response()

    app = web.Application()
    app.router.add_get("/", page)
    app.router.add_post("/report", report)
    async with serve_app(app) as url:
        yield int(url.rpartition(":")[2]), result


async def visit(chromium: Chromium, page_host: str, base: str, **options: str) -> dict[str, Any]:
    """What a page on `page_host` got from the server at `base`."""
    async with page_server(base, **options) as (port, result), chromium.page(f"http://{page_host}:{port}/"):
        return await asyncio.wait_for(result, PAGE_SECONDS)


def list_names(vault: Path) -> list[str]:
    return sorted(file.name for file in vault.rglob("*.md"))


VAULT = {"Hello.md": "some text\n"}

NOTHING = {
    **dict.fromkeys(
        ["tools", "health", "call", "simpleCall", "delete", "mcp", "front", "form"], "refused TypeError"
    ),
    **dict.fromkeys(["script", "events", "ide", "editor"], "refused"),
    # The browser sends these without telling the page what came back.
    **dict.fromkeys(["blindCall", "beacon"], ""),
}
"""What every way of the page gets from a server that gives it nothing."""


async def test_a_page_of_a_foreign_site_can_neither_read_nor_call_anything(
    chromium: Chromium, vault: Path
) -> None:
    async with serve_beside(vault) as (port, _):
        for base in (f"http://127.0.0.1:{port}", f"http://localhost:{port}"):
            assert await visit(chromium, FOREIGN_HOST, base) == NOTHING
        # The page's own name, pointed at this machine: DNS rebinding.
        assert await visit(chromium, FOREIGN_HOST, f"http://{FOREIGN_HOST}:{port}") == NOTHING
    assert list_names(vault) == ["Hello.md"]


NEEDS_TOKEN = ("tools", "call", "simpleCall", "delete", "mcp")
"""The ways by which a page on this machine is told that it needs a token."""


async def test_a_page_of_another_program_on_this_machine_needs_a_token(
    chromium: Chromium, vault: Path
) -> None:
    async with serve_beside(vault) as (port, _):
        for page_host, host in (("localhost", "localhost"), ("localhost", "127.0.0.1")):
            got = await visit(chromium, page_host, f"http://{host}:{port}")
            for way in NEEDS_TOKEN:
                assert "A bearer token is required" in got[way], (way, got[way])
            assert "vaultbridge token make NAME" in got["call"]
            assert "--cors any" in got["call"]
            for way in ("events", "ide"):
                assert got[way] == "refused", way
    assert list_names(vault) == ["Hello.md"]
    assert (vault / "Hello.md").read_text() == "some text\n"


async def test_a_link_on_a_page_of_this_machine_opens_no_list_of_tools(
    chromium: Chromium, vault: Path
) -> None:
    """The browser sends no Origin then, only the site that the link is on."""
    async with serve_beside(vault) as (port, _):
        base = f"http://localhost:{port}"
        async with page_server(base) as (own, _), chromium.page(f"http://localhost:{own}/") as page:
            await page.run(f"location.href = '{base}/bridge/v1/tools'")
            await page.until(
                f"location.port === '{port}' && document.body.innerText.includes('bearer token')"
            )


async def test_a_page_on_this_machine_may_use_bridge_v1_with_a_token(chromium: Chromium, vault: Path) -> None:
    _, secret = TokenStore(vault.parent / "config" / "vaultbridge").make("page")
    async with serve_beside(vault) as (port, _):
        got = await visit(chromium, "localhost", f"http://127.0.0.1:{port}", token=secret)
    assert json.loads(got["tools"])["tools"][0]["name"]
    assert json.loads(got["call"])["success"] is True
    assert json.loads(got["delete"])["success"] is True
    # What carries no token is refused, and the socket of Claude Code refuses every page.
    assert (got["events"], got["ide"]) == ("refused",) * 2
    assert list_names(vault) == ["Planted.md"]


async def test_with_cors_any_a_page_from_disk_may_use_bridge_v1(chromium: Chromium, vault: Path) -> None:
    """The Origin of a sandboxed page is `null`, as that of a page from disk."""
    sandbox = "sandbox allow-scripts allow-forms"
    async with serve_beside(vault) as (port, _):
        got = await visit(chromium, "localhost", f"http://127.0.0.1:{port}", policy=sandbox)
        for way in ("tools", "call", "simpleCall", "delete"):
            assert "--cors any" in got[way], (way, got[way])
        assert list_names(vault) == ["Hello.md"]
    async with serve_beside(vault, options=("--cors", "any")) as (port, _):
        got = await visit(chromium, "localhost", f"http://127.0.0.1:{port}", policy=sandbox)
        assert json.loads(got["call"])["success"] is True
        assert json.loads(got["delete"])["success"] is True
        assert "A bearer token is required" in got["mcp"]
    assert list_names(vault) == ["Planted.md"]
