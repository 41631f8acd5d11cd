"""`base_query`: the language is tested with the bases; here files become rows and rows become an answer."""

from __future__ import annotations

from typing import Any

from support.tools import Small, ToolHarness
from vaultbridge.errors import InvalidArgument, InvalidQuery, NoteNotFound
from vaultbridge.tools.standard import standard_catalog
from vaultbridge.vault.scope import Scope

NOTES: dict[str, str | bytes] = {
    "A.md": "---\nn: 1\nkind: x\n---\n[[B]] ![[p.png]] #t\n",
    "B.md": "---\nn: 2\nkind: y\n---\n",
    "f/C.md": "---\nn: 3\nkind: x\n---\n[[Nowhere]]\n",
    "p.png": b"p",
}
BASE = """filters: n > 0
views:
  - type: table
    name: All
    order: [file.name, n]
    sort: [{property: n, direction: DESC}]
  - type: table
    name: Grouped
    groupBy: {property: kind, direction: ASC}
    order: [file.name, n]
    sort: [{property: n, direction: ASC}]
    summaries: {n: Sum}
  - type: table
    name: Two
    limit: 2
    order: [n]
"""


def query(harness: ToolHarness, order: str, filters: str = "n > 0", **more: Any) -> list[str]:
    base = f"filters: {filters}\nviews:\n  - type: table\n    name: V\n    order: [{order}]\n"
    return [row for row in harness.rows("base_query", base=base, **more) if row.startswith("| ")][2:]


def test_the_first_view_of_a_file(small: Small) -> None:
    harness = small({**NOTES, "Q.base": BASE})
    assert harness.rows("base_query", name="Q.base") == [
        "[All]",
        "| file name | n |",
        "| --- | --- |",
        "| C | 3 |",
        "| B | 2 |",
        "| A | 1 |",
        "(rows: 3)",
        "(views: All, Grouped, Two)",
    ]


def test_a_view_is_chosen_by_argument_or_as_in_an_embed(small: Small) -> None:
    harness = small({**NOTES, "Q.base": BASE})
    grouped = harness.text("base_query", name="Q.base", view="grouped")
    assert grouped == harness.text("base_query", name="Q.base#Grouped")
    assert "### x\n" in grouped
    assert "Sum of n: 4" in grouped
    assert "(rows 1-2 of 2 (limited by the view, of 3))" in harness.text("base_query", name="Q.base#Two")


def test_a_base_needs_no_suffix_if_no_note_has_its_name(small: Small) -> None:
    harness = small({**NOTES, "Folder/Q.base": BASE})
    whole = harness.text("base_query", name="Folder/Q.base")
    assert harness.text("base_query", name="Q") == harness.text("base_query", name="[[Folder/Q]]") == whole
    assert harness.text("base_query", name="Q#Two") == harness.text("base_query", name="Q.base", view="Two")
    assert "'Nope'" in str(harness.catch_refusal(NoteNotFound, "base_query", name="Nope"))
    assert harness.catch_refusal(InvalidArgument, "base_query", name="A").argument == "name"


def test_a_note_without_a_base_does_not_hide_the_base_of_its_name(small: Small) -> None:
    with_base = "```base\nviews:\n  - type: table\n    name: Mine\n```\n"
    harness = small({**NOTES, "Q.base": BASE, "Folder/q.md": "a note", "P.base": BASE, "P.md": with_base})
    whole = harness.text("base_query", name="Q.base")
    assert harness.text("base_query", name="Q") == harness.text("base_query", name="[[Q]]") == whole
    assert harness.text("base_query", name="P") != whole


def test_pages_split_groups_without_losing_rows(small: Small) -> None:
    harness = small({**NOTES, "Q.base": BASE})
    first = harness.text("base_query", name="Q.base#Grouped", limit=1)
    assert "| A | 1 |" in first
    assert "| C |" not in first
    assert "(rows 1-1 of 3; continue with offset=1)" in first
    rest = harness.text("base_query", name="Q.base#Grouped", offset=1)
    assert [row for row in rest.splitlines() if row[2:5] in ("A |", "B |", "C |")] == [
        "| C | 3 |",
        "| B | 2 |",
    ]
    assert "(no rows from offset 9; there are 3)" in harness.text("base_query", name="Q.base", offset=9)


def test_a_base_block_runs_in_the_context_of_its_note(small: Small) -> None:
    view = "views:\n  - type: list\n    name: L\n    order: [file.name]\n"
    block = f"```base\nfilters: file.hasLink(this.file)\n{view}```\n"
    harness = small({**NOTES, "B.md": "---\nn: 2\n---\n```base\nviews: []\n```\n" + block})
    assert "| A |" in harness.text("base_query", name="B", block=2)
    assert "| A |" not in harness.text("base_query", name="B", block=2, this="f/C")
    # A model that sees only the schema knows of it.
    (listed,) = (tool for tool in standard_catalog().list_tools(prefix="") if tool.name == "base_query")
    assert listed.input_schema["properties"]["this"]["description"] == "Note that `this` means"
    assert harness.catch_refusal(InvalidArgument, "base_query", name="B", block=3).argument == "block"


def test_files_become_rows_with_their_values(small: Small) -> None:
    harness = small(NOTES)
    a = query(harness, "file.tags, file.links, file.embeds", 'file.name == "A"')
    assert a == ["| #t | [[B]], [[p.png]] | [[p.png]] |"]
    assert query(harness, "file.backlinks", 'file.name == "B"') == ["| [[A.md]] |"]
    assert query(harness, "file.links", 'file.folder == "f"') == ["| [[Nowhere]] |"]
    assert query(harness, "file.path, file.ext, file.size", 'file.ext == "png"') == ["| p.png | png | 1 |"]
    assert len(query(harness, "file.name", "file.ctime <= file.mtime")) == 4


def test_progress_is_reported_over_many_notes(small: Small) -> None:
    found: list[tuple[float, float | None, str]] = []
    harness = small({f"N{number}.md": "" for number in range(501)})
    harness = harness.with_context(progress=lambda done, total, message: found.append((done, total, message)))
    harness.text("base_query", base="views: []")
    assert found == [(500, 501, "Reading notes")]


def test_a_long_table_is_cut_to_the_size_of_a_page(small: Small) -> None:
    harness = small({f"N{number}.md": f"---\nt: {'word ' * 100}\n---\n" for number in range(150)})
    base = "views:\n  - type: table\n    name: V\n    order: [file.name, t]\n"
    text = harness.text("base_query", base=base, limit=150)
    assert len(text) < 32_000
    assert "continue with offset=" in text


def test_wrong_calls_are_named(small: Small) -> None:
    harness = small({**NOTES, "Q.base": BASE, "Bad.base": "views: [\n"})

    def catch_argument(**arguments: object) -> str:
        named: str = harness.catch_refusal(InvalidArgument, "base_query", **arguments).argument
        return named

    assert catch_argument() == "name"
    assert catch_argument(name="Q.base", base="views: []") == "name"
    assert catch_argument(name="p.png") == "name"
    assert catch_argument(name="Bad.base") == "name"
    assert catch_argument(name="Q.base", view="Nope") == "view"
    assert catch_argument(name="A") == "name"
    harness.catch_refusal(NoteNotFound, "base_query", name="Nope.base")
    harness.catch_refusal(NoteNotFound, "base_query", name="Q.base", this="Nope")
    assert "nope()" in str(harness.catch_refusal(InvalidQuery, "base_query", base="filters: nope()"))


def test_hidden_notes_appear_neither_as_rows_nor_as_links(small: Small) -> None:
    harness = small(NOTES, scope=Scope(deny=("B.md",)))
    assert query(harness, "file.name") == ["| A |", "| C |"]
    assert query(harness, "file.links", 'file.name == "A"') == ["| [[B]], [[p.png]] |"]
