"""The page's files over a real port: what is given, to whom, and with which headers."""

from __future__ import annotations

import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from support.web_app import serve_app
from vaultbridge.protocols.http.guard import HostGuard
from vaultbridge.web.page import (
    CONTENT_SECURITY_POLICY,
    HASHED,
    HEADERS,
    IMMUTABLE,
    add_page_routes,
    load_static_files,
    make_page_link,
)

FILES = load_static_files()


@asynccontextmanager
async def served() -> AsyncIterator[aiohttp.ClientSession]:
    app = web.Application()
    app.router.add_get("/", add_page_routes(app, guard=HostGuard()))
    async with serve_app(app) as url, aiohttp.ClientSession(url) as session:
        yield session


@pytest.mark.parametrize("path", ["/", *(f"/page/{name}" for name in FILES)])
async def test_every_file_comes_with_its_type_and_all_safety_headers(path: str) -> None:
    async with served() as session, session.get(path) as response:
        assert response.status == 200
        name = path.removeprefix("/page/") if path != "/" else "index.html"
        file = FILES[name]
        assert await response.read() == file.body
        charset = "" if name.endswith(".png") else "; charset=utf-8"
        assert response.headers["Content-Type"] == file.media_type + charset
        expected = IMMUTABLE if HASHED.search(name) else HEADERS
        assert expected.items() <= dict(response.headers).items()


async def test_a_part_named_by_its_content_is_kept_and_the_others_are_asked_for_each_time() -> None:
    (named, *_) = (name for name in FILES if HASHED.search(name))
    async with served() as session:
        for name, kept in ((named, True), ("app.js", False), ("style.css", False)):
            async with session.get(f"/page/{name}") as response:
                assert ("immutable" in response.headers["Cache-Control"]) is kept


async def test_a_client_that_does_not_take_gzip_gets_the_plain_file() -> None:
    async with served() as session:
        for accepted, encoding in (("gzip, br", "gzip"), ("identity", None)):
            headers = {"Accept-Encoding": accepted}
            async with session.get("/page/app.js", headers=headers) as response:
                assert response.headers.get("Content-Encoding") == encoding
                assert response.headers["Vary"] == "Accept-Encoding"
                assert await response.read() == FILES["app.js"].body


def test_the_policy_allows_only_our_own_files() -> None:
    rules = dict(rule.split(" ", 1) for rule in CONTENT_SECURITY_POLICY.split("; "))
    assert rules.pop("default-src") == rules.pop("frame-ancestors") == rules.pop("base-uri") == "'none'"
    assert rules.pop("form-action") == "'none'"
    assert rules.pop("trusted-types") == "vaultbridge vaultbridge-worker"
    assert rules.pop("require-trusted-types-for") == "'script'"
    assert rules.pop("img-src") == "'self' data:"
    assert set(rules) == {"script-src", "style-src", "connect-src", "media-src", "frame-src", "manifest-src"}
    assert set(rules.values()) == {"'self'"}


async def test_head_gives_the_headers_alone() -> None:
    plain = {"Accept-Encoding": "identity"}
    async with served() as session, session.head("/", headers=plain) as response:
        assert response.status == 200
        assert int(response.headers["Content-Length"]) == len(FILES["index.html"].body)
        assert await response.read() == b""


async def test_a_browser_that_has_the_file_gets_304() -> None:
    async with served() as session:
        async with session.get("/page/app.js") as response:
            etag = response.headers["ETag"]
            assert response.headers["Cache-Control"] == "no-cache"
        async with session.get("/page/app.js", headers={"If-None-Match": f'"other", {etag}'}) as again:
            assert again.status == 304
            assert again.headers["Content-Security-Policy"] == CONTENT_SECURITY_POLICY
            assert await again.read() == b""
        async with session.get("/page/app.js", headers={"If-None-Match": '"other"'}) as other:
            assert other.status == 200


@pytest.mark.parametrize(
    "path", ["/page/", "/page/none.js", "/page/a/b", "/page/..%2fpage.py", "/page/%2e%2e/page.py"]
)
async def test_any_other_address_gets_404_and_no_file_is_named(path: str) -> None:
    from yarl import URL

    async with served() as session, session.get(URL(path, encoded=True)) as response:
        assert response.url.raw_path == path
        assert response.status == 404
        assert "vaultbridge" not in await response.text()


async def test_the_page_accepts_no_posts() -> None:
    async with served() as session:
        for path in ("/", "/page/app.js"):
            async with session.post(path, data=b"x") as response:
                assert response.status == 405


@pytest.mark.parametrize(
    "headers", [{"Host": "rebound.example"}, {"Origin": "https://site.example"}, {"Origin": "null"}]
)
async def test_foreign_hosts_and_pages_get_403(headers: dict[str, str]) -> None:
    async with served() as session:
        for path in ("/", "/page/app.js"):
            async with session.get(path, headers=headers) as response:
                assert response.status == 403
                assert b"script" not in await response.read()


def test_the_files_refer_to_nothing_outside_and_to_no_missing_file() -> None:
    """A page that loads something from elsewhere would tell that place who reads which vault. What a browser
    test sees being requested says the same for every view."""
    for name, file in FILES.items():
        if name == "THIRD_PARTY.txt" or file.media_type == "image/png":
            continue
        text = file.body.decode()
        patterns = (
            r"(?:src|href)=\"(/[^\"#]+)\"",
            r"(?:from|import)\(?\"(\./[^\"]+)\"",
            r"url\((?!['\"]?(?:data:|#))([^)]+)\)",
        )
        for pattern in patterns:
            for address in re.findall(pattern, text):
                assert address.removeprefix("/page/").removeprefix("./") in FILES, (name, address)


def test_the_link_carries_the_token_where_browsers_do_not_send_it() -> None:
    assert make_page_link("http://127.0.0.1:3000", "secret") == "http://127.0.0.1:3000/#token=secret"


def test_only_files_of_known_types_are_served(tmp_path: Path) -> None:
    (tmp_path / "a.js").write_text("1", "utf-8")
    (tmp_path / "a.js~").write_text("2", "utf-8")
    assert list(load_static_files(tmp_path)) == ["a.js"]
