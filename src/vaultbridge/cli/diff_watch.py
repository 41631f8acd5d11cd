"""Deciding on diffs at a terminal, as they come: the front end for people without the page or the
companion."""

from __future__ import annotations

import asyncio
import sys
from typing import TYPE_CHECKING, Any

from vaultbridge.cli.bridge_call import cache_of
from vaultbridge.cli.common import OK, emit, say

if TYPE_CHECKING:
    from vaultbridge.editor.remote import Visit


def watch_diffs(vault: str, *, as_json: bool) -> int:
    """Until interrupted. For programs each diff is a JSON line, and a line `accept ID` or `reject ID` on
    standard input decides it."""
    asyncio.run(_watch(vault, as_json=as_json))
    return OK


async def _watch(vault: str, *, as_json: bool) -> None:
    from vaultbridge.editor.remote import bridge_of, visit

    async with visit(bridge_of(cache_of(vault)), app="terminal", diffs=True) as visitor:
        if not as_json:
            say("Waiting for diffs. Ctrl-C ends.")
        waiting: list[dict[str, Any]] = (await visitor.ask("diffs"))["diffs"]
        for diff in waiting:
            await _decide(visitor, diff, as_json=as_json)
        while True:
            news = await visitor.news()
            if news.get("method") == "diffOpened":
                await _decide(visitor, news["params"], as_json=as_json)


async def _decide(visitor: Visit, diff: dict[str, Any], *, as_json: bool) -> None:
    from vaultbridge.cli.diffs import shown
    from vaultbridge.errors import VaultbridgeError

    if as_json:
        emit(diff)
        sys.stdout.flush()
    else:
        say(shown(diff, whole=True))
        sys.stdout.write("accept? [y/N] ")
        sys.stdout.flush()
    answer = (await asyncio.to_thread(sys.stdin.readline)).strip().lower()
    accepted = answer in ("y", "yes", f"accept {diff['id']}".lower())
    try:
        await visitor.ask("acceptDiff" if accepted else "rejectDiff", id=diff["id"])
    except VaultbridgeError as error:
        say(f"That diff is gone: {error}")
        return
    if not as_json:
        say("accepted" if accepted else "rejected")
