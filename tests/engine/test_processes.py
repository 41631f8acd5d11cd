"""Several processes on one vault at once, and processes that die: nothing is lost, the index is right."""

from __future__ import annotations

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from support.index import dump
from vaultbridge.vault.write.replace import TEMPORARY_PREFIX

from .busy_writer import NOTES
from .conftest import MakeVault, read_contents, rebuild_index

BOUND = 120.0
"""How long a child may take before the test fails: far beyond what a loaded machine needs."""

EDITS = 60


def test_no_update_is_lost_when_processes_edit_the_same_notes(make_vault: MakeVault, tmp_path: Path) -> None:
    hubs = "".join(f"[[{name} hub]] [x](<{name} hub.md>)\n" for name in ("p", "q"))
    engine = make_vault(
        {**{f"n{n}.md": hubs for n in range(NOTES)}, "p hub.md": "[[n0]]", "q hub.md": "[[n1]]"}
    )
    folder = engine.root.folder
    program = Path(__file__).with_name("busy_writer.py")
    children = [
        subprocess.Popen(
            [sys.executable, program, folder, tmp_path / "cache", name, str(EDITS), *options],
            stdout=subprocess.PIPE,
            text=True,
        )
        for name, *options in (("p",), ("q", "keep"))
    ]
    outside = 0
    while any(child.poll() is None for child in children):
        # And another program, which knows nothing of us.
        (folder / f"outside {outside % 7}.md").write_text(f"[[n0]] outside {outside}")
        outside += 1
        for child in children:
            with contextlib.suppress(subprocess.TimeoutExpired):
                child.wait(0.05)
    reports = [json.loads(child.communicate(timeout=BOUND)[0]) for child in children]
    texts = "\n".join(data.decode() for path, data in read_contents(engine).items() if path.startswith("n"))
    for report in reports:
        assert report["refused"] == []
        for mark in report["done"]:
            wanted = 2 if int(mark.partition("-")[2][:-1]) % 5 == 0 else 1
            assert texts.split().count(mark) == wanted, mark
    engine.index_sync.refresh()
    assert [target.target for target in engine.queries.unresolved().rows] == []
    assert dump(engine.index_sync.index) == rebuild_index(engine, tmp_path / "rebuilt")


@pytest.mark.long
def test_a_command_killed_at_any_moment_leaves_all_old_or_all_new(
    make_vault: MakeVault, tmp_path: Path
) -> None:
    """`kill -9` of a real command while it writes; the next start rolls back, and the index is right."""
    engine = make_vault(
        {
            "hub.md": "[[n0]]",
            **{f"d/n{n}.md": f"[[hub]] [[n{(n + 1) % 20}]] #tag\n" for n in range(20)},
        }
    )
    folder = engine.root.folder
    engine.index_sync.refresh()
    engine.close()
    environ = {
        **os.environ,
        "VAULTBRIDGE_CACHE": str(tmp_path / "cache"),
        "HOME": str(tmp_path / "home"),
        "XDG_CONFIG_HOME": str(tmp_path / "config"),
    }
    chance = random.Random(3)
    for number in range(10):
        before = read_contents(engine)
        edits = [{"op": "append", "note": f"n{n}", "content": f"run {number}"} for n in range(20)]
        at, to = ("hub", "boss") if "hub.md" in before else ("boss", "hub")
        inside, away = ("d", "e") if any(path.startswith("d/") for path in before) else ("e", "d")
        batch = [
            {"op": "move", "note": f"{inside}/", "to": away},
            {"op": "move", "note": at, "to": to},
            *edits,
        ]
        wanted_files = chance.randrange(1, 21)
        with subprocess.Popen(
            [sys.executable, "-m", "vaultbridge", "edit", folder, json.dumps(batch)],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environ,
        ) as child:
            # Killed when it has staged so many files; a little later in every second round.
            while child.poll() is None and _count_staged(folder) < wanted_files:
                pass
            if number % 2:
                while child.poll() is None and _count_staged(folder) >= wanted_files:
                    pass
            child.send_signal(signal.SIGKILL)
            child.wait(BOUND)
        again = make_vault()
        after = read_contents(again)
        if after != before:
            assert f"{to}.md" in after and f"{at}.md" not in after
            assert sum(f"run {number}".encode() in data for data in after.values()) == 20
            assert all(f"[[{to}]]".encode() in data for path, data in after.items() if "/n" in path)
        assert not list(folder.rglob(f"{TEMPORARY_PREFIX}*"))
        again.index_sync.refresh()
        assert dump(again.index_sync.index) == rebuild_index(again, tmp_path / f"rebuilt {number}")
        again.close()


def _count_staged(folder: Path) -> int:
    return sum(
        name.startswith(TEMPORARY_PREFIX) for place, _, names in os.walk(folder) for name in names if place
    )
