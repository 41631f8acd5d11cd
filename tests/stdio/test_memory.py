"""docs/benchmarks.md, "Memory over many calls": a process keeps what has a cap, and nothing else of a call.

Objects are counted inside a real process, not its megabytes, which say as much about the allocator.
"""

from __future__ import annotations

import json
import os
import signal
from pathlib import Path

import pytest

from support.process import ROOT
from support.vault import VaultProcess, copy_sample_vault
from support.waiting import until

ROUNDS = 60
"""Each kind of call is made so often between two counts: an object that one of them left behind would be
there so many times more."""

COUNTS = 4
"""What a call leaves behind is there more often at each count. What has a cap is not: a thread that is needed
for the first time opens a connection, which keeps its last statements."""

KEPT_BY_DESIGN = frozenset({"builtins.tuple", "weakref.ReferenceType"})
"""What a call changed is in the records of the last calls (`activity.records.CallEffects`), which are limited
themselves (`tests/activity/test_clients.py`): in a deque, and invisible to the garbage collector.
Each connection of `sqlite3` keeps weak references to its cursors, and tidies their list every 200 of them."""

COUNTER = """
import collections, gc, json, os, signal

def count(*_):
    gc.collect()
    counts = collections.Counter()
    for value in gc.get_objects():
        kind = type(value)
        counts[f"{kind.__module__}.{kind.__qualname__}"] += 1
        if kind in (dict, set, collections.OrderedDict):
            counts[f"entries of {kind.__qualname__}"] += len(value)
        # A dictionary of what the collector does not follow is itself invisible to it.
        hidden = (inner for inner in gc.get_referents(value) if type(inner) is dict)
        counts["entries of hidden dict"] += sum(len(inner) for inner in hidden if not gc.is_tracked(inner))
    with open(os.environ["COUNTS"] + ".new", "w") as file:
        json.dump(counts, file)
    os.replace(os.environ["COUNTS"] + ".new", os.environ["COUNTS"])

signal.signal(signal.SIGUSR1, count)
"""


@pytest.mark.skipif(os.name == "nt", reason="the process is asked by a signal")
async def test_a_call_leaves_no_objects_behind(tmp_path: Path) -> None:
    vault = copy_sample_vault(tmp_path)
    (vault / "Log.md").write_text("begin\n", "utf-8")
    site = tmp_path / "site"
    site.mkdir()
    (site / "sitecustomize.py").write_text(COUNTER, "utf-8")
    counts = tmp_path / "counts.json"
    paths = os.pathsep.join((str(site), str(ROOT / "src")))
    async with VaultProcess(tmp_path, str(vault), PYTHONPATH=paths, COUNTS=str(counts)) as process:

        async def call_each(begin: int) -> None:
            for number in range(begin, begin + ROUNDS):
                await process.text("read_note", name="Home")
                await process.text("search", query="note")
                await process.text("context", question="what is a note")
                await process.text("list_files", limit=20)
                await process.text("links", name="Home")
                await process.text("edit_note", name="Log", op="append", content="another line")
                await process.text("edit_note", name="Log", op="set_property", property="n", value=number % 2)
                await process.text("undo")
                await process.text("history", limit=5)
                await process.ask("tools/call", {"name": "obsidian_read_note", "arguments": {"name": "?"}})
                await process.ask("resources/list", {})
                process.heard.clear()

        async def count() -> dict[str, int]:
            counts.unlink(missing_ok=True)
            process.inner.send_signal(signal.SIGUSR1)
            await until(counts.exists)
            found: dict[str, int] = json.loads(counts.read_text("utf-8"))
            return found

        await process.begin()
        await call_each(0)
        before, grown = await count(), None
        for number in range(1, COUNTS):
            await call_each(number * ROUNDS)
            after = await count()
            more = {
                kind
                for kind, found in after.items()
                if kind not in KEPT_BY_DESIGN and found - before.get(kind, 0) >= ROUNDS // 2
            }
            before, grown = after, more if grown is None else grown & more
            if not grown:
                break
    assert not grown
    assert after["vaultbridge.activity.clients.SeenClient"] == 1, "the objects of the right process"
