"""`vaultbridge diffs --watch`: decides on changes at a terminal as they arrive, without the page or the
companion.

A person sees one change at a time and answers it. A program reads one JSON line per event and decides by id,
in any order, with lines `accept ID` and `reject ID`. An answer counts only for the change it was meant for:
whatever is typed before the change is shown, or while it is withdrawn, is ignored. So is an acceptance if the
note has changed and something else would be written now: the bridge sends the new version, and the person is
asked again.
"""

from __future__ import annotations

import asyncio
import os
import sys
import threading
from typing import TYPE_CHECKING, Any, Final, Protocol

from vaultbridge import event_loop
from vaultbridge.cli.common import OK, emit, find_cache, say
from vaultbridge.cli.diffs import describe_movement, render_proposal
from vaultbridge.errors import VaultbridgeError
from vaultbridge.protocols.connection import cancel_and_wait

if TYPE_CHECKING:
    from vaultbridge.protocols.editor.client import EditorClient

READ_BYTES: Final = 4096
"""The size of the chunks in which input is read: an answer is a word or two."""

LINE_BYTES: Final = 4096
"""The longest line of input: anything longer is not an answer, and its rest is dropped."""

WAITING_LINES: Final = 1000
"""How many lines a program may write ahead; further ones wait in its pipe."""


class _Frontend(Protocol):
    """Shows changes and interprets input. `read_decision` returns the change, as it was last shown, and
    whether it is accepted. One of `show_decided`, `show_moved` and `show_gone` follows."""

    def show_opened(self, proposal: dict[str, Any]) -> None: ...

    def show_changed(self, proposal: dict[str, Any]) -> None: ...

    def show_closed(self, id_: str, status: str, text: str) -> None: ...

    def read_decision(self, line: str) -> tuple[dict[str, Any], bool] | None: ...

    def show_decided(self, text: str) -> None: ...

    def show_moved(self, proposal: dict[str, Any], why: str) -> None: ...

    def show_gone(self, id_: str, problem: str) -> None: ...


def watch_diffs(vault: str, *, as_json: bool) -> int:
    """Watch until interrupted, or until a person at a terminal ends the input."""
    event_loop.run(_watch(vault, _Program() if as_json else _Person()))
    return OK


async def _watch(vault: str, front: _Frontend) -> None:
    from vaultbridge.protocols.editor.client import connect, find_bridge

    async with connect(find_bridge(find_cache(vault)), app="terminal", proposals=True) as client:
        if isinstance(front, _Person):
            say("Waiting for changes. Press Ctrl+C to stop.")
            sys.stdout.flush()
        lines = _read_input()
        notification = asyncio.ensure_future(client.next_notification())
        line = asyncio.ensure_future(lines.get())
        try:
            while True:
                await asyncio.wait({notification, line}, return_when=asyncio.FIRST_COMPLETED)
                if notification.done():
                    _handle_notification(front, notification.result())
                    notification = asyncio.ensure_future(client.next_notification())
                if line.done():
                    text = line.result()
                    if text is None and sys.stdin.isatty():
                        return
                    if text is not None:
                        # A connection has one reader, and the answer to our own request comes through it.
                        await cancel_and_wait(notification)
                        await _decide(client, front, text)
                        notification = asyncio.ensure_future(client.next_notification())
                    # The input may have ended, but others can still decide.
                    line = asyncio.ensure_future(lines.get())
                sys.stdout.flush()
        finally:
            await cancel_and_wait(notification)
            await cancel_and_wait(line)


async def _decide(client: EditorClient, front: _Frontend, text: str) -> None:
    decision = front.read_decision(text)
    if decision is None:
        return
    proposal, accepted = decision
    action = "accept" if accepted else "reject"
    try:
        answer = await client.ask("decide", id=proposal["id"], hash=proposal["hash"], action=action)
    except VaultbridgeError as error:
        front.show_gone(proposal["id"], str(error))
        return
    if answer["outcome"] == "shown-again":
        front.show_moved(answer["proposal"], answer["text"])
    else:
        front.show_decided(answer["text"])


def _handle_notification(front: _Frontend, notification: dict[str, Any]) -> None:
    params = notification.get("params", {})
    if notification.get("method") == "proposalOpened":
        front.show_opened(params)
    elif notification.get("method") == "proposalChanged":
        front.show_changed(params)
    elif notification.get("method") == "proposalClosed":
        front.show_closed(params["id"], params["status"], params["text"])


class _Program:
    def __init__(self) -> None:
        self._shown: dict[str, dict[str, Any]] = {}

    def show_opened(self, proposal: dict[str, Any]) -> None:
        self._shown[proposal["id"]] = proposal
        emit({"event": "opened", **proposal})

    def show_changed(self, proposal: dict[str, Any]) -> None:
        self._shown[proposal["id"]] = proposal
        emit({"event": "changed", "message": describe_movement(proposal), **proposal})

    def show_closed(self, id_: str, status: str, text: str) -> None:
        self._shown.pop(id_, None)
        emit({"event": "closed", "id": id_, "reason": status})

    def read_decision(self, line: str) -> tuple[dict[str, Any], bool] | None:
        words = line.split()
        if len(words) == 2 and words[0] in ("accept", "reject"):
            if words[1] in self._shown:
                return self._shown[words[1]], words[0] == "accept"
            self.show_gone(words[1], f"No change {words[1]!r} is waiting.")
        elif words:
            emit({"event": "problem", "message": "Type `accept ID` or `reject ID`."})
        return None

    def show_moved(self, proposal: dict[str, Any], why: str) -> None:
        self._shown[proposal["id"]] = proposal
        emit({"event": "changed", "message": why, **proposal})

    def show_decided(self, text: str) -> None:
        """Nothing to do: the bridge announces the closed change to everybody, us included."""

    def show_gone(self, id_: str, problem: str) -> None:
        emit({"event": "problem", "id": id_, "message": problem})


class _Person:
    def __init__(self) -> None:
        self._waiting: dict[str, dict[str, Any]] = {}
        self._asked = ""
        self._swallow = False

    def show_opened(self, proposal: dict[str, Any]) -> None:
        self._waiting[proposal["id"]] = proposal
        self._ask()

    def show_changed(self, proposal: dict[str, Any]) -> None:
        if proposal["id"] not in self._waiting:
            return
        self._waiting[proposal["id"]] = proposal
        if proposal["id"] == self._asked:
            say(f"\n{describe_movement(proposal)}")
            self._asked = ""
            self._ask_again(proposal)

    def show_closed(self, id_: str, status: str, text: str) -> None:
        self._waiting.pop(id_, None)
        if id_ == self._asked:
            # Somebody else decided, or it was withdrawn. The user may be typing an answer already.
            where = " elsewhere" if status in ("accepted", "rejected") else ""
            say(f"\n{id_} is no longer waiting: {text}{where}.")
            sys.stdout.write("press Enter to continue ")
            self._asked = ""
            self._swallow = True

    def read_decision(self, line: str) -> tuple[dict[str, Any], bool] | None:
        id_, self._asked = self._asked, ""
        if self._swallow:
            self._swallow = False
            self._ask()
        if not id_:
            return None
        return self._waiting.pop(id_), line.strip().lower() in ("y", "yes")

    def show_decided(self, text: str) -> None:
        say(text)
        self._ask()

    def show_moved(self, proposal: dict[str, Any], why: str) -> None:
        say(why)
        self._ask_again(proposal)

    def show_gone(self, id_: str, problem: str) -> None:
        say(f"{id_} was no longer waiting: {problem}")
        self._ask()

    def _ask_again(self, proposal: dict[str, Any]) -> None:
        self._waiting = {proposal["id"]: proposal, **self._waiting}
        self._waiting[proposal["id"]] = proposal
        self._ask()

    def _ask(self) -> None:
        if self._asked or self._swallow or not self._waiting:
            return
        self._asked, proposal = next(iter(self._waiting.items()))
        say(render_proposal(proposal))
        sys.stdout.write(f"accept {self._asked}? [y/N] ")


def _read_input() -> asyncio.Queue[str | None]:
    """Return a queue of the lines of standard input; None at its end.

    A thread reads them, because some systems cannot wait for a file or a terminal otherwise. It reads the
    descriptor, because a thread inside `sys.stdin` would hold a lock that the interpreter needs at exit.
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
            for text in whole:
                put(text.decode("utf-8", "replace"))
            rest = rest[:LINE_BYTES]
        put(None)

    threading.Thread(target=read, name="standard input", daemon=True).start()
    return lines
