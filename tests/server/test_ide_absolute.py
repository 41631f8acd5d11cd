"""Absolute paths over the IDE socket of a real server: each goes to the vault that holds it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from support.editor import Client, Failed
from support.files import write_vault
from support.serve import Home, hosted
from support.waiting import BOUND


def list_tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*") if ".obsidian" not in path.parts}


@pytest.fixture
def vaults(tmp_path: Path) -> tuple[Path, Path]:
    first, second = tmp_path / "First", tmp_path / "Second é"
    for folder in (first, second):
        write_vault(folder, {"Note.md": f"in {folder.name}\n"})
    return first, second


@pytest.fixture
async def server(tmp_path: Path, vaults: tuple[Path, Path]) -> AsyncIterator[Home]:
    async with hosted(tmp_path / "home", *vaults) as server:
        yield server


@pytest.fixture
async def client(server: Home) -> AsyncIterator[Client]:
    async with server.client() as client:
        yield client


async def test_a_path_in_the_second_vault_is_read_and_written_there(
    client: Client, vaults: tuple[Path, Path], tmp_path: Path
) -> None:
    first, second = vaults
    before = list_tree(first)
    (tmp_path / "link").symlink_to(second)
    assert await client.request("readFile", path=str(second / "Note.md")) == "in Second é\n"
    for way in (second, tmp_path / "link"):
        path = str(way / "New" / f"{way.name}.txt")
        answer = await client.request("writeFile", path=path, content=way.name)
        # A relative path would lead into the first vault.
        assert answer == {"success": True, "path": f"{second}/New/{way.name}.txt"}
        assert await client.request("readFile", path=answer["path"]) == way.name
        assert (second / "New" / f"{way.name}.txt").read_text() == way.name
    assert list_tree(first) == before


async def test_a_path_outside_every_vault_is_refused_and_nothing_is_made(
    client: Client, vaults: tuple[Path, Path], tmp_path: Path
) -> None:
    before = [list_tree(folder) for folder in vaults]
    outside = (str(tmp_path / "Elsewhere" / "x.md"), str(tmp_path) + "/Firstling/x.md", "/etc/motd", "~/x.md")
    for path in outside:
        with pytest.raises(Failed, match="outside the vault") as failed:
            await client.request("writeFile", path=path, content="x")
        assert failed.value.code == -32602
        with pytest.raises(Failed):
            await client.request("readFile", path=path)
    assert [list_tree(folder) for folder in vaults] == before
    assert not (tmp_path / "Elsewhere").exists()


async def test_a_leading_slash_is_the_top_of_the_vault_where_the_machine_has_no_such_place(
    client: Client, vaults: tuple[Path, Path]
) -> None:
    """Seed 001: "Remove leading slash for vault-relative paths"; seed 000 reads `/file/path.md`."""
    first, _ = vaults
    assert await client.request("readFile", path="/Note.md") == "in First\n"
    await client.request("writeFile", path="/no-such-top-folder/file.md", content="new\n")
    assert (first / "no-such-top-folder/file.md").read_text() == "new\n"
    # Without the slash it cannot be a place on the machine.
    await client.request("writeFile", path="tmp/new.md", content="new\n")
    assert (first / "tmp/new.md").read_text() == "new\n"
    # A path that the vault has wins, even where the machine has a folder of that name.
    (first / "tmp/kept.md").write_text("old\n")
    assert await client.request("files/read", path="/tmp/kept.md") == "old\n"
    await client.request("writeFile", path="/tmp/kept.md", content="changed\n")
    assert (first / "tmp/kept.md").read_text() == "changed\n"


async def test_the_editors_tools_answer_for_the_vault_that_holds_the_file(
    server: Home, client: Client, vaults: tuple[Path, Path], tmp_path: Path
) -> None:
    _, second = vaults
    note = second / "Note.md"
    note.write_text("[[Nowhere]]\n")
    # No link is called broken before the vault's first index is complete.
    async with asyncio.timeout(BOUND):
        while "broken-link" not in (await client.tool("getDiagnostics", uri=f"file://{note}"))[0]:
            pass
    async with server.editor(vault=str(second), proposals=True) as page:
        asking = asyncio.create_task(
            client.tool(
                "openDiff",
                old_file_path=str(note),
                new_file_path=str(note),
                new_file_contents="changed\n",
                tab_name="t1",
            )
        )
        opened = await page.next("proposalOpened")
        (file,) = opened["files"]
        assert file["path"] == "Note.md" and file["oldText"] == "[[Nowhere]]\n"
        await client.tool("close_tab", tab_name="t1")
        async with asyncio.timeout(BOUND):
            assert (await asking)[0] == "DIFF_REJECTED"
            await page.next("proposalClosed")
    outside = str(tmp_path / "x.md")
    proposed = {"old_file_path": outside, "new_file_path": outside, "new_file_contents": "", "tab_name": "t"}
    answer = await client.request("tools/call", name="openDiff", arguments=proposed)
    assert answer["isError"] and "not in this vault" in answer["content"][0]["text"]
    assert "filePath" not in answer["content"][0]["text"]


async def test_a_mention_by_absolute_path_finds_the_note(
    server: Home, client: Client, vaults: tuple[Path, Path]
) -> None:
    first, _ = vaults
    answer = await server.answer("mention", first, str(first / "Note.md"))
    assert answer["path"] == "Note.md"
