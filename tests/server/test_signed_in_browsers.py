"""Browsers that stay signed in, on a real port: what they keep, what opens the page, and what ends it."""

from __future__ import annotations

import os
from http.cookies import SimpleCookie
from pathlib import Path
from typing import Any

import pytest

from server.callers import ask_page, make_bearer, make_owner_headers
from server.conftest import Served, Serving
from vaultbridge.web.browsers import (
    BROWSERS,
    COOKIE_PREFIX,
    DAY_SECONDS,
    FILE_NAME,
    KEPT_DAYS,
    SIGN_IN,
    SignedInBrowsers,
)


async def keep(served: Served, name: str = "Firefox on Linux") -> dict[str, Any]:
    """What a browser keeps: id, key and cookie."""
    headers = make_owner_headers(served)
    async with served.http.post(
        f"{served.url}/page/api/browsers", json={"name": name}, headers=headers
    ) as answer:
        assert answer.status == 200
        body = await answer.json()
        (cookie,) = SimpleCookie(answer.headers["Set-Cookie"]).values()
        assert cookie.key == COOKIE_PREFIX + body["id"]
        assert (cookie["path"], cookie["httponly"], cookie["samesite"]) == (SIGN_IN, True, "Strict")
        assert int(cookie["max-age"]) == KEPT_DAYS * DAY_SECONDS
        return {**body, "cookie": cookie.value}


async def sign_in(
    served: Served, kept: dict[str, Any], headers: dict[str, str] | None = None
) -> tuple[int, Any]:
    sent = {"Cookie": f"{COOKIE_PREFIX}{kept['id']}={kept['cookie']}", **(headers or {})}
    body = {"id": kept["id"], "key": kept["key"]}
    async with served.http.post(served.url + SIGN_IN, json=body, headers=sent) as answer:
        assert answer.headers["Cache-Control"] == "no-store"
        return answer.status, await answer.json()


async def test_a_kept_browser_gets_the_token_after_a_restart_of_the_server_too(serving: Serving) -> None:
    async with serving() as served:
        kept = await keep(served)
        token = make_owner_headers(served)["Authorization"].removeprefix("Bearer ")
        assert await sign_in(served, kept) == (200, {"token": token})
    async with serving() as served:
        assert await sign_in(served, kept) == (200, {"token": token})


async def test_one_half_of_the_secret_opens_nothing(serving: Serving, tmp_path: Path) -> None:
    """A cookie also reaches servers on other ports of this machine."""
    async with serving() as served:
        kept, other = await keep(served), await keep(served)
        for wrong in ({"key": ""}, {"key": other["key"]}, {"cookie": other["cookie"]}, {"id": other["id"]}):
            status, body = await sign_in(served, {**kept, **wrong})
            assert (status, body["error"]["code"]) == (403, "SIGNED_OUT")
        (file,) = (tmp_path / "cache").rglob(FILE_NAME)
        stored = file.read_text("utf-8")
        assert not any(secret in stored for secret in (kept["key"], kept["cookie"]))
        if os.name == "posix":
            assert file.stat().st_mode & 0o077 == 0


async def test_a_browser_that_is_signed_out_gets_nothing(serving: Serving) -> None:
    async with serving() as served:
        kept, other = await keep(served, "Chrome on Android"), await keep(served)
        headers = make_owner_headers(served)
        status, body = await ask_page(served, "/browsers", headers)
        assert status == 200
        assert [known["name"] for known in body["browsers"]] == ["Chrome on Android", "Firefox on Linux"]
        assert str(served.vault) in body["command"]
        assert "key" not in str(body) and "hash" not in str(body)
        assert (await ask_page(served, f"/browsers/{kept['id']}", headers, method="DELETE"))[0] == 200
        assert (await sign_in(served, kept))[0] == 403
        assert (await sign_in(served, other))[0] == 200
        status, body = await ask_page(served, f"/browsers/{kept['id']}", headers, method="DELETE")
        assert (status, body["error"]["message"]) == (400, "This browser is not signed in.")


async def test_only_the_owner_keeps_lists_and_signs_out(serving: Serving) -> None:
    async with serving() as served:
        kept = await keep(served)
        _, secret = served.tokens.make("phone")
        for method, path in (("GET", ""), ("POST", ""), ("DELETE", f"/{kept['id']}")):
            status, body = await ask_page(served, f"/browsers{path}", make_bearer(secret), method=method)
            assert (status, body["error"]["code"]) == (403, "OWNER_ONLY")
        assert (await sign_in(served, kept))[0] == 200


@pytest.mark.parametrize(
    "headers", [{"Host": "evil.example"}, {"Origin": "https://evil.example"}, {"X-Forwarded-For": "10.0.0.1"}]
)
async def test_foreign_pages_and_tunnels_cannot_sign_in(serving: Serving, headers: dict[str, str]) -> None:
    async with serving() as served:
        kept = await keep(served)
        sent = {"Cookie": f"{COOKIE_PREFIX}{kept['id']}={kept['cookie']}", **headers}
        body = {"id": kept["id"], "key": kept["key"]}
        async with served.http.post(served.url + SIGN_IN, json=body, headers=sent) as answer:
            assert answer.status == 403 and "token" not in await answer.json()


@pytest.mark.parametrize("body", [b"", b"[]", b'{"id": 1}', b"{" * 1000, b'"' + b"a" * 5000])
async def test_a_wrong_body_is_refused(serving: Serving, body: bytes) -> None:
    async with serving() as served, served.http.post(served.url + SIGN_IN, data=body) as answer:
        assert answer.status in (400, 413)
        assert (await answer.json())["error"]["message"]


def test_a_browser_that_is_not_used_is_forgotten_and_each_use_starts_the_time_again(tmp_path: Path) -> None:
    now = 1_000_000.0
    browsers = SignedInBrowsers(tmp_path, "token", clock=lambda: now)
    used, cookie, key = browsers.keep("Firefox")
    browsers.keep("Safari")
    now += (KEPT_DAYS - 1) * DAY_SECONDS
    assert browsers.sign_in(used.id, cookie, key) == "token"
    now += 2 * DAY_SECONDS
    assert [browser.id for browser in browsers.list_browsers()] == [used.id]
    assert browsers.sign_in(used.id, cookie, key) == "token"
    now += (KEPT_DAYS + 1) * DAY_SECONDS
    assert browsers.sign_in(used.id, cookie, key) is None


def test_the_browser_that_was_unused_for_longest_makes_room(tmp_path: Path) -> None:
    now = 1_000_000.0
    browsers = SignedInBrowsers(tmp_path, "token", clock=lambda: now)
    kept = []
    for number in range(BROWSERS + 1):
        now += 1.0
        kept.append(browsers.keep(f"Browser {number}")[0].id)
    assert [browser.id for browser in browsers.list_browsers()] == kept[1:]


async def test_a_damaged_list_signs_nobody_in_and_says_so(serving: Serving, tmp_path: Path) -> None:
    async with serving() as served:
        kept = await keep(served)
        (file,) = (tmp_path / "cache").rglob(FILE_NAME)
        file.write_text("[{", "utf-8")
        status, body = await sign_in(served, kept)
        assert status == 500 and "damaged" in body["error"]["message"]
        status, body = await ask_page(served, "/browsers", make_owner_headers(served))
        assert status == 500 and "sign in again" in body["error"]["hint"]
