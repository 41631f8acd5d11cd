"""The settings of a WebSocket transport, checked once, and the delays between attempts. Pure.

`WebSocketOptions` are the keyword arguments, `WebSocketSettings` the checked values with their defaults, and
`read_settings` accepts the keys of the plugin interface too (`reconnectAttempts`, `reconnectDelay` in
milliseconds). `make_backoff_delays` yields seconds; it never waits.
"""

from __future__ import annotations

import os
import re
import ssl
from collections.abc import Callable, Iterator, Mapping
from typing import Any, Final, TypedDict
from urllib.parse import SplitResult, quote, urlsplit

import msgspec

from vaultbridge.client.websocket.queue import QUEUE_BYTES, QUEUE_MESSAGES
from vaultbridge.client.websocket.unacknowledged import IN_FLIGHT
from vaultbridge.errors import InvalidArgument
from vaultbridge.limits import MIB

LONGEST_DELAY: Final = 60.0
"""The longest delay, in seconds. After a minute, either a person has given up or the server will not return
on its own. Without a limit, doubling reaches hours within a dozen attempts."""


def make_backoff_delays(
    attempts: int,
    base: float,
    *,
    longest: float = LONGEST_DELAY,
    jitter: float = 0.0,
    random: Callable[[], float] = lambda: 0.5,
) -> Iterator[float]:
    """Yield the seconds to wait before each of `attempts` attempts: 0, base·2⁰, base·2¹, base·2² …

    The first attempt is immediate: most connections are lost because a server restarts or a laptop wakes.
    `jitter` is the share of a delay that is spread evenly around it (0.2 means 0.9 to 1.1 times the delay),
    so that the clients of one server do not all return at once. `random` gives numbers in [0, 1).
    """
    for attempt in range(attempts):
        if attempt == 0:
            yield 0.0
            continue
        # The exponent needs a limit too: 2.0 ** 1100 overflows, and a patient caller gets that far.
        delay = min(base * 2.0 ** min(attempt - 1, 64), longest)
        yield delay * (1.0 + jitter * (random() - 0.5))


MESSAGE_BYTES: Final = 10 * MIB
"""The largest message in either direction: as much as our own server accepts."""

OVERSIZE_FACTOR: Final = 4
"""A message above the limit is still read up to this multiple of it, so that only its own request fails.
Beyond that the connection is closed with code 1009."""

CONNECT_SECONDS: Final = 10.0
"""For TCP, TLS and the upgrade together: enough for several round trips around the world."""

CLOSE_SECONDS: Final = 5.0
"""How long a server may take to answer our close frame before the connection is cut."""

HEARTBEAT_SECONDS: Final = 30.0
"""Silence after which we ping the server. Most middleboxes forget an idle connection after 60 s."""

PONG_SECONDS: Final = 20.0
"""How long the pong may take: a server busy with a long call may not read for some seconds."""

STABLE_SECONDS: Final = 5.0
"""A connection that lasted this long counts as a success and resets the attempts. Otherwise we would connect
in an endless loop to a server that accepts and drops at once."""

ATTEMPTS_MOST: Final = 1_000_000
"""More attempts than anyone will see. The bound exists to report typing errors."""


class WebSocketOptions(TypedDict, total=False):
    """The keyword arguments of `WebSocketTransport`; `WebSocketSettings` documents each."""

    protocols: tuple[str, ...] | list[str]
    reconnect_attempts: int
    reconnect_delay: float
    reconnect_longest: float
    jitter: float
    stable_after: float
    headers: Mapping[str, str]
    ssl_context: ssl.SSLContext | None
    ca_file: str | os.PathLike[str] | None
    connect_timeout: float
    request_timeout: float | None
    close_timeout: float
    heartbeat: float | None
    heartbeat_timeout: float
    max_message_bytes: int
    max_queue_messages: int
    max_queue_bytes: int
    max_in_flight: int
    compression: bool
    binary: bool
    queue_file: str | os.PathLike[str] | None


class WebSocketSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    url: str
    protocols: tuple[str, ...] = ("mcp",)
    """Subprotocols to offer, the preferred one first; empty for none."""
    reconnect_attempts: int = 3
    reconnect_delay: float = 1.0
    """Seconds before the second attempt; each later one waits twice as long. The first is immediate."""
    reconnect_longest: float = LONGEST_DELAY
    jitter: float = 0.0
    """Share of each delay that is random, 0 to 1."""
    stable_after: float = STABLE_SECONDS
    headers: Mapping[str, str] = {}
    ssl_context: ssl.SSLContext | None = None
    """For wss: your own context (client certificates, pinned authorities)."""
    ca_file: str | None = None
    """For wss: a PEM file of authorities to trust instead of the system's."""
    connect_timeout: float = CONNECT_SECONDS
    request_timeout: float | None = None
    """Seconds after `send` until an unanswered request gets an error instead. None: no limit."""
    close_timeout: float = CLOSE_SECONDS
    heartbeat: float | None = HEARTBEAT_SECONDS
    """Seconds of silence before a ping; None for no heartbeat."""
    heartbeat_timeout: float = PONG_SECONDS
    max_message_bytes: int = MESSAGE_BYTES
    max_queue_messages: int = QUEUE_MESSAGES
    max_queue_bytes: int = QUEUE_BYTES
    max_in_flight: int = IN_FLIGHT
    compression: bool = False
    """Offer permessage-deflate."""
    binary: bool = False
    """Send messages as binary frames (UTF-8 JSON). Both kinds are always accepted."""
    queue_file: str | None = None
    """A SQLite file for the queue, so that it survives the process."""

    def __post_init__(self) -> None:
        check_url(self.url)
        check_protocols(self.protocols)
        if not 0 <= self.reconnect_attempts <= ATTEMPTS_MOST:
            raise _make_error("reconnect_attempts", f"from 0 to {ATTEMPTS_MOST}", self.reconnect_attempts)
        if not 0 <= self.jitter <= 1:
            raise _make_error("jitter", "a number from 0 to 1", self.jitter)
        for name in ("reconnect_delay", "reconnect_longest", "stable_after"):
            if not 0 <= getattr(self, name) < float("inf"):
                raise _make_error(name, "a number of seconds, 0 or more", getattr(self, name))
        for name in ("connect_timeout", "request_timeout", "close_timeout", "heartbeat", "heartbeat_timeout"):
            value = getattr(self, name)
            if value is not None and not 0 < value < float("inf"):
                raise _make_error(name, "a number of seconds above 0", value)
        for name in ("max_message_bytes", "max_queue_messages", "max_queue_bytes", "max_in_flight"):
            if getattr(self, name) < 1:
                raise _make_error(name, "1 or more", getattr(self, name))
        if self.ssl_context is not None and self.ca_file is not None:
            raise InvalidArgument("ssl_context and ca_file cannot be combined.", argument="ca_file")
        check_headers(self.headers)


def make_settings(url: str, options: Mapping[str, Any]) -> WebSocketSettings:
    """Check keyword arguments. Raises InvalidArgument, which names the argument, its value and what is
    allowed."""
    check_url(url)
    values = {**options, "url": url}
    for name in ("ca_file", "queue_file"):
        if isinstance(values.get(name), os.PathLike):
            values[name] = os.fspath(values[name])
    try:
        return msgspec.convert(values, WebSocketSettings)
    except msgspec.ValidationError as error:
        raise InvalidArgument(f"The WebSocket settings are wrong: {error}.") from None


_PLUGIN_KEYS: Final = {"reconnectAttempts": "reconnect_attempts", "reconnectDelay": "reconnect_delay"}


def read_settings(config: Mapping[str, Any]) -> WebSocketSettings:
    """Read a mapping with the plugin interface's keys (delay in milliseconds) or our own (in seconds)."""
    if "url" not in config:
        raise InvalidArgument("The configuration has no url.", argument="url")
    values: dict[str, Any] = {}
    for key, value in config.items():
        name = _PLUGIN_KEYS.get(key, key)
        if name in values:
            raise InvalidArgument(f"{name} is given twice, once as {key}.", argument=key)
        if key == "reconnectDelay":
            if isinstance(value, bool) or not isinstance(value, int | float):
                raise _make_error(key, "a number of milliseconds", value)
            value = value / 1000
        values[name] = value
    return make_settings(values.pop("url"), values)


def check_url(url: str) -> None:
    if not isinstance(url, str) or not url.lower().startswith(("ws://", "wss://")):
        raise InvalidArgument("Invalid WebSocket URL: must start with ws:// or wss://", argument="url")
    parts = split_url(url, "WebSocket")
    if parts.fragment:
        # RFC 6455 section 3: fragment identifiers are meaningless and must not be used on these URIs.
        raise InvalidArgument("Invalid WebSocket URL: it must have no fragment", argument="url")


_NOT_IN_URLS: Final = re.compile(r"[\x00-\x20\x7f-\xa0\\<>\"`{}|^\ud800-\udfff]")
"""RFC 3986 section 2 has no place for these; `urlsplit` drops some of them and passes the others on."""

_BROKEN_ESCAPE: Final = re.compile(r"%(?![0-9A-Fa-f]{2})")


def split_url(url: str, kind: str) -> SplitResult:
    """Split a URL that must name a host. Raises InvalidArgument."""
    if wrong := next((char for char in url if _NOT_IN_URLS.match(char) or not char.isprintable()), None):
        raise _make_url_error(kind, f"it contains {wrong!r}, {_describe_escape(wrong)}")
    try:
        parts = urlsplit(url)
    except ValueError as error:
        raise _make_url_error(kind, str(error)) from None
    host = parts.hostname
    if not host:
        raise _make_url_error(kind, "it names no host")
    # The zone of an IPv6 address may follow a bare percent sign.
    if "%" in host and ":" not in host:
        raise _make_url_error(kind, "its host contains %")
    if not _is_host(host):
        raise _make_url_error(kind, f"{host!r} is not the name of a host")
    if not _has_usable_port(parts):
        raise _make_url_error(kind, "its port must be a number from 1 to 65535")
    if _BROKEN_ESCAPE.search(f"{parts.path}?{parts.query}#{parts.fragment}"):
        raise _make_url_error(kind, "a % must be followed by two hexadecimal digits")
    return parts


def _describe_escape(char: str) -> str:
    if "\ud800" <= char <= "\udfff":
        return "which an address cannot have"
    return f"which is written {quote(char)} there"


def _is_host(host: str) -> bool:
    try:
        return ":" in host or bool(host.encode("idna"))
    except UnicodeError:
        return False


def _has_usable_port(parts: SplitResult) -> bool:
    try:
        return parts.port != 0
    except ValueError:
        return False


def _make_url_error(kind: str, why: str) -> InvalidArgument:
    return InvalidArgument(f"Invalid {kind} URL: {why}", argument="url")


def check_headers(headers: Mapping[str, str]) -> None:
    """RFC 9110 section 5: a name is a token, a value one line. Raises InvalidArgument."""
    for name, value in headers.items():
        if not _is_token(name):
            raise InvalidArgument(f"{name!r} cannot name a header.", argument="headers")
        if any(char in value for char in "\r\n\0"):
            # The value may be a token, so it is not shown.
            raise InvalidArgument(f"The header {name!r} holds a line break.", argument="headers")


def check_protocols(protocols: tuple[str, ...]) -> None:
    """RFC 6455 section 4.1: each a token, none twice."""
    for protocol in protocols:
        if not _is_token(protocol):
            raise InvalidArgument(f"{protocol!r} cannot name a WebSocket subprotocol.", argument="protocols")
    if len(set(protocols)) != len(protocols):
        raise InvalidArgument("A subprotocol is offered twice.", argument="protocols")


def _is_token(text: str) -> bool:
    return bool(text) and all("!" <= char <= "~" and char not in _SEPARATORS for char in text)


_SEPARATORS: Final = frozenset('()<>@,;:\\"/[]?={} \t')


def _make_error(name: str, expected: str, value: object) -> InvalidArgument:
    return InvalidArgument(f"{name} must be {expected}, got {value!r}.", argument=name)
