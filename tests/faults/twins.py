"""Twin vaults: two vaults that differ only in notes that a scope hides, and the same calls to both.

    python tests/faults/twins.py --seeds 60 --calls 300

Whatever a limited caller asks or changes, over any protocol, both must answer the same, apart from the times
of the run, and end with the same bytes in the visible files. A difference reveals something about hidden
notes. Meanwhile other programs and the owner change hidden notes of one vault, and move notes into hidden
folders and out of them; in the other vault, which has none, those notes are deleted and created.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import re
import shutil
import sys
import tempfile
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import AsyncExitStack, asynccontextmanager
from pathlib import Path
from typing import Any

import aiohttp

if __name__ == "__main__":
    sys.path[:0] = [str(Path(__file__).resolve().parent.parent)]

from faults.twin_draw import LINK, Call, Draw, Json
from support.editor import Client, Failed
from support.serve import PROGRAM, Served
from support.waiting import BOUND

DENY = ("Private/", "A/", "*.secret.md")
FIXED_TIME = 1_600_000_000
OWN = "Private/only.md"
"""The one hidden note of the bare vault. The owner changes it whenever a hidden note of the other vault is
changed, because the numbers of changes count all changes of a vault."""

NOT_COMPARED = ("obsidian_active", "openDiff", "close_tab", "closeAllDiffTabs")
"""These are about a person's editor, and wait for one."""

Ask = Callable[[str, Json], Awaitable[str]]

_TIMES = re.compile(
    r"\d{4}-\d\d-\d\d[ T]\d\d:\d\d(?::\d\d)?(?:\.\d+)?(?:Z|[+-]\d\d:?\d\d)?|\b\d\d:\d\d(?::\d\d)?\b"
    r"|\b1[6-9]\d{8,17}(?:\.\d+)?\b|/page/media/[^/\"]+/"
)


class Twin:
    """One of the two vaults. A `stdio` server gets a copy of it, so that two servers need not agree on when
    a change of the other becomes visible."""

    def __init__(self, folder: Path, files: dict[str, bytes]) -> None:
        self.folder = folder
        self.vault = folder / "Notes"
        self.copy = folder / "stdio" / "Notes"
        for path, data in files.items():
            place = self.vault / path
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(data)
            os.utime(place, (FIXED_TIME, FIXED_TIME))
        (self.vault / "Mixed").mkdir(exist_ok=True)

    def finish(self) -> None:
        shutil.copytree(self.vault, self.copy, symlinks=True)

    def read_visible(self) -> dict[str, bytes]:
        return {path: (self.vault / path).read_bytes() for path in self.list_notes(hidden=False, suffix="")}

    def list_notes(self, *, hidden: bool, suffix: str = ".md") -> list[str]:
        found = (place for place in self.vault.rglob("*") if place.is_file() and not place.is_symlink())
        paths = [place.relative_to(self.vault).as_posix() for place in found]
        private = re.compile(r"Private/|A/|.*\.secret\.md$")
        return sorted(
            path
            for path in paths
            if path[0] != "." and path.endswith(suffix) and bool(private.match(path)) is hidden
        )


class Twins:
    """Both vaults with their servers. The scope is that of a token, or of the whole server."""

    def __init__(self, folder: Path, seed: int, *, by_token: bool) -> None:
        self.draw = Draw(seed)
        self.by_token = by_token
        seen, hidden = self.draw.visible_files(), self.draw.hidden_files()
        self.full = Twin(folder / "full", {**hidden, **seen})
        self.bare = Twin(folder / "bare", {**seen, OWN: b"only"})
        (self.full.vault / "Pub").mkdir(exist_ok=True)
        (self.full.vault / LINK).symlink_to("../Private/diary.md")
        self.protocols: list[dict[str, Ask]] = []
        self.compared = 0
        self.differences: list[str] = []

    async def run(self, calls: int) -> None:
        async with AsyncExitStack() as stack:
            for twin in (self.full, self.bare):
                twin.finish()
                opened = _open_protocols(twin, by_token=self.by_token)
                self.protocols.append(await stack.enter_async_context(opened))
            tools, offers = await self._list_offers()
            protocols = [name for name in self.protocols[0] if name != "owner"]
            for number in range(calls):
                match self.draw.rng.random():
                    case chance if chance < 0.015:
                        await self._move_across(number)
                    case chance if chance < 0.06:
                        await self._change_hidden(number)
                    case _:
                        await self._compare(self.draw.call(protocols, tools, offers))
                if self.differences:
                    return
            if self.full.read_visible() != self.bare.read_visible():
                self.differences.append("the visible files differ at the end")

    async def _ask(self, protocol: str, what: str, arguments: Json) -> list[str]:
        return list(
            await asyncio.gather(*(protocols[protocol](what, arguments) for protocols in self.protocols))
        )

    async def _ask_value(self, protocol: str, what: str) -> Any:
        answers = await self._ask(protocol, what, {})
        value = json.loads(answers[0][answers[0].index("{") :])
        return value.get("result", value)

    async def _list_offers(self) -> tuple[dict[str, list[Json]], dict[str, list[str]]]:
        tools = {}
        for protocol in ("mcp", "ide"):
            if protocol in self.protocols[0]:
                listed = (await self._ask_value(protocol, "tools/list"))["tools"]
                tools[protocol] = [tool for tool in listed if tool["name"] not in NOT_COMPARED]
        tools["stdio"] = tools["bridge"] = tools["mcp"]
        prompts = (await self._ask_value("mcp", "prompts/list"))["prompts"]
        templates = (await self._ask_value("mcp", "resources/templates/list"))["resourceTemplates"]
        files = (await self._ask_value("mcp", "resources/list"))["resources"]
        # The answers of a first build depend on how far it is.
        for protocol in ("mcp", "stdio"):
            await self._until(protocol, "Templates/T.md", there=True)
        return tools, {
            "prompts": [*(prompt["name"] for prompt in prompts), "none"],
            "templates": [template["uriTemplate"] for template in templates],
            "places": sorted({file["uri"].rpartition("/")[0] + "/" for file in files}),
        }

    async def _compare(self, call: Call) -> None:
        answers = await self._ask(*call)
        first, second = (_TIMES.sub("(time)", answer.replace("/full/", "/bare/")) for answer in answers)
        self.compared += 1
        if first != second:
            at = next((at for at, (a, b) in enumerate(zip(first, second, strict=False)) if a != b), 0)
            shown = "\n".join(answer[max(0, at - 200) : at + 300] for answer in (first, second))
            self.differences.append(f"{json.dumps(call, ensure_ascii=False)}\n{shown}")

    async def _change_hidden(self, number: int) -> None:
        """Another program, or the owner, changes a hidden note."""
        path, data = self.draw.hidden_file()
        if not self.by_token or self.draw.chance(0.5):
            for folder in (self.full.vault, self.full.copy):
                (folder / path).parent.mkdir(parents=True, exist_ok=True)
                if self.draw.chance(0.3):
                    (folder / path).unlink(missing_ok=True)
                else:
                    (folder / path).write_bytes(data)
            return
        note = self.draw.rng.choice(self.full.list_notes(hidden=True) or [path])
        append = {"op": "append", "content": "zebra3 [[plan]]"}
        full, bare = self.protocols
        if self.draw.chance(0.3):
            answer = await full["owner"](
                "create_note", {"name": f"Private/new {number}", "content": "[[deep]]"}
            )
        else:
            answer = await full["owner"]("edit_note", {"name": note, **append})
        mirrored = OWN if '"success":true' in answer else "Private/none.md"
        await bare["owner"]("edit_note", {"name": mirrored, **append})

    async def _move_across(self, number: int) -> None:
        """Another program moves a note into a hidden folder, or out of one."""
        inwards = self.draw.chance(0.5)
        notes = self.full.list_notes(hidden=not inwards)
        notes = [note for note in notes if not note.startswith(("Templates/", "Prompts/"))]
        if not notes:
            return
        source = self.draw.rng.choice(notes)
        target = f"Private/in {number}.md" if inwards else f"Z/out {number}.md"
        data = (self.full.vault / source).read_bytes()
        for folder in (self.full.vault, self.full.copy, self.bare.vault, self.bare.copy):
            (folder / source).unlink(missing_ok=True)
            if not inwards or folder in (self.full.vault, self.full.copy):
                (folder / target).parent.mkdir(exist_ok=True)
                (folder / target).write_bytes(data)
                os.utime(folder / target, (FIXED_TIME + number, FIXED_TIME + number))
        for protocol in ("mcp", "stdio"):
            await self._until(protocol, source if inwards else target, there=not inwards)

    async def _until(self, protocol: str, path: str, *, there: bool) -> None:
        """Wait until both servers have noticed a file."""
        call = {"name": "obsidian_list_files", "arguments": {"pattern": f"/{path}"}}
        async with asyncio.timeout(BOUND):
            while True:
                answers = await self._ask(protocol, "tools/call", call)
                if all(
                    ("(files: none)" in answer) is not there and "index" not in answer for answer in answers
                ):
                    return


@asynccontextmanager
async def _open_protocols(twin: Twin, *, by_token: bool) -> AsyncIterator[dict[str, Ask]]:
    """The protocols of one twin, each as a function. The owner's is limited by nothing but the server's
    scope."""
    denied = [part for pattern in DENY for part in ("--deny", pattern)]
    server = Served(twin.folder / "home")
    async with AsyncExitStack() as stack:
        stack.push_async_callback(server.kill)
        token = await server.answer("token", "make", "t", *(denied if by_token else ()))
        await server.start(twin.vault, *(() if by_token else denied))
        http = await stack.enter_async_context(aiohttp.ClientSession(f"http://127.0.0.1:{server.port}"))
        limited = {"Authorization": f"Bearer {token['token']}"}
        protocols = {
            "mcp": await _open_mcp(http, limited),
            "bridge": _open_bridge(http, limited),
            "page": _open_page(http, limited),
            "stdio": await stack.enter_async_context(_open_stdio(twin, server, denied)),
            "owner": _open_bridge(http, {"Authorization": f"Bearer {server.token}"}),
        }
        if not by_token:
            protocols["ide"] = _open_ide(await stack.enter_async_context(server.client()))
        yield protocols


_INITIALIZE = {
    "protocolVersion": "2025-11-25",
    "capabilities": {},
    "clientInfo": {"name": "t", "version": "1"},
}


def _request(method: str, params: Json) -> Json:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": params}


_INITIALIZED = {"jsonrpc": "2.0", "method": "notifications/initialized"}


async def _open_mcp(http: aiohttp.ClientSession, headers: dict[str, str]) -> Ask:
    headers = {**headers, "Accept": "application/json, text/event-stream"}
    async with http.post("/mcp", json=_request("initialize", _INITIALIZE), headers=headers) as response:
        assert response.status == 200, await response.text()
        headers["Mcp-Session-Id"] = response.headers["Mcp-Session-Id"]
    async with http.post("/mcp", json=_INITIALIZED, headers=headers) as response:
        assert response.status == 202

    async def ask(method: str, params: Json) -> str:
        async with http.post("/mcp", json=_request(method, params), headers=headers) as response:
            return f"{response.status} {await response.text()}"

    return ask


def _open_bridge(http: aiohttp.ClientSession, headers: dict[str, str]) -> Ask:
    async def ask(tool: str, arguments: Json) -> str:
        where, body = f"/bridge/v1/tools/{tool}/call", {"arguments": arguments}
        async with http.post(where, json=body, headers=headers) as response:
            return f"{response.status} {await response.text()}"

    return ask


def _open_page(http: aiohttp.ClientSession, headers: dict[str, str]) -> Ask:
    async def ask(request: str, arguments: Json) -> str:
        method, path = request.split()
        query = {"params": {name: str(value) for name, value in arguments.items()}}
        given: Json = query if method == "GET" else {"json": arguments}
        async with http.request(method, f"/page/api{path}", headers=headers, **given) as response:
            return f"{response.status} {await response.text()}"

    return ask


def _open_ide(client: Client) -> Ask:
    async def ask(method: str, params: Json) -> str:
        try:
            return json.dumps(await client.request(method, **params), ensure_ascii=False)
        except Failed as failed:
            return f"{failed.code} {failed.message} {failed.data}"

    return ask


@asynccontextmanager
async def _open_stdio(twin: Twin, server: Served, denied: list[str]) -> AsyncIterator[Ask]:
    arguments = ["stdio", str(twin.copy), *denied, "--log-level", "error"]
    process = await asyncio.create_subprocess_exec(
        *PROGRAM,
        *arguments,
        env=server.environ,
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**26,
    )
    written, read = process.stdin, process.stdout
    assert written is not None
    assert read is not None

    async def ask(method: str, params: Json) -> str:
        written.write(json.dumps(_request(method, params)).encode() + b"\n")
        await written.drain()
        while True:
            line = await asyncio.wait_for(read.readline(), BOUND)
            assert line, "the server has ended"
            if "method" not in json.loads(line):
                return line.decode()

    try:
        await ask("initialize", _INITIALIZE)
        written.write(json.dumps(_INITIALIZED).encode() + b"\n")
        yield ask
    finally:
        process.kill()
        await process.wait()


def main() -> int:
    parser = argparse.ArgumentParser(description="Compare vaults that differ only in hidden notes.")
    parser.add_argument("--seeds", type=int, default=60, help="how many pairs of vaults")
    parser.add_argument("--first", type=int, default=0, help="the first seed")
    parser.add_argument("--calls", type=int, default=300, help="how many calls to each pair")
    given = parser.parse_args()
    compared = different = 0
    for seed in range(given.first, given.first + given.seeds):
        with tempfile.TemporaryDirectory() as folder:
            twins = Twins(Path(folder), seed, by_token=bool(seed % 3))
            asyncio.run(twins.run(given.calls))
        compared, different = compared + twins.compared, different + bool(twins.differences)
        print(f"{seed}: {compared} calls compared", *twins.differences, sep="\n", flush=True)
    print(f"{compared} calls compared, {different} of {given.seeds} pairs differ")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
