"""A renamed note that still has its old title says so, with the operation that changes it."""

from __future__ import annotations

import pytest

from vaultbridge.engine.operations import Move, RenameHeading, SetProperty

from .conftest import MakeVault

RENAME = Move(note="Search", to="Find notes")


@pytest.mark.parametrize(
    ("text", "notices"),
    [
        (
            "# Search\ntext\n",
            'The heading of Find notes.md is still "Search": op rename_heading changes it.',
        ),
        (
            "---\ntitle: Search\n---\n## Search\n",
            'The title of Find notes.md is still "Search": op set_property changes it.',
        ),
        ("# Searching\n\n# Search\n", ""),
        ("text\n", ""),
    ],
)
def test_a_rename_says_that_the_old_title_stays(text: str, notices: str, make_vault: MakeVault) -> None:
    engine = make_vault({"Search.md": text, "Other.md": "[[Search]]\n"})
    for dry_run in (True, False):
        assert "\n".join(engine.apply([RENAME], dry_run=dry_run).notices) == notices
    assert engine.view("Find notes").text == text


def test_a_batch_that_also_changes_the_title_has_nothing_to_say(make_vault: MakeVault) -> None:
    engine = make_vault({"Search.md": "---\ntitle: Search\n---\n# Search\n"})
    heading = RenameHeading(note="Find notes", heading="Search", to="Find notes")
    title = SetProperty(note="Find notes", name="title", value="Find notes")
    assert engine.apply([RENAME, heading, title]).notices == ()


def test_a_note_that_only_moves_has_nothing_to_say(make_vault: MakeVault) -> None:
    engine = make_vault({"Search.md": "# Search\n", "Old/Plan.md": "# Plan\n"})
    assert engine.apply([Move(note="Search", to="Archive/Search"), Move(note="Old", to="New")]).notices == ()
