"""Absolute paths over each protocol: into the vault that holds them, or refused; never a copied tree."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

from server.conftest import Serving
from support.process import ROOT, make_process_environ
from support.vault import VaultProcess, make_isolated_environ, make_small_vault

OUTSIDE = "/tmp/vaultbridge-no-such-folder"


def list_outside_calls(place: str) -> list[tuple[str, dict[str, Any]]]:
    return [
        ("create_note", {"name": f"{place}/x.md", "content": "x"}),
        ("create_note", {"path": f"{place}/x.md", "content": "x"}),
        ("move_note", {"name": "Hello", "to": f"{place}/x.md"}),
        ("move_note", {"name": "Hello", "to": f"{place}/"}),
        ("edit_canvas", {"action": "create", "name": f"{place}/x.canvas"}),
        ("add_attachment", {"name": f"{place}/x.png", "data": "eA=="}),
        ("batch", {"operations": [{"op": "create", "name": f"{place}/x.md", "content": "x"}]}),
        ("edit_note", {"name": f"{place}/x.md", "op": "append", "content": "x"}),
        ("read_note", {"name": f"{place}/x.md"}),
        ("list_files", {"folder": place}),
    ]


async def test_over_stdio_a_path_goes_to_the_vault_that_holds_it_or_nowhere(tmp_path: Path) -> None:
    first = make_small_vault(tmp_path, {"Hello.md": "one"}, "One")
    two = make_small_vault(tmp_path, {"Sub/There.md": "two"}, "Two")
    async with VaultProcess(tmp_path, str(first), str(two)) as process:
        await process.begin()

        async def call_text(tool: str, arguments: dict[str, Any]) -> str:
            params = {"name": f"obsidian_{tool}", "arguments": arguments}
            return str(await process.ask("tools/call", params))

        await call_text("create_note", {"name": f"{two}/Sub/New.md", "content": "new"})
        assert (two / "Sub/New.md").read_text() == "new"
        assert "two" in await call_text("read_note", {"name": f"{two}/Sub/There.md"})
        wrong = await call_text("create_note", {"name": f"{two}/x.md", "content": "x", "vault": "One"})
        assert "in the vault Two, not in One" in wrong
        both = [
            {"op": "append", "name": f"{v}/{n}", "content": "x"} for v, n in ((first, "Hello"), (two, "y"))
        ]
        assert "several vaults" in await call_text("batch", {"operations": both})
        for tool, arguments in list_outside_calls(OUTSIDE):
            answer = await call_text(tool, {**arguments, "vault": "One"})
            assert "outside the vault" in answer, (tool, arguments, answer)
    assert sorted(p.name for p in first.rglob("*") if p.is_file()) == ["Hello.md"]
    assert sorted(p.name for p in two.rglob("*") if p.is_file()) == ["New.md", "There.md"]


async def test_over_http_a_path_outside_is_refused(serving: Serving) -> None:
    async with serving("", "Notes", "Other") as served:
        other = served.listening.vaults[1].folder
        made = await served.call("create_note", name=f"{other}/In Other.md", content="x")
        assert made["success"] and (other / "In Other.md").exists()
        for tool, arguments in list_outside_calls(OUTSIDE):
            answer = await served.call(tool, vault="Notes", **arguments)
            assert not answer["success"] and "outside the vault" in str(answer), (tool, arguments, answer)
        assert not (served.vault / "tmp").exists() and not (other / "tmp").exists()


def test_on_the_command_line_absolute_paths_are_understood(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"Hello.md": "[[Other]]", "Sub/Other.md": "other"})
    env = {**make_process_environ(), **make_isolated_environ(tmp_path)}

    def run(*words: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "vaultbridge", *words]
        return subprocess.run(command, env=env, cwd=ROOT, capture_output=True, text=True, timeout=60)

    assert "other" in run("read", str(vault), f"{vault}/Sub/Other.md").stdout
    assert run("rename", str(vault), f"{vault}/Hello.md", f"{vault}/Sub/Bye.md").returncode == 0
    assert (vault / "Sub/Bye.md").exists()
    for words in (
        ("read", str(vault), f"{OUTSIDE}/x.md"),
        ("rename", str(vault), "Bye", f"{OUTSIDE}/x.md"),
        ("edit", str(vault), f'{{"op":"create","note":"{OUTSIDE}/x.md","content":"x"}}'),
        ("history", str(vault), f"{OUTSIDE}/x.md"),
    ):
        done = run(*words)
        assert done.returncode and "outside the vault" in done.stderr, (words, done)
    assert sorted(p.name for p in vault.rglob("*") if p.is_file()) == ["Bye.md", "Other.md"]
