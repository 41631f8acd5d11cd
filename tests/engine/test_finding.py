"""Which file a name means, and where it is."""

from __future__ import annotations

import pytest

from vaultbridge.engine.operations import Append, Delete
from vaultbridge.errors import InvalidArgument, NoteNotFound
from vaultbridge.vault.paths import vault_path
from vaultbridge.vault.scope import Scope

from .conftest import MakeVault


def test_a_name_longer_than_any_path_is_refused_without_being_looked_for(make_vault: MakeVault) -> None:
    engine = make_vault({"A.md": ""})
    with pytest.raises(InvalidArgument, match="1000000 characters"):
        engine.find("x" * 1_000_000)


def test_an_exact_name_comes_before_one_with_an_extension(make_vault: MakeVault) -> None:
    engine = make_vault({"A.md": "note", "Folder/B.md": ""})
    assert engine.find("A") == "A.md"
    (engine.root.folder / "A").write_text("a file without an ending", "utf-8")
    assert engine.find("A") == "A"
    # A folder is not a file: the name means the note.
    (engine.root.folder / "Folder.md").write_text("note", "utf-8")
    assert engine.find("Folder") == "Folder.md"


def test_a_link_to_a_hidden_file_is_neither_found_nor_placed(make_vault: MakeVault) -> None:
    engine = make_vault({"Private/S.md": "secret"}, scope=Scope(deny=("Private",)))
    (engine.root.folder / "L.md").symlink_to("Private/S.md")
    for name in ("L", "L.md", "Private/S", "Private/S.md"):
        with pytest.raises(NoteNotFound):
            engine.find(name)
    with pytest.raises(NoteNotFound):
        engine.read_bytes(vault_path("L.md"))


def test_a_folder_that_replaced_an_indexed_note_is_not_edited_as_that_note(
    make_vault: MakeVault,
) -> None:
    engine = make_vault({"A.md": "a"})
    assert engine.queries.counts()["notes"] == 1
    note = engine.root.folder / "A.md"
    note.unlink()
    note.mkdir()
    (note / "inner.md").write_text("b")
    for operation in (Delete(note="A"), Append(note="A", content="x")):
        with pytest.raises(NoteNotFound):
            engine.apply([operation])
    assert (note / "inner.md").read_text() == "b"
