"""A process that accepts a proposal and kills itself at a given point. Run by `test_killed_decider.py`.

    killed_decider.py BASE NUMBER POINT DECISIONS
    killed_decider.py BASE diff POINT HOW

BASE is the folder of a `support.review.Reviewed`, DECISIONS the JSON of a list of `FileDecision`. With the
point "tell", the points that are passed are printed. "reported" is when the store knows of the decision.

A diff of A.md, to "new", is accepted on the page or, if HOW is "terminal", by its client, which then writes.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from pathlib import Path
from types import SimpleNamespace

import msgspec

from vaultbridge import event_loop
from vaultbridge.editor.vault_view import EngineView
from vaultbridge.engine import DirectEngine
from vaultbridge.protocols.claude_ide.tools import _NoteJournal
from vaultbridge.review.decide import Decider, FileDecision
from vaultbridge.review.diff_model import Accepted
from vaultbridge.review.diffs import PendingDiffs
from vaultbridge.review.store import store_of
from vaultbridge.vault.paths import vault_path
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.write.trash import Trash


async def accept_diff(engine: DirectEngine, how: str) -> None:
    view, path = EngineView(engine), vault_path("A.md")
    diffs = PendingDiffs()
    diffs.store = store_of(engine)
    opened, closed = asyncio.Event(), asyncio.Event()
    diffs.join("page", lambda event, _: (closed if event == "closed" else opened).set())
    # All that the journal of a note needs of a call.
    journal = _NoteJournal(SimpleNamespace(view=view, software="claude-code"), path)  # type: ignore[arg-type]
    asking = asyncio.create_task(
        diffs.ask("c1", "tab", path, lambda: view.read_text(path), "new\n", journal=journal)
    )
    await opened.wait()
    (diff,) = diffs.waiting()
    if how == "terminal":
        (engine.root.folder / path).write_text("new\n")
        diffs.close_tab("c1", "tab")
        await asking
    else:
        wishes = (FileDecision(path=path, text="mine\n"),) if how == "edited" else ()
        deciding = asyncio.create_task(
            diffs.accept(diff.number, by="page", seen="", files=wishes, reason="good")
        )
        decision = await asking
        assert isinstance(decision, Accepted)
        (engine.root.folder / path).write_text(decision.text)
        await deciding
    await closed.wait()
    await diffs.wait_stored()


def main(base: Path, number: str, point: str, decisions: str) -> None:
    def checkpoint(name: str) -> None:
        if point == "tell":
            print(name, flush=True)
        if name == point:
            os.kill(os.getpid(), signal.SIGKILL)

    def reopen(scope: Scope) -> DirectEngine:
        return DirectEngine(
            base / "vault",
            cache=base / "cache",
            trash=Trash({"HOME": str(base / "home")}),
            scope=scope,
            actor="test",
            checkpoint=checkpoint,
        )

    with reopen(Scope()) as engine:
        if number == "diff":
            event_loop.run(accept_diff(engine, decisions))
        else:
            decider = Decider(engine, store_of(engine), reopen)
            files = msgspec.json.decode(decisions, type=list[FileDecision])
            decider.accept(int(number), by="page", reason="good", files=files)
        checkpoint("reported")


if __name__ == "__main__":
    main(Path(sys.argv[1]), *sys.argv[2:])
