"""Changes an assistant proposes and a person decides on.

A diff belongs to the client that asked and waits in `ask` until somebody decides in a front end (the
page, the companion, the command line). Every way out is explicit: accepted, rejected, or given back to
the client as an error because nobody can see it. A disconnect, a timeout or a closed tab never accepts,
and no diff outlives its client. This module writes no file: the client does, after an acceptance.
"""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Awaitable, Callable
from typing import Final, Literal

from msgspec import Struct

from vaultbridge.errors import InvalidArgument, ObsidianNotRunning
from vaultbridge.vault.paths import VaultPath

PENDING_DIFFS: Final = 100
"""Diffs that may wait at once. A client asks one at a time; a hundred is ten clients gone wild."""

FRONT_END_GRACE_SECONDS: Final = 10.0
"""How long diffs wait for a front end to come back: a page reload or a plugin restart takes a moment."""

CloseReason = Literal["accepted", "rejected", "withdrawn"]


class Diff(Struct, frozen=True):
    """`old_text` is the note as it is (empty for a new one), `new_text` what the assistant proposes."""

    id: str
    client: str
    tab_name: str
    path: VaultPath
    old_text: str
    new_text: str


class Accepted(Struct, frozen=True):
    """`text` is the whole final text, which the person may have changed before accepting."""

    text: str


class Rejected(Struct, frozen=True):
    pass


Decision = Accepted | Rejected


class FrontEnd(Struct):
    """Somebody who can show a diff: told of each one that opens, and of each that is over."""

    opened: Callable[[Diff], None]
    closed: Callable[[Diff, CloseReason], None]


class _Pending(Struct):
    """`diff` is None until the note has been read: nobody has seen it, but its client may close it."""

    client: str
    tab_name: str
    decision: asyncio.Future[Decision]
    diff: Diff | None = None
    reason: CloseReason = "withdrawn"


class PendingDiffs:
    def __init__(self, *, grace_seconds: float = FRONT_END_GRACE_SECONDS) -> None:
        self._grace = grace_seconds
        self._pending: dict[str, _Pending] = {}
        self._front_ends: dict[str, FrontEnd] = {}
        self._numbers = itertools.count(1)
        self._give_up: asyncio.TimerHandle | None = None

    # for clients

    async def ask(
        self,
        client: str,
        tab_name: str,
        path: VaultPath,
        read_old: Callable[[], Awaitable[str]],
        new_text: str,
    ) -> Decision:
        """Show the diff to every front end and wait for a person, however long it takes. `read_old` gives the
        note as it is; what it raises is raised.

        Raises ObsidianNotRunning when nobody could see it, at once or after the last front end has been
        gone for the grace time. Cancelling the call withdraws the diff.
        """
        if not self._front_ends:
            raise _nobody_there()
        if len(self._pending) >= PENDING_DIFFS:
            raise InvalidArgument(f"{PENDING_DIFFS} diffs are waiting already.", hint="Decide on some first.")
        # The same tab opened again replaces the older question, which nobody will answer now.
        self.close_tab(client, tab_name)
        id_ = f"d{next(self._numbers)}"
        pending = _Pending(client, tab_name, asyncio.get_running_loop().create_future())
        self._pending[id_] = pending
        try:
            old_text = await read_old()
            if not pending.decision.done():
                pending.diff = Diff(id_, client, tab_name, path, old_text, new_text)
                for front_end in tuple(self._front_ends.values()):
                    front_end.opened(pending.diff)
            return await pending.decision
        finally:
            self._pending.pop(id_, None)
            if pending.diff is not None:
                for front_end in tuple(self._front_ends.values()):
                    front_end.closed(pending.diff, pending.reason)

    def close_tab(self, client: str, tab_name: str) -> bool:
        """Reject `client`'s diff of that name; False when it has none."""
        return self._reject(lambda one: one.client == client and one.tab_name == tab_name) > 0

    def close_all(self, client: str) -> int:
        """Reject everything `client` asked, and say how many that was."""
        return self._reject(lambda one: one.client == client)

    # for people

    def waiting(self) -> tuple[Diff, ...]:
        return tuple(
            pending.diff
            for pending in self._pending.values()
            if pending.diff is not None and not pending.decision.done()
        )

    def decide(self, diff_id: str, decision: Decision) -> None:
        """Raises InvalidArgument when that diff is not waiting (any more)."""
        pending = self._pending.get(diff_id)
        if pending is None or pending.diff is None or pending.decision.done():
            raise InvalidArgument(f"No diff {diff_id!r} is waiting.", argument="id")
        pending.reason = "accepted" if isinstance(decision, Accepted) else "rejected"
        pending.decision.set_result(decision)

    def join(self, name: str, front_end: FrontEnd) -> None:
        """`name` can show diffs from now on, and is told of those that wait already."""
        self._front_ends[name] = front_end
        if self._give_up is not None:
            self._give_up.cancel()
            self._give_up = None
        for diff in self.waiting():
            front_end.opened(diff)

    def leave(self, name: str) -> None:
        if self._front_ends.pop(name, None) is None or self._front_ends or not self._pending:
            return
        loop = asyncio.get_running_loop()
        self._give_up = loop.call_later(self._grace, self._hand_back)

    @property
    def has_front_end(self) -> bool:
        return bool(self._front_ends)

    def shut_down(self) -> None:
        """Give every waiting diff back to its client as an error; the server is going away."""
        if self._give_up is not None:
            self._give_up.cancel()
            self._give_up = None
        self._hand_back()

    def _hand_back(self) -> None:
        self._give_up = None
        for pending in self._pending.values():
            if not pending.decision.done():
                pending.decision.set_exception(_nobody_there())

    def _reject(self, wanted: Callable[[_Pending], bool]) -> int:
        count = 0
        for pending in tuple(self._pending.values()):
            if wanted(pending) and not pending.decision.done():
                pending.reason = "rejected"
                pending.decision.set_result(Rejected())
                count += 1
        return count


def _nobody_there() -> ObsidianNotRunning:
    return ObsidianNotRunning(
        "No editor that can show a diff is connected.",
        hint="Decide in the terminal, or open the vaultbridge page or the Obsidian companion.",
    )
