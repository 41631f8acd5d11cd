"""The Streamable HTTP transport: one POST per message, answers as JSON or as an event stream.

It supports versions with a session and without. With a handshake it stores the session id, opens the server's
own stream (GET) and resumes an event stream that ended early. From 2026-07-28 on there is no session, and
ending a POST cancels its request. A message is sent once: a failure is reported, never retried.
"""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import ssl
from collections.abc import Coroutine, Iterator, Mapping
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from vaultbridge.client import redirects
from vaultbridge.client.errors import (
    ConnectFailed,
    ConnectionLost,
    InvalidMessage,
    QueueFull,
    ToolRefused,
    TransportClosed,
    UnknownAnswer,
)
from vaultbridge.client.http import wire
from vaultbridge.client.http.wire import EventReader, Marked
from vaultbridge.client.messages import Message, MessageKind, RequestId, decode, read_answered_id
from vaultbridge.client.settings import (
    CLOSE_SECONDS,
    CONNECT_SECONDS,
    LONGEST_DELAY,
    MESSAGE_BYTES,
    check_headers,
    make_backoff_delays,
    split_url,
)
from vaultbridge.client.transport import ALIVE_SECONDS, Callbacks, PendingRequests
from vaultbridge.errors import InvalidArgument, VaultbridgeError
from vaultbridge.protocols.mcp.versions import SESSION_HEADER, VERSION_HEADER

if TYPE_CHECKING:
    import aiohttp


def format_status(response: aiohttp.ClientResponse) -> str:
    return f"HTTP {response.status} {response.reason or ''}".rstrip()


def describe_cause(error: BaseException) -> str:
    """Describe an error in our own words: the library's texts contain addresses, and its class names help
    nobody."""
    import aiohttp

    cause = getattr(error, "os_error", error)
    if isinstance(cause, ConnectionRefusedError):
        return "connection refused"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return "it ended the connection without an answer"
    if isinstance(error, aiohttp.ClientPayloadError):
        return "its answer was cut short"
    if isinstance(error, aiohttp.ClientResponseError):
        return "it answered with something that is not HTTP"
    if isinstance(cause, OSError) and cause.strerror:
        return cause.strerror.lower()
    return "timed out" if isinstance(error, TimeoutError) else type(error).__name__


POSTS: Final = 256
"""Concurrent requests: each uses its own connection."""

RESUMES: Final = 5
"""Attempts to resume one event stream before its request fails."""

RESUME_DELAY: Final = 1.0
"""Seconds before the second attempt to resume, unless the server names a delay."""

SHORTEST_DELAY: Final = 0.1
"""The least delay that a server can ask for: with none, a server that ends each stream at once would keep us
busy for as long as it likes."""

ACCEPT_SECONDS: Final = 10.0
"""How long a server may take to accept a message that gets no answer: it has nothing to do but to read it."""


STREAM_SECONDS: Final = 2.0
"""How long the first requests wait for the server's own stream: a server may send over it what it asks while
it answers them, or the answer itself. One that opens it only with its first event must not hold them up."""


class StreamableHttpTransport(Callbacks):
    """See `Transport` for the promises. Connected means ready to post: HTTP keeps no connection open."""

    def __init__(
        self,
        url: str,
        *,
        headers: Mapping[str, str] | None = None,
        ssl_context: ssl.SSLContext | None = None,
        connect_timeout: float = CONNECT_SECONDS,
        max_message_bytes: int = MESSAGE_BYTES,
    ) -> None:
        super().__init__()
        if not url.lower().startswith(("http://", "https://")):
            raise InvalidArgument("Invalid HTTP URL: must start with http:// or https://", argument="url")
        split_url(url, "HTTP")
        check_headers(headers or {})
        self.url = url
        self.session_id: str | None = None
        self.listening = asyncio.Event()
        """Set once the server's own stream is open, over which notifications arrive. Not every server has
        one."""
        self._stream_known = asyncio.Event()
        """Cleared while it is open whether the server has a stream of its own."""
        self._stream_known.set()
        self._headers = dict(headers or {})
        self._ssl = ssl_context
        self._connect_timeout = connect_timeout
        self._max_message_bytes = max_message_bytes
        self._requests = PendingRequests(max_message_bytes)
        self._posts: dict[RequestId, asyncio.Task[None]] = {}
        self._tasks: set[asyncio.Task[None]] = set()
        self._version: str | None = None
        self._initialize_id: RequestId | None = None
        self._listings: set[RequestId] = set()
        self._marked: dict[str, Marked] = {}
        self._http: aiohttp.ClientSession | None = None

    @property
    def queue_size(self) -> int:
        """Always 0: a message is posted at once, or refused."""
        return 0

    async def start(self) -> None:
        import aiohttp

        if not self._life.allows("start"):
            raise TransportClosed("This transport has already been started.")
        self._move("start")
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=POSTS + 8, ssl=self._ssl or True),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_timeout),
            trace_configs=[redirects.make_redirect_guard()],
        )
        self._move("opened")

    async def send(self, message: object) -> None:
        """Post a request in the background, or any other message before returning.

        Raises InvalidMessage, QueueFull, TransportClosed, and for a message without an answer whatever went
        wrong with it (all also reported to `on_error`).
        """
        try:
            if not self.is_connected:
                raise TransportClosed("The transport is not open.")
            kind, value, data = self._requests.register(message, asyncio.get_running_loop().time())
            if kind is MessageKind.REQUEST:
                # Only requests are limited: a message that cancels one must get through.
                if len(self._posts) >= POSTS:
                    self._requests.forget(value["id"])
                    raise QueueFull(f"{POSTS} requests have no answer yet.", hint="Wait for an answer.")
                self._prepare_request(value)
                task = self._spawn(self._post_request(value, data))
                self._posts[value["id"]] = task
            else:
                await self._post_other(value, data)
        except VaultbridgeError as error:
            self._report(error)
            raise

    async def is_alive(self, patience: float = ALIVE_SECONDS) -> bool:
        """Whether the URL answers over HTTP within `patience` seconds, with any status."""
        import aiohttp

        if self._http is None or not self.is_connected:
            return False
        try:
            check = self._http.options(self.url, headers=self._headers, allow_redirects=False)
            async with asyncio.timeout(patience), check:
                return True
        except (TimeoutError, aiohttp.ClientError, OSError):
            return False

    async def close(self) -> None:
        """End the session and the transport. May be called at any time, repeatedly, and from a callback."""
        if not self._life.allows("close"):
            await self._wait_for_end(self._tasks)
            return
        me = self._closer = asyncio.current_task()
        self._move("close")
        tasks = [task for task in self._tasks if task is not me]
        for task in tasks:
            task.cancel()
        try:
            if tasks:
                await asyncio.wait(tasks, timeout=CLOSE_SECONDS)
            if self._http is not None:
                await self._end_session(self._http)
                await self._http.close()
        finally:
            for answer in self._requests.fail_all("The transport was closed before the answer came"):
                await self._deliver(answer)
            self._move("closed")
            self._ended.set()
            self._call_on_close()

    async def _end_session(self, http: aiohttp.ClientSession) -> None:
        """2025-11-25, Session Management: a client that leaves SHOULD delete its session."""
        import aiohttp

        if self.session_id is None:
            return
        with contextlib.suppress(TimeoutError, aiohttp.ClientError, OSError, ConnectFailed):
            async with asyncio.timeout(CLOSE_SECONDS), http.delete(self.url, headers=self._common_headers()):
                pass

    def _prepare_request(self, message: Message) -> None:
        if message["method"] == "initialize":
            # 2025-11-25, Session Management: a new session starts without the id of a lost one.
            self._initialize_id, self._version, self.session_id = message["id"], None, None
        elif message["method"] == "tools/list" and wire.read_version(message) is not None:
            self._listings.add(message["id"])

    async def _post_other(self, message: Message, data: bytes) -> None:
        """Post a message that gets no answer.

        From 2026-07-28 on, a request is cancelled simply by ending its POST. Before, a notification cancels
        it, and its POST must be ended too: there may never be an answer, and the POST would occupy its slot
        forever.
        """
        is_cancellation = message.get("method") == "notifications/cancelled"
        try:
            if not is_cancellation or self._version is not None:
                await self._post_unanswered(message, data)
        finally:
            if is_cancellation:
                self._end_post(message.get("params"))

    def _end_post(self, params: Any) -> None:
        request_id = params.get("requestId") if isinstance(params, dict) else None
        post = self._posts.pop(request_id, None) if isinstance(request_id, str | int) else None
        if post is not None:
            post.cancel()

    async def _post_unanswered(self, message: Message, data: bytes) -> None:
        import aiohttp

        assert self._http is not None
        try:
            post = self._http.post(self.url, data=data, headers=self._post_headers(message))
            async with asyncio.timeout(ACCEPT_SECONDS), post as response:
                if response.status >= 400:
                    subject = message.get("method", "an answer")
                    raise ConnectionLost(f"The server refused {subject!r}: {format_status(response)}.")
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise ConnectFailed(f"Cannot post to {self._host()}: {describe_cause(error)}.") from None
        if message.get("method") == "notifications/initialized" and self.session_id is not None:
            self._stream_known.clear()
            self._spawn(self._listen())

    async def _post_request(self, message: Message, data: bytes) -> None:
        import aiohttp

        request_id: RequestId = message["id"]
        why = "The request was cancelled before its answer came"
        reason = ""
        try:
            assert self._http is not None
            if not self._stream_known.is_set():
                await self._wait_for_stream()
            async with self._http.post(self.url, data=data, headers=self._post_headers(message)) as response:
                why = await self._read_answer(response, request_id)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            why = f"Cannot post to {self._host()}: {describe_cause(error)}"
            self._report(ConnectFailed(f"{why}."))
        except ConnectFailed as error:  # a redirect that is not followed
            why = error.message.rstrip(".")
            self._report(error)
        except InvalidMessage as error:
            why = f"The server's answer was refused: {error.message}"
            reason = error.reason
            self._report(error)
        finally:
            self._posts.pop(request_id, None)
            self._listings.discard(request_id)
            failed = self._requests.fail(request_id, why, reason=reason)
            if failed is not None:
                await self._deliver(failed)

    async def _wait_for_stream(self) -> None:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(STREAM_SECONDS):
                await self._stream_known.wait()
        self._stream_known.set()

    async def _read_answer(self, response: aiohttp.ClientResponse, request_id: RequestId) -> str:
        """Deliver what the POST returns. The result says why there was no answer, if there was none."""
        kind = response.content_type
        if response.status >= 400:
            await self._read_refusal(response, request_id)
            return f"The server refused the request: {format_status(response)}"
        if request_id == self._initialize_id:
            self.session_id = response.headers.get(SESSION_HEADER) or None
            if self.session_id is not None and not wire.can_send_back(self.session_id):
                # 2025-11-25, Session Management: it MUST consist of visible ASCII.
                self.session_id = None
                raise InvalidMessage("The session id cannot be sent in a header.")
        if kind == "application/json":
            await self._receive(await self._read_body(response))
            return "The server's answer belongs to another request"
        if kind != "text/event-stream":
            return f"The server answered with {format_status(response)} and {kind!r} instead of JSON"
        reader = EventReader(self._max_message_bytes)
        await self._read_events(response, reader, request_id)
        if request_id in self._requests and reader.last_id is not None:
            return await self._resume(reader, request_id, opened=True)
        return "The server's stream ended before the answer came"

    async def _read_refusal(self, response: aiohttp.ClientResponse, request_id: RequestId) -> None:
        """A refusal may carry a JSON-RPC error; its id is null if the server could not read ours."""
        if response.content_type != "application/json":
            return
        with contextlib.suppress(InvalidMessage):
            kind, message = decode(await self._read_body(response))
            if kind is MessageKind.ERROR:
                await self._receive_message(kind, {**message, "id": request_id})

    async def _read_body(self, response: aiohttp.ClientResponse) -> bytes:
        data = bytearray()
        async for chunk in response.content.iter_any():
            data += chunk
            if len(data) > self._max_message_bytes:
                raise InvalidMessage(f"A message above the limit of {self._max_message_bytes} bytes arrived.")
        return bytes(data)

    async def _read_events(
        self, response: aiohttp.ClientResponse, reader: EventReader, request_id: RequestId | None
    ) -> None:
        """Deliver the events of a stream until it ends in any way, or until `request_id` has its answer."""
        import aiohttp

        # A broken stream has ended too: the caller resumes it.
        with contextlib.suppress(aiohttp.ClientError, OSError):
            async for chunk in response.content.iter_any():
                for event in reader.feed(chunk):
                    if event.name == "message" and event.data:
                        await self._receive_event(event.data)
                if self._has_answer(request_id):
                    return

    async def _receive_event(self, data: str) -> None:
        """A refused message does not end the stream, but the request that it seems to answer fails."""
        try:
            await self._receive(data)
        except InvalidMessage as error:
            error.received = True
            self._report(error)
            answered = read_answered_id(data)
            why = f"The server's answer was refused: {error.message}"
            failed = None if answered is None else self._requests.fail(answered, why, reason=error.reason)
            if failed is not None:
                await self._deliver(failed)

    def _has_answer(self, request_id: RequestId | None) -> bool:
        return request_id is not None and request_id not in self._requests

    async def _resume(self, reader: EventReader, request_id: RequestId | None, *, opened: bool) -> str:
        """Resume an event stream where it ended, as often as it ends (2025-11-25, Resumability).

        `opened` says that the stream existed before. Returns why it cannot be resumed; empty when the answer
        has arrived, or when the server never had such a stream.
        """
        import aiohttp

        tries: Iterator[float] = make_backoff_delays(RESUMES, RESUME_DELAY)
        while (delay := next(tries, None)) is not None:
            if reader.retry is not None:
                delay = max(SHORTEST_DELAY, min(reader.retry / 1000, LONGEST_DELAY))
            await asyncio.sleep(delay)
            try:
                refusal = await self._reopen(reader, request_id)
            except (aiohttp.ClientError, OSError, ConnectFailed):
                self._stream_known.set()
                continue
            if self._has_answer(request_id):
                return ""
            if refusal:
                return f"The server's stream cannot be resumed: {refusal}" if opened else ""
            opened = True
            # A server that responds may end its stream as often as it likes, but we wait before each attempt.
            tries = itertools.islice(make_backoff_delays(RESUMES + 1, RESUME_DELAY), 1, None)
        return f"The server's stream was lost, and {RESUMES} attempts to resume it failed"

    async def _reopen(self, reader: EventReader, request_id: RequestId | None) -> str:
        """Open the stream and read it to its end. Returns the server's refusal, or an empty string."""
        assert self._http is not None
        headers = {**self._common_headers(), "Accept": "text/event-stream"}
        if reader.last_id is not None:
            headers["Last-Event-ID"] = reader.last_id
        async with self._http.get(self.url, headers=headers) as response:
            if request_id is None:
                self._stream_known.set()
            if response.status >= 400 or response.content_type != "text/event-stream":
                return format_status(response)
            if request_id is None:
                self.listening.set()
            await self._read_events(response, reader, request_id)
        return ""

    async def _listen(self) -> None:
        """Read the server's own stream. A server without one answers 405, which is not an error."""
        try:
            why = await self._resume(EventReader(self._max_message_bytes), None, opened=False)
        except InvalidMessage as error:
            self._report(error)
            why = "The server's stream contained an event above the limit"
        if why:
            self._report(ConnectionLost(f"{why}: no more notifications will arrive."))

    async def _receive(self, data: str | bytes) -> None:
        self._metrics.messages_received += 1
        self._metrics.bytes_received += len(data)
        kind, message = decode(data)
        await self._receive_message(kind, message)

    async def _receive_message(self, kind: MessageKind, message: Message) -> None:
        try:
            sent_at = self._requests.match_answer(kind, message)
        except UnknownAnswer as error:
            self._report(error)
            return
        if sent_at is not None:
            self._metrics.count_answer(asyncio.get_running_loop().time() - sent_at)
            result = message.get("result")
            if message["id"] == self._initialize_id and isinstance(result, dict):
                version = str(result.get("protocolVersion"))
                self._version = version if wire.can_send_back(version) else None
            elif message["id"] in self._listings:
                message = {**message, **self._check_tools(result)}
        await self._deliver(message)

    def _check_tools(self, result: Any) -> Message:
        """Record which arguments go into headers, and leave out tools whose marks are invalid."""
        checked = wire.check_tools(result)
        self._marked.update(checked.marked)
        for name, reason in checked.refused.items():
            self._report(ToolRefused(name, reason))
        return {} if checked.result is result else {"result": checked.result}

    def _common_headers(self) -> dict[str, str]:
        headers = dict(self._headers)
        if self.session_id is not None:
            headers[SESSION_HEADER] = self.session_id
        if self._version is not None:
            headers[VERSION_HEADER] = self._version
        return headers

    def _post_headers(self, message: Message) -> dict[str, str]:
        self._metrics.messages_sent += 1
        headers = {"Accept": "application/json, text/event-stream", "Content-Type": "application/json"}
        return {**self._common_headers(), **headers, **wire.make_headers(message, self._marked)}

    def _host(self) -> str:
        return urlsplit(self.url).netloc.rpartition("@")[2]

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
