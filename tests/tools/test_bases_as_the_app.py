"""A base as people write them, over notes of which some lack what others have: rows without warnings."""

from __future__ import annotations

from support.tools import Small, ToolHarness
from vaultbridge.errors import InvalidQuery

NOTES: dict[str, str | bytes] = {
    "Categories/Books.md": "",
    "One.md": '---\ncategories: "[[Books]]"\nrating: 4.6\n---\n',
    "Two.md": '---\ncategories:\n  - "[[Books]]"\ntags: [reading/slow]\n---\n[[One#Part]] ![[p.png]]\n',
    "Three.md": "---\ncategories: Books\n---\n[x](One.md)\n",
    "Plain.md": "nothing\n",
    "p.png": b"p",
}


def run(harness: ToolHarness, filters: str, order: str) -> list[str]:
    base = f"filters:\n  and:\n    - {filters}\nviews:\n  - type: table\n    name: V\n    order: [{order}]\n"
    return harness.rows("base_query", base=base)


def test_a_category_is_found_however_it_is_written_and_without_a_warning(small: Small) -> None:
    rows = run(small(NOTES), 'categories.contains(link("Books"))', "file.name, categories, rating.floor()")
    assert [row.split("|")[1].strip() for row in rows if row.startswith("| ")][2:] == ["One", "Three", "Two"]
    assert not [row for row in rows if "Cannot" in row]


def test_nested_tags_and_links_of_every_kind(small: Small) -> None:
    harness = small(NOTES)
    assert "| Two |" in run(harness, 'tags.contains("reading")', "file.name")
    assert "| [[Books]], [[One#Part]], [[p.png]] |" in run(harness, 'file.name == "Two"', "file.links")
    linking = run(harness, 'file.hasLink("One")', "file.name")
    assert [row for row in linking if row in ("| Two |", "| Three |")] == ["| Three |", "| Two |"]


def test_a_problem_in_one_view_is_not_reported_with_the_others(small: Small) -> None:
    """A base may have a view from the time when bases had other functions; its other views are fine."""
    base = "views:\n- {name: All, order: [file.name]}\n- {name: Old, filters: not(empty(rating))}\n"
    harness = small({**NOTES, "B.base": base})
    assert not [row for row in harness.rows("base_query", name="B") if "problem" in row]
    refused = harness.catch_refusal(InvalidQuery, "base_query", name="B", view="Old")
    assert "Unknown function not()" in refused.message
    assert refused.hint == "Write !value."
