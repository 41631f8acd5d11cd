"""The engine behind the editor's port: reads, journaled writes, lists and findings on a real vault."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.vault_view import VaultView
from vaultbridge.engine.index_leader import IndexLeader
from vaultbridge.errors import EditRefused, EngineFailure, NoteNotFound, PermissionDenied
from vaultbridge.vault.paths import vault_path
from vaultbridge.vault.scope import Scope

VAULT = {
    ".obsidian/app.json": '{"newFileLocation": "folder", "newFileFolderPath": "Inbox"}',
    "Note.md": b"\xef\xbb\xbfone\r\ntwo\r\n",
    "Bad.md": b"caf\xe9 [[Gone]]\n",
    "Private/Diary.md": "secret",
    "picture.png": b"\x89PNG",
}


@pytest.fixture
def view(vault: Path) -> Iterator[VaultView]:
    view = VaultView(vault, Scope(deny=("Private/",)))
    yield view
    view.close()


async def test_text_is_read_without_bom_and_always_sendable(view: VaultView) -> None:
    assert await view.read_text(vault_path("Note.md")) == "one\r\ntwo\r\n"
    assert await view.read_text(vault_path("Bad.md")) == "caf\ufffd [[Gone]]\n"


async def test_a_file_that_is_not_text_is_refused_and_not_shown_with_replaced_bytes(
    view: VaultView, vault: Path
) -> None:
    (vault / "whole.png").write_bytes(b"\x89PNG\r\n\x1a\n\0\0\0\rIHDR")
    with pytest.raises(EngineFailure, match="not text"):
        await view.read_text(vault_path("whole.png"))


async def test_missing_and_private_notes_are_the_same(view: VaultView) -> None:
    for name in ("Missing.md", "Private/Diary.md"):
        with pytest.raises(NoteNotFound):
            await view.read_text(vault_path(name))
        with pytest.raises(NoteNotFound):
            await view.find(name)


async def test_a_text_that_may_be_written_back_is_never_given_with_replaced_bytes(
    view: VaultView, vault: Path
) -> None:
    assert await view.read_text(vault_path("Note.md"), exact=True) == "one\r\ntwo\r\n"
    with pytest.raises(EngineFailure, match=r"Bad\.md is not UTF-8 \(line 1: byte 0xe9\)"):
        await view.read_text(vault_path("Bad.md"), exact=True)
    with pytest.raises(EditRefused, match="not UTF-8"):
        await view.write_text(vault_path("Bad.md"), "caf\ufffd\n", actor="ide:test")
    assert (vault / "Bad.md").read_bytes() == b"caf\xe9 [[Gone]]\n"
    await view.write_text(vault_path("Bad.md"), "café\n", actor="ide:test", force=True)
    assert (vault / "Bad.md").read_text("utf-8") == "café\n"


async def test_a_write_is_made_as_sent_and_journaled(view: VaultView, vault: Path) -> None:
    await view.write_text(vault_path("Note.md"), "one\nthree\n", actor="ide:test")
    assert (vault / "Note.md").read_bytes() == b"\xef\xbb\xbfone\nthree\n"
    (change,) = view.engine.history.changes("Note.md")
    assert change.actor == "ide:test"
    view.engine.undo(change.id)
    assert (vault / "Note.md").read_bytes() == b"\xef\xbb\xbfone\r\ntwo\r\n"


async def test_a_new_note_goes_exactly_where_it_was_named(view: VaultView, vault: Path) -> None:
    """Not into the folder that Obsidian's settings give for new notes."""
    await view.write_text(vault_path("New.md"), "hello", actor="ide:test")
    assert (vault / "New.md").read_text() == "hello"
    await view.write_text(vault_path("data/x.js"), "1", actor="ide:test")
    assert (vault / "data/x.js").read_text() == "1"


async def test_writes_outside_the_scope_are_refused(view: VaultView, vault: Path) -> None:
    for name in ("Private/Diary.md", "Private/New.md"):
        with pytest.raises(PermissionDenied):
            await view.write_text(vault_path(name), "x", actor="ide:test")
    assert (vault / "Private/Diary.md").read_text() == "secret"
    assert not (vault / "Private/New.md").exists()


async def test_an_image_is_not_overwritten_with_text(view: VaultView, vault: Path) -> None:
    with pytest.raises(EditRefused):
        await view.write_text(vault_path("picture.png"), "x", actor="ide:test")
    assert (vault / "picture.png").read_bytes() == b"\x89PNG"


async def test_lists_hold_visible_files_only(view: VaultView) -> None:
    assert await view.list_files("") == ["Bad.md", "Note.md", "picture.png"]
    assert await view.list_files("*.md") == ["Bad.md", "Note.md"]
    assert await view.file_count() == 3


async def test_findings_of_one_note_and_of_the_vault(view: VaultView) -> None:
    (problem,) = await view.findings(vault_path("Bad.md"))
    (whole,) = await view.findings(None)
    assert problem == whole
    assert [finding.code for finding in problem.findings] == ["broken-link"]
    start, end = problem.findings[0].start, problem.findings[0].end
    assert problem.text[start:end] == "[[Gone]]"
    (sound,) = await view.findings(vault_path("Note.md"))
    assert sound.findings == ()
    assert await view.findings(vault_path("Missing.md")) == []


async def test_a_missing_file_is_located_too(view: VaultView, vault: Path) -> None:
    assert view.locate(vault_path("note.MD")) == vault / "Note.md"
    assert view.locate(vault_path("New/Note.md")) == vault / "New/Note.md"
    (vault / "out.md").symlink_to("/etc/hostname")
    assert view.locate(vault_path("out.md")) == vault / "out.md"


async def test_lists_and_names_wait_for_a_first_build(vault: Path) -> None:
    """They cannot say that they are partial, so they are not."""
    for number in range(400):
        (vault / f"n{number:03d}.md").write_text(f"[[n{(number + 1) % 400:03d}]]\n" * 50)
    view = VaultView(vault)
    try:
        view.engine.index_sync.start()
        found, count, listed = await asyncio.gather(
            view.find("n399"), view.file_count(), view.list_files("n3*")
        )
        assert (found, count, len(listed)) == ("n399.md", 404, 100)
    finally:
        view.close()


async def test_no_link_is_called_broken_while_the_files_are_not_all_known(vault: Path) -> None:
    (vault / "Broken.md").write_text("---\na: [\n---\n[[Gone]]\n")
    view = VaultView(vault)
    try:
        # Another process holds the place of the one that builds, and has not begun.
        other = IndexLeader(view.engine.cache)
        assert other.claim()
        (findings_of,) = await view.findings(vault_path("Broken.md"))
        assert [finding.code for finding in findings_of.findings] == ["bad-yaml"]
        assert await view.findings(None) == []
        other.release()
        (findings_of,) = await view.findings(vault_path("Broken.md"))
        assert [finding.code for finding in findings_of.findings] == ["bad-yaml", "broken-link"]
    finally:
        view.close()
