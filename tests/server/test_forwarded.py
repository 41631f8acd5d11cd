"""A request that came through a proxy or a tunnel is not local, whatever its Host says and whichever address
of the server it is for."""

from __future__ import annotations

import asyncio
import json
import re
import shutil
from collections.abc import AsyncIterator, Callable, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp
import pytest
from aiohttp import web

from server.callers import INITIALIZE, MCP, make_bearer
from server.conftest import Served, Serving
from support.files import write_vault
from support.reverse_proxy import proxying
from support.waiting import BOUND, until
from vaultbridge.protocols.claude_ide.lock_files import TOKEN_HEADER
from vaultbridge.server import serve
from vaultbridge.tokens import TokenStore

WHY = "proxy or a tunnel"
"""What the answer to a request says that was refused because it was forwarded."""

FORWARDED = {"X-Forwarded-For": "203.0.113.7"}
METHODS = ("GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS")

Routes = Callable[[], list[tuple[str, str]]]


@pytest.fixture
def routes(monkeypatch: pytest.MonkeyPatch) -> Routes:
    """All routes of the server that the test starts, as methods and addresses, read from its router."""
    apps: list[web.Application] = []
    serve_app = serve.serve_app

    def record(app: web.Application, *arguments: Any, **options: Any) -> Any:
        apps.append(app)
        return serve_app(app, *arguments, **options)

    monkeypatch.setattr(serve, "serve_app", record)

    def list_routes() -> list[tuple[str, str]]:
        found = {("GET", "/nothing/here"), ("GET", "/bridge/v1/health"), ("GET", "/bridge/v1/tools")}
        found |= {("POST", "/bridge/v1/tools/read_note/call"), ("GET", "/bridge/v1/openapi.json")}
        for route in apps[-1].router.routes():
            assert route.resource is not None
            address = re.sub(r"\{[^}]*\}", "x", route.resource.canonical)
            found |= {(method, address) for method in (METHODS if route.method == "*" else (route.method,))}
        return sorted(found)

    return list_routes


async def send(
    served: Served, method: str, path: str, headers: Mapping[str, str], url: str = ""
) -> tuple[int, str]:
    async with served.http.request(method, (url or served.url) + path, headers=headers) as response:
        return response.status, "" if response.content_type == "text/event-stream" else await response.text()


async def test_no_route_answers_a_forwarded_request_without_a_token(serving: Serving, routes: Routes) -> None:
    async with serving() as served:
        drawn = routes()
        for known in ("/mcp", "/sse", "/messages", "/", "/editor", "/bridge", "/bridge/x", "/page/x",
                      "/page/code", "/page/media/x/x", "/page/api/x", "/register"):  # fmt: skip
            assert known in {address for _, address in drawn}, known
        upgrade = {
            "Connection": "Upgrade",
            "Upgrade": "websocket",
            "Sec-WebSocket-Version": "13",
            "Sec-WebSocket-Key": "dGhlIHNhbXBsZSBub25jZQ==",
            TOKEN_HEADER: served.own_token,
        }
        for method, address in drawn:
            for more in ({}, upgrade, make_bearer("wrong"), make_bearer(served.own_token)):
                status, text = await send(served, method, address, {**FORWARDED, **more})
                assert status in (401, 403), (method, address, more)
                assert method == "HEAD" or WHY in text or "not valid" in text, (method, address, text)
            status, text = await send(served, method, address, {})
            assert WHY not in text, "a direct request is not refused for that reason"


async def test_routes_that_take_tokens_answer_a_forwarded_request_with_one(serving: Serving) -> None:
    async with serving() as served:
        _, secret = served.tokens.make("phone")
        headers = {**FORWARDED, **make_bearer(secret)}
        for path in ("/bridge/v1/tools", "/bridge/v1/health", "/sse", "/page/api/files"):
            assert await served.status(path, **headers) == 200, path
        read = await served.call("read_note", headers, path="Hello.md")
        assert "some text" in read["content"][0]["text"]
        async with served.http.post(
            f"{served.url}/mcp", json=INITIALIZE, headers={**MCP, **headers}
        ) as response:
            assert response.status == 200
        # What is for the owner's own machine stays there: the page, its link, the sockets.
        for path in ("/", "/editor", "/page/index.html", "/page/media/x/x", "/page/code"):
            assert await served.status(path, **headers) == 403, path


NAMES = [
    "Forwarded", "X-Forwarded-For", "X-Forwarded-Host", "X-Forwarded-Proto", "X-Forwarded-Prefix",
    "X-Forwarded-Anything", "X-Real-IP", "CF-Connecting-IP", "CF-Ray", "Cdn-Loop", "True-Client-IP",
    "Tailscale-User-Login", "Tailscale-Funnel-Request", "Via", "Ngrok-Auth-User-Email", "Fly-Client-IP",
    "X-Original-Host", "X-Original-Forwarded-For", "X-Client-IP", "X-Cluster-Client-IP", "Fastly-Client-IP",
    "X-Envoy-External-Address", "X-Proxy", "x-forwarded-for", "X-FORWARDED-FOR", "X_Forwarded_For",
    "cf_connecting_ip", "Remote-User", "Remote-Groups", "X-Remote-User", "X-WebAuth-User", "X-Authentik-Uid",
    "X-Goog-Iap-Jwt-Assertion", "X-Client-Cert", "X-SSL-Client-Verify", "SSL-Client-Cert", "X-Rewrite-URL",
    "Max-Forwards", "Surrogate-Capability", "X-Via", "Rndr-Id", "X-Railway-Edge", "X-Replit-User-Id",
    "X-Heroku-Queue-Depth", "X-Request-Start", "Fastly-SSL", "X-HAProxy-Server-State", "X-Github-Edge-Region",
    "Early-Data", "Client-Cert", "Client-Cert-Chain", "X-SSL-Cert", "X-Amzn-Oidc-Identity",
    "X-Amzn-Mtls-Clientcert", "X-MS-Client-Principal", "Bypass-Tunnel-Reminder", "Skip_Zrok_Interstitial",
    "X-Envoy-Peer-Metadata",
]  # fmt: skip


async def send_raw(served: Served, *lines: str, version: str = "HTTP/1.1") -> int:
    """Initialize over /mcp with these header lines as they are."""
    body = json.dumps(INITIALIZE)
    head = [
        f"POST /mcp {version}",
        f"Host: 127.0.0.1:{served.listening.port}",
        *(f"{name}: {value}" for name, value in MCP.items()),
        f"Content-Length: {len(body)}",
        "Connection: close",
        *lines,
    ]
    reader, writer = await asyncio.open_connection("127.0.0.1", served.listening.port)
    writer.write(("\r\n".join(head) + "\r\n\r\n" + body).encode())
    answer = await asyncio.wait_for(reader.read(), BOUND)
    writer.close()
    return int(answer.split()[1])


async def test_every_header_of_a_proxy_marks_a_request_in_any_spelling(serving: Serving) -> None:
    async with serving() as served:
        assert await send_raw(served) == 200
        for name in NAMES:
            assert await send_raw(served, f"{name}: 203.0.113.7") == 401, name
            assert await send_raw(served, f"{name}:") == 401, f"{name}, empty"
            twice = await send_raw(served, f"{name}: 127.0.0.1", f"{name}: ::1")
            assert twice in (400, 401), name
        # nginx speaks HTTP/1.0 to a server unless it is told otherwise, and adds no header.
        assert await send_raw(served, version="HTTP/1.0") == 401


@pytest.mark.parametrize(
    "line", ["X-Request-Id: 1", "traceparent: 00-1-1-01", "User-Agent: via x-forwarded-for", "X-Api-Key: via"]
)
async def test_headers_that_programs_send_themselves_mark_nothing(serving: Serving, line: str) -> None:
    async with serving() as served:
        assert await send_raw(served, line) == 200


async def test_the_answer_says_what_happened_and_which_command_makes_a_token(serving: Serving) -> None:
    async with serving() as served:
        status, text = await send(served, "GET", "/bridge/v1/tools", FORWARDED)
        message = json.loads(text)["message"]
        assert status == 401
        assert "X-Forwarded-For" in message
        assert "vaultbridge token make NAME" in message
        assert "Authorization: Bearer" in message
        status, text = await send(served, "GET", "/", FORWARDED)
        assert status == 403
        assert "--behind-proxy" in json.loads(text)["message"]


async def test_a_session_of_a_local_program_is_not_continued_through_a_tunnel(serving: Serving) -> None:
    async with serving() as served:
        async with served.http.post(f"{served.url}/mcp", json=INITIALIZE, headers=MCP) as response:
            session = {**MCP, "Mcp-Session-Id": response.headers["Mcp-Session-Id"]}
        _, secret = served.tokens.make("phone")
        ping = {"jsonrpc": "2.0", "id": 2, "method": "ping"}
        for more, status in (({}, 200), (FORWARDED, 401), ({**FORWARDED, **make_bearer(secret)}, 404)):
            async with served.http.post(
                f"{served.url}/mcp", json=ping, headers={**session, **more}
            ) as response:
                assert response.status == status


async def test_a_tunnel_that_rewrites_the_host_opens_nothing_without_a_token(serving: Serving) -> None:
    async with serving() as served, proxying(served.listening.port) as public:
        refused, _ = await send(served, "POST", "/mcp", MCP, url=public)
        assert refused == 401
        assert (await send(served, "GET", "/", {}, url=public))[0] == 403
        with pytest.raises(aiohttp.WSServerHandshakeError) as caught:
            await served.http.ws_connect(public + "/", headers={TOKEN_HEADER: served.own_token})
        assert caught.value.status == 403
        _, secret = served.tokens.make("phone")
        listed, text = await send(served, "GET", "/bridge/v1/tools", make_bearer(secret), url=public)
        assert listed == 200
        assert json.loads(text)["tools"]


async def test_a_server_that_is_meant_for_a_proxy_serves_everything_to_whoever_has_the_secret(
    serving: Serving, tmp_path: Path
) -> None:
    TokenStore(tmp_path / "home" / ".config" / "vaultbridge").make("remote")
    config = '[server]\nport = 0\nbehind_proxy = true\nhosts = ["vault.example"]\n'
    async with serving(config) as served:
        own = served.own_token
        assert await served.status("/bridge/v1/health", **FORWARDED) == 200
        assert await served.status("/", **FORWARDED) == 200
        assert await served.status("/bridge/v1/tools", **FORWARDED) == 401
        assert await served.status("/bridge/v1/tools", **FORWARDED, **make_bearer(own)) == 200
        code = served.listening.open_once.partition("#code=")[2]
        async with served.http.post(
            f"{served.url}/page/code", json={"code": code}, headers=FORWARDED
        ) as response:
            assert (await response.json())["token"] == own


async def test_a_refused_body_is_not_taken_for_the_next_request(serving: Serving) -> None:
    async with serving() as served:
        reader, writer = await asyncio.open_connection("127.0.0.1", served.listening.port)
        head = (
            f"Host: 127.0.0.1:{served.listening.port}\r\nX-Real-IP: 203.0.113.7\r\nExpect: 100-continue\r\n"
        )
        body = f"GET /bridge/v1/tools HTTP/1.1\r\nHost: 127.0.0.1:{served.listening.port}\r\n\r\n"
        writer.write(f"POST /mcp HTTP/1.1\r\n{head}Content-Length: {len(body)}\r\n\r\n".encode())
        async with asyncio.timeout(BOUND):
            answer = await reader.readuntil(b"\r\n\r\n")
            # The client sends it although it was refused.
            writer.write(body.encode())
            answer += await reader.read()
        writer.close()
        assert answer.startswith(b"HTTP/1.1 401 ")
        assert answer.count(b"HTTP/1.1 ") == 1


NGINX = """daemon off; master_process off; pid {folder}/nginx.pid; error_log {folder}/error.log;
events {{ worker_connections 64; }}
http {{
  access_log off;
  client_body_temp_path {folder}/body; proxy_temp_path {folder}/proxy; fastcgi_temp_path {folder}/fastcgi;
  uwsgi_temp_path {folder}/uwsgi; scgi_temp_path {folder}/scgi;
  server {{
    listen unix:{folder}/front.sock;
    location / {{ proxy_pass http://127.0.0.1:{port}; {settings} }}
  }}
}}
"""


@asynccontextmanager
async def run_nginx(folder: Path, port: int, settings: str) -> AsyncIterator[aiohttp.ClientSession]:
    """A session that reaches the server through nginx."""
    configuration = NGINX.format(folder=folder, port=port, settings=settings)
    await asyncio.to_thread(write_vault, folder, {"nginx.conf": configuration})
    nginx = await asyncio.create_subprocess_exec(
        "nginx", "-p", str(folder), "-e", f"{folder}/error.log", "-c", f"{folder}/nginx.conf"
    )
    front = folder / "front.sock"
    try:
        await until(lambda: front.exists() or nginx.returncode is not None)
        assert nginx.returncode is None, (folder / "error.log").read_text()
        async with aiohttp.ClientSession(
            connector=aiohttp.UnixConnector(str(front)), timeout=aiohttp.ClientTimeout(BOUND)
        ) as session:
            yield session
    finally:
        if nginx.returncode is None:
            nginx.terminate()
        await asyncio.wait_for(nginx.wait(), BOUND)


@pytest.mark.skipif(shutil.which("nginx") is None, reason="nginx is not installed")
@pytest.mark.parametrize(
    "settings",
    [
        "",
        "proxy_http_version 1.1; proxy_set_header X-Forwarded-For $proxy_add_x_forwarded_for;",
        "proxy_http_version 1.1; proxy_set_header X-Real-IP $remote_addr;",
    ],
    ids=["as it is", "with X-Forwarded-For", "with X-Real-IP"],
)
async def test_nginx_in_front_opens_nothing_without_a_token(
    serving: Serving, tmp_path: Path, settings: str
) -> None:
    async with (
        serving() as served,
        run_nginx(tmp_path / "n", served.listening.port, settings) as session,
    ):
        _, secret = served.tokens.make("phone")
        for more, wanted in (({}, 401), (make_bearer(secret), 200)):
            async with session.post(
                "http://vault.example/mcp", json=INITIALIZE, headers={**MCP, **more}
            ) as response:
                assert response.status == wanted, await response.text()
