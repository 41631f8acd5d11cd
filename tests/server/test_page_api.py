"""The page's API from outside: who is admitted, and what a wrong request is answered, on a real port."""

from __future__ import annotations

import pytest

from server.callers import ask_page, make_bearer, make_owner_headers
from server.conftest import Serving


async def test_every_call_needs_a_token_also_on_this_machine(serving: Serving) -> None:
    async with serving() as served:
        assert (await served.status()) == 200  # Bridge v1 needs none here
        status, body = await ask_page(served, "/nothing", {})
        assert (status, body["error"]["code"]) == (401, "UNAUTHORIZED")
        assert "vaultbridge page" in body["error"]["message"]
        status, body = await ask_page(served, "/nothing", make_bearer("vbt_wrong"))
        assert (status, body["error"]["code"]) == (401, "UNAUTHORIZED")


@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"Origin": "null"}]
)
async def test_foreign_hosts_and_pages_are_refused_with_the_right_token(
    serving: Serving, headers: dict[str, str]
) -> None:
    async with serving() as served:
        status, body = await ask_page(served, "/nothing", {**make_owner_headers(served), **headers})
        assert (status, body["error"]["code"]) == (403, "FORBIDDEN")


async def test_an_unknown_address_says_so_to_every_token(serving: Serving) -> None:
    async with serving() as served:
        _, secret = served.tokens.make("phone", read_only=True)
        for headers in (make_owner_headers(served), make_bearer(secret)):
            status, body = await ask_page(served, "/nothing", headers)
            assert (status, body["error"]["code"]) == (404, "NOT_FOUND")
