"""docs/cli.md: the operations and the JSON that it describes are those of the commands."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
import websockets

from support.commands import run_command
from support.dial import dial
from support.editor import Client
from support.vault import copy_sample_vault
from support.waiting import BOUND
from vaultbridge.cli.commands import COMMANDS
from vaultbridge.engine.operations.vocabulary import list_offered

DOCUMENT = (Path(__file__).parents[2] / "docs" / "cli.md").read_text("utf-8")
EDIT = '{"op":"append","note":"Home","content":"x"}'

CALLS = {
    "index": "index V",
    "search": "search V moon",
    "search --exact": "search V moon --exact",
    "context": "context V moon",
    "read": "read V Home",
    "links NOTE --backlinks": "links V Home --backlinks",
    "links NOTE --outgoing": "links V Home --outgoing",
    "links NOTE --depth": "links V Home --depth 1",
    "links NOTE --to": "links V Home --to 'Moth garden'",
    "links --unresolved": "links V --unresolved",
    "links --orphans": "links V --orphans",
    "links --dead-ends": "links V --dead-ends",
    "related NOTE": "related V 'Moth garden'",
    "related --text": "related V --text 'the moth garden at night'",
    "related --vault-wide": "related V --vault-wide",
    "related --link": "related V 'Moth garden' --link 1 --dry-run",
    "tasks": "tasks V",
    "tags": "tags V",
    "tags TAG": "tags V garden",
    "properties": "properties V",
    "properties NOTE": "properties V 'Moth garden'",
    "properties --name": "properties V --name status",
    "base": "base V Observatory",
    "base --views": "base V Observatory --views",
    "open": "open V Home --print",
    "daily --path": "daily V --path",
    "new": "new V 'A new note' text --dry-run",
    "append": "append V Home text --dry-run",
    "daily TEXT": "daily V text --dry-run",
    "set": "set V Home rank=1 --dry-run",
    "tasks --tick": "tasks V --tick 'Moth garden' --text primrose --dry-run",
    "edit": f"edit V '{EDIT}'",
    "rename": "rename V 'Moth garden' Moths --dry-run",
    "undo": "undo V",
    "history": "history V",
    "history --diff": "history V --diff 1",
    "export": "export V",
    "init": "init -v V --assistant cursor --dry-run",
    "connect": "connect",
    "connect ASSISTANT VAULT": "connect cursor V --file FILE --dry-run",
    "service install --dry-run": "service install V --dry-run",
    "service remove": "service remove",
    "token make": "token make laptop",
    "token list": "token list",
    "token revoke": "token revoke laptop",
    "companion install": "companion install V",
    "companion status": "companion status V",
    "companion remove": "companion remove V",
    "vaults": "vaults",
    "status": "status",
    "pause": "pause",
    "resume": "resume",
    "doctor": "doctor V",
    "page": "page V",
    "select": "select V Home:1",
    "mention": "mention V Home",
}
"""What is called for each row, in an order in which each finds what it needs."""

OTHERS = {"serve", "diffs", "daily", "status, sessions", "service install", "service status"}
"""These need more than a call."""


def read_rows(heading: str) -> dict[str, list[str]]:
    """The cells of a table, by each name in its first one."""
    table = DOCUMENT.partition(heading)[2].partition("\n\n")[2].partition("\n\n")[0]
    found = {}
    for line in table.splitlines()[2:]:
        first, *rest = (cell.strip() for cell in line.strip("|").split("|"))
        found.update(dict.fromkeys(re.findall(r"`([^`]+)`", first), rest))
    return found


ANSWERS = read_rows("<!-- members: checked by a test -->")


class Machine:
    """A home of its own, with a served copy of the sample vault."""

    def __init__(self, folder: Path) -> None:
        self.vault = copy_sample_vault(folder, "sample-vault")
        self.folder = folder
        self.env = {**os.environ, "HOME": str(folder), "VAULTBRIDGE_CACHE": str(folder / "cache")}
        self.env["XDG_CONFIG_HOME"] = str(folder / "config")
        self.env.pop("CLAUDE_CONFIG_DIR", None)
        known = folder / "config" / "obsidian" / "obsidian.json"
        known.parent.mkdir(parents=True)
        (folder / ".cursor").mkdir()
        known.write_text(json.dumps({"vaults": {"a": {"path": str(self.vault), "ts": 1}}}), "utf-8")
        self.listening: dict[str, Any] = {}

    def command(self, *words: str) -> list[str]:
        return [sys.executable, "-m", "vaultbridge", *words, "--json"]

    def run(self, call: str) -> str:
        places = {"V": str(self.vault), "FILE": str(self.folder / "mcp.json")}
        words = [places.get(word, word) for word in shlex.split(call)]
        return self.run_words(*words, check=True).stdout

    def run_words(self, *words: str, check: bool) -> subprocess.CompletedProcess[str]:
        done = run_command(*words, "--json", env=self.env)
        if check:
            done.check_returncode()
        return done


@pytest.fixture(scope="module")
def machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Machine]:
    machine = Machine(tmp_path_factory.mktemp("machine"))
    machine.run("index V")  # an answer from half an index has lines that are missing
    command = machine.command("serve", str(machine.vault), "--port", "0")
    with subprocess.Popen(
        command, env=machine.env, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, encoding="utf-8"
    ) as serving:
        assert serving.stdout is not None
        machine.listening = json.loads(serving.stdout.readline())
        yield machine
        serving.terminate()


def list_quoted_names(row: str) -> set[str]:
    return set(re.findall(r"`([^`]+)`", ANSWERS[row][1]))


def test_the_document_lists_every_command_that_answers_in_json() -> None:
    answer = {row.split()[0].rstrip(",") for row in ANSWERS}
    assert answer == COMMANDS.keys() - {"stdio", "bridge", "call", "completion"}
    assert CALLS.keys() | OTHERS == ANSWERS.keys()


@pytest.mark.long
def test_every_answer_has_the_members_that_the_document_names(machine: Machine) -> None:
    for row, call in CALLS.items():
        lines = machine.run(call).splitlines()
        assert lines, row
        if ANSWERS[row][0] == "object":
            assert len(lines) == 1, row
        assert [json.loads(line).keys() for line in lines] == [list_quoted_names(row)] * len(lines), row


def test_what_serve_prints_has_the_members_that_the_document_names(machine: Machine) -> None:
    assert machine.listening.keys() == list_quoted_names("serve")


async def test_a_waiting_change_has_the_members_that_the_document_names(machine: Machine) -> None:
    page = json.loads(await asyncio.to_thread(machine.run, "page V"))["page"]
    url, _, token = page.replace("http", "ws", 1).partition("#token=")
    hello = {"app": "test", "protocol": 1, "token": token, "abilities": {"proposals": True}}
    path = str(machine.vault / "Home.md")
    new = {"old_file_path": path, "new_file_path": path, "new_file_contents": "x", "tab_name": "t"}
    async with (
        asyncio.timeout(BOUND),
        dial(f"{url}editor", subprotocols=[websockets.Subprotocol("vaultbridge.editor.v1")]) as eyes,
        dial(
            url,
            subprotocols=[websockets.Subprotocol("mcp")],
            additional_headers={"X-Claude-Code-Ide-Authorization": token},
        ) as socket,
    ):
        await eyes.send(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "hello", "params": hello}))
        assert "result" in json.loads(await eyes.recv())
        client = Client(socket)
        await client.handshake()
        await client.begin("tools/call", name="openDiff", arguments=new)
        while json.loads(await eyes.recv()).get("method") != "proposalOpened":
            pass
        lines = (await asyncio.to_thread(machine.run, "diffs V")).splitlines()
        assert [json.loads(line).keys() for line in lines] == [list_quoted_names("diffs")]
        await client.close()


def test_an_error_is_an_object_too(machine: Machine) -> None:
    done = machine.run_words("read", str(machine.vault), "Nope", check=False)
    assert done.returncode == 1
    assert json.loads(done.stdout).keys() >= {"error", "errorCode", "reason", "hint"}
    assert done.stderr.startswith("vaultbridge: No note named 'Nope'.")


def test_the_operations_are_documented_with_their_fields() -> None:
    answer = {
        op: set(re.findall(r"`([a-z_]+)`", " ".join(cells)))
        for op, cells in read_rows(
            "<!-- operations of edit: generated by vaultbridge.tools.generate -->"
        ).items()
    }
    for op, kind in list_offered("edit").items():
        fields = {field.encode_name for field in msgspec.structs.fields(kind)} - {"note", "expected"}
        assert fields <= answer.pop(op), op
    assert not answer
