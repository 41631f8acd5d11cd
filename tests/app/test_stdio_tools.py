"""A person's own tools over stdio come, change and go while the process runs, and the client is told."""

from __future__ import annotations

from pathlib import Path

from mcp_support.vault import VaultProcess, small_vault

TOOL = '''
from vaultbridge.app.plugin_tool import tool

@tool
def {name}(word: str) -> str:
    """Say a word."""
    return "{answer} " + word
'''


async def names(process: VaultProcess) -> set[str]:
    return {tool["name"] for tool in (await process.result("tools/list"))["tools"]}


async def told(process: VaultProcess, *, has: str = "", lacks: str = "") -> None:
    """Wait, told by the server, until the list is so. One change of a file may be told in two steps."""
    while True:
        await process.notification("notifications/tools/list_changed")
        listed = await names(process)
        if (not has or has in listed) and lacks not in listed:
            return


async def test_a_tool_file_that_comes_changes_and_goes_is_followed(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "vaultbridge"
    (folder / "tools").mkdir(parents=True)
    vault = small_vault(tmp_path, {"A.md": "alpha"})
    async with VaultProcess(tmp_path, str(vault), XDG_CONFIG_HOME=str(tmp_path / "config")) as process:
        await process.begin()
        assert "alpha" in await process.text("read_note", name="A")
        assert "shout" not in await names(process)
        file = folder / "tools" / "mine.py"
        file.write_text(TOOL.format(name="shout", answer="HEY"))
        await told(process, has="shout")
        called = await process.result("tools/call", {"name": "shout", "arguments": {"word": "you"}})
        assert called["content"][0]["text"] == "HEY you"
        file.write_text(TOOL.format(name="whisper", answer="psst"))
        await told(process, has="whisper", lacks="shout")
        file.unlink()
        await told(process, lacks="whisper")


async def test_a_tool_switched_off_in_the_configuration_is_gone_at_once(tmp_path: Path) -> None:
    folder = tmp_path / "config" / "vaultbridge"
    folder.mkdir(parents=True)
    config = folder / "config.toml"
    config.write_text("")
    vault = small_vault(tmp_path, {"A.md": "alpha"})
    async with VaultProcess(tmp_path, str(vault), XDG_CONFIG_HOME=str(tmp_path / "config")) as process:
        await process.begin()
        assert "alpha" in await process.text("read_note", name="A")
        assert "obsidian_delete_note" in await names(process)
        config.write_text('[tools]\ndisable = ["delete_note"]\n')
        await told(process, lacks="obsidian_delete_note")
