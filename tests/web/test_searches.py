"""Requests that the page has given up: a search is not begun, reading ends, and a change is completed."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from server.conftest import make_environ
from support.files import write_vault
from support.waiting import BOUND, until
from support.web_app import serve_app
from vaultbridge.cancellation import NEVER_CANCELLED, current_cancellation
from vaultbridge.engine import Engine
from vaultbridge.errors import TimedOut
from vaultbridge.server.wiring import open_engine
from vaultbridge.web.api.routes import PageCall, PageGrant, render_json
from vaultbridge.web.api.vault import SEARCHES_AT_ONCE, Searches


class HeldVaults(Mapping[str, Engine]):
    """One vault, whose engine is handed out when the test says so."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.asked = 0
        self.release = threading.Event()

    def __getitem__(self, name: str) -> Engine:
        self.asked += 1
        assert self.release.wait(BOUND)
        return self._engine

    def __iter__(self) -> Iterator[str]:
        return iter(["Garden"])

    def __len__(self) -> int:
        return 1


@asynccontextmanager
async def serve(routes: list[web.RouteDef]) -> AsyncIterator[str]:
    """Serves these routes; gives the address before their paths."""
    app = web.Application()
    app.add_routes(routes)
    async with serve_app(app, shutdown_timeout=BOUND) as url:
        yield url


def make_grant(engines: Mapping[str, Engine]) -> PageGrant:
    """The owner's, of a page without a server: its calls go straight to the engines."""
    server: Any = None
    return PageGrant(server=server, engines=engines, principal="", owner=True)


async def test_a_search_that_was_given_up_before_its_turn_is_never_run(tmp_path: Path) -> None:
    vault = write_vault(tmp_path / "Garden", {"Plan.md": "water the roses\n"})
    with open_engine(vault, environ=make_environ(tmp_path)) as engine:
        engine.index_sync.refresh()
        vaults = HeldVaults(engine)
        searches = Searches()
        calls: dict[str, PageCall] = {}

        async def search(request: web.Request) -> web.StreamResponse:
            call = calls[request.query["q"]] = PageCall(request, make_grant(vaults))
            return render_json(await searches.answer(call))

        async with serve([web.get("/search", search)]) as url, aiohttp.ClientSession() as session:

            async def ask(query: str) -> Any:
                async with session.get(f"{url}/search", params={"q": query}) as answer:
                    return await answer.json()

            running = [asyncio.create_task(ask(f"r{number}")) for number in range(SEARCHES_AT_ONCE)]
            await until(lambda: vaults.asked == SEARCHES_AT_ONCE)
            given_up = asyncio.create_task(ask("ro"))
            await until(lambda: "ro" in calls)
            wanted = asyncio.create_task(ask("roses"))
            await until(lambda: "roses" in calls)
            given_up.cancel()
            await until(lambda: calls["ro"].is_abandoned)
            assert not calls["roses"].is_abandoned
            vaults.release.set()
            assert (await wanted)["total"] == 1
            await asyncio.gather(*running)
            assert vaults.asked == SEARCHES_AT_ONCE + 1
            # What a search needs is loaded once, however often a page that is opened asks for it.
            for _ in range(3):
                assert (await ask(""))["hits"] == []
            await until(lambda: vaults.asked == SEARCHES_AT_ONCE + 2)
            assert (await ask("roses"))["total"] == 1
            assert vaults.asked == SEARCHES_AT_ONCE + 3


async def test_reading_ends_when_the_browser_leaves_and_a_change_cannot_be_cancelled(tmp_path: Path) -> None:
    vault = write_vault(tmp_path / "Garden", {"Plan.md": "water the roses\n"})
    with open_engine(vault, environ=make_environ(tmp_path)) as engine:
        grant = make_grant({"Garden": engine})
        reading, ended, kept = threading.Event(), threading.Event(), threading.Event()

        def read(engine: Engine) -> None:
            reading.set()
            with current_cancellation().call_on_request(ended.set):
                ended.wait(BOUND)
            # As the index does between the steps of a query.
            current_cancellation().check()

        def change(engine: Engine) -> bool:
            return current_cancellation() is NEVER_CANCELLED

        async def show(request: web.Request) -> web.StreamResponse:
            try:
                await PageCall(request, grant).on_vault(read)
            except TimedOut:
                kept.set()
            return web.Response()

        async def save(request: web.Request) -> web.StreamResponse:
            return render_json(await PageCall(request, grant).change_vault(change))

        routes = [web.get("/note", show), web.put("/note", save)]
        async with serve(routes) as url, aiohttp.ClientSession() as session:
            left = asyncio.ensure_future(session.get(f"{url}/note"))
            await until(reading.is_set)
            assert not ended.is_set()
            left.cancel()
            await until(kept.is_set)
            async with session.put(f"{url}/note") as answer:
                assert await answer.json() is True
