"""Deciding on diffs at a terminal, as they come: the front end for people without the page or the companion.

A person sees one diff at a time and answers it. A program reads a JSON line for everything that happens and
decides by id, in any order, with lines `accept ID` and `reject ID`. An answer counts only for the diff it was
meant for: what was typed before a diff was shown, or while it was withdrawn, decides nothing.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from typing import TYPE_CHECKING, Any, Final, Protocol

from vaultbridge.cli.bridge_call import cache_of
from vaultbridge.cli.common import OK, emit, say
from vaultbridge.transports.tasks import ended

if TYPE_CHECKING:
    from vaultbridge.editor.remote import Visit

READ_BYTES: Final = 4096
"""Input is read in pieces of this size: an answer is a word or two."""

LINE_BYTES: Final = 4096
"""A longer line of input is no answer to anything; its beginning is not kept waiting for its end."""

WAITING_LINES: Final = 1000
"""Lines a program may have written ahead; further ones wait in its pipe."""


class _Front(Protocol):
    """What is shown, and what a line of input means. `decide` gives the id and whether it is accepted."""

    def opened(self, diff: dict[str, Any]) -> None: ...

    def closed(self, id_: str, reason: str) -> None: ...

    def decide(self, line: str) -> tuple[str, bool] | None: ...

    def decided(self, *, accepted: bool) -> None: ...

    def gone(self, id_: str, problem: str) -> None: ...


def watch_diffs(vault: str, *, as_json: bool) -> int:
    """Until interrupted, or until a person at a terminal ends the input."""
    asyncio.run(_watch(vault, _Program() if as_json else _Person()))
    return OK


async def _watch(vault: str, front: _Front) -> None:
    from vaultbridge.editor.remote import bridge_of, visit

    async with visit(bridge_of(cache_of(vault)), app="terminal", diffs=True) as visitor:
        if isinstance(front, _Person):
            say("Waiting for diffs. Ctrl-C ends.")
            sys.stdout.flush()
        lines = _input_lines()
        news = asyncio.ensure_future(visitor.news())
        line = asyncio.ensure_future(lines.get())
        try:
            while True:
                await asyncio.wait({news, line}, return_when=asyncio.FIRST_COMPLETED)
                if news.done():
                    _tell(front, news.result())
                    news = asyncio.ensure_future(visitor.news())
                if line.done():
                    text = line.result()
                    if text is None and sys.stdin.isatty():
                        return
                    if text is not None:
                        # One connection has one reader: the answer to our own request comes by it.
                        await ended(news)
                        await _decide(visitor, front, text)
                        news = asyncio.ensure_future(visitor.news())
                    # After the end of the input nothing comes any more, and others may still decide.
                    line = asyncio.ensure_future(lines.get())
                sys.stdout.flush()
        finally:
            await ended(news)
            await ended(line)


async def _decide(visitor: Visit, front: _Front, text: str) -> None:
    from vaultbridge.errors import InvalidArgument

    decision = front.decide(text)
    if decision is None:
        return
    id_, accepted = decision
    try:
        await visitor.ask("acceptDiff" if accepted else "rejectDiff", id=id_)
    except InvalidArgument as error:
        front.gone(id_, error.message)
    else:
        front.decided(accepted=accepted)


def _tell(front: _Front, news: dict[str, Any]) -> None:
    params = news.get("params", {})
    if news.get("method") == "diffOpened":
        front.opened(params)
    elif news.get("method") == "diffClosed":
        front.closed(params["id"], params["reason"])


class _Program:
    def opened(self, diff: dict[str, Any]) -> None:
        emit({"event": "opened", **diff})

    def closed(self, id_: str, reason: str) -> None:
        emit({"event": "closed", "id": id_, "reason": reason})

    def decide(self, line: str) -> tuple[str, bool] | None:
        words = line.split()
        if len(words) == 2 and words[0] in ("accept", "reject"):
            return words[1], words[0] == "accept"
        if words:
            emit({"event": "problem", "message": "A line is `accept ID` or `reject ID`."})
        return None

    def decided(self, *, accepted: bool) -> None:
        """Everybody is told that the diff is closed, and so are we."""

    def gone(self, id_: str, problem: str) -> None:
        emit({"event": "problem", "id": id_, "message": problem})


class _Person:
    def __init__(self) -> None:
        self._waiting: dict[str, dict[str, Any]] = {}
        self._asked = ""
        self._swallow = False

    def opened(self, diff: dict[str, Any]) -> None:
        self._waiting[diff["id"]] = diff
        self._ask()

    def closed(self, id_: str, reason: str) -> None:
        self._waiting.pop(id_, None)
        if id_ == self._asked:
            # Somebody else decided, or it was withdrawn. An answer may be on its way from the keyboard.
            say(f"\n{id_} is over: {reason} elsewhere.")
            sys.stdout.write("press Enter to go on ")
            self._asked = ""
            self._swallow = True

    def decide(self, line: str) -> tuple[str, bool] | None:
        id_, self._asked = self._asked, ""
        if self._swallow:
            self._swallow = False
            self._ask()
        if not id_:
            return None
        self._waiting.pop(id_)
        return id_, line.strip().lower() in ("y", "yes")

    def decided(self, *, accepted: bool) -> None:
        say("accepted" if accepted else "rejected")
        self._ask()

    def gone(self, id_: str, problem: str) -> None:
        say(f"{id_} was over already: {problem}")
        self._ask()

    def _ask(self) -> None:
        from vaultbridge.cli.diffs import shown

        if self._asked or self._swallow or not self._waiting:
            return
        self._asked, diff = next(iter(self._waiting.items()))
        say(shown(diff, whole=True))
        sys.stdout.write(f"accept {self._asked}? [y/N] ")


def _input_lines() -> asyncio.Queue[str | None]:
    """Lines of standard input as they come; None once at its end.

    Read by a thread, because a file or a terminal of some systems cannot be waited for otherwise; by its
    descriptor, because a thread inside `sys.stdin` would hold a lock that the interpreter's end needs.
    """
    lines: asyncio.Queue[str | None] = asyncio.Queue(WAITING_LINES)
    loop = asyncio.get_running_loop()

    def put(line: str | None) -> None:
        putting = lines.put(line)
        try:
            asyncio.run_coroutine_threadsafe(putting, loop).result()
        except RuntimeError:  # The loop has closed: nobody is listening.
            putting.close()

    def read() -> None:
        rest = b""
        descriptor = sys.stdin.fileno()
        while piece := os.read(descriptor, READ_BYTES):
            *whole, rest = (rest + piece).split(b"\n")
            for one in whole:
                put(one.decode("utf-8", "replace"))
            rest = rest[:LINE_BYTES]
        put(None)

    threading.Thread(target=read, name="standard input", daemon=True).start()
    return lines
