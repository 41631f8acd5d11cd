"""The vault of a command that names none: real processes in real folders."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest


class Machine:
    """A home with some vaults, and commands run in it."""

    def __init__(self, home: Path) -> None:
        self.home = home
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "VAULTBRIDGE_CACHE": str(home / "cache"),
            "XDG_CONFIG_HOME": str(home / ".config"),
        }

    def add_vault(self, name: str, *, known: bool = True, opened: bool = True) -> Path:
        vault = self.home / name
        vault.mkdir(parents=True)
        (vault / "Where.md").write_text(f"this is {name}\n", "utf-8")
        if opened:
            (vault / ".obsidian").mkdir()
        if known:
            file = self.home / ".config" / "obsidian" / "obsidian.json"
            file.parent.mkdir(parents=True, exist_ok=True)
            listed = json.loads(file.read_text("utf-8")) if file.exists() else {"vaults": {}}
            listed["vaults"][name] = {"path": str(vault), "ts": 1}
            file.write_text(json.dumps(listed), "utf-8")
        return vault

    def run(
        self, *args: str, here: Path | None = None, environ: Mapping[str, str] | None = None
    ) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "vaultbridge", *args],
            cwd=here or self.home,
            env={**self.environ, **(environ or {})},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_the_current_folder_comes_first(machine: Machine) -> None:
    below = machine.add_vault("One") / "Deep" / "er"
    below.mkdir(parents=True)
    machine.add_vault("Two")
    two = {"VAULTBRIDGE_VAULT": str(machine.home / "Two")}
    assert machine.run("read", "Where", here=below, environ=two).stdout == "this is One\n"
    assert machine.run("read", "-v", "Two", "Where", here=below).stdout == "this is Two\n"
    assert machine.run("read", "Two", "Where", here=below).stdout == "this is Two\n"


def test_the_vault_comes_from_the_environment_the_configuration_or_is_the_only_one(machine: Machine) -> None:
    machine.add_vault("One")
    assert machine.run("read", "Where").stdout == "this is One\n"
    two = machine.add_vault("Two", known=False)
    config = machine.home / ".config" / "vaultbridge" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text(f"[[vaults]]\npath = {json.dumps(str(two))}\n", "utf-8")
    assert machine.run("read", "Where").stdout == "this is Two\n"
    three = machine.add_vault("Three", known=False)
    assert machine.run("read", "Where", environ={"VAULTBRIDGE_VAULT": str(three)}).stdout == "this is Three\n"


def test_between_two_vaults_no_command_guesses(machine: Machine) -> None:
    machine.add_vault("One")
    machine.add_vault("Two")
    done = machine.run("read", "Where")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Obsidian knows 2 vaults: One, Two. Say which one with -v NAME." in done.stderr
    both = os.pathsep.join((str(machine.home / "One"), str(machine.home / "Two")))
    done = machine.run("read", "Where", environ={"VAULTBRIDGE_VAULT": both})
    assert "VAULTBRIDGE_VAULT names 2 vaults: One, Two." in done.stderr


def test_no_vault_anywhere_says_how_to_name_one(machine: Machine) -> None:
    machine.add_vault("Plain", known=False, opened=False)
    done = machine.run("search", "anything")
    assert (done.returncode, done.stdout) == (1, "")
    assert "Name one with -v FOLDER, change into its folder, or set VAULTBRIDGE_VAULT." in done.stderr
    assert machine.run("read", "Plain/", "Where").stdout == "this is Plain\n"


@pytest.mark.parametrize("named", ["~/Gone/Notes", "./Gone/Notes", "by the environment"])
def test_a_vault_that_is_missing_is_named_with_its_whole_path(machine: Machine, named: str) -> None:
    """Who set a variable long ago, or moved to another folder, sees where the command looked."""
    if named == "by the environment":
        done = machine.run("search", "x", environ={"VAULTBRIDGE_VAULT": str(machine.home / "Gone" / "Notes")})
    else:
        done = machine.run("search", named, "x")
    assert (done.returncode, done.stdout) == (1, "")
    assert f"There is no folder {machine.home / 'Gone' / 'Notes'}." in done.stderr


def test_a_folder_is_the_vault_if_there_is_no_other(machine: Machine) -> None:
    machine.add_vault("Plain", known=False, opened=False)
    append = '{"op": "append", "note": "Where", "content": "more"}'
    assert machine.run("edit", "Plain", append).returncode == 0
    assert machine.run("read", "Plain", "Where").stdout == "this is Plain\nmore\n"
    assert "Where.md" in machine.run("search", "Plain", "this", "more").stdout
    one = machine.add_vault("One")
    (one / "Where.md").write_text("Plain words\n", "utf-8")
    assert "Plain words" in machine.run("search", "Plain", "words").stdout


def test_a_vault_alone_is_not_taken_for_a_query_or_a_note(machine: Machine) -> None:
    vault = machine.add_vault("One")
    for command, missing in (("search", "QUERY"), ("read", "PLACE")):
        done = machine.run(command, str(vault))
        assert done.returncode == 2
        assert f"the following arguments are required: {missing}" in done.stderr


def test_in_a_vault_the_name_of_its_folder_is_not_a_vault(machine: Machine) -> None:
    vault = machine.add_vault("One")
    (vault / "Folder").mkdir()
    (vault / "Folder" / "Deep.md").write_text("- [ ] a task in Folder/\n", "utf-8")
    task = json.loads(machine.run("tasks", "Folder/", "--json", here=vault).stdout)
    assert task["path"] == "Folder/Deep.md"
    assert "1 note" in machine.run("search", "--exact", "Folder/", "task", here=vault).stderr
    # A path that is written as one still names another vault.
    assert machine.run("read", "./Folder", "Deep", here=vault).stdout == "- [ ] a task in Folder/\n"


def test_the_way_back_is_written_as_the_command_was(machine: Machine) -> None:
    vault = machine.add_vault("My Notes")
    operation = json.dumps({"op": "append", "note": "Where", "content": "more"})
    assert "`vaultbridge undo 1` reverts it." in machine.run("edit", operation, here=vault).stdout
    assert (
        "`vaultbridge undo 'My Notes' 2` reverts it."
        in machine.run("edit", "-v", "My Notes", operation).stdout
    )
    undone = machine.run("undo", "2", here=vault)
    assert undone.returncode == 0, undone.stderr


def test_everything_can_be_paused_from_inside_the_vault(machine: Machine) -> None:
    """Also where no bridge runs: then the vault's own list is changed."""
    vault = machine.add_vault("One")
    machine.add_vault("Two")
    done = machine.run("pause", here=vault)
    assert (done.returncode, done.stdout) == (0, "All assistants are paused.\n"), done.stderr
    assert machine.run("resume", here=vault).stdout == "No assistant is paused.\n"
    assert "Obsidian knows 2 vaults: One, Two." in machine.run("pause").stderr
