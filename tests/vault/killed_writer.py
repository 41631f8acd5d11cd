"""A process that changes a vault and kills itself at a given point. Run by `test_recovery.py`.

killed_writer.py VAULT CACHE HOME POINT    one batch; POINT may be "" to live through it
killed_writer.py VAULT CACHE HOME forever  batch after batch until killed from outside
"""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path

from vaultbridge.vault.paths import Root, VaultPath
from vaultbridge.vault.read import content_hash
from vaultbridge.vault.steps import (
    ABSENT,
    MoveFile,
    MoveFolder,
    RemoveFile,
    RemoveFolder,
    Step,
    TrashFile,
    WriteFile,
)
from vaultbridge.vault.transaction import Transactor
from vaultbridge.vault.trash import TrashCans

P = VaultPath


def batch() -> list[Step]:
    """One of everything."""
    return [
        WriteFile(P("a.md"), b"a new", content_hash(b"a")),
        WriteFile(P("New/Folder/n.md"), b"n", ABSENT),
        MoveFile(P("b.md"), P("Else/b.md")),
        WriteFile(P("Else/b.md"), b"b new", content_hash(b"b")),
        TrashFile(P("t.md"), "system"),
        TrashFile(P("u.md"), "local"),
        RemoveFile(P("r.md")),
        MoveFile(P("case.md"), P("Case.md")),
        MoveFile(P("Gone/g.md"), P("g.md")),
        RemoveFolder(P("Gone")),
    ]


def folder_batch() -> list[Step]:
    return [
        MoveFolder(P("Dir"), P("Moved/Dir")),
        WriteFile(P("Moved/Dir/d.md"), b"d new", content_hash(b"d")),
        WriteFile(P("a.md"), b"a new", content_hash(b"a")),
    ]


def swap_batch() -> list[Step]:
    """Files that can be told apart by nothing but their identity: names are swapped, and a note moves while
    a copy of it takes its place."""
    return [
        MoveFile(P("a.md"), P("between.md")),
        MoveFile(P("b.md"), P("a.md")),
        MoveFile(P("between.md"), P("b.md")),
        MoveFile(P("r.md"), P("r2.md")),
        WriteFile(P("r.md"), b"r", ABSENT),
        WriteFile(P("u.md"), b"t", content_hash(b"u")),
        RemoveFile(P("t.md")),
        MoveFile(P("u.md"), P("t.md")),
    ]


BATCHES = {"batch": batch, "folder": folder_batch, "swap": swap_batch}


def main() -> None:
    vault, cache, home, point = sys.argv[1:5]
    which = sys.argv[5] if len(sys.argv) > 5 else "batch"

    def checkpoint(name: str) -> None:
        if point == "tell":
            print(name, flush=True)
        if name == point:
            os.kill(os.getpid(), signal.SIGKILL)

    transactor = Transactor(Root(vault), Path(cache), cans=TrashCans({"HOME": home}), checkpoint=checkpoint)
    if point == "forever":
        number = 0
        while True:
            number += 1
            steps = [WriteFile(P(f"{note}.md"), str(number).encode() * 2000) for note in range(8)]
            transactor.apply(steps, actor="test", label=f"batch {number}")
            print(number, flush=True)
    if which == "recover":
        transactor.recover()
    elif which == "undo":
        transactor.undo(1, actor="test")
    else:
        transactor.apply(BATCHES[which](), actor="test", label="the batch")


if __name__ == "__main__":
    main()
