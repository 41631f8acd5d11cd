"""A process that closes a database as the last one removes its log. While we use it, nobody is the last.

SQLite's locks belong to the process, and are released when the process closes any descriptor of the file: so
nothing of ours may open a database but SQLite (howtocorrupt.html, 2.2).
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from support.commands import run_command
from vaultbridge.review.store import ReviewStore

CLOSE_EACH = """
import pathlib, sqlite3, sys
for file in map(pathlib.Path, sys.argv[1:]):
    db = sqlite3.connect(file)
    db.execute("SELECT count(*) FROM sqlite_master").fetchone()
    db.close()
"""

SESSION = """
import sys
import vaultbridge
vault = vaultbridge.open(sys.argv[1])
for line in sys.stdin:
    word = line.split()[0]
    if word == "append":
        with vault.edit() as edit:
            edit.append("A", line)
    elif word == "undo":
        vault.undo()
    elif word == "search":
        vault.search("append")
    elif word == "broken":
        vault.broken_links()
    print("done", flush=True)
"""


def test_what_is_changed_after_another_process_closed_our_databases_stays_in_the_history(
    tmp_path: Path,
) -> None:
    """As it was found: the second change was acknowledged, and no other process ever saw it."""
    vault = tmp_path / "Vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "A.md").write_text("a\n", "utf-8")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    assert run_command("append", str(vault), "A", "before", env=env).returncode == 0  # they exist from now on
    with subprocess.Popen(
        [sys.executable, "-c", SESSION, str(vault)],
        env=env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    ) as ours:  # fmt: skip
        assert ours.stdin is not None and ours.stdout is not None
        for number, word in enumerate(["append", "search", "append", "undo", "broken", "append"], 2):
            ours.stdin.write(f"{word} {number}\n")
            ours.stdin.flush()
            assert ours.stdout.readline() == "done\n"
            databases = [*tmp_path.rglob("*.sqlite"), *tmp_path.rglob("*.sqlite3")]
            logs = {file for file in databases if Path(f"{file}-wal").exists()}
            assert "journal.sqlite" in {file.name for file in logs}
            subprocess.run([sys.executable, "-c", CLOSE_EACH, *map(str, databases)], check=True)
            assert {file for file in logs if not Path(f"{file}-wal").exists()} == set(), f"after {word}"
        shown = run_command("history", str(vault), "--json", env=env)
        labels = [json.loads(line)["id"] for line in shown.stdout.splitlines()]
        ours.kill()
    assert labels == [5, 4, 3, 2, 1]


WATCHED = """
import os, runpy, sys
def end(event, args):
    if event == "open" and str(args[0]).endswith((".sqlite", ".sqlite3")):
        os.write(2, f"opened {args[0]}".encode())
        os._exit(99)
sys.addaudithook(end)
runpy.run_module("vaultbridge", run_name="__main__", alter_sys=True)
"""
"""What SQLite opens itself is no event of Python's."""


@pytest.mark.long
def test_no_command_opens_a_database_itself(tmp_path: Path) -> None:
    vault = tmp_path / "Vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / "A.md").write_text("a\n", "utf-8")
    env = {"PATH": os.environ["PATH"], "HOME": str(tmp_path)}
    assert run_command("append", str(vault), "A", "before", env=env).returncode == 0
    (journal,) = tmp_path.rglob("journal.sqlite")
    store = ReviewStore(journal.parent)
    store.set_policy("off")
    store.close()
    assert {file.name for file in tmp_path.rglob("*.sqlite*") if file.suffix in (".sqlite", ".sqlite3")} == {
        "journal.sqlite",
        "review.sqlite",
        "index.sqlite3",
    }
    for command, *words in (
        ["append", "A", "x"],
        ["search", "before"],
        ["history", "--json"],
        ["diffs", "--json"],
        ["diffs", "--decided"],
        ["undo"],
        ["rename", "A", "B"],
        ["index", "--rebuild"],
        ["doctor"],
    ):
        done = subprocess.run(
            [sys.executable, "-c", WATCHED, command, str(vault), *words],
            env=env, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert done.returncode in ((0, 1) if command == "doctor" else (0,)), (command, done.stderr)
        assert "opened" not in done.stderr
