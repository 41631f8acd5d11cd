"""The vault of a command that names none: real processes in real folders."""

from __future__ import annotations

import json
import os
import re
import shlex
import signal
import subprocess
import sys
from collections.abc import Callable, Mapping
from functools import partial
from pathlib import Path
from typing import NamedTuple

import pytest

from support.commands import run_command
from support.long_form import combine
from support.terminal import CTRL_C, open_terminal
from support.waiting import BOUND


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
        return run_command(*args, env={**self.environ, **(environ or {})}, cwd=here or self.home)

    def configure(self, *vaults: Path) -> None:
        config = self.home / ".config" / "vaultbridge" / "config.toml"
        config.parent.mkdir(parents=True, exist_ok=True)
        config.write_text(
            "".join(f"[[vaults]]\npath = {json.dumps(str(vault))}\n" for vault in vaults), "utf-8"
        )

    def start(
        self, *args: str, here: Path | None = None, environ: Mapping[str, str] | None = None
    ) -> subprocess.Popen[str]:
        return subprocess.Popen(
            [sys.executable, "-m", "vaultbridge", *args],
            cwd=here or self.home,
            env={**self.environ, **(environ or {})},
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


Answer = tuple[str, str]
"""What a command used or printed, and what it complained about."""

Start = Callable[..., "subprocess.Popen[str]"]


def ask_command(*args: str) -> Callable[[Start, list[str]], Answer]:
    def ask(start: Start, named: list[str]) -> Answer:
        with start(*args[:1], *named, *args[1:]) as process:
            return process.communicate(timeout=BOUND)

    return ask


def ask_serve(start: Start, named: list[str]) -> Answer:
    with start("serve", *named, "--port", "0", "--no-ide") as process:
        assert process.stdout is not None
        first = process.stdout.readline()
        process.terminate()
        return first, process.communicate(timeout=BOUND)[1]


def ask_stdio(start: Start, named: list[str]) -> Answer:
    info = {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "test", "version": "1"},
    }
    read = {"name": "obsidian_read_note", "arguments": {"name": "Where"}}
    with start("stdio", *named) as process:
        assert process.stdin is not None and process.stdout is not None
        for number, (method, params) in enumerate((("initialize", info), ("tools/call", read))):
            message = {"jsonrpc": "2.0", "id": number, "method": method, "params": params}
            process.stdin.write(json.dumps(message) + "\n")
            process.stdin.flush()
            answer = json.loads(process.stdout.readline())
        text = answer["result"]["content"][0]["text"]
        process.stdin.close()
        process.wait(BOUND)
    return ("", text) if answer["result"].get("isError") else (text, "")


COMMANDS: dict[str, Callable[[Start, list[str]], Answer]] = {
    "read": ask_command("read", "Where"),
    "index": ask_command("index"),
    "open": ask_command("open", "Where", "--print"),
    "search": ask_command("search", "--exact", "this", "--json"),
    "companion": ask_command("companion", "status"),
    "daily": ask_command("daily", "--dry-run", "x"),
    "serve": ask_serve,
    "stdio": ask_stdio,
}


class Way(NamedTuple):
    """Where a vault is named. Obsidian knows the vaults One and Two, or as many as `known` says."""

    expected: str
    named: tuple[str, ...] = ()
    here: str = ""
    variable: str = ""
    configured: str = ""
    known: tuple[str, ...] = ("One", "Two")
    why: str = ""


WAYS = {
    "named by a folder": Way("Three", ("-v", "Three"), "One", "Two", "Two", why="named in the command"),
    "named as here": Way("One", ("-v", "."), "One", "Two", "Two", why="named in the command"),
    "named by its name": Way("Two", ("-v", "Two"), "One", "One", "One", why="named in the command"),
    "in the vault": Way("Three", (), "Three", "Two", "One", why="the folder you are in"),
    "below it": Way("Three", (), "Three/Deep/er", "Two", "One", why="the folder you are in"),
    "by the variable": Way("Two", (), "", "Two", "One", why="named in VAULTBRIDGE_VAULT"),
    "by the configuration": Way("Two", (), "", "", "Two", why="named in the configuration file"),
    "the only one": Way("Two", (), "", "", "", ("Two",), why="the only vault in Obsidian"),
    "between two": Way("", (), why="Obsidian knows 2 vaults: One, Two. Say which one with -v NAME."),
    "nowhere": Way("", (), known=(), why="No vault found here or in Obsidian."),
}


@pytest.mark.parametrize(("command", "way"), combine([*COMMANDS], WAYS))
def test_every_command_finds_the_vault_by_the_same_rule(machine: Machine, command: str, way: Way) -> None:
    for name in ("One", "Two", "Three"):
        vault = machine.add_vault(name, known=name in way.known)
        (vault / "Deep" / "er").mkdir(parents=True)
    if way.configured:
        machine.configure(machine.home / way.configured)
    here = machine.home / way.here
    named = [str(machine.home / word) if word == "Three" else word for word in way.named]
    environ = {"VAULTBRIDGE_VAULT": str(machine.home / way.variable)} if way.variable else {}
    used, complaint = COMMANDS[command](partial(machine.start, here=here, environ=environ), named)
    if way.expected and command == "companion":
        assert "The companion is not installed." in used, complaint
    elif way.expected and command == "daily":
        assert ".md" in used, complaint
    elif way.expected:
        assert way.expected in used and not {"One", "Two", "Three"} - {way.expected} & set(
            re.findall(r"\w+", used)
        )
    else:
        assert "this is" not in used and way.why in complaint
    if way.expected and command == "serve":
        assert used.startswith(f"Serving {way.expected} ({way.why}) at http://127.0.0.1:"), used


def test_a_server_serves_every_vault_that_is_named(machine: Machine) -> None:
    one, two = machine.add_vault("One"), machine.add_vault("Two")
    for named in ([str(one), str(two)], ["-v", "One", "-v", "Two"], ["One", "-v", str(two)]):
        first, _ = ask_serve(machine.start, named)
        assert first.startswith("Serving One, Two (named in the command) at "), first
    machine.configure(one, two)
    assert "Serving One, Two (named in the configuration file) at " in ask_serve(machine.start, [])[0]
    both = {"VAULTBRIDGE_VAULT": os.pathsep.join(("One", "Two"))}
    assert (
        "Serving One, Two (named in VAULTBRIDGE_VAULT) at "
        in ask_serve(partial(machine.start, environ=both), [])[0]
    )


@pytest.mark.parametrize("args", [["read", "Where"], ["search", "--exact", "this is", "--json"], ["export"]])
def test_a_folder_of_notes_is_offered_with_the_command_that_uses_it(
    machine: Machine, args: list[str]
) -> None:
    plain = machine.add_vault("Plain", known=False, opened=False)
    done = machine.run(*args, here=plain)
    assert (done.returncode, done.stderr.count("\n")) == (1, 1)
    offered = done.stderr.strip().partition("To use the notes in this folder: ")[2]
    again = subprocess.run(
        shlex.split(offered),
        cwd=plain,
        env=machine.environ,
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=True,
    )
    assert "Where.md" in again.stdout or "this is Plain" in again.stdout
    assert "To use the notes" not in machine.run(*args).stderr, "there are none in the home folder"


def test_serve_offers_a_folder_of_notes(machine: Machine) -> None:
    """Also if it serves another vault: it says which, why, and how to get this one."""
    plain = machine.add_vault("Plain", known=False, opened=False)
    first, complaint = ask_serve(partial(machine.start, here=plain), [])
    assert not first and "serve -v . --port 0 --no-ide" in complaint
    machine.add_vault("One")
    first, complaint = ask_serve(partial(machine.start, here=plain), [])
    assert first.startswith("Serving One (the only vault in Obsidian) at ")
    assert "This folder contains notes too." in complaint and "serve -v ." in complaint
    assert ask_serve(partial(machine.start, here=plain), ["-v", "."])[0].startswith("Serving Plain (named")


@pytest.mark.parametrize("command", ["stdio", "bridge"])
def test_a_server_for_assistants_says_what_it_is_to_a_person(machine: Machine, command: str) -> None:
    program = [sys.executable, "-m", "vaultbridge", command]
    with open_terminal(program, cwd=machine.home, env=machine.environ) as terminal:
        shown = terminal.wait_for("Press Ctrl\\+C to stop")
        assert "This is an MCP server." in shown and "In a browser: `vaultbridge page`" in shown
        # What the log says may already follow; it is not wrapped.
        explained = shown.partition("to stop")[0]
        assert max(map(len, explained.splitlines())) <= 80
        if command == "stdio":
            terminal.wait_for("No vault found here or in Obsidian")
        terminal.type(CTRL_C)
        assert terminal.wait() in (0, 130, -signal.SIGINT)
        assert "Traceback" not in terminal.shown
    done = machine.run(command)
    assert "This is an MCP server" not in done.stderr, "an assistant's log"


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
    assert (
        "No vault found here or in Obsidian. Name one with -v FOLDER, change into its folder" in done.stderr
    )
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
    assert done.stdout == "All assistants are paused, including those that connect later.\n"
    assert done.returncode == 0, done.stderr
    assert machine.run("resume", here=vault).stdout == "Resumed all assistants.\n"
    assert machine.run("resume", here=vault).stdout == "No assistant was paused.\n"
    assert "Obsidian knows 2 vaults: One, Two." in machine.run("pause").stderr
