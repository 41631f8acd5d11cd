"""What a revoked token could see is not left on disk in a form of its own."""

from __future__ import annotations

from pathlib import Path

import aiohttp

from support.files import write_vault
from support.serve import Served
from support.waiting import until
from vaultbridge.engine.scoped_index import list_scoped_indexes

FILES = {"Open.md": "needle", "Private/x.md": "needle", "Work/y.md": "needle"}


async def search(server: Served, token: str) -> int:
    headers = {"Authorization": f"Bearer {token}"}
    where = f"http://127.0.0.1:{server.port}/bridge/v1/tools/search/call"
    async with (
        aiohttp.ClientSession() as http,
        http.post(where, json={"arguments": {"query": "needle"}}, headers=headers) as response,
    ):
        return (await response.text()).count(".md")


async def test_the_index_of_a_revoked_tokens_scope_is_deleted_unless_another_token_has_it(
    tmp_path: Path,
) -> None:
    vault = write_vault(tmp_path / "Notes", FILES)
    server = Served(tmp_path / "home")
    denied = {"one": "Private/", "two": "Private/", "three": "Work/"}
    made = {
        name: (await server.answer("token", "make", name, "--deny", pattern))["token"]
        for name, pattern in denied.items()
    }
    await server.start(vault)
    try:
        for token in made.values():
            assert await search(server, token) >= 2
        (cache,) = {place.parent.parent for place in server.home.rglob("scopes/*.sqlite3")}
        assert len(list_scoped_indexes(cache)) == 2
        await server.answer("token", "revoke", "one")
        assert len(list_scoped_indexes(cache)) == 2, "the second token has the same scope"
        await server.answer("token", "revoke", "three")
        await until(lambda: len(list_scoped_indexes(cache)) == 1)
        assert await search(server, made["two"]) >= 2
        await server.answer("token", "revoke", "two")
        await until(lambda: not list_scoped_indexes(cache))
    finally:
        await server.kill()
