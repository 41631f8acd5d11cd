"""Measures what many sessions on one vault hold in memory: each with a process of its own, and sharing one.

    python benchmarks/sessions_bench.py                        # ten sessions on 10,000 notes
    python benchmarks/sessions_bench.py --sessions 5 --notes 1000
    python benchmarks/sessions_bench.py --idle 60              # and after a minute in which nothing happens

Every session does the same: it lists the tools, reads, searches and asks for context. Memory is what Linux
counts as PSS, in which what several processes share counts once for all of them together. An assistant
without HTTP starts `vaultbridge bridge`, to share the same process. The exit code is 1 when sharing saves
less than it should.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from contextlib import ExitStack
from pathlib import Path
from typing import Any, Final

sys.path[:0] = [str(Path(__file__).resolve().parent), str(Path(__file__).resolve().parent.parent / "src")]

from generate import COMMON_WORD, HUB, RARE_WORD, generate

from vaultbridge.system import measure_memory

PROGRAM: Final = [sys.executable, "-m", "vaultbridge"]

MOST_OF_ONE: Final = 2.0
"""How many times what one session of its own holds all sessions that share may hold together."""

CALLS: Final = (
    ("obsidian_read_note", {"name": Path(HUB).stem}),
    ("obsidian_search", {"query": RARE_WORD}),
    ("obsidian_search", {"query": COMMON_WORD, "limit": 5}),
    ("obsidian_context", {"question": "how do we keep water from the window"}),
)


class Session:
    """A client over stdio."""

    def __init__(self, words: list[str], environ: dict[str, str], stack: ExitStack) -> None:
        self.process = subprocess.Popen(
            words,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            env=environ,
        )
        stack.callback(self.end)
        self._number = 0

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message).encode() + b"\n")
        self.process.stdin.flush()
        while True:
            answer: dict[str, Any] = json.loads(self.process.stdout.readline())
            if answer.get("id") == self._number:
                return answer

    def end(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.stdout.close()
        self.process.wait()


class HttpSession:
    """A client over HTTP, as an assistant that shares a bridge."""

    def __init__(self, url: str) -> None:
        self._url = url
        self._headers = {
            "Content-Type": "application/json",
            "Accept": "application/json, text/event-stream",
        }
        self._number = 0

    def ask(self, method: str, params: dict[str, Any]) -> dict[str, Any]:
        self._number += 1
        message = {"jsonrpc": "2.0", "id": self._number, "method": method, "params": params}
        request = urllib.request.Request(self._url, json.dumps(message).encode(), self._headers)
        with urllib.request.urlopen(request) as response:
            if session := response.headers.get("Mcp-Session-Id"):
                self._headers["Mcp-Session-Id"] = session
            text = response.read().decode()
        data = text if text.lstrip().startswith("{") else text.partition("data: ")[2].partition("\n")[0]
        answer: dict[str, Any] = json.loads(data)
        return answer


def work(session: Session | HttpSession, *, prefix: str = "obsidian_") -> None:
    """What each session does."""
    info = {"name": "bench", "version": "1"}
    session.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info})
    session.ask("tools/list", {})
    for tool, arguments in CALLS:
        name = prefix + tool.removeprefix("obsidian_")
        answer = session.ask("tools/call", {"name": name, "arguments": arguments})
        assert "result" in answer and not answer["result"].get("isError"), answer


def weigh(pids: list[int]) -> float:
    """The memory of these processes together, in MB."""
    used = [measure_memory(pid) for pid in pids]
    assert all(memory is not None and memory.kind == "PSS" for memory in used), "PSS is known on Linux only"
    return sum(memory.bytes for memory in used if memory is not None) / 1e6


def measure_own(vault: Path, environ: dict[str, str], sessions: int, idle: float) -> dict[str, float]:
    """Sessions with a process each."""
    with ExitStack() as stack:
        opened: list[Session] = []
        figures = {}
        for _ in range(sessions):
            opened.append(Session([*PROGRAM, "stdio", str(vault)], environ, stack))
            work(opened[-1])
            if len(opened) == 1:
                figures["one session of its own"] = weigh([opened[0].process.pid])
        pids = [session.process.pid for session in opened]
        figures[f"{sessions} sessions of their own"] = weigh(pids)
        if idle:
            time.sleep(idle)
            figures[f"{sessions} sessions of their own, idle for {idle:g} s"] = weigh(pids)
        return figures


def measure_shared(vault: Path, environ: dict[str, str], sessions: int, *, bridged: bool) -> float:
    """Sessions that share one process: over HTTP, or each through a `vaultbridge bridge`."""
    with ExitStack() as stack:
        serve = [*PROGRAM, "serve", str(vault), "--port", "0", "--no-ide", "--json"]
        server = subprocess.Popen(serve, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, env=environ)
        stack.callback(server.wait)
        stack.callback(server.terminate)
        assert server.stdout is not None
        url = json.loads(server.stdout.readline())["url"]
        pids = [server.pid]
        for _ in range(sessions):
            if bridged:
                session = Session([*PROGRAM, "bridge", "--url", url], environ, stack)
                pids.append(session.process.pid)
                wait_for_tools(session)
                work(session, prefix="")
            else:
                work(HttpSession(f"{url}/mcp"))
        return weigh(pids)


def wait_for_tools(session: Session) -> None:
    """The bridge answers at once, before it has reached its server."""
    info = {"name": "bench", "version": "1"}
    session.ask("initialize", {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": info})
    while len(session.ask("tools/list", {})["result"]["tools"]) < 2:
        time.sleep(0.05)


def main() -> int:
    parser = argparse.ArgumentParser()
    parser.add_argument("--notes", type=int, default=10_000)
    parser.add_argument("--sessions", type=int, default=10)
    parser.add_argument("--idle", type=float, default=0.0, help="seconds in which nothing happens")
    parser.add_argument("--json", action="store_true")
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        vault, home = Path(folder) / "vault", Path(folder) / "home"
        home.mkdir()
        generate(vault, args.notes)
        environ = {**os.environ, "HOME": str(home), "VAULTBRIDGE_CACHE": str(home / "cache")}
        subprocess.run([*PROGRAM, "index", str(vault)], env=environ, check=True, stdout=subprocess.DEVNULL)
        figures = measure_own(vault, environ, args.sessions, args.idle)
        shared = measure_shared(vault, environ, args.sessions, bridged=False)
        figures[f"{args.sessions} sessions that share one bridge"] = shared
        name = f"{args.sessions} sessions through `vaultbridge bridge`, all processes"
        figures[name] = measure_shared(vault, environ, args.sessions, bridged=True)
    one = figures["one session of its own"]
    if args.json:
        print(json.dumps(figures))
    else:
        for name, megabytes in figures.items():
            print(f"{name:<62} {megabytes:7.1f} MB  {megabytes / one:5.2f} x one")
    held = shared <= MOST_OF_ONE * one
    print(f"sharing: {shared / one:.2f} times one session, at most {MOST_OF_ONE}", file=sys.stderr)
    return 0 if held else 1


if __name__ == "__main__":
    sys.exit(main())
