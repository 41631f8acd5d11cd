"""Questions to a vault that nobody has asked anything yet."""

from __future__ import annotations

from vaultbridge.vault.paths import VaultPath

from .conftest import MakeVault


def test_the_first_question_may_need_every_link(make_vault: MakeVault) -> None:
    """Each of these waits for a complete index, which nobody else would build here."""
    files = {"A.md": "[[B]] #t", "B.md": "text"}
    assert make_vault(files).ask.notes_with_tag("t") == ["A.md"]
    assert make_vault(files).ask.sources_of(VaultPath("B.md")) == ["A.md"]
    assert make_vault(files).ask.sources_naming(["b.md"]) == ["A.md"]
