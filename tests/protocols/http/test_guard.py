"""Who may speak to a local server at all."""

from __future__ import annotations

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from vaultbridge.protocols.http.guard import HostGuard, explain_bad_host, explain_bad_origin


@pytest.mark.parametrize(
    "host", ["localhost", "localhost:3000", "127.0.0.1:3000", "[::1]:3000", "[::1]", "LocalHost:1"]
)
def test_loopback_hosts_pass(host: str) -> None:
    assert HostGuard().find_refusal(host, None) is None


@pytest.mark.parametrize(
    "host",
    [
        None,
        "",
        "evil.example",
        "localhost.evil.example",
        "127.0.0.1.nip.io",
        "127.0.0.2",
        "0.0.0.0",
        "[::2]",
        "evil.example:80@localhost",
    ],
)
def test_other_hosts_are_refused(host: str | None) -> None:
    """DNS rebinding: the name in the browser's address bar comes as Host."""
    assert HostGuard().find_refusal(host, None) is not None


@pytest.mark.parametrize(
    "origin",
    [
        "http://localhost",
        "http://localhost:5173",
        "https://127.0.0.1:1",
        "http://[::1]:3",
        "app://obsidian.md",
        "capacitor://localhost",
    ],
)
def test_pages_of_this_machine_and_apps_pass(origin: str) -> None:
    assert HostGuard().find_refusal("localhost", origin) is None


@pytest.mark.parametrize(
    "origin",
    [
        "http://evil.example",
        "https://localhost.evil.example",
        "http://evil.example#localhost",
        "http://localhost@evil.example",
        "http://localhost/path",
        "null",
        "",
        "file://",
        "chrome-extension://abc",
        "app://evil",
        "http://[::1",
        "http://localhost:notaport@evil.example",
    ],
)
def test_foreign_pages_are_refused(origin: str) -> None:
    guard = HostGuard()
    assert guard.find_refusal("localhost", origin) is not None
    assert guard.make_cors_headers(origin) == {}


def test_further_hosts_and_origins_can_be_named() -> None:
    guard = HostGuard(hosts=["notes.lan"], origins=["https://page.example/"])
    assert guard.find_refusal("notes.lan:3000", "https://notes.lan:3000") is None
    assert guard.find_refusal("notes.lan", "https://page.example") is None
    assert guard.find_refusal("page.example", None) is not None


def test_the_origin_rule_can_be_turned_off_but_not_the_host_rule() -> None:
    guard = HostGuard(any_origin=True)
    assert guard.find_refusal("localhost", "http://evil.example") is None
    assert guard.find_refusal("evil.example", "http://evil.example") is not None


def test_an_allowed_page_may_read_the_answer_and_only_it() -> None:
    headers = HostGuard().make_cors_headers("http://localhost:5173")
    assert headers["Access-Control-Allow-Origin"] == "http://localhost:5173"
    assert headers["Vary"] == "Origin"
    assert "Mcp-Session-Id" in headers["Access-Control-Expose-Headers"]
    assert HostGuard().make_cors_headers(None) == {}


@pytest.mark.parametrize(
    "name", ["vault.home.arpa", "NAS", "10.0.0.7", "::1", "[fe80::1%eth0]", "xn--bcher-kva.de"]
)
def test_a_name_of_a_server_is_a_name_or_an_address(name: str) -> None:
    assert explain_bad_host(name) == ""


@pytest.mark.parametrize(
    "name", ["http://nas", "nas:3000", "[::1]:3000", "nas/", "*", "*.home", "a b", "b\xfccher.de"]
)
def test_a_host_name_that_no_request_can_have_is_reported(name: str) -> None:
    """Otherwise it would be in the list and let nobody in."""
    assert "without" in explain_bad_host(name)


@pytest.mark.parametrize(
    "origin", ["https://notes.example", "http://nas:8080/", "app://obsidian.md", "chrome-extension://abc"]
)
def test_an_origin_is_a_scheme_and_a_host(origin: str) -> None:
    assert explain_bad_origin(origin) == ""
    assert HostGuard(origins=[origin]).allows_origin(origin.rstrip("/"))


@pytest.mark.parametrize(
    "origin", ["notes.example", "https://", "https://a/page", "https://me@a", "https://*.a", "*", "null", ""]
)
def test_an_origin_that_no_page_can_have_is_reported(origin: str) -> None:
    assert explain_bad_origin(origin)


NAMES = st.sampled_from(("localhost", "127.0.0.1", "[::1]", "evil.example", "::1", "[::2]", ""))
ODD = st.text(st.sampled_from("[]:@/.%#?,\\ \t\0a1é") | st.characters(), max_size=6)


@given(
    before=st.just("") | ODD, name=NAMES, after=st.just("") | ODD | st.integers(0, 99999).map(":{}".format)
)
@example(before="", name="[::1]", after=".evil.com")
@example(before="", name="127.0.0.1", after=":80:evil")
@example(before="", name="localhost", after=":80@evil.example")
def test_a_host_is_a_known_name_with_or_without_a_port_and_nothing_else(
    before: str, name: str, after: str
) -> None:
    host = before + name + after
    known, colon, port = host.rpartition(":") if not host.endswith("]") else (host, "", "")
    bare = known if colon and port.isascii() and (port.isdigit() or not port) else host
    fits = bare.lower() in ("localhost", "127.0.0.1", "[::1]") and (
        bare == host or (len(port) <= 5 and int(port or 0) <= 65535)
    )
    assert (HostGuard().find_refusal(host, None) is None) == fits
    assert HostGuard().allows_origin(f"http://{host}") == fits


def test_a_refusal_names_the_option_that_would_allow_it() -> None:
    guard = HostGuard()
    assert "--allow-host" in str(guard.find_refusal("evil.example", None))
    assert "--allow-origin" in str(guard.find_refusal("localhost", "https://evil.example"))
