"""A server that misbehaves in drawn ways, over HTTP, server-sent events, WebSocket and Bridge v1.

It reads requests properly and answers them properly, except that from a drawn step on it does one drawn thing
wrong. Each thing is a function that gets the exchange and writes bytes. What must hold for a client, whatever
the server does, is in `test_hostile_servers.py`.
"""

from __future__ import annotations

import asyncio
import base64
import contextlib
import functools
import gzip
import hashlib
import json
import random
import socket
import struct
import zlib
from collections.abc import Awaitable, Callable
from typing import Any

Json = dict[str, Any]

FLOOD = 3000
"""Messages in a flood: far more than a client may keep."""

ENDLESS_BYTES = 64 * 1024 * 1024
"""Where something endless ends after all, if the client does not stop reading: above every limit of ours."""

SILENT_SECONDS = 60.0
"""Longer than any client waits in these tests; the server ends with the client's connection."""

SERVER_REQUESTS = (
    "sampling/createMessage",
    "roots/list",
    "elicitation/create",
    "ping",
    "no/such",
    "tools/call",
)

_GUID = "258EAFA5-E914-47DA-95CA-C5AB0DC85B11"


class Exchange:
    """One request over HTTP, or one message over a WebSocket, and the connection to answer it on."""

    def __init__(self, draw: random.Random, writer: asyncio.StreamWriter, message: Json, step: str) -> None:
        self.draw = draw
        self.writer = writer
        self.message = message
        self.step = step
        self.session = ""

    @property
    def id(self) -> Any:
        return self.message.get("id", 0)

    async def write(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    async def write_endlessly(self, piece: bytes) -> None:
        piece *= max(1, 65536 // len(piece))
        for _ in range(ENDLESS_BYTES // len(piece)):
            await self.write(piece)

    async def be_silent(self) -> None:
        await asyncio.sleep(SILENT_SECONDS)

    def reset(self) -> None:
        """End the connection with RST instead of FIN."""
        raw = self.writer.get_extra_info("socket")
        raw.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        self.writer.transport.abort()


def make_result(message: Json) -> Json:
    """A right answer."""
    match message.get("method"):
        case "initialize":
            return {
                "protocolVersion": message["params"]["protocolVersion"],
                "capabilities": {"tools": {}},
                "serverInfo": {"name": "hostile", "version": "1"},
            }
        case "tools/list":
            return {"tools": [{"name": "t", "inputSchema": {"type": "object"}}]}
        case "tools/call":
            return {"content": [{"type": "text", "text": "done"}]}
        case _:
            return {}


def make_answer(message: Json) -> Json:
    if message.get("method") == "server/discover":
        error = {"code": -32601, "message": "Method not found"}
        return {"jsonrpc": "2.0", "id": message["id"], "error": error}
    return {"jsonrpc": "2.0", "id": message.get("id", 0), "result": make_result(message)}


def make_head(status: str = "200 OK", **headers: str | int) -> bytes:
    lines = [f"HTTP/1.1 {status}"]
    lines += [f"{name.replace('_', '-')}: {value}" for name, value in headers.items()]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("utf-8", "surrogateescape")


def make_response(
    body: bytes, status: str = "200 OK", kind: str = "application/json", **headers: str | int
) -> bytes:
    return make_head(status, Content_Type=kind, Content_Length=len(body), **headers) + body


def make_event(data: str) -> bytes:
    return "".join(f"data: {line}\n" for line in data.split("\n")).encode("utf-8", "surrogateescape") + b"\n"


# Messages that are wrong: every transport can carry them.


def draw_messages(draw: random.Random, message: Json) -> list[bytes]:
    """What a server sends instead of the answer to `message`, or around it."""
    id_ = message.get("id", 0)
    right = make_answer(message)
    as_text = json.dumps(right)

    def make_result_text(value: str, id_: Any = id_) -> str:
        return f'{{"jsonrpc":"2.0","id":{json.dumps(id_)},"result":{value}}}'

    def make_floods(kind: str) -> list[str]:
        count = draw.choice((1, 50, FLOOD))
        if kind == "notification":
            method = draw.choice(
                ("notifications/message", "notifications/progress", "x", "notifications/cancelled")
            )
            params = {
                "progressToken": draw.choice((id_, "x", None, 1e308)),
                "requestId": id_,
                "level": "info",
            }
            return [json.dumps({"jsonrpc": "2.0", "method": method, "params": params})] * count
        method = draw.choice(SERVER_REQUESTS)
        return [
            json.dumps({"jsonrpc": "2.0", "id": draw.choice((n, f"s{n}")), "method": method, "params": {}})
            for n in range(count)
        ]

    wrong = draw.choice(
        (
            lambda: [make_result_text('{"a": NaN}')],
            lambda: [make_result_text("Infinity")],
            lambda: [make_result_text("[" * 30_000 + "]" * 30_000)],
            lambda: [make_result_text('{"a":' * 30_000 + "1" + "}" * 30_000)],
            lambda: [make_result_text("[" * 30_000)],
            lambda: [make_result_text('"\\ud800"'), make_result_text('{"\\udfff": 1}')],
            lambda: [make_result_text('"\udc80\udcff"')],
            lambda: [make_result_text("1e400"), make_result_text("9" * 5000), make_result_text("-1e-400")],
            lambda: [
                make_result_text(
                    '{"content": 1, "tools": {"a": 1}, "supportedVersions": {}, "protocolVersion": []}'
                )
            ],
            lambda: [make_result_text('{"protocolVersion": "2025-11-25\\r\\nX-Injected: 1"}')],
            lambda: [make_result_text('{"protocolVersion": "' + "9" * 100_000 + '"}')],
            lambda: [make_result_text('{"tools": [1, null, {"name": 5}], "nextCursor": "again"}')],
            lambda: [make_result_text('{"tools": [], "nextCursor": {"a": 1}}')],
            lambda: [
                make_result_text('{"content": [null, 5, {"type": "image", "data": 5}], "isError": "yes"}')
            ],
            lambda: [
                make_result_text("null"),
                make_result_text("[]"),
                make_result_text('"text"'),
                make_result_text("true"),
            ],
            lambda: [
                make_result_text(
                    "{}", id_=draw.choice((999, str(id_), -1, 10**40, "", id_ + 0.5, True, None, [], {}))
                )
            ],
            lambda: [as_text, as_text, as_text],
            lambda: [f"[{as_text}]"],
            lambda: [f"[{','.join([as_text] * 200)}]"],
            lambda: ["[]", "{}", "null", "5", '"x"', "", " "],
            lambda: [as_text.replace("2.0", draw.choice(("1.0", "2.00", "")))],
            lambda: [as_text[: draw.randrange(len(as_text))]],
            lambda: [as_text + as_text],
            lambda: ["\ufeff" + as_text],
            lambda: [
                json.dumps({"jsonrpc": "2.0", "id": id_, "error": draw.choice((None, 5, {}, {"code": "x"}))})
            ],
            lambda: [
                json.dumps(
                    {
                        "jsonrpc": "2.0",
                        "id": id_,
                        "error": {"code": -32000, "message": "\x1b[31mred\r\n" * 2000},
                    }
                )
            ],
            lambda: [
                json.dumps(
                    {
                        "jsonrpc": "2.0",
                        "id": id_,
                        "error": {
                            "code": -32022,
                            "message": "v",
                            "data": {
                                "supported": draw.choice(
                                    (["9"], [5], "x", ["2026-07-28"], ["2025-11-25"] * 500)
                                )
                            },
                        },
                    }
                )
            ],
            lambda: [
                json.dumps({"jsonrpc": "2.0", "id": id_, "result": {}, "error": {"code": 1, "message": ""}})
            ],
            lambda: [make_result_text('{"resultType": "input_required", "inputRequests": {"a": {}}}')],
            lambda: [make_result_text('"' + "x" * (11 * 1024 * 1024) + '"')],
            lambda: [*make_floods("notification"), as_text],
            lambda: [*make_floods("request"), as_text],
            lambda: make_floods("notification"),
            lambda: make_floods("request"),
        )
    )()
    return [text.encode("utf-8", "surrogateescape") for text in wrong]


# HTTP.


async def send_wrong_messages(exchange: Exchange) -> None:
    messages = draw_messages(exchange.draw, exchange.message)
    if exchange.draw.random() < 0.5 or len(messages) > 1:
        await exchange.write(make_head(Content_Type="text/event-stream", Connection="close"))
        for message in messages:
            await exchange.write(b"data: " + message + b"\n\n")
        if exchange.draw.random() < 0.2:
            await exchange.be_silent()
    else:
        await exchange.write(make_response(messages[0]))


async def send_wrong_status_line(exchange: Exchange) -> None:
    line = exchange.draw.choice(
        (
            b"HTTP/9.9 200 OK",
            b"HTTP/1.1 abc OK",
            b"HTTP/1.1 99999 X",
            b"HTTP/1.1 -1 X",
            b"HTTP/1.1",
            b"",
            b"garbage",
            b"\x00\x01\x02",
            b"HTTP/1.1 200 \x1b[31mred\x07",
            b"SSH-2.0-OpenSSH",
            b"HTTP/2.0 200 OK",
            b"HTTP/1.1 200 " + b"x" * 100_000,
            b"\x16\x03\x01\x02\x00",
            b"HTTP/1.1 \xff00 OK",
            b"HTTP/0.9 200 OK",
            b"HTTP/1.1 101 Switching",
            b"HTTP/1.1 000 Zero",
            b"HTTP/1.1 \xb2 Square",
        )
    )
    await exchange.write(line + b"\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}")


async def send_interim_responses(exchange: Exchange) -> None:
    piece = exchange.draw.choice((b"HTTP/1.1 100 Continue\r\n\r\n", b"HTTP/1.1 103 Early\r\nLink: x\r\n\r\n"))
    if exchange.draw.random() < 0.5:
        await exchange.write_endlessly(piece)
    await exchange.write(piece * 50 + make_response(json.dumps(make_answer(exchange.message)).encode()))


async def send_endless_headers(exchange: Exchange) -> None:
    await exchange.write(b"HTTP/1.1 200 OK\r\n")
    piece = exchange.draw.choice(
        (b"X-A: b\r\n", b"x" * 100, b"X-B: " + b"y" * 5000 + b"\r\n", b" folded\r\n", b"\r")
    )
    await exchange.write_endlessly(piece)


async def send_endless_body(exchange: Exchange) -> None:
    kind = exchange.draw.choice(("application/json", "text/event-stream", "text/html", "image/png"))
    piece = exchange.draw.choice(
        (
            b" ",
            b"[",
            b'{"a":',
            b"data: x\n",
            b": comment\n",
            b":\n\n",
            b"data: x\n\n",
            b"\n",
            b"id: 1\n",
            b"x" * 999,
        )
    )
    status = exchange.draw.choice(("200 OK", "200 OK", "400 Bad", "500 No"))
    if exchange.draw.random() < 0.5:
        await exchange.write(make_head(status, Content_Type=kind, Transfer_Encoding="chunked"))
        piece = b"%x\r\n%b\r\n" % (len(piece), piece)
    else:
        await exchange.write(make_head(status, Content_Type=kind))
    await exchange.write_endlessly(piece)


async def send_wrong_chunks(exchange: Exchange) -> None:
    body = json.dumps(make_answer(exchange.message)).encode()
    good = b"%x\r\n%b\r\n" % (len(body), body)
    chunks = exchange.draw.choice(
        (
            b"zz\r\n" + body,
            b"-5\r\nhello\r\n",
            b"ffffffffffffffffffff\r\n" + body,
            b"5\r\nhelloXX0\r\n\r\n",
            b"%x\r\n%b" % (len(body) + 10, body),
            good,
            good + b"0\r\nTrailer: x\r\n" + b"A: b\r\n" * 5000,
            b"".join(b"1;ext=%b\r\n%c\r\n" % (b"e" * 50, byte) for byte in body) + b"0\r\n\r\n",
            b"\r\n\r\n",
            b"0\r\n\r\n",
            b"1_0\r\n" + body,
            b"0x10\r\n" + body,
            good + b"0\r\n\r\nHTTP/1.1 200 OK\r\n\r\n" + body,
        )
    )
    await exchange.write(
        make_head(Content_Type="application/json", Transfer_Encoding="chunked", Connection="close") + chunks
    )


async def send_wrong_length(exchange: Exchange) -> None:
    body = json.dumps(make_answer(exchange.message)).encode()
    value = exchange.draw.choice(
        (
            0,
            1,
            len(body) - 1,
            len(body) + 1,
            -1,
            10**30,
            "",
            "abc",
            "1,2",
            "0x10",
            " 5 5",
            "9" * 5000,
            2**31,
            "٣",
        )
    )
    head = make_head(Content_Type="application/json", Content_Length=value)
    if exchange.draw.random() < 0.2:
        head = head[:-2] + b"Content-Length: 7\r\n\r\n"
    await exchange.write(head + body)
    if exchange.draw.random() < 0.3:
        await exchange.be_silent()


@functools.cache
def make_bomb(piece: bytes, coding: str) -> bytes:
    """100 MB of `piece`, compressed."""
    packer = zlib.compressobj(9, zlib.DEFLATED, 15 if coding == "deflate" else 31)
    block = piece * (1_000_000 // len(piece))
    data = b"".join(packer.compress(block) for _ in range(100)) + packer.flush()
    return gzip.compress(data, 9) if coding == "gzip, gzip" else data


async def send_compressed(exchange: Exchange) -> None:
    coding = exchange.draw.choice(("gzip", "deflate", "br", "zstd", "gzip, gzip", "x-unknown"))
    kind = exchange.draw.choice(("application/json", "text/event-stream"))
    data = make_bomb(exchange.draw.choice((b" ", b"a", b"data: x\n")), coding)
    cut = exchange.draw.choice((None, None, len(data) // 2, 3))
    status = exchange.draw.choice(("200 OK", "200 OK", "400 Bad Request"))
    await exchange.write(make_response(data[:cut], status, kind, Content_Encoding=coding))


async def redirect(exchange: Exchange) -> None:
    trap = f"http://127.0.0.1:{exchange.session}"
    where = exchange.draw.choice(
        (
            f"{trap}/mcp",
            f"//127.0.0.1:{exchange.session}/x",
            "/mcp",
            "/mcp/",
            "",
            "file:///etc/passwd",
            "javascript:1",
            "http://[",
            "http://127.0.0.1:99999/",
            "data:,x",
            f"http://user:pw@127.0.0.1:{exchange.session}/",
            "http://127.0.0.1:1/",
            "\x1b[31m",
            "?a=" + "x" * 5000,
            f"{trap}#\udcff",
            "ftp://127.0.0.1/",
            f"HTTP://LOCALHOST:{exchange.session}/",
            " " + trap,
        )
    )
    names = exchange.draw.choice((("Location",), ("URI",), ("Location", "URI"), ("Location", "Location")))
    status = exchange.draw.choice(("301", "302", "303", "307", "308", "300", "305", "304"))
    fields = "".join(f"{name}: {where if index == 0 else trap}\r\n" for index, name in enumerate(names))
    head = f"HTTP/1.1 {status} Moved\r\n{fields}Content-Length: 0\r\n\r\n"
    await exchange.write(head.encode("utf-8", "surrogateescape"))


async def send_odd_events(exchange: Exchange) -> None:
    draw = exchange.draw
    await exchange.write(make_head(Content_Type="text/event-stream"))
    field = draw.choice(
        (
            b"id: a\rb",
            b"id: \x01\x02\x7f",
            b"id: \0",
            b"id: " + b"i" * 100_000,
            b"id: \xff\xfe",
            "id: é€😀".encode(),
            b"id",
            b"id:",
            b"id: x\r\nInjected: 1",
            b"retry: 0",
            b"retry: -1",
            b"retry: 99999999999",
            b"retry: 1e3",
            b"retry: \xd9\xa3",
            b"retry: 999999999",
            b"event: ping",
            b"event: " + b"e" * 100_000,
            b"\xef\xbb\xbfdata: {}",
            b"data",
            b"unknown: x",
            b"nocolon",
            b"retry: 1\nid: 5",
            b"retry: 0\nid: 5",
        )
    )
    await exchange.write(field + b"\ndata: {}\n\n")
    match draw.randrange(4):
        case 0:
            await exchange.write(b"data: " + json.dumps(make_answer(exchange.message)).encode() + b"\n\n")
        case 1:
            await exchange.be_silent()
        case 2:
            exchange.reset()


async def send_odd_session(exchange: Exchange) -> None:
    value = exchange.draw.choice(
        (
            "\x01\x02",
            "\x7f",
            "a b",
            "é",
            "\udcff\udcfe",
            "x" * 7000,
            "",
            "a\tb",
            "a\x0bb",
            "\x1b[2J",
            "a,b",
            "\x85",
            "😀",
            "a\x00b",
            "a\rb",
        )
    )
    body = json.dumps(make_answer(exchange.message)).encode()
    await exchange.write(make_response(body, **{"Mcp-Session-Id": value}))


async def send_status(exchange: Exchange) -> None:
    status = exchange.draw.choice(
        (
            201,
            202,
            204,
            206,
            400,
            401,
            402,
            403,
            404,
            405,
            406,
            407,
            408,
            409,
            410,
            413,
            415,
            418,
            421,
            426,
            429,
            500,
            501,
            502,
            503,
            504,
            507,
            511,
            599,
            600,
            999,
        )
    )
    body, kind = exchange.draw.choice(
        (
            (b"", "text/plain"),
            (b"<html>" * 1000, "text/html"),
            (b"{}", "application/json"),
            (b'{"jsonrpc":"2.0","id":null,"error":{"code":-32000,"message":"Bad"}}', "application/json"),
            (json.dumps(make_answer(exchange.message)).encode(), "application/json"),
            (b"\xff\xfe", "application/json; charset=utf-16"),
            (b"[" * 30_000, "application/json"),
        )
    )
    headers = {"Retry-After": "1e9", "WWW-Authenticate": 'Basic realm="\x1b[31m"'}
    await exchange.write(make_response(body, f"{status} \x1b[31mReason", kind, **headers))


async def send_odd_type(exchange: Exchange) -> None:
    kind = exchange.draw.choice(
        (
            "",
            "text/html",
            "application/json;;;",
            "APPLICATION/JSON",
            "application/json; charset=latin-9",
            "é",
            "a" * 7000,
            "text/event-stream; charset=utf-16",
            "\x1b[31m",
            "application/octet-stream",
        )
    )
    await exchange.write(make_response(json.dumps(make_answer(exchange.message)).encode(), kind=kind))


async def break_off(exchange: Exchange) -> None:
    data = make_response(json.dumps(make_answer(exchange.message)).encode())
    await exchange.write(data[: exchange.draw.randrange(len(data))])
    match exchange.draw.randrange(4):
        case 0:
            exchange.reset()
        case 1:
            await exchange.be_silent()
        case 2:
            exchange.writer.write_eof()
            await exchange.be_silent()


async def drip(exchange: Exchange) -> None:
    data = make_response(json.dumps(make_answer(exchange.message)).encode())
    for byte in data:
        await exchange.write(bytes([byte]))
        await asyncio.sleep(exchange.draw.choice((0, 0, 0.05)))


async def say_nothing(exchange: Exchange) -> None:
    await exchange.be_silent()


Misdeed = Callable[[Exchange], Awaitable[None]]

HTTP_MISDEEDS: tuple[Misdeed, ...] = (
    send_wrong_messages,
    send_wrong_messages,
    send_wrong_messages,
    send_wrong_status_line,
    send_interim_responses,
    send_endless_headers,
    send_endless_body,
    send_wrong_chunks,
    send_wrong_length,
    send_compressed,
    redirect,
    redirect,
    send_odd_events,
    send_odd_events,
    send_odd_session,
    send_status,
    send_odd_type,
    break_off,
    drip,
    say_nothing,
)

HTTP_STEPS = (
    "server/discover",
    "initialize",
    "notifications/initialized",
    "GET",
    "tools/list",
    "tools/call",
    "DELETE",
    "answer",
)


class HostileServer:
    """`async with HostileServer(seed) as server`: what is drawn from `seed` decides everything it does."""

    def __init__(self, seed: int, misdeed: Misdeed | None = None, step: str | None = None) -> None:
        self.draw = random.Random(seed)
        self.misdeed = misdeed
        self.step = step
        self.done = ""
        """The misdeed, and the step at which it happened."""
        self.trapped: list[bytes] = []
        """What reached the other origin that redirects lead to."""
        self._tasks: set[asyncio.Task[Any]] = set()

    async def __aenter__(self) -> HostileServer:
        self._server = await asyncio.start_server(self._track(self._serve), "127.0.0.1", 0, limit=1 << 24)
        self._trap = await asyncio.start_server(self._track(self._serve_trap), "127.0.0.1", 0)
        self.port: int = self._server.sockets[0].getsockname()[1]
        self.trap_port: int = self._trap.sockets[0].getsockname()[1]
        return self

    async def __aexit__(self, *_: object) -> None:
        self._server.close()
        self._trap.close()
        for task in tuple(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    def _track(
        self, serve: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]
    ) -> Callable[[asyncio.StreamReader, asyncio.StreamWriter], Awaitable[None]]:
        async def run(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            task = asyncio.current_task()
            assert task is not None
            self._tasks.add(task)
            try:
                with contextlib.suppress(OSError, EOFError, asyncio.CancelledError, ValueError):
                    await serve(reader, writer)
            finally:
                self._tasks.discard(task)
                with contextlib.suppress(OSError):
                    writer.close()

        return run

    async def _serve_trap(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.trapped.append(await reader.read(65536))

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            lines = head.decode("latin-1").split("\r\n")
            parts = (line.partition(": ") for line in lines[1:])
            headers = {name.lower(): value for name, _, value in parts}
            if headers.get("upgrade", "").lower() == "websocket":
                await self._serve_websocket(reader, writer, headers)
                return
            body = await reader.readexactly(int(headers.get("content-length", "0")))
            await self._answer_http(writer, lines[0], body)

    async def _answer_http(self, writer: asyncio.StreamWriter, line: str, body: bytes) -> None:
        method, path = line.split(" ")[:2]
        message: Json = json.loads(body) if method == "POST" and body else {}
        step = message.get("method", "answer") if method == "POST" else method
        if path.startswith("/bridge/v1"):
            step, message = ("list" if method == "GET" else "call"), {}
        exchange = Exchange(self.draw, writer, message, step)
        exchange.session = str(self.trap_port)
        if self.misdeed is not None and step == self.step:
            self.done = f"{self.misdeed.__name__} at {step}"
            await self.misdeed(exchange)
            # What follows on this connection would be an answer to the next request: end it, as most do.
            if self.draw.random() < 0.7:
                raise EOFError
            return
        if step == "list":
            tools = [{"name": "t", "description": "", "inputSchema": {"type": "object"}}]
            await exchange.write(make_response(json.dumps({"tools": tools, "hash": "1"}).encode()))
        elif step == "call":
            await exchange.write(make_response(b'{"success":true,"content":[{"type":"text","text":"done"}]}'))
        elif method == "GET":
            await exchange.write(make_head(Content_Type="text/event-stream"))
            await exchange.be_silent()
        elif method == "DELETE":
            await exchange.write(make_response(b""))
        elif "id" not in message or "method" not in message:
            await exchange.write(make_response(b"", "202 Accepted"))
        else:
            session = {"Mcp-Session-Id": "s1"} if step == "initialize" else {}
            await exchange.write(make_response(json.dumps(make_answer(message)).encode(), **session))

    async def _serve_websocket(
        self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, headers: dict[str, str]
    ) -> None:
        exchange = Exchange(self.draw, writer, {}, "upgrade")
        exchange.session = str(self.trap_port)
        accept = base64.b64encode(
            hashlib.sha1((headers["sec-websocket-key"] + _GUID).encode()).digest()
        ).decode()
        upgrade: dict[str, str | int] = {
            "Upgrade": "websocket",
            "Connection": "Upgrade",
            "Sec-WebSocket-Accept": accept,
        }
        if "sec-websocket-protocol" in headers:
            upgrade["Sec-WebSocket-Protocol"] = headers["sec-websocket-protocol"].split(",")[0]
        if self.misdeed is not None and self.step == "upgrade":
            self.done = f"{self.misdeed.__name__} at upgrade"
            if self.misdeed is upgrade_wrongly:
                upgrade |= draw_wrong_upgrade(self.draw)
                await exchange.write(make_head("101 Switching Protocols", **upgrade))
                await exchange.be_silent()
            await self.misdeed(exchange)
            return
        await exchange.write(make_head("101 Switching Protocols", **upgrade))
        while True:
            message = await read_message(reader)
            exchange = Exchange(self.draw, writer, message, message.get("method", "answer"))
            if self.misdeed is not None and exchange.step == self.step:
                self.done = f"{self.misdeed.__name__} at {exchange.step}"
                await self.misdeed(exchange)
                if self.draw.random() < 0.5:
                    return
            elif "id" in message and "method" in message:
                await exchange.write(make_frame(json.dumps(make_answer(message)).encode()))


# WebSocket.


def make_frame(
    payload: bytes,
    opcode: int = 1,
    *,
    fin: bool = True,
    bits: int = 0,
    mask: bool = False,
    length: int | None = None,
) -> bytes:
    size = len(payload) if length is None else length
    head = bytes([(0x80 if fin else 0) | bits | opcode])
    flag = 0x80 if mask else 0
    if size < 126:
        head += bytes([flag | size])
    elif size < 65536:
        head += bytes([flag | 126]) + size.to_bytes(2, "big")
    else:
        head += bytes([flag | 127]) + size.to_bytes(8, "big")
    return head + (b"\0\0\0\0" if mask else b"") + payload


async def read_message(reader: asyncio.StreamReader) -> Json:
    """The next message of the client; its control frames are skipped."""
    while True:
        first, second = await reader.readexactly(2)
        size = second & 0x7F
        if size == 126:
            size = int.from_bytes(await reader.readexactly(2), "big")
        elif size == 127:
            size = int.from_bytes(await reader.readexactly(8), "big")
        key = await reader.readexactly(4)
        payload = bytes(byte ^ key[index % 4] for index, byte in enumerate(await reader.readexactly(size)))
        if first & 0x0F == 8:
            raise EOFError
        if first & 0x0F in (1, 2):
            message: Json = json.loads(payload)
            return message


def draw_wrong_upgrade(draw: random.Random) -> dict[str, str | int]:
    return draw.choice(
        (
            {"Sec-WebSocket-Accept": "wrong"},
            {"Sec-WebSocket-Accept": ""},
            {"Upgrade": "h2c"},
            {"Connection": "close"},
            {"Sec-WebSocket-Protocol": "soap"},
            {"Sec-WebSocket-Protocol": "mcp, mcp, \x1b[31m"},
            {"Sec-WebSocket-Extensions": "permessage-deflate"},
            {"Sec-WebSocket-Extensions": "permessage-deflate; server_max_window_bits=99"},
            {"Sec-WebSocket-Extensions": "x-unknown; a=b"},
            {"Sec-WebSocket-Extensions": "permessage-deflate; client_max_window_bits=8; x" * 20},
        )
    )


async def upgrade_wrongly(exchange: Exchange) -> None:
    """A wrong answer to the upgrade; the server makes it, because it knows the key."""


async def send_wrong_messages_in_frames(exchange: Exchange) -> None:
    for message in draw_messages(exchange.draw, exchange.message):
        await exchange.write(make_frame(message, exchange.draw.choice((1, 1, 1, 2))))


async def send_wrong_frames(exchange: Exchange) -> None:
    answer = json.dumps(make_answer(exchange.message)).encode()
    draw = exchange.draw
    frames = draw.choice(
        (
            lambda: make_frame(answer, mask=True),
            lambda: make_frame(answer, bits=0x40),
            lambda: make_frame(zlib.compress(b" " * 100_000_000)[2:-4], bits=0x40),
            lambda: make_frame(answer, bits=0x20),
            lambda: make_frame(answer, bits=0x10),
            lambda: make_frame(answer, opcode=draw.choice((3, 7, 11, 15))),
            lambda: make_frame(b"x", opcode=0),
            lambda: make_frame(answer[:5], fin=False) + make_frame(answer[5:]),
            lambda: (
                make_frame(answer[:5], fin=False)
                + make_frame(b"", opcode=9)
                + make_frame(answer[5:], opcode=0)
            ),
            lambda: make_frame(b"x", opcode=9, fin=False),
            lambda: make_frame(b"x" * 200, opcode=9),
            lambda: make_frame(b"", opcode=9) * FLOOD,
            lambda: make_frame(b"123456789" * 5, opcode=10) * FLOOD,
            lambda: make_frame(b"9" * 100, opcode=10) + make_frame("٣".encode(), opcode=10),
            lambda: make_frame(answer, length=2**63),
            lambda: make_frame(answer, length=2**64 - 1),
            lambda: make_frame(answer, length=2**31),
            lambda: make_frame(answer, length=len(answer) + 5),
            lambda: make_frame(b"\xff\xfe\xed\xa0\x80"),
            lambda: make_frame(b""),
            lambda: make_frame(
                struct.pack("!H", draw.choice((0, 999, 1004, 1005, 1006, 1015, 2999, 5000, 65535))), opcode=8
            ),
            lambda: make_frame(struct.pack("!H", 1000) + b"\x1b[31mbye" * 10, opcode=8),
            lambda: make_frame(struct.pack("!H", 1001) + b"\xff\xff", opcode=8),
            lambda: make_frame(b"\x03", opcode=8),
            lambda: make_frame(b"", opcode=8) + make_frame(answer) * 100,
            lambda: make_frame(b"a" * 100, fin=False) + make_frame(b"a", opcode=0, fin=False) * 100_000,
            lambda: b"HTTP/1.1 400 Bad\r\n\r\n",
            lambda: make_frame(answer)[: draw.randrange(len(answer))],
        )
    )()
    await exchange.write(frames)
    match draw.randrange(4):
        case 0:
            exchange.reset()
        case 1:
            await exchange.be_silent()
        case 2:
            exchange.writer.write_eof()
            await exchange.be_silent()


async def send_endless_frames(exchange: Exchange) -> None:
    piece = exchange.draw.choice(
        (
            make_frame(b"[" * 60000, opcode=0, fin=False),
            make_frame(b"x" * 60000),
            make_frame(b"", opcode=9),
            make_frame(b'{"jsonrpc":"2.0","method":"x"}'),
        )
    )
    if piece[0] == 0:
        await exchange.write(make_frame(b"[", fin=False))
    await exchange.write_endlessly(piece)


FRAME_MISDEEDS: tuple[Misdeed, ...] = (
    send_wrong_messages_in_frames,
    send_wrong_messages_in_frames,
    send_wrong_frames,
    send_wrong_frames,
    send_endless_frames,
    say_nothing,
)

UPGRADE_MISDEEDS: tuple[Misdeed, ...] = (
    upgrade_wrongly,
    upgrade_wrongly,
    send_wrong_status_line,
    send_interim_responses,
    send_endless_headers,
    send_endless_body,
    redirect,
    redirect,
    send_status,
    break_off,
    say_nothing,
)

FRAME_STEPS = ("server/discover", "initialize", "notifications/initialized", "tools/list", "tools/call")


def draw_http_server(seed: int) -> HostileServer:
    draw = random.Random(seed)
    return HostileServer(seed, draw.choice(HTTP_MISDEEDS), draw.choice(HTTP_STEPS))


def draw_websocket_server(seed: int) -> HostileServer:
    draw = random.Random(seed)
    if draw.random() < 0.3:
        return HostileServer(seed, draw.choice(UPGRADE_MISDEEDS), "upgrade")
    return HostileServer(seed, draw.choice(FRAME_MISDEEDS), draw.choice(FRAME_STEPS))


def draw_bridge_server(seed: int) -> HostileServer:
    draw = random.Random(seed)
    return HostileServer(seed, draw.choice(HTTP_MISDEEDS), draw.choice(("list", "call")))


# Over stdio: this file run as a program, `python hostile.py SEED`.

STDIO_MISDEEDS = (
    "messages",
    "messages",
    "messages",
    "messages",
    "endless line",
    "never reads",
    "closes its output",
    "ends",
    "ends badly",
    "logs endlessly",
    "half a line",
    "binary",
    "silent",
    "stays",
)


def serve_stdio(seed: int) -> None:
    import os
    import signal
    import sys
    import time

    draw = random.Random(seed)
    misdeed, step = draw.choice(STDIO_MISDEEDS), draw.choice((*FRAME_STEPS, "answer"))
    out = sys.stdout.buffer
    if misdeed == "stays":
        signal.signal(signal.SIGTERM, signal.SIG_IGN)

    def write(data: bytes) -> None:
        out.write(data)
        out.flush()

    for line in sys.stdin.buffer:
        message: Json = json.loads(line)
        if message.get("method", "answer") != step:
            if "id" in message and "method" in message:
                write(json.dumps(make_answer(message)).encode() + b"\n")
            continue
        match misdeed:
            case "messages":
                for wrong in draw_messages(draw, message):
                    write(wrong.replace(b"\n", b" ") + b"\n")
            case "endless line":
                for _ in range(ENDLESS_BYTES // 65536):
                    write(b"[" * 65536)
            case "never reads":
                number = 0
                while True:
                    number += 1
                    request = {
                        "jsonrpc": "2.0",
                        "id": number,
                        "method": "sampling/createMessage",
                        "params": {},
                    }
                    write(json.dumps(request).encode() + b"\n")
            case "closes its output":
                os.close(1)
                time.sleep(SILENT_SECONDS)
            case "ends":
                os._exit(0)
            case "ends badly":
                os.write(2, b"\x1b[31mTraceback: /home/somebody/secret\n")
                os.kill(os.getpid(), signal.SIGKILL)
            case "logs endlessly":
                piece = draw.choice((b"x" * 65536, b"line\n" * 10_000))
                for _ in range(ENDLESS_BYTES // len(piece)):
                    os.write(2, piece)
            case "half a line":
                write(b'{"jsonrpc":"2.0","id":')
                os._exit(3)
            case "binary":
                write(os.urandom(100_000) + b"\n")
            case "silent" | "stays":
                while True:
                    time.sleep(SILENT_SECONDS)


if __name__ == "__main__":
    import sys

    serve_stdio(int(sys.argv[1]))
