"""Gets the vectors of texts from an OpenAI-compatible endpoint (`POST …/embeddings`).

One client is used by one thread and keeps its connection open between requests. A request has one deadline
for everything, enforced by a timer that closes the socket: otherwise a server that sends a byte a second
could occupy its caller for hours. Redirects are not followed, because the key must not reach another address.
A server's error messages are neither shown nor logged, because some repeat the key.
"""

from __future__ import annotations

import contextlib
import http.client
import math
import socket
import ssl
import threading
from collections.abc import Sequence
from typing import Final
from urllib.parse import urlsplit

import msgspec
from msgspec import Struct

from vaultbridge.embeddings.settings import EmbeddingSettings

ANSWER_BYTES: Final = 32 * 1024 * 1024
"""The largest answer that is read: 64 passages of 4,096 numbers take 6 MB as text."""

CONNECT_SECONDS: Final = 5.0
"""How long connecting may take; the rest of a request may take longer."""

DIMENSIONS: Final = 16_384
"""The longest vector that is accepted: four times as long as that of any known model."""


class EndpointFailed(Exception):
    """The endpoint returned no vectors. The text says why, for people, and never contains a key. `refused`:
    these texts were refused, but others may be accepted. `permanent`: trying again soon cannot help. `slow`:
    with fewer texts there might have been an answer in time."""

    def __init__(
        self, why: str, *, refused: bool = False, permanent: bool = False, slow: bool = False
    ) -> None:
        super().__init__(why)
        self.refused = refused
        self.permanent = permanent
        self.slow = slow


UNNUMBERED: Final = -1
"""The index of vectors from servers that leave it out; they are in the order of the texts."""


class _Item(Struct):
    embedding: list[float]
    index: int = UNNUMBERED


class _Reply(Struct):
    data: list[_Item]


_decode = msgspec.json.Decoder(_Reply).decode


class EmbeddingClient:
    """For one thread. `interrupt` may be called from any other."""

    def __init__(self, settings: EmbeddingSettings) -> None:
        self._settings = settings
        parts = urlsplit(settings.url)
        self._host = parts.hostname or ""
        self._port = parts.port
        self._secure = parts.scheme == "https"
        path = parts.path.rstrip("/")
        self._path = path if path.endswith("/embeddings") else f"{path}/embeddings"
        self._connection: http.client.HTTPConnection | None = None
        self._interrupted = False

    def embed(self, texts: Sequence[str]) -> list[list[float]]:
        """Return one vector for each text, all of the same length. Raises EndpointFailed."""
        body: dict[str, object] = {
            "model": self._settings.model,
            "input": list(texts),
            "encoding_format": "float",
        }
        if self._settings.dimensions:
            body["dimensions"] = self._settings.dimensions
        return _read_vectors(self._post(msgspec.json.encode(body)), len(texts))

    def close(self) -> None:
        connection, self._connection = self._connection, None
        if connection is not None:
            with contextlib.suppress(OSError):
                connection.close()

    def interrupt(self) -> None:
        """Cut off a request under way, from another thread: it and all later ones raise EndpointFailed."""
        self._interrupted = True
        connection = self._connection
        if connection is not None:
            _shut(connection)

    def _post(self, body: bytes) -> bytes:
        reused = self._connection is not None
        try:
            return self._exchange(body)
        except (http.client.RemoteDisconnected, BrokenPipeError, ConnectionResetError) as error:
            self.close()
            # A connection that was idle may have been closed by the server in the meantime.
            if not reused:
                raise EndpointFailed(_describe(error), slow=isinstance(error, TimeoutError)) from None
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise EndpointFailed(_describe(error), slow=isinstance(error, TimeoutError)) from None
        try:
            return self._exchange(body)
        except (OSError, http.client.HTTPException) as error:
            self.close()
            raise EndpointFailed(_describe(error), slow=isinstance(error, TimeoutError)) from None

    def _exchange(self, body: bytes) -> bytes:
        connection = self._connection
        if connection is None:
            connection = self._connection = self._connect()
        if self._interrupted:
            raise EndpointFailed("the vault is being closed")
        seconds = self._settings.timeout_seconds
        late = threading.Event()

        def end() -> None:
            late.set()
            _shut(connection)

        timer = threading.Timer(seconds, end)
        timer.daemon = True
        timer.start()
        try:
            headers = {"Content-Type": "application/json", "Accept": "application/json"}
            if self._settings.key:
                headers["Authorization"] = f"Bearer {self._settings.key}"
            connection.request("POST", self._path, body, headers)
            answer = connection.getresponse()
            data = answer.read(ANSWER_BYTES + 1)
        except (OSError, http.client.HTTPException, AttributeError) as error:
            # AttributeError: the timer closed the connection while http.client was using it.
            self.close()
            if late.is_set():
                raise EndpointFailed(f"no answer within {seconds:g} seconds", slow=True) from None
            if isinstance(error, AttributeError):
                raise EndpointFailed("the connection was closed") from None
            raise
        finally:
            timer.cancel()
        if len(data) > ANSWER_BYTES or answer.will_close:
            self.close()
        if answer.status != 200:
            self.close()
            raise _explain_status(answer.status)
        if len(data) > ANSWER_BYTES:
            raise EndpointFailed(f"the answer has more than {ANSWER_BYTES} bytes", permanent=True)
        return data

    def _connect(self) -> http.client.HTTPConnection:
        seconds = min(CONNECT_SECONDS, self._settings.timeout_seconds)
        if self._secure:
            context = ssl.create_default_context()
            made: http.client.HTTPConnection = http.client.HTTPSConnection(
                self._host, self._port, timeout=seconds, context=context
            )
        else:
            made = http.client.HTTPConnection(self._host, self._port, timeout=seconds)
        made.connect()
        made.sock.settimeout(self._settings.timeout_seconds)
        return made


def _shut(connection: http.client.HTTPConnection) -> None:
    sock = connection.sock
    if sock is not None:
        with contextlib.suppress(OSError):
            sock.shutdown(socket.SHUT_RDWR)


def _describe(error: Exception) -> str:
    if isinstance(error, TimeoutError):
        return "no answer in time"
    if isinstance(error, ConnectionRefusedError):
        return "nothing listens at that address"
    if isinstance(error, socket.gaierror):
        return "the host's name is unknown"
    if isinstance(error, ssl.SSLError):
        return "the certificate or the TLS connection is not usable"
    if isinstance(error, http.client.HTTPException):
        return "the answer is not HTTP, or ended too early"
    return "the connection failed"


def _explain_status(status: int) -> EndpointFailed:
    if 300 <= status < 400:
        return EndpointFailed(
            f"it redirects elsewhere (HTTP {status}), which is not followed; set url to that address",
            permanent=True,
        )
    if status in (401, 403):
        return EndpointFailed(f"it refuses the key (HTTP {status}); see key_env", permanent=True)
    if status in (404, 405):
        return EndpointFailed(f"no such address or model (HTTP {status}); see url and model", permanent=True)
    if status in (400, 413, 422):
        return EndpointFailed(f"it refuses the texts (HTTP {status})", refused=True)
    if status == 429:
        return EndpointFailed("it asks to be called less often (HTTP 429)")
    return EndpointFailed(f"it failed (HTTP {status})")


def _read_vectors(data: bytes, count: int) -> list[list[float]]:
    try:
        items = _decode(data).data
    except (msgspec.DecodeError, UnicodeDecodeError):
        raise EndpointFailed("the answer is not a list of embeddings", permanent=True) from None
    if len(items) != count:
        raise EndpointFailed(f"{count} texts were sent and {len(items)} vectors came back", permanent=True)
    numbers = sorted(item.index for item in items)
    if numbers == list(range(count)):
        items = sorted(items, key=lambda item: item.index)
    elif count > 1 and numbers != [UNNUMBERED] * count:
        # Otherwise a vector could be taken for that of another text, and nobody would notice.
        raise EndpointFailed("the vectors are not numbered as the texts were sent", permanent=True)
    vectors = [item.embedding for item in items]
    lengths = {len(vector) for vector in vectors}
    if len(lengths) != 1 or not 1 <= next(iter(lengths)) <= DIMENSIONS:
        raise EndpointFailed("the vectors of one answer differ in length, or are empty", permanent=True)
    if not all(math.isfinite(number) for vector in vectors for number in vector):
        raise EndpointFailed("a vector contains a number that is not finite", permanent=True)
    return vectors
