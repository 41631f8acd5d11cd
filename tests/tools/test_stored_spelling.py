"""Paths in answers, journal and index are spelled as on disk: a folder in two spellings is one folder."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest

from support.tools import Small
from support.vault import VaultProcess, make_small_vault

NFD = unicodedata.normalize("NFD", "übung")
CALLS: list[tuple[str, dict[str, Any], str]] = [
    ("create_note", {"name": "{f}/Second", "content": "zebra"}, "Second.md"),
    ("batch", {"operations": [{"op": "create", "name": "{f}/Second", "content": "zebra"}]}, "Second.md"),
    ("edit_canvas", {"action": "create", "name": "{f}/Second.canvas"}, "Second.canvas"),
    ("add_attachment", {"name": "{f}/Second.png", "data": "eA=="}, "Second.png"),
    ("move_note", {"name": "zebra", "to": "{f}/Second"}, "Second.md"),
    ("move_note", {"name": "zebra", "to": "{f}/"}, "zebra.md"),
    ("move_note", {"name": "Old/", "to": "{f}/New"}, "New/Kept.md"),
]


def fill(value: Any, folder: str) -> Any:
    if isinstance(value, str):
        return value.replace("{f}", folder)
    if isinstance(value, list):
        return [fill(inner, folder) for inner in value]
    return {key: fill(inner, folder) for key, inner in value.items()} if isinstance(value, dict) else value


@pytest.mark.parametrize(
    ("stored", "asked"),
    [("sub", "SUB"), ("sub/Inner", "Sub/inner"), (NFD, "übung"), (NFD, "ÜBUNG"), ("ΣΑΣ", "σας")],
)
@pytest.mark.parametrize(("tool", "arguments", "name"), CALLS)
def test_a_new_file_gets_the_stored_spelling_of_its_folder(
    small: Small, stored: str, asked: str, tool: str, arguments: dict[str, Any], name: str
) -> None:
    harness = small({f"{stored}/First.md": "first", "zebra.md": "zebra", "Old/Kept.md": "kept"})
    path = f"{unicodedata.normalize('NFC', stored)}/{name}"
    harness.call(tool, **fill(arguments, asked))
    on_disk = {unicodedata.normalize("NFC", file) for file in harness.files()}
    assert path in on_disk
    (found,) = (change.paths[-1] for change in harness.engine.history.changes(limit=1))
    assert path == found or path.startswith(found + "/"), "the folder, when a folder was moved"
    listed = [file.path for file in harness.engine.queries.files()]
    assert sorted(listed) == sorted(on_disk), "the index knows it by that path, and by no other"
    if name == "Second.md":
        assert path in harness.text("search", query="zebra")


def test_create_note_answers_with_the_real_path(small: Small) -> None:
    harness = small({"sub/First.md": "first"})
    assert harness.data("create_note", name="SUB/Second", content="x")["path"] == "sub/Second.md"
    assert (
        harness.data("create_note", name="Sub/SECOND", content="y", overwrite=True)["path"] == "sub/Second.md"
    )
    assert harness.read("sub/Second.md") == "y"


def test_folders_created_in_one_batch_share_their_spelling(small: Small) -> None:
    harness = small({})
    names = ("New/Deep/A", "NEW/B", "new/DEEP/C")
    harness.call("batch", operations=[{"op": "create", "name": name, "content": "x"} for name in names])
    made = ["New/B.md", "New/Deep/A.md", "New/Deep/C.md"]
    assert sorted(harness.files()) == made
    assert [file.path for file in harness.engine.queries.files()] == made


async def test_a_note_in_another_spelling_is_found_at_once_over_stdio(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"sub/First.md": "first"})
    async with VaultProcess(tmp_path, str(vault)) as process:
        await process.begin()
        made = await process.text("create_note", name="SUB/Second", content="zebra")
        assert '"sub/Second.md"' in made
        assert "sub/Second.md" in await process.text("search", query="zebra")
        assert "sub/Second.md" in await process.text("history")
