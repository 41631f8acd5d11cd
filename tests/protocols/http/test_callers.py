"""Where a request comes from, by its headers alone."""

from __future__ import annotations

from unittest.mock import Mock

import pytest
from aiohttp import HttpVersion10, web
from aiohttp.test_utils import make_mocked_request
from hypothesis import given
from hypothesis import strategies as st
from multidict import CIMultiDict

from vaultbridge.protocols.http.callers import (
    FORWARDING_ENDINGS,
    FORWARDING_HEADERS,
    FORWARDING_PREFIXES,
    MARK_CHARS,
    find_forwarding_mark,
    is_foreign_page,
)

OWN = "http://127.0.0.1:3000"


def make_request(method: str, headers: CIMultiDict[str]) -> web.Request:
    """A request that arrived on port 3000."""
    transport = Mock()
    transport.get_extra_info.side_effect = {"sockname": ("127.0.0.1", 3000)}.get
    return make_mocked_request(method, "/mcp", headers=headers, transport=transport)


def find_mark(*headers: tuple[str, str]) -> str:
    return find_forwarding_mark(make_mocked_request("GET", "/", headers=CIMultiDict(headers)))


@given(
    name=st.sampled_from(
        sorted(
            FORWARDING_HEADERS
            | {f"{prefix}x" for prefix in FORWARDING_PREFIXES}
            | {f"x-new{ending}" for ending in FORWARDING_ENDINGS}
            | {"forwarded", "forwarded-for", "x-forwarded-new", "x-vercel-forwarded-for"}
        )
    ),
    upper=st.lists(st.booleans(), min_size=40, max_size=40),
    underscores=st.booleans(),
    value=st.text(st.characters(min_codepoint=32, max_codepoint=126)),
)
def test_a_proxys_header_marks_a_request_however_it_is_spelled(
    name: str, upper: list[bool], *, underscores: bool, value: str
) -> None:
    spelled = "".join(
        letter.upper() if is_upper else letter for letter, is_upper in zip(name, upper, strict=False)
    )
    if underscores:
        spelled = spelled.replace("-", "_")
    assert find_mark(("Host", "127.0.0.1:3000"), (spelled, value)) == spelled


@pytest.mark.parametrize(
    "name",
    ["Host", "Accept", "Connection", "Authorization", "User-Agent", "Mcp-Session-Id", "MCP-Protocol-Version",
     "X-Request-Id", "X-Amzn-Trace-Id", "traceparent", "Proxy-Connection", "Referer", "X-Api-Key",
     "X-Claude-Code-Ide-Authorization", "X-Stainless-Lang", "Sec-Fetch-Mode", "baggage", "Last-Event-ID"],
)  # fmt: skip
def test_headers_of_programs_mark_nothing(name: str) -> None:
    assert find_mark((name, "via 127.0.0.1")) == ""


def test_http_1_0_is_spoken_by_proxies_only() -> None:
    assert find_forwarding_mark(make_mocked_request("GET", "/", version=HttpVersion10)) == "HTTP/1.0"


def test_a_long_name_is_cut() -> None:
    assert find_mark(("X-Forwarded-" + "x" * 1000, "")) == ("X-Forwarded-" + "x" * 1000)[:MARK_CHARS]


@pytest.mark.parametrize(
    ("method", "headers", "foreign"),
    [
        ("POST", [], False),
        ("POST", [("Sec-Fetch-Mode", "cors")], False),
        ("POST", [("Origin", OWN)], False),
        ("POST", [("Origin", OWN), ("Sec-Fetch-Site", "same-origin")], False),
        ("POST", [("Origin", OWN), ("Sec-Fetch-Site", "same-site")], True),
        ("POST", [("Origin", OWN), ("Origin", "http://localhost:5173")], True),
        ("POST", [("Origin", "http://localhost:3000")], True),
        ("POST", [("Origin", "https://127.0.0.1:3000")], True),
        ("POST", [("Origin", "")], True),
        ("POST", [("Origin", "null")], True),
        ("POST", [("Sec-Fetch-Site", "same-origin")], True),
        ("GET", [("Sec-Fetch-Site", "same-origin")], False),
        ("GET", [("Sec-Fetch-Site", "same-origin"), ("Sec-Fetch-Site", "same-site")], True),
        ("GET", [("Sec-Fetch-Site", "same-site")], True),
        ("GET", [("Sec-Fetch-Site", "none")], True),
    ],
)
def test_only_a_page_of_this_server_is_not_foreign(
    method: str, headers: list[tuple[str, str]], *, foreign: bool
) -> None:
    sent = CIMultiDict([("Host", "127.0.0.1:3000"), *headers])
    assert is_foreign_page(make_request(method, sent)) is foreign


@pytest.mark.parametrize("name", ["localhost", "127.0.0.1", "[::1]"])
def test_a_host_without_a_port_is_that_of_a_server_on_port_80(name: str) -> None:
    """What listens there may pass requests on unchanged too, and its pages are not ours."""
    sent = CIMultiDict([("Host", name), ("Origin", f"http://{name}")])
    assert is_foreign_page(make_request("POST", sent))


@pytest.mark.parametrize("names", ["X-Forwarded-For", "close, x-real-ip", "keep-alive,CF-Connecting-IP"])
def test_a_header_that_a_proxy_was_told_to_remove_marks_a_request_too(names: str) -> None:
    """RFC 9110 7.6.1: what `Connection` names is removed on the way, so a caller behind a proxy may name the
    header that would give it away."""
    assert find_mark(("Connection", names)) == "Connection"


@pytest.mark.parametrize("value", ["close", "keep-alive, Upgrade", "", "TE, close"])
def test_an_ordinary_connection_header_marks_nothing(value: str) -> None:
    assert find_mark(("Connection", value)) == ""


@pytest.mark.parametrize(("port", "foreign"), [(3000, False), (5173, True)])
def test_a_page_of_a_server_on_another_port_is_foreign_even_if_that_server_passes_it_on(
    port: int, *, foreign: bool
) -> None:
    sent = CIMultiDict([("Host", f"localhost:{port}"), ("Origin", f"http://localhost:{port}")])
    assert is_foreign_page(make_request("POST", sent)) is foreign
