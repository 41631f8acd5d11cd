"""The whole server: every protocol on one port, who may connect, and how it stops."""

from __future__ import annotations

import asyncio
import contextlib
import json
import re
import ssl
from contextlib import AsyncExitStack
from pathlib import Path
from typing import Any

import aiohttp
import pytest
import websockets

from server.callers import INITIALIZE, MCP
from server.conftest import Serving
from support.dial import dial
from support.http import BOTH
from support.ports import kept_port
from support.waiting import BOUND
from support.web_app import make_certificate
from vaultbridge.errors import InvalidArgument, VaultNotFound
from vaultbridge.server.access import allows_local_programs
from vaultbridge.server.config.model import Config, ServerConfig, TokensConfig
from vaultbridge.server.serve import IDLE_SECONDS, check_exposure
from vaultbridge.tokens import TokenStore


async def answer_to(id_: int | str, socket: websockets.ClientConnection) -> Any:
    """Whatever else is announced before it."""
    async with asyncio.timeout(BOUND):
        while (message := json.loads(await socket.recv())).get("id") != id_:
            pass
    return message


async def test_one_port_speaks_every_protocol(serving: Serving) -> None:
    async with serving() as served:
        assert "Hello" in await served.read("Hello.md")
        async with served.http.post(f"{served.url}/mcp", json=INITIALIZE, headers=MCP) as response:
            assert (await response.json())["result"]["serverInfo"]["name"] == "obsidian-mcp"
        async with served.http.get(f"{served.url}/sse") as response:
            assert response.status == 200
            assert await response.content.readline() == b"event: endpoint\n"
        lock = json.loads((served.home / ".claude" / "ide" / f"{served.listening.port}.lock").read_text())
        assert lock["workspaceFolders"] == [str(served.vault)]
        async with dial(
            f"ws://127.0.0.1:{served.listening.port}/",
            subprotocols=[websockets.Subprotocol("mcp")],
            additional_headers={"X-Claude-Code-Ide-Authorization": lock["authToken"]},
        ) as socket:
            await socket.send(json.dumps(INITIALIZE))
            assert "result" in await answer_to(1, socket)
            await socket.send('{"jsonrpc":"2.0","id":2,"method":"tools/list","params":{}}')
            listed = await answer_to(2, socket)
            names = [tool["name"] for tool in listed["result"]["tools"]]
            assert "openDiff" in names
            assert "obsidian_read_note" in names
        async with dial(f"ws://127.0.0.1:{served.listening.port}/editor") as editor:
            hello = {"app": "test", "token": lock["authToken"], "abilities": {}}
            await editor.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "hello", "params": hello}))
            assert "result" in await answer_to(1, editor)
        async with served.http.get(served.url) as response:
            assert "vaultbridge" in await response.text()


async def test_at_the_end_the_lock_is_gone_and_port_and_token_are_remembered(serving: Serving) -> None:
    async with AsyncExitStack() as connection:
        async with serving() as served:
            port = served.listening.port
            lock = served.home / ".claude" / "ide" / f"{port}.lock"
            token = json.loads(lock.read_text())["authToken"]
            await connection.enter_async_context(kept_port(port))
        assert not lock.exists()
        async with serving() as served:
            assert served.listening.port == port
            assert json.loads(lock.read_text())["authToken"] == token


async def test_the_ide_can_be_switched_off(serving: Serving) -> None:
    async with serving("[ide]\nenabled = false\n") as served:
        assert not served.listening.ide
        assert not list(served.home.glob(".claude/ide/*.lock"))


async def test_the_tool_says_what_an_editor_has_open(serving: Serving) -> None:
    async with serving() as served:
        lock = json.loads(next(served.home.glob(".claude/ide/*.lock")).read_text())
        async with dial(f"ws://127.0.0.1:{served.listening.port}/editor") as editor:
            selection = {
                "start": {"line": 2, "character": 0},
                "end": {"line": 2, "character": 4},
                "text": "some",
            }
            focus = {
                "hello": {"app": "test", "token": lock["authToken"], "abilities": {}},
                "focus": {"path": "Hello.md", "selection": selection},
            }
            for method, params in focus.items():
                message = {"jsonrpc": "2.0", "id": method, "method": method, "params": params}
                await editor.send(json.dumps(message))
                answer = await answer_to(method, editor)
                assert "result" in answer, answer
            text = (await served.call("active"))["content"][0]["text"]
            assert "Active: Hello.md" in text
            assert "some" in text


async def test_several_vaults_do_not_get_mixed_up(serving: Serving) -> None:
    async with serving("", "Notes", "Work", "deep/Work") as served:
        assert [vault.name for vault in served.listening.vaults] == ["Notes", "Work", "Work 2"]
        (served.vault / "Only here.md").write_text("x")
        assert "vault is missing" in await served.read("Hello.md")
        here = await served.call("read_note", path="Only here.md", vault="Notes")
        assert here["success"] is True
        there = await served.call("read_note", path="Only here.md", vault="Work")
        assert there["success"] is False
        schema = (await served.tools())["tools"][0]["inputSchema"]
        vault = schema["properties"]["vault"]
        assert (vault["type"], vault["enum"]) == ("string", ["Notes", "Work", "Work 2"])


async def test_a_vault_that_is_not_there_ends_the_start(serving: Serving, tmp_path: Path) -> None:
    (tmp_path / "Gone").write_text("a file")
    with pytest.raises(VaultNotFound):
        async with serving("", "Gone"):
            pass


async def test_a_token_opens_what_it_was_made_for_and_nothing_after_it_was_revoked(serving: Serving) -> None:
    async with serving() as served:
        token, secret = served.tokens.make("phone", read_only=True, deny=("Private/",))
        bearer = {"Authorization": f"Bearer {secret}"}
        names = await served.names(**bearer)
        assert "read_note" in names
        assert "create_note" not in names
        assert "create_note" in await served.names()
        async with served.http.post(
            f"{served.url}/bridge/v1/tools/create_note/call",
            json={"arguments": {"name": "X"}},
            headers=bearer,
        ) as response:
            refused = await response.json()
        assert refused["isError"] is True
        assert "read-only" in refused["content"][0]["text"]
        assert not (served.vault / "X.md").exists()
        assert "Hello" in await served.read("Hello.md", bearer)
        assert "secret" not in await served.read("Private/Diary.md", bearer)
        assert "secret" in await served.read("Private/Diary.md")
        found = await served.call("search", bearer, query="secret")
        assert "Diary" not in json.dumps(found)
        served.tokens.revoke(token.id)
        assert await served.status(**bearer) == 401
        assert await served.status() == 200


async def test_a_token_for_other_vaults_opens_nothing(serving: Serving) -> None:
    async with serving("", "Notes", "Work") as served:
        _, here = served.tokens.make("a", vaults=("Work",))
        _, elsewhere = served.tokens.make("b", vaults=("Other",))
        bearer = {"Authorization": f"Bearer {here}"}
        (served.listening.vaults[1].folder / "W.md").write_text("work only")
        assert "work only" in await served.read("W.md", bearer)
        assert await served.status(Authorization=f"Bearer {elsewhere}") == 403


@pytest.mark.parametrize("header", ["Bearer wrong", "Basic abc", "Bearer", "", "Bearer " + "x" * 600])
async def test_a_wrong_token_is_refused_even_where_none_is_needed(serving: Serving, header: str) -> None:
    async with serving() as served:
        for path in ("/bridge/v1/tools", "/mcp", "/sse"):
            assert await served.status(path, Authorization=header) == 401


async def test_the_bridges_own_token_opens_everything(serving: Serving) -> None:
    async with serving("[tokens]\nrequired = true\n") as served:
        assert await served.status() == 401
        own = json.loads(next(served.home.glob(".claude/ide/*.lock")).read_text())["authToken"]
        assert await served.status(Authorization=f"Bearer {own}") == 200


@pytest.mark.parametrize(
    ("headers", "without", "with_token"),
    [
        ({}, 200, 200),
        ({"Origin": "http://localhost:5173"}, 401, 200),
        ({"Sec-Fetch-Site": "none", "Sec-Fetch-Mode": "navigate"}, 401, 200),
        ({"Sec-Fetch-Site": "same-origin"}, 401, 200),
        # Node, which is no browser, sends this one with every fetch, and nothing else of the kind.
        ({"Sec-Fetch-Mode": "cors"}, 200, 200),
        ({"Origin": "https://evil.example"}, 403, 403),
        ({"Host": "evil.example"}, 403, 403),
    ],
)
async def test_mcp_is_open_to_local_programs_and_to_pages_only_with_a_token(
    serving: Serving, headers: dict[str, str], without: int, with_token: int
) -> None:
    async with serving() as served:
        _, secret = served.tokens.make("page")
        for extra, wanted in (({}, without), ({"Authorization": f"Bearer {secret}"}, with_token)):
            sent = {**MCP, **headers, **extra}
            async with served.http.post(f"{served.url}/mcp", json=INITIALIZE, headers=sent) as response:
                assert response.status == wanted


async def test_a_session_belongs_to_its_token(serving: Serving) -> None:
    async with serving() as served:
        _, first = served.tokens.make("one")
        _, two = served.tokens.make("two")
        mine = {**MCP, "Authorization": f"Bearer {first}"}
        async with served.http.post(f"{served.url}/mcp", json=INITIALIZE, headers=mine) as response:
            session = {"Mcp-Session-Id": response.headers["Mcp-Session-Id"]}
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        for token, status in ((first, 200), (two, 404)):
            sent = {**MCP, **session, "Authorization": f"Bearer {token}"}
            async with served.http.post(f"{served.url}/mcp", json=ping, headers=sent) as response:
                assert response.status == status


async def test_behind_a_proxy_nobody_is_local(serving: Serving, tmp_path: Path) -> None:
    tokens = TokenStore(tmp_path / "home" / ".config" / "vaultbridge")
    _, secret = tokens.make("remote")
    config = '[server]\nport = 0\nbehind_proxy = true\nhosts = ["vault.example"]\n'
    async with serving(config) as served:
        assert await served.status() == 401
        assert await served.status(Authorization=f"Bearer {secret}", Host="vault.example") == 200
        assert await served.status(Authorization=f"Bearer {secret}", Host="other.example") == 403


async def test_tls_is_served_from_the_given_files(serving: Serving, tmp_path: Path) -> None:
    file, key = await asyncio.to_thread(make_certificate, tmp_path, "localhost", alternative="IP:127.0.0.1")
    trusting = ssl.create_default_context(cafile=str(file))
    config = f'[server]\nport = 0\ntls_certificate = "{file}"\ntls_key = "{key}"\n'
    async with serving(config, ssl=trusting) as served:
        assert served.url.startswith("https://")
        assert await served.status() == 200
        assert not served.listening.ide
    key.write_text("no key")
    with pytest.raises(InvalidArgument, match="cannot be used"):
        async with serving(config, ssl=trusting):
            pass


def test_another_address_needs_tls_or_a_proxy_and_a_token(tmp_path: Path) -> None:
    tokens = TokenStore(tmp_path)
    check_exposure(Config(), tokens)
    wide = ServerConfig(host="0.0.0.0")
    with pytest.raises(InvalidArgument, match="no TLS"):
        check_exposure(Config(server=wide), tokens)
    proxied = ServerConfig(host="0.0.0.0", behind_proxy=True)
    with pytest.raises(InvalidArgument, match="need a token"):
        check_exposure(Config(server=proxied), tokens)
    with pytest.raises(InvalidArgument, match="belong together"):
        check_exposure(Config(server=ServerConfig(tls_key="k")), tokens)
    tokens.make("remote")
    check_exposure(Config(server=proxied), tokens)
    check_exposure(Config(server=ServerConfig(host="0.0.0.0", tls_certificate="c", tls_key="k")), tokens)


@pytest.mark.parametrize(
    ("config", "opens"),
    [
        (Config(), True),
        (Config(server=ServerConfig(host="::1")), True),
        (Config(server=ServerConfig(host="10.0.0.1")), False),
        (Config(server=ServerConfig(behind_proxy=True)), False),
        (Config(tokens=TokensConfig(required=True)), False),
    ],
)
def test_only_a_server_for_this_machine_is_open_to_it(config: Config, opens: bool) -> None:
    assert allows_local_programs(config) is opens


async def test_a_caller_that_drips_its_headers_is_disconnected(
    serving: Serving, monkeypatch: pytest.MonkeyPatch
) -> None:
    loop = asyncio.get_running_loop()
    clock = loop.time
    async with serving() as served:
        slow = [await asyncio.open_connection("127.0.0.1", served.listening.port) for _ in range(50)]
        for _, writer in slow:
            writer.write(b"GET /bridge/v1/health HTTP/1.1\r\n")
        assert await served.status("/bridge/v1/health") == 200
        # The time is over for all who had not said what they want.
        monkeypatch.setattr(loop, "time", lambda: clock() + IDLE_SECONDS + 1)
        for reader, writer in slow:
            # A reset is a hanging up, too: the server may not have read what it was sent.
            with contextlib.suppress(ConnectionResetError):
                assert await asyncio.wait_for(reader.read(), BOUND) == b""
            writer.close()


async def test_two_hundred_callers_read_notes_at_once(serving: Serving) -> None:
    async with serving() as served:
        async with asyncio.timeout(60):
            texts = await asyncio.gather(*(served.read("Hello.md") for _ in range(200)))
        assert all("some text" in text for text in texts)


async def test_what_is_written_over_http_is_in_the_vault(serving: Serving) -> None:
    async with serving() as served:
        made = await served.call("create_note", name="New", content="made\n")
        assert made["success"] is True
        assert json.loads(made["content"][0]["text"])["success"] is True
        assert (served.vault / "New.md").read_text() == "made\n"


async def test_foreign_pages_get_nothing_from_any_door(serving: Serving) -> None:
    async with serving() as served:
        evil = {"Origin": "https://evil.example"}
        for path in ("/bridge/v1/tools", "/bridge/v1/health", "/mcp", "/sse", "/"):
            async with served.http.get(served.url + path, headers=evil) as response:
                assert response.status == 403
                assert "Access-Control-Allow-Origin" not in response.headers
        for path in ("/", "/editor"):
            with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
                await served.http.ws_connect(served.url + path, headers=evil)
            assert caught.value.status == 403


@pytest.mark.parametrize("path", ["/mcp", "/sse", "/", "/editor", "/bridge/v1/tools"])
async def test_a_whole_address_as_the_target_is_judged_by_its_own_host(serving: Serving, path: str) -> None:
    async with serving() as served:
        port = served.listening.port
        for host, refused in (("evil.example", True), (f"127.0.0.1:{port}", False)):
            reader, writer = await asyncio.open_connection("127.0.0.1", port)
            head = f"GET http://{host}{path} HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n"
            if path == "/editor":
                head += "Upgrade: websocket\r\nSec-WebSocket-Version: 13\r\n"
                head += "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n"
            writer.write(f"{head}\r\n".encode())
            status = (await asyncio.wait_for(reader.readline(), BOUND)).split()[1]
            assert (status == b"403") is refused, (host, status)
            writer.close()
            await writer.wait_closed()


async def test_the_time_limit_of_a_call_holds_on_every_door(serving: Serving, tmp_path: Path) -> None:
    tools = tmp_path / "home" / ".config" / "vaultbridge" / "tools"
    tools.mkdir(parents=True)
    (tools / "stuck.py").write_text(
        "import threading\nfrom vaultbridge.plugins import tool\n"
        "@tool(effect='reads')\ndef stuck() -> str:\n    'Never ends.'\n"
        "    threading.Event().wait()\n    return ''\n"
    )
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "stuck", "arguments": {}}}
    async with serving("[limits]\ncall_seconds = 1\n") as served:
        lock = json.loads(next(served.home.glob(".claude/ide/*.lock")).read_text())
        async with dial(
            f"ws://127.0.0.1:{served.listening.port}/",
            subprotocols=[websockets.Subprotocol("mcp")],
            additional_headers={"X-Claude-Code-Ide-Authorization": lock["authToken"]},
        ) as socket:
            await socket.send(json.dumps(INITIALIZE))
            await answer_to(1, socket)
            await socket.send(json.dumps(call))
            assert "1 s" in str(await answer_to(2, socket))
        assert "1 s" in str(await served.call("stuck"))
        async with served.http.post(
            f"{served.url}/mcp", json=INITIALIZE, headers={"Accept": BOTH}
        ) as response:
            session = {"Mcp-Session-Id": response.headers["Mcp-Session-Id"], "Accept": BOTH}
        async with served.http.post(f"{served.url}/mcp", json=call, headers=session) as response:
            assert "1 s" in await response.text()


HEAD = (
    b"POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\n"
    b"Accept: application/json, text/event-stream\r\n"
)


@pytest.mark.parametrize(
    ("rest", "status", "message"),
    [
        (b"Content-Encoding: gzip\r\nContent-Length: 10\r\n\r\n0123456789", b"415", b"without compression"),
        (b"Transfer-Encoding: gzip, chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n", b"501", b"Transfer-Encoding"),
        (b"Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n", b"413", b"The body is too large"),
        (
            b"Expect: 100-continue\r\nOrigin: http://evil.example\r\nContent-Length: 9\r\n\r\n",
            b"403",
            b"Origin",
        ),
    ],
)
async def test_a_body_that_is_not_wanted_or_not_readable_is_refused_in_words_at_mcp(
    serving: Serving, rest: bytes, status: bytes, message: bytes
) -> None:
    async with serving() as served:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.listening.port)
        writer.write(HEAD + rest)
        async with asyncio.timeout(BOUND):
            head = await reader.readuntil(b"\r\n\r\n")
            length = re.search(rb"Content-Length: (\d+)", head)
            assert length is not None
            body = await reader.readexactly(int(length[1]))
            # The connection is closed after the answer, because nobody could tell what comes next. The server
            # waits some seconds for a body that is on its way, unless it hears that there is none.
            writer.write_eof()
            assert await reader.read() == b""
        writer.close()
        assert head.split()[1] == status
        assert b"application/json" in head
        assert message in body
        assert json.loads(body)["error"]["code"] == -32600


async def test_a_client_that_expects_100_continue_gets_it_and_an_answer(serving: Serving) -> None:
    body = json.dumps(INITIALIZE).encode()
    async with serving() as served:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.listening.port)
        writer.write(HEAD + f"Expect: 100-continue\r\nContent-Length: {len(body)}\r\n\r\n".encode())
        assert await asyncio.wait_for(reader.readline(), BOUND) == b"HTTP/1.1 100 Continue\r\n"
        await reader.readline()
        writer.write(body)
        assert await asyncio.wait_for(reader.readline(), BOUND) == b"HTTP/1.1 200 OK\r\n"
        writer.close()


async def test_what_no_endpoint_answers_is_answered_in_json(serving: Serving) -> None:
    async with serving() as served:
        async with served.http.get(f"{served.url}/nowhere") as response:
            assert response.status == 404
            answer = await response.json()
            assert answer["error"] == "Not found"
            assert "MCP is at /mcp" in answer["details"]
        # The address without its path, which is how people give it to a client.
        async with served.http.post(served.url, json=INITIALIZE, headers=MCP) as response:
            assert response.status == 405
            assert "MCP is at /mcp" in (await response.json())["details"]
        reader, writer = await asyncio.open_connection("127.0.0.1", served.listening.port)
        writer.write(b"FETCH /secret HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n")
        answer = await asyncio.wait_for(reader.read(), BOUND)
        writer.close()
        assert json.loads(answer.partition(b"\r\n\r\n")[2])["error"] == "Bad request"
        assert b"secret" not in answer
