"""`edit_note` with a query: the same edit of every note that a search finds, as one change."""

from __future__ import annotations

from support.tools import Small
from vaultbridge.errors import EditRefused, InvalidArgument
from vaultbridge.vault.scope import Scope

FILES = {
    "c/A.md": "Acme Corp and Acme Corp\n",
    "c/B.md": "---\ntags: [old]\n---\nAcme Corp\n",
    "D.md": "corp acme\n",
    "E.md": "acme corp in small letters\n",
}


def test_a_text_is_replaced_in_all_notes_that_have_it(small: Small) -> None:
    harness = small(FILES)
    before = harness.files()
    edit = {"op": "replace_text", "old": "Acme Corp", "new": "Acme Inc", "all": True}
    data = harness.data("edit_note", query='"Acme Corp"', **edit)
    assert data["matched"] == 3
    assert [file["path"] for file in data["files"]] == ["c/A.md", "c/B.md"]
    assert harness.read("c/A.md") == "Acme Inc and Acme Inc\n"
    assert harness.read("E.md") == FILES["E.md"]
    harness.data("undo")
    assert harness.files() == before
    assert "replace text in 2 notes" in harness.text("history")


def test_properties_and_tags_of_all_notes_of_a_search(small: Small) -> None:
    harness = small(FILES)
    harness.data("edit_note", query="path:c/", op="add_tag", tag="company")
    assert harness.rows("tags", tag="company", action="notes")[-1] == "(notes: 2)"
    harness.data("edit_note", query="tag:#old", op="set_property", property="year", value=2026)
    assert "year: 2026" in harness.read("c/B.md")


def test_a_dry_run_shows_every_diff(small: Small) -> None:
    harness = small(FILES)
    edit = {"op": "append", "content": "end", "dry_run": True}
    diff = harness.data("edit_note", query="path:c/", **edit)["diff"]
    assert "b/c/A.md" in diff and "b/c/B.md" in diff
    assert harness.read("c/A.md") == FILES["c/A.md"]


def test_what_does_not_fit_is_refused_and_changes_nothing(small: Small) -> None:
    harness = small(FILES)

    def refuse(**arguments: object) -> InvalidArgument:
        found: InvalidArgument = harness.catch_refusal(InvalidArgument, "edit_note", **arguments)
        return found

    replace = {"op": "replace_text", "old": "Acme Corp", "new": "x"}
    assert refuse(query="path:c/", name="D", **replace).argument == "query"
    assert refuse(query="zzz", **replace).argument == "query"
    assert refuse(query="path:c/", expected="0" * 16, **replace).argument == "expected"
    assert refuse(query="path:D.md", **replace).argument == "old"
    assert refuse(query="path:c/", op="merge", to="D").argument == "query"
    assert refuse(query="path:c/", op="add_tag").argument == "tag"
    # Twice in one of them, and not asked to replace all.
    refused = harness.catch_refusal(EditRefused, "edit_note", query="path:c/", **replace)
    assert "c/A.md" in str(refused)


def test_hidden_notes_are_neither_found_nor_changed(small: Small) -> None:
    harness = small(FILES, scope=Scope(deny=("c/A.md",)))
    data = harness.data("edit_note", query="acme", op="replace_text", old="Acme Corp", new="x")
    assert [file["path"] for file in data["files"]] == ["c/B.md"]
    assert harness.read("c/A.md") == FILES["c/A.md"]
