"""Over stdio, too, the configuration and a person's own tools are followed, and the client is notified."""

from __future__ import annotations

import asyncio
from pathlib import Path

import pytest

from support.obsidian_files import make_workspace, register_in_obsidian
from support.vault import VaultProcess, make_small_vault
from support.waiting import BOUND

TOOL = '''
from vaultbridge.plugins import tool

@tool
def {name}(word: str) -> str:
    """Say a word."""
    return "{answer} " + word
'''

LOUD = '''
import os, sys
from vaultbridge.plugins import tool

print("at import")

@tool
def noise() -> str:
    """Make noise."""
    print("printed")
    os.write(1, b"written\\n")
    os.system("echo by a child")
    return "quiet"
'''


async def wait_for_list(process: VaultProcess, *, has: str = "", lacks: str = "") -> None:
    """Wait for the server's notifications until the list is so. One change may come in two of them."""
    while True:
        await process.notification("notifications/tools/list_changed")
        listed = await process.list_tool_names()
        if (not has or has in listed) and lacks not in listed:
            return


async def test_a_vault_named_from_a_folder_that_was_deleted_is_not_found_and_nothing_breaks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    gone = tmp_path / "gone"
    gone.mkdir()
    with monkeypatch.context() as there:
        there.chdir(gone)
        async with VaultProcess(tmp_path, "Notes") as process:
            await process.begin()
            gone.rmdir()
            assert "There is no vault 'Notes'" in await process.text("read_note", name="A")


async def test_a_tool_file_that_comes_changes_and_goes_is_followed(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "vaultbridge"
    (folder / "tools").mkdir(parents=True)
    vault = make_small_vault(tmp_path, {"A.md": "alpha"})
    async with VaultProcess(tmp_path, str(vault), XDG_CONFIG_HOME=str(tmp_path / "config")) as process:
        await process.begin()
        assert "alpha" in await process.text("read_note", name="A")
        assert "shout" not in await process.list_tool_names()
        file = folder / "tools" / "mine.py"
        file.write_text(TOOL.format(name="shout", answer="HEY"))
        await wait_for_list(process, has="shout")
        called = await process.result("tools/call", {"name": "shout", "arguments": {"word": "you"}})
        assert called["content"][0]["text"] == "HEY you"
        file.write_text(TOOL.format(name="whisper", answer="psst"))
        await wait_for_list(process, has="whisper", lacks="shout")
        file.unlink()
        await wait_for_list(process, lacks="whisper")


async def test_a_tool_switched_off_in_the_configuration_is_gone_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "vaultbridge"
    folder.mkdir(parents=True)
    config = folder / "config.toml"
    config.write_text("")
    vault = make_small_vault(tmp_path, {"A.md": "alpha"})
    async with VaultProcess(tmp_path, str(vault), XDG_CONFIG_HOME=str(tmp_path / "config")) as process:
        await process.begin()
        assert "alpha" in await process.text("read_note", name="A")
        assert "obsidian_delete_note" in await process.list_tool_names()
        config.write_text('[tools]\ndisable = ["delete_note"]\n')
        await wait_for_list(process, lacks="obsidian_delete_note")


class Configured:
    """A vault, a configuration for it and the environment in which both are found."""

    def __init__(self, base: Path, config: str = "", **files: str) -> None:
        self.base = base
        self.folder = base / "config" / "vaultbridge"
        self.folder.mkdir(parents=True)
        self.file = self.folder / "config.toml"
        self.write(config)
        self.vault = make_small_vault(base, {"A.md": "alpha", "Private/B.md": "beta", **files})
        self.environ = {"XDG_CONFIG_HOME": str(base / "config")}

    def write(self, config: str) -> None:
        passing = self.file.with_suffix(".new")
        passing.write_text(config)
        passing.replace(self.file)

    def process(self, *options: str) -> VaultProcess:
        return VaultProcess(self.base, *options, **self.environ)


async def until(process: VaultProcess, tool: str, has: str, **arguments: str) -> None:
    """Ask a tool again and again until it answers so."""
    async with asyncio.timeout(BOUND):
        while has not in await process.text(tool, **arguments):
            pass


async def test_a_changed_scope_applies_at_once_and_settings_that_wait_are_named(tmp_path: Path) -> None:
    setting = Configured(tmp_path)
    async with setting.process(str(setting.vault), "--tool-errors", "result") as process:
        await process.begin()
        assert "beta" in await process.text("read_note", name="Private/B")
        setting.write("[scope]\ndeny = ['Private/']\n[tools]\nprofile = 'core'\n[server]\nport = 1\n")
        await until(process, "read_note", "No note named", name="Private/B")
        setting.write("[scope]\nread_only = true\n")
        async with asyncio.timeout(BOUND):
            while "obsidian_create_note" in await process.list_tool_names():
                pass
        assert "beta" in await process.text("read_note", name="Private/B")
        code, _, err = await process.end()
    assert code == 0
    assert b"Now in effect: scope.deny" in err
    assert b"next start: tools.profile\n" in err


@pytest.mark.parametrize("key", ["scope", "vaults"])
async def test_tools_that_change_notes_appear_and_disappear_with_the_permission(
    tmp_path: Path, key: str
) -> None:
    setting = Configured(tmp_path)
    vault = f"[[vaults]]\npath = '{setting.vault}'\n"
    read_only = f"{vault}read_only = true\n" if key == "vaults" else f"{vault}[scope]\nread_only = true\n"
    setting.write(read_only)
    async with setting.process("--tool-errors", "result") as process:
        started = await process.begin()
        assert "read-only" in started["result"]["instructions"]
        before = await process.list_tool_names()
        assert "obsidian_read_note" in before
        assert "obsidian_create_note" not in before
        setting.write(vault)
        await wait_for_list(process, has="obsidian_create_note")
        await process.notification("notifications/prompts/list_changed")
        assert "created" in await process.text("create_note", name="C")
        setting.write(read_only)
        await wait_for_list(process, lacks="obsidian_create_note")
        assert await process.list_tool_names() == before
        refused = await process.ask(
            "tools/call", {"name": "obsidian_create_note", "arguments": {"name": "D"}}
        )
        assert refused["result"]["isError"]
        assert "read-only" in refused["result"]["content"][0]["text"]


async def test_no_configuration_file_allows_what_the_command_line_forbids(tmp_path: Path) -> None:
    setting = Configured(tmp_path)
    options = (str(setting.vault), "--deny", "Private/", "--tool-errors", "result")
    async with setting.process(*options) as process:
        await process.begin()
        setting.write("[scope]\ndeny = ['A.md']\n")
        await until(process, "read_note", "No note named", name="A")
        assert "beta" not in await process.text("read_note", name="Private/B")


async def test_what_a_person_has_open_is_private_when_they_say_so(tmp_path: Path) -> None:
    private = "[privacy]\nshare_selection = false\n"
    setting = Configured(tmp_path, private, **{".obsidian/workspace.json": make_workspace("A.md")})
    async with setting.process(str(setting.vault)) as process:
        await process.begin()
        assert await process.text("active") == "(no active note is known)"
        setting.write("")
        await until(process, "active", "Active: A.md")
        setting.write(private)
        await until(process, "active", "no active note")


async def test_plugin_files_inside_a_vault_that_obsidian_named_are_not_loaded(tmp_path: Path) -> None:
    """Nobody has said where the vault lies; an assistant may write there all the same."""
    home = tmp_path / "home"
    environ = {**register_in_obsidian(home, (home, 1, True)), "XDG_CONFIG_HOME": ""}
    tools = home / ".config" / "vaultbridge" / "tools"
    tools.mkdir(parents=True)
    (tools / "mine.py").write_text(TOOL.format(name="shout", answer="HEY"))
    for options in ((), ("home",)):
        async with VaultProcess(tmp_path, *options, **environ) as process:
            await process.begin()
            await process.text("list_files")
            assert "shout" not in await process.list_tool_names()
            _, _, err = await process.end()
        assert b"inside a vault" in err


async def test_what_a_plugin_prints_never_reaches_the_client(tmp_path: Path) -> None:
    setting = Configured(tmp_path)
    (setting.folder / "tools").mkdir()
    (setting.folder / "tools" / "loud.py").write_text(LOUD)
    async with setting.process(str(setting.vault)) as process:
        await process.begin()
        for _ in range(2):
            called = await process.result("tools/call", {"name": "noise", "arguments": {}})
            assert called["content"][0]["text"] == "quiet"
        code, out, err = await process.end()
    assert (code, out) == (0, b"")
    for heard in (b"at import", b"printed", b"written", b"by a child"):
        assert heard in err
