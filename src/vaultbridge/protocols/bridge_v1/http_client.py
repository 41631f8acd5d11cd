"""A small HTTP/1.1 client on asyncio streams: one request, one answer, one connection.

It exists because the stdio bridge must start fast, and a library would cost more than it saves
(ARCHITECTURE.md, "Tried and rejected"). It follows no redirects, uses no proxy and never retries: a request
may have had its effect although the answer was lost, so the caller decides. TLS is always verified.
"""

from __future__ import annotations

import asyncio
import os
import re
import socket
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Final

import msgspec

from vaultbridge.errors import EngineFailure, InvalidArgument, TimedOut
from vaultbridge.limits import KIB, MIB
from vaultbridge.protocols.http import LOOPBACK

if TYPE_CHECKING:
    import ssl

HEADER_BYTES: Final = 64 * KIB
"""The limit for all headers of one answer, and for a single line: what common servers accept themselves."""

ANSWER_BYTES: Final = 64 * MIB
"""The longest answer accepted: the largest attachment fits as base64."""

CONNECT_SECONDS: Final = 5.0
"""A server on this machine accepts in microseconds, one nearby in milliseconds."""

OUTCOME_UNKNOWN: Final = "It is not known whether it was done: check before you try again."
"""The hint for a request that changes something and whose answer was lost."""

TRUST_HINT: Final = "SSL_CERT_FILE can name a file with the certificate to trust."
"""OpenSSL reads this variable, as in other programs. There is no option to skip the check."""

# Parsed by hand, because `urllib.parse` alone takes a millisecond to import.
_ADDRESS: Final = re.compile(
    r"(?P<scheme>https?)://(?P<host>\[[0-9a-f:.%]+\]|[^\[\]:/?#]+)(:(?P<port>[0-9]{0,5}))?(?P<path>/[^?#]*)?",
    re.IGNORECASE,
)


class _TooLarge(Exception):
    pass


class HttpAnswer(msgspec.Struct, frozen=True):
    """The answer to a request. Header names are in lower case; if one is repeated, the last counts."""

    status: int
    headers: dict[str, str]
    body: bytes


class Address(msgspec.Struct, frozen=True):
    secure: bool
    host: str
    port: int
    path: str

    @property
    def is_loopback(self) -> bool:
        return self.host in LOOPBACK

    @property
    def authority(self) -> str:
        host = f"[{self.host}]" if ":" in self.host else self.host
        return f"{host}:{self.port}"

    def __str__(self) -> str:
        return f"http{'s' if self.secure else ''}://{self.authority}{self.path}"


def parse_address(url: str) -> Address:
    """Raises InvalidArgument for anything but a plain http or https address."""
    if "@" in url.partition("://")[2].partition("/")[0]:
        # The address is not repeated: it may contain a password.
        raise InvalidArgument("An address may not contain a user name or a password.", argument="url")
    if not all("!" <= char <= "~" for char in url):
        raise InvalidArgument(
            f"{url[:100]!r} contains a space or a letter that an address cannot have.",
            argument="url",
            hint="Write other letters as %C3%A9 in a path, and as xn--… in a host name.",
        )
    parts = _ADDRESS.fullmatch(url)
    port = int(parts["port"] or 0) if parts else 0
    if parts is None or port > 65535:
        raise InvalidArgument(
            f"{url[:100]!r} is not the address of a server.",
            argument="url",
            hint="An address looks like http://127.0.0.1:3000.",
        )
    secure = parts["scheme"].lower() == "https"
    host = parts["host"].strip("[]").lower()
    return Address(secure, host, port or (443 if secure else 80), (parts["path"] or "").rstrip("/"))


async def send_request(
    to: Address,
    method: str,
    path: str,
    *,
    headers: Mapping[str, str],
    body: bytes = b"",
    seconds: float,
    connect_seconds: float = CONNECT_SECONDS,
    certificate: str = "",
) -> HttpAnswer:
    """Send one request and read its whole answer. Raises EngineFailure when there is no usable one, TimedOut
    after `seconds`. With `certificate`, the SHA-256 of one in hexadecimal, the server must present exactly
    that certificate, whoever signed it."""
    hint = "" if method in ("GET", "HEAD") else OUTCOME_UNKNOWN
    try:
        async with asyncio.timeout(seconds):
            pinned = _pinning_context() if certificate else None
            reader, writer = await _connect(to, min(connect_seconds, seconds), pinned)
            try:
                if certificate:
                    _check_certificate(to, writer, certificate)
                writer.write(_encode_head(to, method, path, headers, len(body)) + body)
                # We do not drain, because a server may refuse a large body before it has read all of it.
                return await _read_answer(reader, method)
            except _TooLarge:
                raise EngineFailure(
                    f"{to} sent an answer of more than {ANSWER_BYTES} bytes.", hint="Ask for less at a time."
                ) from None
            except (OSError, EOFError, ValueError) as error:
                raise EngineFailure(
                    f"{to} broke off its answer: {_describe_reason(error)}.", hint=hint
                ) from error
            finally:
                writer.transport.abort()
    except TimeoutError:
        raise TimedOut(f"{to} did not answer within {seconds:g} s.", hint=hint) from None


async def _connect(
    to: Address, seconds: float, pinned: ssl.SSLContext | None = None
) -> tuple[asyncio.StreamReader, asyncio.StreamWriter]:
    try:
        async with asyncio.timeout(seconds):
            return await asyncio.open_connection(
                to.host, to.port, ssl=(pinned or _tls_context()) if to.secure else None, limit=HEADER_BYTES
            )
    except TimeoutError:
        raise TimedOut(f"{to} could not be reached within {seconds:g} s.") from None
    except (OSError, UnicodeError) as error:
        hint = TRUST_HINT if getattr(error, "verify_message", "") else ""
        raise EngineFailure(f"{to} cannot be reached: {_describe_reason(error)}.", hint=hint) from error


@cache
def _tls_context() -> ssl.SSLContext:
    """Created once: it reads every certificate authority of the system."""
    import ssl

    return ssl.create_default_context()


@cache
def _pinning_context() -> ssl.SSLContext:
    """For a server whose certificate is compared with a known one instead of being verified."""
    import ssl

    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    return context


def _check_certificate(to: Address, writer: asyncio.StreamWriter, certificate: str) -> None:
    import hashlib
    import hmac

    tls = writer.get_extra_info("ssl_object")
    data = tls.getpeercert(binary_form=True) if tls is not None else None
    shown = hashlib.sha256(data or b"").hexdigest()
    if not hmac.compare_digest(shown, certificate.lower()):
        raise EngineFailure(f"{to} did not present the expected certificate.")


def _describe_reason(error: Exception) -> str:
    """Return the reason in words that contain no path."""
    # This comes first, because a failed verification is a ValueError too.
    verify = getattr(error, "verify_message", "")
    if verify:
        return f"its certificate is not trusted ({verify})"
    if getattr(error, "library", ""):
        # An SSLError, recognized by its fields so that `ssl` need not be imported.
        return "it does not speak TLS, or not a version that we speak"
    if isinstance(error, socket.gaierror | UnicodeError):
        return "that host name is unknown"
    if isinstance(error, EOFError):
        return "the connection was closed"
    if isinstance(error, ValueError):
        return "it is not HTTP"
    number = getattr(error, "errno", None)
    return os.strerror(number).lower() if isinstance(number, int) and number > 0 else "there is no answer"


def _encode_head(to: Address, method: str, path: str, headers: Mapping[str, str], length: int) -> bytes:
    lines = [f"{method} {to.path}{path} HTTP/1.1", f"Host: {to.authority}", "Connection: close"]
    lines += [f"{name}: {value}" for name, value in headers.items()]
    if length or method == "POST":
        lines.append(f"Content-Length: {length}")
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


async def _read_answer(reader: asyncio.StreamReader, method: str) -> HttpAnswer:
    status, headers = await _read_head(reader)
    while 100 <= status < 200:
        status, headers = await _read_head(reader)
    if method == "HEAD" or status in (204, 304):
        return HttpAnswer(status, headers, b"")
    if "chunked" in headers.get("transfer-encoding", "").lower():
        return HttpAnswer(status, headers, await _read_chunks(reader))
    if "content-length" in headers:
        return HttpAnswer(
            status, headers, await reader.readexactly(_check_size(int(headers["content-length"])))
        )
    return HttpAnswer(status, headers, await _read_rest(reader))


async def _read_head(reader: asyncio.StreamReader) -> tuple[int, dict[str, str]]:
    first = (await _read_line(reader)).split(" ", 2)
    if len(first) < 2 or not first[0].startswith("HTTP/1.") or not first[1].isdigit():
        raise ValueError("no status line")
    headers: dict[str, str] = {}
    total = 0
    while line := await _read_line(reader):
        total += len(line)
        name, colon, value = line.partition(":")
        if not colon or total > HEADER_BYTES:
            raise ValueError("no header")
        headers[name.strip().lower()] = value.strip()
    return int(first[1]), headers


async def _read_line(reader: asyncio.StreamReader) -> str:
    # `readline` turns a line beyond the limit into a ValueError.
    line = await reader.readline()
    if not line.endswith(b"\n"):
        raise EOFError
    return line.rstrip(b"\r\n").decode("latin-1")


async def _read_chunks(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while size := int((await _read_line(reader)).partition(";")[0], 16):
        _check_size(len(body) + size)
        body += await reader.readexactly(size)
        await reader.readexactly(2)
    while await _read_line(reader):
        pass
    return bytes(body)


async def _read_rest(reader: asyncio.StreamReader) -> bytes:
    body = bytearray()
    while chunk := await reader.read(HEADER_BYTES):
        body += chunk
        _check_size(len(body))
    return bytes(body)


def _check_size(size: int) -> int:
    if not 0 <= size <= ANSWER_BYTES:
        raise _TooLarge
    return size
