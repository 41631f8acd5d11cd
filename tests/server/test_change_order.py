"""Changes that a client sends without waiting for answers are carried out in the order in which it sent them,
over every protocol of a real server. Our own promise: a model may send several edits of one note at once."""

from __future__ import annotations

import asyncio
import json
import os
import random
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.long_form import mark_long_after
from support.process import Process
from support.serve import PROGRAM, Served, served
from support.waiting import BOUND

NOTES = ("A", "B", "Sub/C")
VAULT = {f"{name}.md": "" for name in NOTES}
PIPELINES = 3
CHANGES = 40
"""More than run at once in the engine's threads, so that they would overtake one another."""


class Drawn:
    """Appends to a few notes, with reads and searches between them, and what the notes must then contain."""

    def __init__(self, seed: int) -> None:
        draw = random.Random(seed)
        self.calls: list[tuple[str, dict[str, Any]]] = []
        self.expected: dict[str, list[str]] = {name: [] for name in NOTES}
        for number in range(CHANGES):
            note, line = draw.choice(NOTES), f"line {number} {'x' * draw.choice((1, 1, 1, 5000))}"
            self.expected[note].append(line)
            self.calls.append(("edit_note", {"op": "append", "name": note, "content": line}))
            if draw.random() < 0.4:
                self.calls.append(("search", {"query": draw.choice(("line", "/li.*e/", "nothing"))}))
            if draw.random() < 0.4:
                self.calls.append(("read_note", {"name": note}))

    def check(self, vault: Path) -> None:
        for note, lines in self.expected.items():
            assert (vault / f"{note}.md").read_text("utf-8").splitlines() == lines

    def requests(self, start: int = 10) -> Iterator[dict[str, Any]]:
        for id_, (tool, arguments) in enumerate(self.calls, start):
            params = {"name": f"obsidian_{tool}", "arguments": arguments}
            yield {"jsonrpc": "2.0", "id": id_, "method": "tools/call", "params": params}


@pytest.fixture(params=mark_long_after(1, range(PIPELINES)))
def drawn(request: pytest.FixtureRequest) -> Drawn:
    return Drawn(request.param)


@pytest.fixture
def vault(tmp_path: Path) -> Path:
    folder = tmp_path / "Notes"
    for name, text in VAULT.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


def check_answer(answer: dict[str, Any]) -> None:
    assert not answer["result"].get("isError"), answer


@pytest.mark.parametrize("listed", [True, False], ids=["tools listed", "tools not listed"])
async def test_changes_over_stdio_keep_their_order(
    drawn: Drawn, vault: Path, tmp_path: Path, *, listed: bool
) -> None:
    home = Served(tmp_path / "home")
    async with Process([*PROGRAM, "stdio", str(vault)], env=home.environ) as process:
        await process.initialize()
        if listed:
            await process.ask("tools/list")
        requests = list(drawn.requests())
        await process.write(b"".join(json.dumps(request).encode() + b"\n" for request in requests))
        answers = {}
        while len(answers) < len(requests):
            answer = await process.read()
            if "id" in answer:
                answers[answer["id"]] = answer
        for request in requests:
            check_answer(answers[request["id"]])
        drawn.check(vault)
        await process.end()


async def test_over_one_session_of_mcp_http(drawn: Drawn, vault: Path, tmp_path: Path) -> None:
    """In one batch, so that the order of arrival is certain."""
    import aiohttp

    headers = {"Accept": "application/json, text/event-stream"}
    async with served(tmp_path / "home", vault) as server, aiohttp.ClientSession() as http:
        url = f"http://127.0.0.1:{server.port}/mcp"
        hello = {
            "protocolVersion": "2025-03-26",
            "capabilities": {},
            "clientInfo": {"name": "t", "version": "1"},
        }
        message = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": hello}
        async with http.post(url, json=message, headers=headers) as response:
            headers["Mcp-Session-Id"] = response.headers["Mcp-Session-Id"]
        requests = list(drawn.requests())
        async with asyncio.timeout(BOUND), http.post(url, json=requests, headers=headers) as response:
            assert response.status == 200, await response.text()
            text = await response.text()
        assert text.count('"isError":true') == 0
        drawn.check(vault)


async def test_over_the_ide_socket(drawn: Drawn, vault: Path, tmp_path: Path) -> None:
    async with served(tmp_path / "home", vault) as server, server.client() as client:
        await client.request("tools/list")
        begun = [await client.begin(request["method"], **request["params"]) for request in drawn.requests()]
        for text in ("first", "second", "third"):
            begun.append(await client.begin("writeFile", path="Written.md", content=text))
        for answer in await asyncio.wait_for(asyncio.gather(*begun), BOUND):
            assert "error" not in answer, answer
        drawn.check(vault)
        assert (vault / "Written.md").read_text("utf-8") == "third"


async def test_over_one_connection_of_bridge_v1(drawn: Drawn, vault: Path, tmp_path: Path) -> None:
    """HTTP/1.1 pipelining: all requests are written before the first answer is read."""
    async with served(tmp_path / "home", vault) as server:
        reader, writer = await asyncio.open_connection("127.0.0.1", server.port)
        for tool, arguments in drawn.calls:
            body = json.dumps({"arguments": arguments}).encode()
            head = f"POST /bridge/v1/tools/{tool}/call HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
            writer.write(
                head.encode() + b"Content-Type: application/json\r\nContent-Length: %d\r\n\r\n" % len(body)
            )
            writer.write(body)
        for _ in drawn.calls:
            async with asyncio.timeout(BOUND):
                head_bytes = await reader.readuntil(b"\r\n\r\n")
                assert head_bytes.startswith(b"HTTP/1.1 200"), head_bytes
                length = int(head_bytes.lower().split(b"content-length:")[1].split(b"\r\n")[0])
                assert json.loads(await reader.readexactly(length))["success"]
        writer.close()
        drawn.check(vault)


async def test_through_the_stdio_bridge(drawn: Drawn, vault: Path, tmp_path: Path) -> None:
    async with served(tmp_path / "home", vault) as server:
        url = f"http://127.0.0.1:{server.port}"
        async with Process([*PROGRAM, "bridge", "--url", url], env=server.environ) as process:
            await process.initialize("2025-11-25")
            listed = (await process.ask("tools/list"))["result"]["tools"]
            hints = {tool["name"]: tool.get("annotations", {}).get("readOnlyHint") for tool in listed}
            assert hints["read_note"] is True
            assert not hints["edit_note"]
            requests = list(drawn.requests())
            for request in requests:
                request["params"]["name"] = request["params"]["name"].removeprefix("obsidian_")
            await process.write(b"".join(json.dumps(request).encode() + b"\n" for request in requests))
            answers = {}
            while len(answers) < len(requests):
                answer = await process.read()
                if "id" in answer:
                    answers[answer["id"]] = answer
            for answer in answers.values():
                check_answer(answer)
            drawn.check(vault)
            await process.end()


async def test_sigterm_loses_no_acknowledged_change_of_a_client_that_does_not_read(
    vault: Path, tmp_path: Path
) -> None:
    """The client sends far more than is read from it, and reads nothing until the process has ended."""
    home = Served(tmp_path / "home")
    out_read, out_write = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *PROGRAM, "stdio", str(vault), stdin=asyncio.subprocess.PIPE, stdout=out_write, env=home.environ
    )
    os.close(out_write)
    try:
        with os.fdopen(out_read, "rb") as out:
            assert process.stdin is not None
            hello = {"protocolVersion": "2025-03-26", "capabilities": {}, "clientInfo": {}}
            messages = [{"jsonrpc": "2.0", "id": -1, "method": "initialize", "params": hello}]
            for number in range(6000):
                arguments = {"op": "append", "name": "A", "content": f"line {number}"}
                params = {"name": "obsidian_edit_note", "arguments": arguments}
                messages.append({"jsonrpc": "2.0", "id": number, "method": "tools/call", "params": params})
            process.stdin.write(b"".join(json.dumps(message).encode() + b"\n" for message in messages))
            answers = [await asyncio.to_thread(out.readline) for _ in range(2)]
            process.send_signal(signal.SIGTERM)
            assert await asyncio.wait_for(process.wait(), BOUND) == 0
            answers += out.readlines()
    finally:
        if process.returncode is None:
            process.kill()
            await process.wait()
    acknowledged = [id_ for line in answers[1:] if (id_ := json.loads(line).get("id")) is not None]
    assert acknowledged == list(range(len(acknowledged)))
    kept = (vault / "A.md").read_text("utf-8").splitlines()
    assert kept == [f"line {number}" for number in range(len(kept))]
    assert len(acknowledged) <= len(kept) <= len(acknowledged) + 1, "not only the change that was running"
