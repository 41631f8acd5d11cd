"""A server process that misbehaves in every way a tool or a library may; tests of stdio spawn it."""

from __future__ import annotations

import asyncio
import ctypes
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from vaultbridge.protocols.dialect import Call, MethodTable
from vaultbridge.protocols.mcp.stdio import serve_stdio

ENDED = sys.argv[1] if len(sys.argv) > 1 else ""


async def pollute(call: Call) -> str:
    print("printed")
    sys.stdout.write("written\n")
    os.write(1, b"to the descriptor\n")
    subprocess.run([sys.executable, "-c", "print('from a child')"], check=True)  # noqa: ASYNC221 - blocking is the point
    child = subprocess.run(["cat"], stdin=None, capture_output=True, check=True, timeout=60)  # noqa: ASYNC221 - likewise
    ctypes.CDLL(None).puts(b"from C")
    ctypes.CDLL(None).fflush(None)
    return f"child read {len(child.stdout)} bytes"


async def echo(call: Call) -> Any:
    return call.params


async def answer_sized(call: Call) -> str:
    return "x" * int(call.params["size"])


async def answer_at_end(call: Call) -> str:
    """Answers only when the connection is about to end."""
    await call.peer.ending.wait()  # type: ignore[attr-defined]
    return "finished"


async def hang(call: Call) -> None:
    """Says when the connection is about to end, and never ends."""
    await call.peer.ending.wait()  # type: ignore[attr-defined]
    os.write(2, b"ending\n")
    await asyncio.Event().wait()


async def write_end() -> None:
    if ENDED:
        await asyncio.to_thread(Path(ENDED).write_text, "closed")


def make_dialect(peer: Any) -> MethodTable:
    return MethodTable(
        {"pollute": pollute, "echo": echo, "sized": answer_sized, "later": answer_at_end, "hang": hang},
        {"exit": lambda _: peer.end()},
    )


if __name__ == "__main__":
    sys.exit(serve_stdio(make_dialect, at_end=write_end))
