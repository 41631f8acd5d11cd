"""The companion in Node, inside a stand-in for the app (`app.cjs`), driven as a person drives it.

The plugin, the bridge, the socket between them and the vault's files are real; the app and the browser
are not.
"""

from __future__ import annotations

import asyncio
import itertools
import json
import os
import shutil
import subprocess
import tempfile
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest

from support.waiting import BOUND
from vaultbridge.cli.setup.companion import plugin_files

_INSTALLED = tempfile.TemporaryDirectory(prefix="companion-")
FOLDER = Path(_INSTALLED.name)
"""The plugin's files as they are installed, until these tests end."""

for _name, _data in plugin_files().items():
    (FOLDER / _name).write_bytes(_data)
MAIN = FOLDER / "main.js"
HOST = Path(__file__).with_name("host.cjs")

MESSAGE_BYTES = 2**24
"""The longest answer of the host: tests look at whole cards of long notes."""

FLAGS = ("--no-warnings", "--experimental-websocket")
"""Node 20 has a browser's WebSocket behind this word; later ones have it anyway."""


def _find_node() -> str | None:
    """A Node.js that has a browser's WebSocket."""
    found = shutil.which("node")
    if found is None:
        return None
    tried = subprocess.run([found, *FLAGS, "-e", "WebSocket"], capture_output=True, check=False)
    return found if tried.returncode == 0 else None


NODE = _find_node()

needs_node = pytest.mark.skipif(
    NODE is None and not os.environ.get("VAULTBRIDGE_NEEDS_NPM"), reason="Node.js 20.10 or later is not here"
)


class Obsidian:
    """One running app with one vault. Verbs are those of `host.cjs`."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self._process = process
        self._ids = itertools.count(1)
        self._asked: dict[int, asyncio.Future[dict[str, Any]]] = {}
        self._reader = asyncio.ensure_future(self._read())

    async def _read(self) -> None:
        assert self._process.stdout is not None
        while line := await self._process.stdout.readline():
            answer = json.loads(line)
            self._asked.pop(answer["id"]).set_result(answer)
        for future in self._asked.values():
            if not future.done():
                future.set_exception(ConnectionError("the app has ended"))

    async def do(self, verb: str, **args: Any) -> Any:
        assert self._process.stdin is not None
        id_ = next(self._ids)
        self._asked[id_] = future = asyncio.get_running_loop().create_future()
        self._process.stdin.write(json.dumps({"id": id_, "verb": verb, "args": args}).encode() + b"\n")
        answer = await asyncio.wait_for(future, BOUND)
        assert "error" not in answer, answer["error"]
        return answer.get("result")

    async def see(self, what: str, about: str | None = None) -> Any:
        return await self.do("see", what=what, about=about)

    async def until(self, what: str, test: str, about: str | None = None) -> Any:
        """Wait until JavaScript's `test` of `it`, which is what can be seen, is true; gives what is seen."""
        try:
            return await self.do("until", what=what, about=about, text=test)
        except TimeoutError:
            raise AssertionError(f"{what} never {test}: {await self.see(what, about)}") from None

    async def wait_until_connected(self) -> None:
        await self.until("status", "it.startsWith('Bridge: connected')")

    async def end(self) -> int:
        """Close its input; gives the exit code. It ends only when nothing keeps it alive."""
        assert self._process.stdin is not None
        self._process.stdin.close()
        code = await asyncio.wait_for(self._process.wait(), BOUND)
        await self._reader
        return code

    async def kill(self) -> None:
        if self._process.returncode is None:
            self._process.kill()
            await self._process.wait()
        await self._reader


def make_absolute(vault: Path, note: str) -> str:
    """The note's place as Claude Code names it."""
    return str(vault.resolve() / note)


@asynccontextmanager
async def obsidian(
    vault: Path,
    environ: Mapping[str, str],
    *,
    stored: dict[str, Any] | None = None,
    mobile: bool = False,
    slow: bool = False,
) -> AsyncIterator[Obsidian]:
    """The app with the companion switched on. `stored` are the companion's settings on this device. A `slow`
    app becomes `ready` only on request."""
    assert NODE is not None
    kept = {} if stored is None else {"vaultbridge-companion": json.dumps(stored)}
    process = await asyncio.create_subprocess_exec(
        NODE, *FLAGS, str(HOST), str(MAIN), str(vault), json.dumps(kept),
        *(["mobile"] if mobile else []),
        env=dict(environ), stdin=asyncio.subprocess.PIPE, stdout=asyncio.subprocess.PIPE, limit=MESSAGE_BYTES,
    )  # fmt: skip
    app = Obsidian(process)
    try:
        await app.do("load", slow=slow)
        yield app
    finally:
        await app.kill()
