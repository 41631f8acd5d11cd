"""The options of a transport, in our own form and in the seed's."""

from __future__ import annotations

import ssl
from pathlib import Path
from typing import Any, get_type_hints

import pytest

from vaultbridge.client.settings import WebSocketOptions, WebSocketSettings, make_settings, read_settings
from vaultbridge.errors import InvalidArgument


def test_the_defaults_are_the_seed_s() -> None:
    settings = make_settings("ws://localhost:8080", {})
    assert settings.protocols == ("mcp",)
    assert settings.reconnect_attempts == 3
    assert settings.reconnect_delay == 1.0


def test_the_seed_s_own_keys_are_read_with_milliseconds() -> None:
    settings = read_settings(
        {"url": "ws://localhost:8080", "protocols": ["mcp"], "reconnectAttempts": 5, "reconnectDelay": 500}
    )
    assert settings.reconnect_attempts == 5
    assert settings.reconnect_delay == 0.5


def test_both_spellings_of_keys_may_be_mixed_but_not_repeated() -> None:
    assert read_settings({"url": "ws://x", "reconnectDelay": 20, "heartbeat": None}).heartbeat is None
    with pytest.raises(InvalidArgument, match="given twice"):
        read_settings({"url": "ws://x", "reconnectAttempts": 1, "reconnect_attempts": 2})


@pytest.mark.parametrize("url", ["http://x", "localhost:8080", "", "ftp://x", "ws:/x", "wsx://y"])
def test_a_url_that_is_not_a_websocket_s_gets_the_seed_s_message(url: str) -> None:
    with pytest.raises(InvalidArgument) as refused:
        make_settings(url, {})
    assert str(refused.value) == "Invalid WebSocket URL: must start with ws:// or wss://"


@pytest.mark.parametrize(
    "url",
    [
        *("ws://", "ws://:80", "ws://x:99999", "ws://x#part", "ws://[bad"),
        *(
            "ws://a b",
            "ws://a\tb",
            "ws://a\nb/",
            " ws://a",
            "ws://a ",
            "ws://a/b c",
            "ws://a/\x00",
            "ws://a/\x7f",
        ),
        *("ws://%zz", "ws://a/%zz", "ws://a/%", "ws://a/%4", "ws://a?q=%gg", "ws://a%20b", "ws://%41"),
        *(
            "ws://a..b",
            "ws://" + "x" * 64,
            "ws://a\\b",
            'ws://a/"b"',
            "ws://<host>",
            "ws://a/{id}",
            "ws://a\ud800",
        ),
    ],
)
def test_a_malformed_url_is_refused(url: str) -> None:
    with pytest.raises(InvalidArgument, match="Invalid WebSocket URL"):
        make_settings(url, {})


@pytest.mark.parametrize(
    ("url", "reason"),
    [
        *(
            (f"ws://a:{port}", "its port must be a number from 1 to 65535")
            for port in ("b", "-1", "0", "65536")
        ),
        ("ws://a:1:2", "its port must be a number from 1 to 65535"),
        *((f"ws://{host}", f"{host!r} is not the name of a host") for host in (".", "a..b", "x" * 64)),
        ("ws://[::1", "Invalid IPv6 URL"),
        ("ws://a/\u2028", r"it contains '\u2028', which is written %E2%80%A8 there"),
        ("ws://a\u200b", r"it contains '\u200b', which is written %E2%80%8B there"),
        ("ws://a b", "it contains ' ', which is written %20 there"),
        ("ws://a\ud800", r"it contains '\ud800', which an address cannot have"),
    ],
)
def test_a_malformed_url_is_refused_in_words(url: str, reason: str) -> None:
    """Not in those of the standard library, which speaks of casts and codecs."""
    with pytest.raises(InvalidArgument) as refused:
        make_settings(url, {})
    assert str(refused.value) == f"Invalid WebSocket URL: {reason}"


@pytest.mark.parametrize(
    "url",
    [
        *(
            "ws://localhost:8080",
            "wss://api.example.com/mcp",
            "WS://X",
            "ws://[::1]:1/p?q=1",
            "ws://my_host.",
        ),
        *("ws://[fe80::1%eth0]:1", "ws://u:p@x/%C3%BC?a=%20&b=[1]", "ws://bücher.example/ü"),
    ],
)
def test_good_urls_are_accepted(url: str) -> None:
    assert make_settings(url, {}).url == url


@pytest.mark.parametrize(
    ("options", "named"),
    [
        ({"reconnect_attempts": -1}, "reconnect_attempts"),
        ({"reconnect_attempts": "3"}, "reconnect_attempts"),
        ({"reconnect_attempts": True}, "reconnect_attempts"),
        ({"reconnect_delay": -1}, "reconnect_delay"),
        ({"reconnect_delay": float("inf")}, "reconnect_delay"),
        ({"jitter": 2}, "jitter"),
        ({"connect_timeout": 0}, "connect_timeout"),
        ({"heartbeat": 0}, "heartbeat"),
        ({"max_queue_messages": 0}, "max_queue_messages"),
        ({"protocols": "mcp"}, "protocols"),
        ({"protocols": ["a b"]}, "subprotocol"),
        ({"protocols": [""]}, "subprotocol"),
        ({"protocols": ["a", "a"]}, "twice"),
        ({"headers": {"X": "a\r\nY: b"}}, "line break"),
        ({"headers": {"X": 1}}, "headers"),
        ({"unknown": 1}, "unknown"),
        ({"ssl_context": 1}, "ssl_context"),
    ],
)
def test_a_wrong_option_is_named(options: dict[str, Any], named: str) -> None:
    with pytest.raises(InvalidArgument, match=named):
        make_settings("ws://x", options)


def test_a_header_s_value_is_never_shown() -> None:
    with pytest.raises(InvalidArgument) as refused:
        make_settings("ws://x", {"headers": {"Authorization": "secret-token\n"}})
    assert "secret-token" not in str(refused.value)


def test_a_context_and_a_ca_file_exclude_each_other() -> None:
    with pytest.raises(InvalidArgument, match="ssl_context and ca_file cannot be combined"):
        make_settings("wss://x", {"ssl_context": ssl.create_default_context(), "ca_file": "x.pem"})


def test_paths_are_taken_as_paths_too() -> None:
    assert make_settings("ws://x", {"queue_file": Path("a") / "b"}).queue_file == str(Path("a") / "b")


def test_a_mapping_without_a_url_or_with_a_wrong_delay_is_refused() -> None:
    with pytest.raises(InvalidArgument, match="no url"):
        read_settings({})
    with pytest.raises(InvalidArgument, match="milliseconds"):
        read_settings({"url": "ws://x", "reconnectDelay": "1000"})


def test_every_option_is_a_setting_and_documented_the_same() -> None:
    assert set(get_type_hints(WebSocketOptions)) | {"url"} == set(WebSocketSettings.__struct_fields__)
