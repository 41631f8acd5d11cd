"""An MCP server that makes every mistake the benchmark of peers looks for, to see that it finds them.

It answers one request a line, as `python careless_server.py VAULT`.
"""

from __future__ import annotations

import json
import sys
import time
from pathlib import Path
from typing import Any

VAULT = Path(sys.argv[1])


def read(path: str) -> str:
    # Opening a vault changes it.
    bare = VAULT / "Bare.md"
    if bare.exists() and not bare.read_bytes().startswith(b"---"):
        bare.write_bytes(b"---\ntitle: Bare\n---\n" + bare.read_bytes())
    return (VAULT / path).read_text()


def search(query: str) -> str:
    found = [path for path in sorted(VAULT.rglob("*.md")) if query.lower() in path.read_text().lower()]
    return "\n".join(str(path.relative_to(VAULT)) for path in found)


def write(path: str, text: str) -> str:
    (VAULT / path).parent.mkdir(parents=True, exist_ok=True)
    (VAULT / path).write_text(text)
    return "written"


def append(path: str, text: str) -> str:
    before = (VAULT / path).read_text()
    time.sleep(0.002)  # Whatever another process writes now is lost.
    (VAULT / path).write_text(before + text)
    return "appended"


def set_property(path: str, name: str, value: str) -> str:
    _, head, body = (VAULT / path).read_text().split("---\n", 2)
    kept = [line for line in head.splitlines() if ":" in line and not line.startswith((" ", f"{name}:"))]
    lines = sorted([*kept, f"{name}: {value}"])
    (VAULT / path).write_text("---\n" + "\n".join(lines) + "\n---\n" + body.strip())
    return "set"


def append_to_heading(path: str, heading: str, text: str) -> str:
    before, mark, after = (VAULT / path).read_text().partition(f"## {heading}\n")
    (VAULT / path).write_text(f"{before}{mark}{text}\n{after}")
    return "appended"


def rename(path: str, to: str) -> str:
    (VAULT / path).rename(VAULT / to)
    for note in VAULT.rglob("Code.md"):
        note.write_text(note.read_text().replace("Old name", "New name"))
    return "renamed"


TOOLS = {
    tool.__name__: tool for tool in (read, search, write, append, set_property, append_to_heading, rename)
}


def answer(method: str, params: dict[str, Any]) -> dict[str, Any]:
    if method == "initialize":
        who = {"name": "careless", "version": "1"}
        return {
            "protocolVersion": params["protocolVersion"],
            "capabilities": {"tools": {}},
            "serverInfo": who,
        }
    if method == "tools/list":
        return {"tools": [{"name": name, "inputSchema": {"type": "object"}} for name in TOOLS]}
    try:
        text, failed = TOOLS[params["name"]](**params["arguments"]), False
    except (OSError, ValueError) as error:
        text, failed = str(error), True
    return {"content": [{"type": "text", "text": text}], "isError": failed}


for line in sys.stdin:
    request = json.loads(line)
    if "id" in request:
        result = answer(request["method"], request.get("params", {}))
        print(json.dumps({"jsonrpc": "2.0", "id": request["id"], "result": result}), flush=True)
