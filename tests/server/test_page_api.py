"""The page's API from outside: who is admitted, and what a wrong request is answered, on a real port."""

from __future__ import annotations

from typing import Any

import pytest

from server.conftest import Served, Serving

API = "/page/api"


def make_owner_headers(served: Served) -> dict[str, str]:
    return {"Authorization": f"Bearer {served.listening.page.partition('#token=')[2]}"}


def make_bearer(secret: str) -> dict[str, str]:
    return {"Authorization": f"Bearer {secret}"}


async def ask(
    served: Served, path: str, headers: dict[str, str], *, method: str = "GET", **options: Any
) -> tuple[int, Any]:
    async with served.http.request(method, served.url + API + path, headers=headers, **options) as response:
        assert response.headers["Content-Type"].startswith("application/json"), await response.text()
        assert response.headers["X-Content-Type-Options"] == "nosniff"
        assert response.headers["Cache-Control"] == "no-store"
        return response.status, await response.json()


async def test_every_call_needs_a_token_also_on_this_machine(serving: Serving) -> None:
    async with serving() as served:
        assert (await served.status()) == 200  # Bridge v1 needs none here
        status, body = await ask(served, "/nothing", {})
        assert (status, body["error"]["code"]) == (401, "UNAUTHORIZED")
        assert "vaultbridge page" in body["error"]["message"]
        status, body = await ask(served, "/nothing", make_bearer("vbt_wrong"))
        assert (status, body["error"]["code"]) == (401, "UNAUTHORIZED")


@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "null"}]
)
async def test_foreign_hosts_and_pages_are_refused_with_the_right_token(
    serving: Serving, headers: dict[str, str]
) -> None:
    async with serving() as served:
        status, body = await ask(served, "/nothing", {**make_owner_headers(served), **headers})
        assert (status, body["error"]["code"]) == (403, "FORBIDDEN")


async def test_an_unknown_address_says_so_to_every_token(serving: Serving) -> None:
    async with serving() as served:
        _, secret = served.tokens.make("phone", read_only=True)
        for headers in (make_owner_headers(served), make_bearer(secret)):
            status, body = await ask(served, "/nothing", headers)
            assert (status, body["error"]["code"]) == (404, "NOT_FOUND")
