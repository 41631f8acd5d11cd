"""`vaultbridge init`: a person's first minute, in a real terminal and in scripts."""

from __future__ import annotations

import json
import os
import pty
import shlex
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

from support.commands import run_command
from support.waiting import BOUND
from vaultbridge.assistants import catalog
from vaultbridge.assistants.entry import find_own_command, parse_entry
from vaultbridge.assistants.handshake import check_handshake
from vaultbridge.errors import EngineFailure


class Machine:
    """A home with two vaults that Obsidian knows, and two assistants."""

    def __init__(self, home: Path) -> None:
        self.home = home
        for name in ("Old Notes", "Notes"):
            (home / name / ".obsidian").mkdir(parents=True)
            (home / name / "Café.md").write_text(f"this is {name}\n", "utf-8")
        known = {
            "a": {"path": str(home / "Old Notes"), "ts": 2},
            "b": {"path": str(home / "Notes"), "ts": 1, "open": True},
        }
        (home / ".config" / "obsidian").mkdir(parents=True)
        (home / ".config" / "obsidian" / "obsidian.json").write_text(json.dumps({"vaults": known}), "utf-8")
        (home / ".cursor").mkdir()
        (home / ".cursor" / "mcp.json").write_text('{\n  // mine\n  "mcpServers": {}\n}\n', "utf-8")
        (home / ".codex").mkdir()
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(home),
            "XDG_CONFIG_HOME": str(home / ".config"),
            "VAULTBRIDGE_CACHE": str(home / "cache"),
            "TERM": "dumb",
        }

    def run(self, *args: str) -> subprocess.CompletedProcess[str]:
        return run_command("init", *args, env=self.environ, cwd=self.home)

    def type(self, *answers: str, folder: str = "") -> tuple[int, str]:
        """Run it on a terminal, and answer each question when it is asked."""
        ours, theirs = pty.openpty()
        output = ""
        left = list(answers)
        with subprocess.Popen(
            [sys.executable, "-m", "vaultbridge", "init"],
            cwd=self.home / folder,
            env=self.environ,
            stdin=theirs,
            stdout=theirs,
            stderr=theirs,
        ) as process:
            os.close(theirs)
            while True:
                try:
                    piece = os.read(ours, 4096).decode("utf-8", "replace")
                except OSError:
                    break
                if not piece:
                    break
                output += piece
                if left and output.endswith(("] ", "? ")):
                    os.write(ours, (left.pop(0) + "\n").encode())
            os.close(ours)
            return process.wait(BOUND), output.replace("\r\n", "\n")

    def cursor(self) -> str:
        return (self.home / ".cursor" / "mcp.json").read_text("utf-8")


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


def test_two_answers_lead_to_a_tool_call(machine: Machine) -> None:
    code, output = machine.type("", "")
    assert code == 0, output
    assert output.index("1  Notes") < output.index("2  Old Notes")
    assert "✓ Cursor: started and answered with" in output and "✓ Codex CLI" in output
    assert "Then ask it:\n  What do my notes say about “Café”" in output
    assert "// mine" in machine.cursor()
    codex = tomllib.loads((machine.home / ".codex" / "config.toml").read_text("utf-8"))
    line = parse_entry(codex["mcp_servers"]["notes"])
    called = subprocess.run(
        [
            sys.executable,
            "-m",
            "vaultbridge",
            "call",
            " ".join(map(repr, line)),
            "obsidian_read_note",
            '{"name": "Café"}',
        ],
        env=machine.environ,
        capture_output=True,
        text=True,
        timeout=BOUND,
        check=True,
    )
    assert "this is Notes" in called.stdout


def test_another_vault_and_one_assistant_are_chosen_by_number(machine: Machine) -> None:
    before = machine.cursor()
    code, output = machine.type("7", "2", "what", "2")
    assert code == 0, output
    assert "Type a number from 1 to 2" in output and "Type y, n, or numbers" in output
    assert machine.cursor() == before
    assert "old-notes" in (machine.home / ".codex" / "config.toml").read_text("utf-8")


def test_a_vault_is_also_chosen_by_its_name(machine: Machine) -> None:
    code, output = machine.type("0", "old notes", "n")
    assert code == 0 and "Type a number from 1 to 2, a name, or a folder that exists." in output
    assert str(machine.home / "Old Notes") in output.partition("Cursor")[2]


def test_answering_no_writes_nothing(machine: Machine) -> None:
    before = machine.cursor()
    code, _ = machine.type("1", "n")
    assert code == 0 and machine.cursor() == before
    assert not (machine.home / ".codex" / "config.toml").exists()


def test_scripts_say_yes_look_first_and_take_back(machine: Machine) -> None:
    before = machine.cursor()
    alone = machine.run()
    assert alone.returncode == 2 and "--yes" in alone.stderr
    looked = machine.run("--dry-run")
    assert looked.returncode == 0 and '+    "notes": {' in looked.stdout and machine.cursor() == before
    done = machine.run("--yes", "--json")
    answer = json.loads(done.stdout)
    assert (answer["vault"], answer["server"]) == (str(machine.home / "Notes"), "notes")
    assert [file["changed"] for file in answer["files"]] == [True, True]
    assert all(check["tools"] > 10 for check in answer["checks"])
    again = json.loads(machine.run("--yes", "--json").stdout)
    assert [file["changed"] for file in again["files"]] == [False, False]
    removed = machine.run("--yes", "--remove")
    assert removed.returncode == 0 and removed.stdout.endswith("Removed.\n")
    assert "notes" not in machine.cursor() and "// mine" in machine.cursor()


@pytest.mark.parametrize("named", [("Old Notes",), ("-v", "Old Notes"), ("./Old Notes",)])
def test_a_vault_may_be_named(machine: Machine, named: tuple[str, ...]) -> None:
    done = machine.run("--dry-run", *named)
    assert done.returncode == 0, done.stderr
    assert str(machine.home / "Old Notes") in done.stdout


def test_two_vaults_are_one_too_many(machine: Machine) -> None:
    done = machine.run("--dry-run", "Notes", "-v", "Old Notes")
    assert done.returncode == 2 and "Two vaults are named" in done.stderr


def test_an_assistant_that_refuses_does_not_stop_the_others(machine: Machine) -> None:
    (machine.home / ".codex" / "config.toml").write_text("broken =", "utf-8")
    done = machine.run("--yes")
    assert done.returncode == 1
    assert "not TOML" in done.stderr and "✓ Cursor" in done.stdout
    assert (machine.home / ".codex" / "config.toml").read_text("utf-8") == "broken ="


def test_a_file_that_cannot_be_written_does_not_stop_the_others(machine: Machine) -> None:
    cursor = machine.home / ".cursor" / "mcp.json"
    cursor.chmod(0o400)
    before = machine.cursor()
    done = machine.run("--yes")
    assert done.returncode == 1 and machine.cursor() == before
    assert "✗ Cursor: " in done.stdout and "read-only" in done.stdout
    assert "✓ Codex CLI: started" in done.stdout and "Then ask it:" in done.stdout
    answer = json.loads(machine.run("--yes", "--json").stdout)
    assert [(file["assistant"], file["changed"]) for file in answer["files"]] == [
        ("cursor", False),
        ("codex", False),
    ]
    assert [("problem" in check) for check in answer["checks"]] == [True, False]


def test_programs_learn_of_a_file_that_cannot_be_read(machine: Machine) -> None:
    (machine.home / ".codex" / "config.toml").write_text("broken =", "utf-8")
    done = machine.run("--yes", "--json")
    assert done.returncode == 1 and done.stderr.startswith("vaultbridge: Codex CLI: The file is not TOML")
    checks = json.loads(done.stdout)["checks"]
    assert [check["assistant"] for check in checks] == ["codex", "cursor"]
    assert "not TOML" in checks[0]["problem"]


def test_another_programs_server_of_that_name_is_kept(machine: Machine) -> None:
    theirs = '{"mcpServers": {"notes": {"command": "other"}}}'
    (machine.home / ".cursor" / "mcp.json").write_text(theirs, "utf-8")
    done = machine.run("--yes", "--assistant", "cursor")
    assert done.returncode == 1 and "another server named 'notes'" in done.stderr
    machine.run("--yes", "--remove", "--assistant", "cursor")
    assert machine.cursor() == theirs


def test_without_a_vault_a_person_is_asked_for_a_folder(machine: Machine) -> None:
    (machine.home / ".config" / "obsidian" / "obsidian.json").unlink()
    code, output = machine.type("", "Notse", "Notes", "n")
    assert code == 0 and "No vault found here or in Obsidian" in output, output
    assert output.count("Type a folder that exists.") == 2
    assert f'"{machine.home / "Notes"}"' in output  # in the diff


def test_the_folder_one_is_in_is_offered_if_it_has_notes(machine: Machine) -> None:
    """A newcomer may never have opened it in Obsidian."""
    (machine.home / ".config" / "obsidian" / "obsidian.json").unlink()
    fresh = machine.home / "Fresh notes"
    fresh.mkdir()
    (fresh / "Plan.md").write_text("# Plan\n", "utf-8")
    code, output = machine.type("", "", folder="Fresh notes")
    assert code == 0 and f"This folder has notes:\n  1  Fresh notes  {fresh}\n" in output, output
    assert f'"{fresh}"' in output  # in the diff
    # In a terminal, it is still not a vault that is found without being named.
    command = output.partition("name it in a terminal:\n  ")[2].partition(" WORDS")[0]
    done = subprocess.run(
        [*shlex.split(command), "Plan"], env=machine.environ, capture_output=True, text=True, timeout=BOUND
    )
    assert done.returncode == 0 and "Plan.md" in done.stdout, done.stderr


def test_the_question_is_about_a_note_that_one_would_ask_about(machine: Machine) -> None:
    """Not about the newest ones if those are a template, a daily note, or have no name."""
    vault = machine.home / "Notes"
    (vault / ".obsidian" / "templates.json").write_text('{"folder": "Forms"}', "utf-8")
    for number, name in enumerate(("Forms/Meeting", "Templates/Project", "2026-11-16", "Untitled 2")):
        note = vault / f"{name}.md"
        note.parent.mkdir(exist_ok=True)
        note.write_text("text\n", "utf-8")
        os.utime(note, (2e9 + number, 2e9 + number))
    done = machine.run("--yes", "--json")
    assert "about “Café”" in json.loads(done.stdout)["ask"]
    (vault / "Café.md").unlink()
    assert json.loads(machine.run("--yes", "--json").stdout)["ask"] == "What can you do with my notes?"


def test_a_program_that_is_not_on_path_is_named_in_full(machine: Machine) -> None:
    """As after `python3 -m venv`: the commands of the documents would not be found."""
    program = Path(sys.executable).with_name("vaultbridge")
    machine.environ["PATH"] = "/usr/bin:/bin"
    assert f"Your shell does not find `vaultbridge`: type {program}," in machine.run("--yes").stdout
    machine.environ["PATH"] = f"{program.parent}:/usr/bin:/bin"
    assert "Your shell" not in machine.run("--yes").stdout


def test_nothing_to_find_says_what_would_help(tmp_path: Path) -> None:
    empty = Machine(tmp_path / "a")
    (empty.home / ".config" / "obsidian" / "obsidian.json").unlink()
    done = empty.run("--yes")
    assert done.returncode == 1 and "vaultbridge init FOLDER" in done.stderr
    (empty.home / ".cursor" / "mcp.json").unlink()
    (empty.home / ".cursor").rmdir()
    (empty.home / ".codex").rmdir()
    done = empty.run("--yes", "-v", "Notes")
    assert done.returncode == 1 and "No assistant was found" in done.stderr


def test_a_server_that_does_not_answer_is_explained(tmp_path: Path) -> None:
    with pytest.raises(EngineFailure, match="cannot be started: No such file"):
        check_handshake([str(tmp_path / "nothing")])
    with pytest.raises(EngineFailure, match="as MCP servers do: broken"):
        check_handshake([sys.executable, "-c", "import sys; sys.exit('broken')"])
    with pytest.raises(EngineFailure, match="in time"):
        check_handshake([sys.executable, "-c", "import sys; sys.stdin.read()"], seconds=0.5)


@pytest.mark.parametrize(
    ("prefix", "runner", "words"),
    [
        (".cache/uv/archive-v0/Xy_1", "uvx", ["vaultbridge"]),
        (".cache/uv/environments-v2/x", "uvx", ["vaultbridge"]),
        (".cache/pipx/0a1b", "pipx", ["run", "vaultbridge"]),
        ("Library/Caches/pipx/0a1b", "pipx", ["run", "vaultbridge"]),
        ("AppData/Local/pipx/pipx/Cache/0a1b", "pipx", ["run", "vaultbridge"]),
    ],
)
def test_a_thrown_away_environment_writes_its_runner(
    prefix: str, runner: str, words: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    program = tmp_path / runner
    program.write_text("#!/bin/sh\n", "utf-8")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    environment = tmp_path / prefix
    environment.mkdir(parents=True)
    if runner == "pipx":
        (environment / "pipx_metadata.json").touch()
    monkeypatch.setattr(sys, "prefix", str(environment))
    assert find_own_command() == [str(program), *words]
    monkeypatch.setenv("PATH", "")
    assert find_own_command() != [str(program), *words]
    assert catalog.find_assistant("nobody") is None


@pytest.mark.parametrize(
    "prefix", [".local/share/pipx/venvs/vaultbridge", ".cache/pypoetry/virtualenvs/mine"]
)
def test_an_environment_that_lasts_is_named_itself(
    prefix: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "pipx").write_text("#!/bin/sh\n", "utf-8")
    (tmp_path / "pipx").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    environment = tmp_path / prefix
    environment.mkdir(parents=True)
    if "pipx" in prefix:
        (environment / "pipx_metadata.json").touch()
    monkeypatch.setattr(sys, "prefix", str(environment))
    assert find_own_command()[0] == str(Path(sys.executable).with_name("vaultbridge"))
