"""Bridge v1 over HTTP: a real server on loopback, real sockets, curl, and a tester that reads its words."""

from __future__ import annotations

import asyncio
import gzip
import io
import json
import shutil
import socket
import struct
import subprocess
import sys
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web
from multidict import CIMultiDict
from yarl import URL

from support.bridge import SECRET, Bridge, SampleProvider, make_server, running
from support.waiting import BOUND
from vaultbridge.protocols.bridge_v1.endpoints import BODY_BYTES
from vaultbridge.protocols.http.guard import HostGuard
from vaultbridge.protocols.mcp.http.endpoint import Grant
from vaultbridge.protocols.mcp.values import ToolAnnotations, ToolInfo

needs_curl = pytest.mark.skipif(shutil.which("curl") is None, reason="curl is not installed")

needs_node = pytest.mark.skipif(shutil.which("node") is None, reason="there is no Node to compare with")

SERVED_HASH = """
const { createHash } = require("node:crypto");
const sorted = (value) => {
  if (Array.isArray(value)) return value.map(sorted);
  if (value === null || typeof value !== "object") return value;
  return Object.fromEntries(Object.keys(value).sort().map((key) => [key, sorted(value[key])]));
};
fetch(process.argv[1]).then((answer) => answer.json()).then(({ tools, hash }) => {
  tools.sort((a, b) => (a.name < b.name ? -1 : 1));
  const kept = tools.map(({ name, description, inputSchema }) => ({ name, description, inputSchema }));
  const own = createHash("sha256").update(JSON.stringify(sorted(kept))).digest("hex");
  console.log(tools.length, own === hash);
});
"""

CORS = {
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Methods": "GET, POST, OPTIONS",
    "Access-Control-Allow-Headers": "Content-Type",
}


async def run_curl(*arguments: str) -> str:
    done = await asyncio.to_thread(
        subprocess.run,
        ["curl", "-s", "--max-time", "20", *arguments],
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


async def send_raw(bridge: Bridge, *pieces: bytes) -> bytes:
    """Send bytes as they are, and read until the server closes."""
    reader, writer = await asyncio.open_connection("127.0.0.1", bridge.port)
    try:
        for piece in pieces:
            writer.write(piece)
            await writer.drain()
        return await asyncio.wait_for(reader.read(), BOUND)
    finally:
        writer.close()


def make_post(target: str, body: bytes, *headers: str) -> bytes:
    lines = [f"POST {target} HTTP/1.1", "Connection: close", f"Content-Length: {len(body)}", *headers]
    if not any(line.startswith("Host:") for line in headers):
        lines.append("Host: 127.0.0.1")
    return "\r\n".join([*lines, "", ""]).encode() + body


def make_body(size: int) -> bytes:
    """A good body of exactly so many bytes."""
    head, tail = b'{"arguments":{"path":"', b'"}}'
    return head + b"x" * (size - len(head) - len(tail)) + tail


@needs_curl
async def test_the_documents_curl_examples_get_the_documents_answers() -> None:
    async with running() as bridge:
        health = json.loads(await run_curl(bridge.at("/health")))
        assert health["status"] == "ok"
        assert health["protocolVersion"] == "1"
        tools = json.loads(await run_curl(bridge.at("/tools")))
        assert set(tools) == {"tools", "hash"}
        answer = await run_curl(
            "-X", "POST", bridge.at("/tools/read_note/call"),
            "-H", "Content-Type: application/json",
            "-d", '{"arguments":{"path":"Notes/Example.md"}}',
        )  # fmt: skip
        assert json.loads(answer) == {
            "success": True,
            "content": [{"type": "text", "text": "# Notes/Example.md"}],
        }


async def test_every_answer_is_json_with_the_documents_cors_headers() -> None:
    async with running() as bridge:
        for method, path, status in (
            ("GET", "/health", 200),
            ("GET", "/tools", 200),
            ("GET", "/openapi.json", 200),
            ("GET", "/nothing", 404),
            ("DELETE", "/tools", 405),
            ("POST", "/tools/read_note/call", 400),
            ("POST", "/tools/nothing/call", 404),
        ):
            async with bridge.http.request(method, bridge.at(path)) as response:
                assert response.status == status
                assert response.headers["Content-Type"] == "application/json"
                assert {name: response.headers[name] for name in CORS} == CORS
                await response.json()


@pytest.mark.parametrize(
    ("method", "path", "allow"),
    [
        ("POST", "/health", "GET, HEAD, OPTIONS"),
        ("PUT", "/tools", "GET, HEAD, OPTIONS"),
        ("GET", "/tools/read_note/call", "POST, OPTIONS"),
        ("HEAD", "/tools/read_note/call", "POST, OPTIONS"),
        ("PATCH", "/openapi.json", "GET, HEAD, OPTIONS"),
    ],
)
async def test_a_wrong_method_is_answered_with_the_allowed_ones(method: str, path: str, allow: str) -> None:
    async with running() as bridge, bridge.http.request(method, bridge.at(path)) as response:
        assert response.status == 405
        assert response.headers["Allow"] == allow
        if method != "HEAD":
            assert (await response.json())["error"] == "Method not allowed"


async def test_head_is_get_without_the_body() -> None:
    async with running() as bridge:
        for path in ("/health", "/tools"):
            async with bridge.http.get(bridge.at(path)) as got, bridge.http.head(bridge.at(path)) as head:
                assert head.status == 200
                assert head.headers["Content-Length"] == got.headers["Content-Length"]
                assert head.headers.get("ETag") == got.headers.get("ETag")
                assert await head.read() == b""


async def test_options_answers_without_a_body() -> None:
    async with running() as bridge:
        async with bridge.http.options(bridge.at("/tools")) as response:
            assert response.status == 204
            assert {name: response.headers[name] for name in CORS} == CORS
            assert response.headers["Allow"] == "GET, HEAD, OPTIONS"
        async with bridge.http.options(bridge.at("/nothing")) as response:
            assert response.status == 404


@pytest.mark.parametrize("name", ["Authorization", "X-ObsiScripta-Api-Key"])
async def test_a_preflight_that_asks_for_a_token_header_gets_it(name: str) -> None:
    headers = {
        "Origin": "http://localhost:5173",
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": f"content-type, {name.lower()}, x-other",
    }
    async with running() as bridge, bridge.http.options(bridge.at("/tools"), headers=headers) as response:
        assert response.headers["Access-Control-Allow-Headers"] == f"Content-Type, {name}"
        assert response.headers["Access-Control-Allow-Origin"] == "*"


@pytest.mark.parametrize("path", ["/bridge", "/bridge/", "/bridge/v1", "/bridge/v1/", "/bridge/v2/health",
                                  "/bridge/v1/tools//call", "/bridge/v1/tools//call/",
                                  "/bridge/v1/tools/a/call/b",
                                  "/bridge/v1/tools/a", "/bridge/v1/Health"])  # fmt: skip
async def test_other_addresses_are_not_found(path: str) -> None:
    async with running() as bridge, bridge.http.get(bridge.url + path) as response:
        assert response.status == 404
        body = await response.json()
        assert body["error"] == "Not found"
        assert set(body) <= {"error", "message", "details"}


@needs_curl
async def test_names_are_url_encoded() -> None:
    async with running() as bridge:
        answer = await run_curl(
            "-X", "POST", bridge.at("/tools/odd%20name%2F%C3%A9/call"), "-d", '{"arguments":{}}'
        )  # fmt: skip
        assert json.loads(answer)["content"][0]["text"] == "odd name/é"
        bad = await run_curl("-X", "POST", bridge.at("/tools/%FF%FE/call"), "-d", '{"arguments":{}}')
        assert json.loads(bad)["error"] == "Not found"


async def test_a_line_break_in_a_name_is_part_of_the_name() -> None:
    async with running() as bridge:
        answer = await send_raw(bridge, make_post("/bridge/v1/tools/a%0D%0Ab/call", b'{"arguments":{}}'))
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"] == "Tool not found"


async def test_a_needless_encoding_of_an_address_changes_nothing() -> None:
    """RFC 3986 6.2.2.2: `%65` is `e`."""
    async with running() as bridge:
        answer = await send_raw(
            bridge, make_post("/bridge/v1/tool%73/r%65ad_note/c%61ll", b'{"arguments":{"path":"a"}}')
        )
        assert answer.startswith(b"HTTP/1.1 200 ")
        answer = await send_raw(bridge, make_post("/bridge/v1%2Ftools/read_note/call", b'{"arguments":{}}'))
        assert answer.startswith(b"HTTP/1.1 404 ")


async def test_an_unknown_tool_is_distinguished_from_an_unknown_address() -> None:
    async with (
        running() as bridge,
        bridge.http.post(bridge.at("/tools/x/call"), json={"arguments": {}}) as response,
    ):
        assert response.status == 404
        assert (await response.json())["error"] == "Tool not found"


@pytest.mark.parametrize("body", [b"{", b"[]", b"{}", b'{"arguments":null}', b'{"arguments":[]}', b""])
async def test_a_wrong_body_is_400_and_no_tool_runs(body: bytes) -> None:
    async with (
        running() as bridge,
        bridge.http.post(bridge.at("/tools/read_note/call"), data=body) as response,
    ):
        assert response.status == 400
        assert (await response.json())["error"] == "Invalid request body"
        assert bridge.provider.calls == []


async def test_a_body_of_exactly_the_limit_passes_and_one_byte_more_does_not() -> None:
    async with running() as bridge:
        url = bridge.at("/tools/read_note/call")
        async with bridge.http.post(url, data=io.BytesIO(make_body(BODY_BYTES))) as response:
            assert response.status == 200
            assert (await response.json())["success"] is True
        async with bridge.http.post(url, data=io.BytesIO(make_body(BODY_BYTES + 1))) as response:
            assert response.status == 413
            assert (await response.json())["error"] == "Request body too large"
        assert len(bridge.provider.calls) == 1


async def test_the_limit_counts_bytes_of_chunked_bodies_and_not_characters() -> None:
    async def send_pieces(body: bytes) -> Any:
        for start in range(0, len(body), 100_000):
            yield body[start : start + 100_000]

    wide = '{"arguments":{"path":"' + "é" * (BODY_BYTES // 2) + '"}}'
    async with running() as bridge:
        url = bridge.at("/tools/read_note/call")
        for body, status in (
            (make_body(BODY_BYTES), 200),
            (make_body(BODY_BYTES + 1), 413),
            (wide.encode(), 413),
        ):
            async with bridge.http.post(url, data=send_pieces(body)) as response:
                assert response.status == status


async def test_a_refused_body_is_answered_and_the_connection_closed_cleanly() -> None:
    """The caller sends it all before it reads, and still gets the answer and an end, not a reset."""
    size = 3 * BODY_BYTES
    head = b"POST /bridge/v1/tools/read_note/call HTTP/1.1\r\nHost: 127.0.0.1\r\n"
    async with running() as bridge:
        announced = await send_raw(bridge, head + f"Content-Length: {size}\r\n\r\n".encode(), b"x" * size)
        assert announced.startswith(b"HTTP/1.1 413 ")
        assert b"connection: close" in announced.lower()
        chunk = b"10000\r\n" + b"x" * 0x10000 + b"\r\n"
        chunked = await send_raw(
            bridge, head + b"Transfer-Encoding: chunked\r\n\r\n", chunk * 48, b"0\r\n\r\n"
        )
        assert chunked.startswith(b"HTTP/1.1 413 ")
        assert json.loads(chunked.partition(b"\r\n\r\n")[2])["error"] == "Request body too large"
        async with bridge.http.get(bridge.at("/health")) as response:
            assert response.status == 200


async def test_expect_continue_is_granted_only_when_the_body_is_wanted() -> None:
    """RFC 9110 10.1.1: the refusal comes instead of the leave, and then nothing more is to be sent."""
    call = "/bridge/v1/tools/read_note/call"
    async with running() as bridge:
        for target, size, host, status in (
            (call, BODY_BYTES + 1, "127.0.0.1", 413),
            (call, 10, "evil.example", 403),
            ("/bridge/v1/nothing", 10, "127.0.0.1", 404),
        ):
            reader, writer = await asyncio.open_connection("127.0.0.1", bridge.port)
            writer.write(
                f"POST {target} HTTP/1.1\r\nHost: {host}\r\nContent-Length: {size}\r\n"
                "Expect: 100-continue\r\n\r\n".encode()
            )
            head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), BOUND)
            assert head.startswith(f"HTTP/1.1 {status} ".encode())
            assert b"connection: close" in head.lower()
            writer.close()
        reader, writer = await asyncio.open_connection("127.0.0.1", bridge.port)
        body = b'{"arguments":{"path":"a"}}'
        writer.write(make_post(call, body, "Expect: 100-Continue").removesuffix(body))
        assert (
            await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), BOUND) == b"HTTP/1.1 100 Continue\r\n\r\n"
        )
        writer.write(body)
        answer = await asyncio.wait_for(reader.read(), BOUND)
        assert answer.startswith(b"HTTP/1.1 200 ")
        assert b'"success":true' in answer
        writer.close()


@needs_curl
async def test_curl_gets_the_refusal_of_a_large_file(tmp_path: Any) -> None:
    file = tmp_path / "body.json"
    file.write_bytes(make_body(BODY_BYTES + 1))
    async with running() as bridge:
        output = await run_curl(
            "-X", "POST", bridge.at("/tools/read_note/call"), "-H", "Content-Type: application/json",
            "--data-binary", f"@{file}", "-w", "\n%{http_code}",
        )  # fmt: skip
        body, _, code = output.rpartition("\n")
        assert code == "413"
        assert json.loads(body)["error"] == "Request body too large"


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "identity, GZIP", "x"])
async def test_a_compressed_body_is_refused_unread_and_ends_the_connection(encoding: str) -> None:
    call, body = "/bridge/v1/tools/read_note/call", b'{"arguments":{"path":"a"}}'
    header = f"Content-Encoding: {encoding}"
    async with running() as bridge:
        for sent in (body, gzip.compress(body)):
            refused = await send_raw(
                bridge, make_post(call, sent, header).replace(b"Connection: close\r\n", b"")
            )
            assert refused.startswith(b"HTTP/1.1 415 ")
            assert b"without compression" in refused
            assert b"connection: close" in refused.lower()
        assert bridge.provider.calls == []
        plain = await send_raw(bridge, make_post(call, body, "Content-Encoding: identity"))
        assert plain.startswith(b"HTTP/1.1 200 ")


@pytest.mark.parametrize("coding", ["gzip, chunked", "x, Chunked"])
async def test_a_transfer_coding_that_nobody_decodes_is_refused(coding: str) -> None:
    body = b'{"arguments":{"path":"a"}}'
    head = f"POST /bridge/v1/tools/read_note/call HTTP/1.1\r\nHost: 127.0.0.1\r\nTransfer-Encoding: {coding}"
    async with running() as bridge:
        sent = b"%s\r\n\r\n%x\r\n%s\r\n0\r\n\r\n" % (head.encode(), len(body), body)
        refused = await send_raw(bridge, sent)
        assert refused.startswith(b"HTTP/1.1 501 ")
        assert b"plain or chunked" in refused
        assert bridge.provider.calls == []


async def test_a_body_that_never_ends_times_out() -> None:
    head = b"POST /bridge/v1/tools/read_note/call HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 100\r\n\r\n{"
    async with running(body_seconds=0.05) as bridge:
        reader, writer = await asyncio.open_connection("127.0.0.1", bridge.port)
        writer.write(head)
        line = await asyncio.wait_for(reader.readline(), BOUND)
        assert line.startswith(b"HTTP/1.1 408 ")
        writer.close()


@pytest.mark.parametrize("more", ["", "Expect: 100-continue\r\n"])
async def test_a_caller_that_disconnects_before_its_body_is_complete_is_not_our_failure(
    more: str, caplog: pytest.LogCaptureFixture
) -> None:
    serving: asyncio.Queue[asyncio.Task[Any] | None] = asyncio.Queue()
    server = make_server(SampleProvider())

    async def authorize(request: web.Request) -> Grant:
        serving.put_nowait(asyncio.current_task())
        return Grant(server)

    async with running(authorize=authorize) as bridge:
        _, writer = await asyncio.open_connection("127.0.0.1", bridge.port)
        writer.write(
            "POST /bridge/v1/tools/read_note/call HTTP/1.1\r\nHost: 127.0.0.1\r\n"
            f"{more}Content-Length: 100\r\n\r\n".encode()
        )
        task = await asyncio.wait_for(serving.get(), BOUND)
        assert task is not None
        writer.transport.get_extra_info("socket").setsockopt(
            socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0)
        )
        writer.transport.abort()
        await asyncio.wait({task}, timeout=BOUND)
        assert task.done()
    assert [record.getMessage() for record in caplog.records if record.levelname == "ERROR"] == []


async def test_slow_callers_do_not_keep_others_out() -> None:
    """Many connections that drip their headers: everybody else is served meanwhile."""
    async with running() as bridge:
        slow = [await asyncio.open_connection("127.0.0.1", bridge.port) for _ in range(100)]
        for _, writer in slow:
            writer.write(b"GET /bridge/v1/health HTTP/1.1\r\nHost: 127.")
        async with bridge.http.get(bridge.at("/health")) as response:
            assert response.status == 200
        for _, writer in slow:
            writer.write(b"0.0.1\r\n")
        async with bridge.http.post(
            bridge.at("/tools/read_note/call"), json={"arguments": {"path": "a"}}
        ) as response:
            assert (await response.json())["success"] is True
        for _, writer in slow:
            writer.close()


async def test_two_hundred_callers_at_once_are_all_answered() -> None:
    async with running() as bridge:
        connector = aiohttp.TCPConnector(limit=0)
        async with aiohttp.ClientSession(connector=connector) as http:

            async def call(number: int) -> str:
                body = {"arguments": {"path": str(number)}}
                async with http.post(bridge.at("/tools/read_note/call"), json=body) as response:
                    assert response.status == 200
                    text: str = (await response.json())["content"][0]["text"]
                    return text

            async with asyncio.timeout(BOUND):
                texts = await asyncio.gather(*map(call, range(200)))
        assert texts == [f"# {number}" for number in range(200)]


async def test_a_stuck_tool_blocks_no_other_caller() -> None:
    async with running() as bridge:
        stuck = asyncio.ensure_future(
            bridge.http.post(bridge.at("/tools/stuck/call"), json={"arguments": {}})
        )
        await asyncio.wait_for(bridge.provider.entered.wait(), BOUND)
        async with bridge.http.get(bridge.at("/tools")) as response:
            assert response.status == 200
        bridge.provider.release.set()
        async with await stuck as response:
            assert (await response.json())["content"][0]["text"] == "at last"


async def test_reading_ends_when_its_caller_leaves_and_a_change_is_completed() -> None:
    async with running() as bridge:
        provider = bridge.provider
        provider.tools.append(
            ToolInfo(
                name="obsidian_stuck_reading",
                description="Reads for a long time",
                input_schema={"type": "object"},
                annotations=ToolAnnotations(read_only_hint=True),
            )
        )
        # The caller of the change leaves first, so that the server has noticed it when it notices the other.
        for tool in ("stuck", "stuck_reading"):
            provider.entered.clear()
            call = asyncio.ensure_future(
                bridge.http.post(bridge.at(f"/tools/{tool}/call"), json={"arguments": {}})
            )
            await asyncio.wait_for(provider.entered.wait(), BOUND)
            call.cancel()
        await asyncio.wait_for(provider.cancelled.wait(), BOUND)
        assert provider.cancelled_tools == ["obsidian_stuck_reading"]
        provider.release.set()
        await asyncio.wait_for(provider.completed.wait(), BOUND)


async def test_a_known_etag_is_answered_with_nothing() -> None:
    async with running() as bridge:
        async with bridge.http.get(bridge.at("/tools")) as response:
            etag = response.headers["ETag"]
            assert etag == f'"{(await response.json())["hash"]}"'
        lines = CIMultiDict([("If-None-Match", '"other"'), ("If-None-Match", etag)])
        async with bridge.http.get(bridge.at("/tools"), headers=lines) as response:
            assert response.status == 304
        for given in (etag, f"W/{etag}", f'"other", {etag}', "*"):
            async with bridge.http.get(bridge.at("/tools"), headers={"If-None-Match": given}) as response:
                assert response.status == 304
                assert response.headers["ETag"] == etag
                assert await response.read() == b""
        async with bridge.http.get(bridge.at("/tools"), headers={"If-None-Match": '"other"'}) as response:
            assert response.status == 200


async def test_a_change_of_the_tools_moves_hash_and_etag() -> None:
    async with running() as bridge:
        async with bridge.http.get(bridge.at("/tools")) as response:
            before = response.headers["ETag"]
        bridge.provider.tools.pop()
        bridge.provider.announce()
        async with bridge.http.get(bridge.at("/tools"), headers={"If-None-Match": before}) as response:
            assert response.status == 200
            assert response.headers["ETag"] != before


@needs_node
async def test_a_javascript_client_computes_the_same_hash() -> None:
    """Not of our values but of the bytes on the wire, with what is written differently here and there."""
    odd = {
        "type": "object",
        "properties": {"10": {}, "9": {}, "b": {}, "\ue000": {}, "😀": {}, "": {}},
        "n": [1.0, -0.0, 1e21, 1e16, 1e-7, 5e-324, 0.1, 2**53 + 1, 10**25, float("inf")],
        "s": '" \\ / \b \x01 \x7f \u2028 é 😀',
    }
    async with running() as bridge:
        bridge.provider.tools.append(ToolInfo(name="Odd", description="é 😀 \u2029", input_schema=odd))
        bridge.provider.announce()
        process = await asyncio.create_subprocess_exec(
            "node", "-e", SERVED_HASH, bridge.at("/tools"), stdout=asyncio.subprocess.PIPE
        )
        out, _ = await asyncio.wait_for(process.communicate(), BOUND)
        assert out.decode().split() == ["7", "true"]


@pytest.mark.parametrize(
    ("headers", "status"),
    [
        ({"Origin": "https://evil.example"}, 403),
        ({"Origin": "http://127.0.0.1.evil.example"}, 403),
        ({"Host": "evil.example"}, 403),
        ({"Host": "evil.example:3000", "Origin": "http://evil.example:3000"}, 403),
        ({"Sec-Fetch-Site": "cross-site"}, 403),
        ({"Origin": "http://localhost:5173", "Sec-Fetch-Site": "same-site"}, 200),
        ({"Origin": "app://obsidian.md", "Sec-Fetch-Site": "cross-site"}, 200),
        ({"Origin": "http://127.0.0.1:3000"}, 200),
        ({"Sec-Fetch-Site": "none"}, 200),
    ],
)
async def test_foreign_pages_and_names_are_kept_out(headers: dict[str, str], status: int) -> None:
    async with running() as bridge:
        for method, path in (
            ("GET", "/tools"),
            ("GET", "/health"),
            ("OPTIONS", "/tools"),
            ("GET", "/openapi.json"),
        ):
            async with bridge.http.request(method, bridge.at(path), headers=headers) as response:
                assert response.status == (204 if method == "OPTIONS" and status == 200 else status)
                assert ("Access-Control-Allow-Origin" in response.headers) == (status == 200)
        call = bridge.at("/tools/read_note/call")
        async with bridge.http.post(call, json={"arguments": {"path": "a"}}, headers=headers) as response:
            assert response.status == status
        assert bool(bridge.provider.calls) == (status == 200)


async def test_a_page_from_disk_may_read_why_it_is_refused() -> None:
    """A browser shows nothing else of the refusal: without these headers the page sees a network error."""
    page = {"Origin": "null"}
    asks = {"Access-Control-Request-Method": "POST", "Access-Control-Request-Headers": "content-type"}
    async with running() as bridge:
        call = bridge.at("/tools/read_note/call")
        async with bridge.http.options(call, headers={**page, **asks}) as response:
            assert response.status == 204
            assert response.headers["Access-Control-Allow-Origin"] == "*"
            assert response.headers["Access-Control-Allow-Headers"] == "Content-Type"
        for method, url in (("POST", call), ("GET", bridge.at("/tools")), ("GET", bridge.at("/health"))):
            async with bridge.http.request(method, url, json={"arguments": {}}, headers=page) as response:
                assert response.status == 403
                assert response.headers["Access-Control-Allow-Origin"] == "*"
                assert "vaultbridge serve --cors any" in (await response.json())["message"]
        assert not bridge.provider.calls
        # Under a foreign name, or with any other Origin, nobody reads anything.
        for headers in ({**page, "Host": "evil.example"}, {"Origin": "https://evil.example"}):
            async with bridge.http.get(bridge.at("/tools"), headers=headers) as response:
                assert response.status == 403 and "Access-Control-Allow-Origin" not in response.headers


async def test_an_absolute_request_target_overrides_the_host() -> None:
    """RFC 9112 3.2.2."""
    path, body = "/bridge/v1/tools/read_note/call", b'{"arguments":{"path":"a"}}'
    async with running() as bridge:
        for target, status in (
            (f"http://127.0.0.1:{bridge.port}{path}", 200),
            (f"http://[::1]:{bridge.port}{path}", 200),
            (f"http://evil.example{path}", 403),
        ):
            answer = await send_raw(bridge, make_post(target, body))
            assert answer.startswith(f"HTTP/1.1 {status} ".encode())
        assert len(bridge.provider.calls) == 2


async def test_cors_any_follows_the_specification_to_the_letter() -> None:
    async with running(guard=HostGuard(any_origin=True)) as bridge:
        headers = {"Origin": "https://anywhere.example", "Sec-Fetch-Site": "cross-site"}
        async with bridge.http.get(bridge.at("/tools"), headers=headers) as response:
            assert response.status == 200
            assert response.headers["Access-Control-Allow-Origin"] == "*"
        async with bridge.http.get(bridge.at("/tools"), headers={"Sec-Fetch-Site": "cross-site"}) as response:
            assert response.status == 200


async def test_a_refusal_of_authorize_has_the_documents_form() -> None:
    async def refuse(request: web.Request) -> Grant:
        raise web.HTTPUnauthorized(text="A token is needed.", headers={"WWW-Authenticate": "Bearer"})

    async with running(authorize=refuse) as bridge:
        async with bridge.http.get(bridge.at("/tools")) as response:
            assert response.status == 401
            assert response.headers["WWW-Authenticate"] == "Bearer"
            assert await response.json() == {"error": "Unauthorized", "message": "A token is needed."}
        async with bridge.http.get(bridge.at("/health")) as response:
            assert response.status == 200


async def test_an_internal_failure_leaks_nothing() -> None:
    async def fail(request: web.Request) -> Grant:
        raise RuntimeError(SECRET)

    async with running(authorize=fail) as bridge, bridge.http.get(bridge.at("/tools")) as response:
        assert response.status == 500
        text = await response.text()
        assert json.loads(text)["error"] == "Internal server error"
        assert SECRET not in text
        assert "Traceback" not in text


async def test_the_server_keeps_to_its_openapi_document() -> None:
    """schemathesis makes good and bad requests from the description and holds every answer to it."""
    async with running() as bridge:
        bridge.provider.release.set()
        process = await asyncio.create_subprocess_exec(
            str(Path(sys.executable).with_name("schemathesis")), "run", bridge.at("/openapi.json"),
            "--url", bridge.at(""), "--checks", "all", "--max-examples", "25",
            "--phases", "examples,coverage,fuzzing", "--no-color", "--seed", "7",
            "--generation-database", "none", "--suppress-health-check", "too_slow", "--request-timeout", "60",
            stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.STDOUT,
        )  # fmt: skip
        out, _ = await asyncio.wait_for(process.communicate(), 100)
        assert process.returncode == 0, out.decode()[-4000:]


@pytest.mark.parametrize("slashes", ["", "/", "//"])
@pytest.mark.parametrize("mark", [b"", b"\xef\xbb\xbf"])
async def test_a_trailing_slash_and_a_byte_order_mark_do_no_harm(slashes: str, mark: bytes) -> None:
    body = mark + json.dumps({"arguments": {"path": "Notes/ä.md"}}, ensure_ascii=False).encode()
    async with running() as bridge:
        for place in ("/health", "/tools", "/openapi.json"):
            async with bridge.http.get(URL(bridge.at(place) + slashes, encoded=True)) as response:
                assert response.status == 200
        url = URL(bridge.at("/tools/read_note/call") + slashes, encoded=True)
        async with bridge.http.post(url, data=body) as response:
            assert (await response.json())["content"][0]["text"] == "# Notes/ä.md"
