"""The first queries of a vault."""

from __future__ import annotations

import pytest

from vaultbridge.cli.notes.export import export_jsonl
from vaultbridge.engine.drafting.link_sources import LinkSources
from vaultbridge.errors import NoteNotFound
from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.scope import Scope

from .conftest import MakeVault


def test_the_first_question_may_need_every_link(make_vault: MakeVault) -> None:
    """Each of these waits for a complete index, which nobody else would build here."""
    files = {"A.md": "[[B]] #t", "B.md": "text"}
    assert make_vault(files).queries.notes_with_tag("t") == ["A.md"]
    engine = make_vault(files)
    assert LinkSources(engine.root, engine.index_sync).find_linking_to([VaultPath("B.md")]) == ["A.md"]
    engine = make_vault(files)
    assert LinkSources(engine.root, engine.index_sync).find_by_name(["b.md"]) == ["A.md"]


def test_a_link_in_an_allowed_folder_to_a_denied_note_is_as_hidden_as_the_note(make_vault: MakeVault) -> None:
    """Our choice: a scope is about content, and a symlink shows the content of where it leads."""
    files = {
        "Private/Diary.md": "secret #mine\n- [ ] hide\n",
        "Open/A.md": "[[Alias]] and [[Real]]",
        "Open/Real.md": "r",
    }
    folder = make_vault(files).root.folder
    (folder / "Open" / "Alias.md").symlink_to("../Private/Diary.md")
    (folder / "Open" / "Fine.md").symlink_to("Real.md")
    everything = make_vault()
    assert [hit.path for hit in everything.queries.search("secret").hits] == ["Private/Diary.md"]
    engine = make_vault(scope=Scope(deny=("Private/",)))
    assert engine.queries.search("secret").total == 0
    assert [file.path for file in engine.queries.files()] == ["Open/A.md", "Open/Fine.md", "Open/Real.md"]
    assert [indexed.file.path for indexed in engine.queries.notes()] == [
        "Open/A.md",
        "Open/Fine.md",
        "Open/Real.md",
    ]
    assert (engine.queries.tags(), engine.queries.tasks().total, engine.queries.counts()["notes"]) == (
        [],
        0,
        3,
    )
    assert engine.queries.outgoing(VaultPath("Open/A.md"))[0].resolved is None
    assert '"resolved":"Open/Alias.md"' not in "".join(export_jsonl(engine))
    with pytest.raises(NoteNotFound) as caught:
        engine.find("Alias")
    assert "Open/Alias.md" not in caught.value.closest
