"""`[1]: Note.md` is a link wherever links are listed, followed or rewritten."""

from __future__ import annotations

from vaultbridge.engine.operations import Merge, Move, RenameHeading
from vaultbridge.vault.paths import VaultPath

from .conftest import MakeVault

SOURCE = "See [that][one] and [this][2].\n\n[ONE]: Notes/Old%20name.md#Part 'Title'\n[2]: <Missing note.md>\n"


def test_it_follows_a_move_and_a_renamed_heading(make_vault: MakeVault) -> None:
    engine = make_vault({"Notes/Old name.md": "# Part\n", "Source.md": SOURCE})
    outcome = engine.apply([Move(note="Old name", to="New/Name (2)")])
    assert {file.path: file.links for file in outcome.files}["Source.md"] == 1
    assert "[ONE]: Name%20(2).md#Part 'Title'\n" in engine.view("Source").text
    engine.apply([RenameHeading(note="Name (2)", heading="Part", to="One part")])
    assert "[ONE]: Name%20(2).md#One%20part 'Title'\n" in engine.view("Source").text
    assert "[2]: <Missing note.md>\n" in engine.view("Source").text


def test_it_is_listed_as_a_link(make_vault: MakeVault) -> None:
    engine = make_vault({"Notes/Old name.md": "# Part\n", "Source.md": SOURCE})
    queries = engine.queries
    assert [link.source for link in queries.backlinks(VaultPath("Notes/Old name.md"))] == ["Source.md"]
    outgoing = [(link.raw, link.line) for link in queries.outgoing(VaultPath("Source.md"))]
    assert outgoing == [("[ONE]: Notes/Old%20name.md#Part", 3), ("[2]: <Missing note.md>", 4)]
    assert [found.target for found in queries.unresolved().rows] == ["Missing note.md"]


def test_a_merge_says_which_references_both_notes_had(make_vault: MakeVault) -> None:
    """Of two definitions with one label, only the first counts."""
    engine = make_vault(
        {
            "A.md": "[x][1] [y][ж]\n\n[1]: C.md\n[Ж]: https://a.example 'title'\n[//]: # (comment)\n",
            "B.md": "[x][1] [y][ж]\n\n[1]: D.md\n[ж]: <https://b.example>\n[//]: # (comment)\n[own]: D.md\n",
            "C.md": "",
            "D.md": "",
        }
    )
    outcome = engine.apply([Merge(note="B", to="A")])
    assert outcome.notices == (
        "Both notes have the reference [1], the reference [ж]: links lead to the first one.",
    )
