"""Processes that change a vault and kill themselves at a given point. Run by `test_recovery.py`.

    killed_writer.py serve                             a line of JSON [VAULT, CACHE, HOME, POINT, WHICH] each
    killed_writer.py VAULT CACHE HOME forever          batch after batch until killed from outside

Serving forks a process for each line, which saves starting Python anew for each of the many points; POINT
may be "" to live through the batch, or "tell" to print the points that are passed.
"""

from __future__ import annotations

import json
import os
import signal
import sys
import traceback
from pathlib import Path

from vaultbridge.vault.paths import VaultFolder, VaultPath
from vaultbridge.vault.read import content_hash
from vaultbridge.vault.write.steps import (
    ABSENT,
    MoveFile,
    MoveFolder,
    RemoveFile,
    RemoveFolder,
    Step,
    TrashFile,
    WriteFile,
)
from vaultbridge.vault.write.transaction import Transactor
from vaultbridge.vault.write.trash import Trash

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


def make_folder_batch() -> list[Step]:
    return [
        MoveFolder(P("Dir"), P("Moved/Dir")),
        WriteFile(P("Moved/Dir/d.md"), b"d new", content_hash(b"d")),
        WriteFile(P("a.md"), b"a new", content_hash(b"a")),
    ]


def swap_batch() -> list[Step]:
    """Files that differ in nothing but their identity: names are swapped, and a note moves while
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


BATCHES = {"batch": batch, "folder": make_folder_batch, "swap": swap_batch}


def write(vault: str, cache: str, home: str, point: str, which: str) -> None:
    def checkpoint(name: str) -> None:
        if point == "tell":
            print(name, flush=True)
        if name == point:
            os.kill(os.getpid(), signal.SIGKILL)

    transactor = Transactor(
        VaultFolder(vault), Path(cache), trash=Trash({"HOME": home}), checkpoint=checkpoint
    )
    if which == "recover":
        transactor.recover()
    elif which == "undo":
        transactor.undo(1, actor="test")
    elif which == "forever":
        number = 0
        while True:
            number += 1
            steps = [WriteFile(P(f"{note}.md"), str(number).encode() * 2000) for note in range(8)]
            transactor.apply(steps, actor="test", label=f"batch {number}")
            print(number, flush=True)
    else:
        transactor.apply(BATCHES[which](), actor="test", label="the batch")


def serve() -> None:
    for line in sys.stdin:
        reading, writing = os.pipe()
        child = os.fork()
        if child == 0:
            os.dup2(writing, 1)
            os.dup2(writing, 2)
            code = 1
            try:
                write(*json.loads(line))
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stdout.flush()
                os._exit(code)
        os.close(writing)
        with open(reading) as output:
            printed = output.read()
        _, status = os.waitpid(child, 0)
        print(json.dumps([os.waitstatus_to_exitcode(status), printed]), flush=True)


if __name__ == "__main__":
    if sys.argv[1] == "serve":
        serve()
    else:
        write(*sys.argv[1:4], point="", which="forever")
