"""Searches while a person types: those that the page has given up are not run."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import aiohttp
from aiohttp import web

from server.conftest import make_environ
from support.files import write_vault
from vaultbridge.engine import Engine
from vaultbridge.server.wiring import open_engine
from vaultbridge.web.api.routes import PageCall, PageGrant, render_json
from vaultbridge.web.api.vault import SEARCHES_AT_ONCE, Searches

BOUND = 30.0


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


async def until(holds: Any) -> None:
    async with asyncio.timeout(BOUND):
        while not holds():
            await asyncio.to_thread(lambda: None)


async def test_a_search_that_was_given_up_before_its_turn_is_never_run(tmp_path: Path) -> None:
    vault = write_vault(tmp_path / "Garden", {"Plan.md": "water the roses\n"})
    with open_engine(vault, environ=make_environ(tmp_path)) as engine:
        engine.index_sync.refresh()
        vaults = HeldVaults(engine)
        searches = Searches()
        calls: dict[str, PageCall] = {}

        async def search(request: web.Request) -> web.StreamResponse:
            grant: Any = PageGrant(server=None, engines=vaults, principal="", owner=True)  # type: ignore[arg-type]
            call = calls[request.query["q"]] = PageCall(request, grant)
            return render_json(await searches.answer(call))

        app = web.Application()
        app.router.add_get("/search", search)
        runner = web.AppRunner(app)
        await runner.setup()
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        url = f"http://127.0.0.1:{runner.addresses[0][1]}/search"

        async with aiohttp.ClientSession() as session:

            async def ask(query: str) -> Any:
                async with session.get(url, params={"q": query}) as answer:
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
        await runner.cleanup()
