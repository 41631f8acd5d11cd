"""The Streamable HTTP transport: one POST a message, answers as JSON or as an event stream.

Speaks both eras: with a handshake it keeps the session id, opens the server's own stream (GET) and resumes an
event stream that ended early; from 2026-07-28 there is no session, and ending a POST cancels it.
A message is sent once: what fails is told, never repeated.

What went wrong with an HTTP exchange, in the words of an error's text.
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
from vaultbridge.client.http import headers as http_headers
from vaultbridge.client.http.headers import SESSION_HEADER, VERSION_HEADER, Marked
from vaultbridge.client.http.sse import EventReader
from vaultbridge.client.messages import Kind, Message, RequestId, answered_id, decode
from vaultbridge.client.settings import (
    CLOSE_SECONDS,
    CONNECT_SECONDS,
    LONGEST_DELAY,
    MESSAGE_BYTES,
    check_headers,
    delays,
    split_url,
)
from vaultbridge.client.transport import ALIVE_SECONDS, Callbacks, PendingRequests
from vaultbridge.errors import InvalidArgument, VaultbridgeError

if TYPE_CHECKING:
    import aiohttp


def status_of(response: aiohttp.ClientResponse) -> str:
    return f"HTTP {response.status} {response.reason or ''}".rstrip()


def cause_of(error: BaseException) -> str:
    """In words: the library's own texts carry addresses, and its class names say nothing to a person."""
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
"""Requests under way at once: each holds a connection of its own."""

RESUMES: Final = 5
"""Attempts to resume one event stream before its request is given up."""

RESUME_DELAY: Final = 1.0
"""Seconds before the second attempt to resume, when the server does not say."""


class StreamableHttpTransport(Callbacks):
    """See `callbacks.Transport` for the promises. Connected means: ready to post; HTTP keeps no line."""

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
        """Always 0: a message is posted at once or refused."""
        return 0

    async def start(self) -> None:
        import aiohttp

        if not self._life.allows("start"):
            raise TransportClosed("This transport has been started already.")
        self._move("start")
        self._http = aiohttp.ClientSession(
            connector=aiohttp.TCPConnector(limit=POSTS + 8, ssl=self._ssl or True),
            timeout=aiohttp.ClientTimeout(total=None, sock_connect=self._connect_timeout),
            trace_configs=[redirects.guard()],
        )
        self._move("opened")

    async def send(self, message: object) -> None:
        """Post a request in the background, or any other message before returning.

        Raises InvalidMessage, QueueFull, TransportClosed, and for a message without an answer whatever went
        wrong with it (all told to `on_error` too).
        """
        try:
            if not self.is_connected:
                raise TransportClosed("The transport is not open.")
            kind, value, data = self._requests.outgoing(message, asyncio.get_running_loop().time())
            if kind is Kind.REQUEST:
                # Requests only: what ends one must get through.
                if len(self._posts) >= POSTS:
                    self._requests.forget(value["id"])
                    raise QueueFull(f"{POSTS} requests are under way.", hint="Wait for an answer.")
                self._watch_request(value)
                task = self._spawn(self._post_request(value, data))
                self._posts[value["id"]] = task
            else:
                await self._post_other(value, data)
        except VaultbridgeError as error:
            self._report(error)
            raise

    async def is_alive(self, patience: float = ALIVE_SECONDS) -> bool:
        """Whether anything at the URL speaks HTTP within `patience` seconds; any status will do."""
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
        """End the session and the transport. May be called at any time, from a callback too, and again."""
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
            self._over.set()
            self._say_closed()

    async def _end_session(self, http: aiohttp.ClientSession) -> None:
        """2025-11-25, Session Management: a client that leaves SHOULD delete its session."""
        import aiohttp

        if self.session_id is None:
            return
        with contextlib.suppress(TimeoutError, aiohttp.ClientError, OSError, ConnectFailed):
            async with asyncio.timeout(CLOSE_SECONDS), http.delete(self.url, headers=self._common_headers()):
                pass

    def _watch_request(self, message: Message) -> None:
        if message["method"] == "initialize":
            # 2025-11-25, Session Management: a new session begins without the id of a lost one.
            self._initialize_id, self._version, self.session_id = message["id"], None, None
        elif message["method"] == "tools/list" and http_headers.modern_version(message) is not None:
            self._listings.add(message["id"])

    async def _post_other(self, message: Message, data: bytes) -> None:
        """Post what has no answer. From 2026-07-28 a request is cancelled by ending its POST, without a word;
        before, by the word, after which no answer has to come: the POST would keep its place for ever."""
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
            async with self._http.post(self.url, data=data, headers=self._post_headers(message)) as response:
                if response.status >= 400:
                    raise ConnectionLost(
                        f"The server refused {message.get('method', 'an answer')!r}: {status_of(response)}."
                    )
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            raise ConnectFailed(f"Cannot post to {self._host()}: {cause_of(error)}.") from None
        if message.get("method") == "notifications/initialized" and self.session_id is not None:
            self._spawn(self._listen())

    async def _post_request(self, message: Message, data: bytes) -> None:
        import aiohttp

        request_id: RequestId = message["id"]
        why = "The request was given up before its answer came"
        try:
            assert self._http is not None
            async with self._http.post(self.url, data=data, headers=self._post_headers(message)) as response:
                why = await self._read_answer(response, request_id)
        except (aiohttp.ClientError, OSError, TimeoutError) as error:
            why = f"Cannot post to {self._host()}: {cause_of(error)}"
            self._report(ConnectFailed(f"{why}."))
        except ConnectFailed as error:  # a redirect that is not followed
            why = error.message.rstrip(".")
            self._report(error)
        except InvalidMessage as error:
            why = f"The server's answer was refused: {error.message}"
            self._report(error)
        finally:
            self._posts.pop(request_id, None)
            self._listings.discard(request_id)
            failed = self._requests.fail(request_id, why)
            if failed is not None:
                await self._deliver(failed)

    async def _read_answer(self, response: aiohttp.ClientResponse, request_id: RequestId) -> str:
        """Deliver what the POST brings; returns why it brought no answer, should it bring none."""
        kind = response.content_type
        if response.status >= 400:
            await self._read_refusal(response, request_id)
            return f"The server refused the request: {status_of(response)}"
        if request_id == self._initialize_id:
            self.session_id = response.headers.get(SESSION_HEADER)
        if kind == "application/json":
            await self._take(await self._body(response))
            return "The server's answer belongs to another request"
        if kind != "text/event-stream":
            return f"The server answered with {status_of(response)} and {kind!r} instead of JSON"
        reader = EventReader(self._max_message_bytes)
        await self._read_events(response, reader, request_id)
        if request_id in self._requests and reader.last_id is not None:
            return await self._resume(reader, request_id, opened=True)
        return "The server's stream ended before the answer came"

    async def _read_refusal(self, response: aiohttp.ClientResponse, request_id: RequestId) -> None:
        """A refusal may carry a JSON-RPC error, with an id of null when the server did not get so far."""
        if response.content_type != "application/json":
            return
        with contextlib.suppress(InvalidMessage):
            kind, message = decode(await self._body(response))
            if kind is Kind.ERROR:
                await self._take_message(kind, {**message, "id": request_id})

    async def _body(self, response: aiohttp.ClientResponse) -> bytes:
        data = bytearray()
        async for chunk in response.content.iter_any():
            data += chunk
            if len(data) > self._max_message_bytes:
                raise InvalidMessage(f"A message above the limit of {self._max_message_bytes} bytes came.")
        return bytes(data)

    async def _read_events(
        self, response: aiohttp.ClientResponse, reader: EventReader, request_id: RequestId | None
    ) -> None:
        """Deliver the events of a stream until it ends, however, or until `request_id` has its answer."""
        import aiohttp

        # An end without a goodbye is an end too: whoever reads on resumes.
        with contextlib.suppress(aiohttp.ClientError, OSError):
            async for chunk in response.content.iter_any():
                for event in reader.feed(chunk):
                    if event.name == "message" and event.data:
                        await self._take_event(event.data)
                if self._has_answer(request_id):
                    return

    async def _take_event(self, data: str) -> None:
        """A message that is refused ends no stream, but the request it may have meant to answer fails."""
        try:
            await self._take(data)
        except InvalidMessage as error:
            self._report(error)
            answered = answered_id(data)
            why = f"The server's answer was refused: {error.message}"
            failed = self._requests.fail(answered, why) if answered is not None else None
            if failed is not None:
                await self._deliver(failed)

    def _has_answer(self, request_id: RequestId | None) -> bool:
        return request_id is not None and request_id not in self._requests

    async def _resume(self, reader: EventReader, request_id: RequestId | None, *, opened: bool) -> str:
        """Go on with an event stream where it ended, as often as it ends (2025-11-25, Resumability).

        `opened` says that there has been one. Returns why it cannot go on; empty when the answer has come, or
        when the server has never had such a stream.
        """
        import aiohttp

        tries: Iterator[float] = delays(RESUMES, RESUME_DELAY)
        while (delay := next(tries, None)) is not None:
            await asyncio.sleep(delay if reader.retry is None else min(reader.retry / 1000, LONGEST_DELAY))
            try:
                refusal = await self._reopen(reader, request_id)
            except (aiohttp.ClientError, OSError, ConnectFailed):
                continue
            if self._has_answer(request_id):
                return ""
            if refusal:
                return f"The server's stream cannot be resumed: {refusal}" if opened else ""
            opened = True
            # A server that is there may end its stream as often as it likes; not at once again, though.
            tries = itertools.islice(delays(RESUMES + 1, RESUME_DELAY), 1, None)
        return f"The server's stream was lost, and {RESUMES} attempts to resume it failed"

    async def _reopen(self, reader: EventReader, request_id: RequestId | None) -> str:
        """Open the stream and read it to its end; returns the server's refusal, or nothing."""
        assert self._http is not None
        headers = {**self._common_headers(), "Accept": "text/event-stream"}
        if reader.last_id is not None:
            headers["Last-Event-ID"] = reader.last_id
        async with self._http.get(self.url, headers=headers) as response:
            if response.status >= 400 or response.content_type != "text/event-stream":
                return status_of(response)
            await self._read_events(response, reader, request_id)
        return ""

    async def _listen(self) -> None:
        """The server's own stream; a server without one answers 405, and that is that."""
        try:
            why = await self._resume(EventReader(self._max_message_bytes), None, opened=False)
        except InvalidMessage as error:
            self._report(error)
            why = "The server's stream held an event above the limit"
        if why:
            self._report(ConnectionLost(f"{why}: no notification comes any more."))

    async def _take(self, data: str | bytes) -> None:
        self._metrics.messages_received += 1
        self._metrics.bytes_received += len(data)
        kind, message = decode(data)
        await self._take_message(kind, message)

    async def _take_message(self, kind: Kind, message: Message) -> None:
        try:
            sent_at = self._requests.incoming(kind, message)
        except UnknownAnswer as error:
            self._report(error)
            return
        if sent_at is not None:
            self._metrics.answered(asyncio.get_running_loop().time() - sent_at)
            result = message.get("result")
            if message["id"] == self._initialize_id and isinstance(result, dict):
                self._version = str(result.get("protocolVersion"))
            elif message["id"] in self._listings:
                message = {**message, **self._check_tools(result)}
        await self._deliver(message)

    def _check_tools(self, result: Any) -> Message:
        """Learn which arguments go into headers, and leave out the tools that say it wrongly."""
        checked = http_headers.check_tools(result)
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
        return {**self._common_headers(), **headers, **http_headers.modern_headers(message, self._marked)}

    def _host(self) -> str:
        return urlsplit(self.url).netloc.rpartition("@")[2]

    def _spawn(self, work: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
        return task
