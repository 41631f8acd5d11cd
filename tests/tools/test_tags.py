"""`tags`."""

from __future__ import annotations

from support.tools import Small
from vaultbridge.errors import EditRefused, InvalidArgument, NotFound, StaleWrite
from vaultbridge.index.listing import TAG_LEVELS
from vaultbridge.vault.scope import Scope

FILES = {
    ".obsidian/app.json": '{"userIgnoreFilters":["Templates/"]}',
    "A.md": "---\ntags: [work]\n---\n#work/now #work/now\n",
    "B.md": "#home #work\n",
    "Templates/T.md": "#work\n",
}


def test_tags_with_counts_by_name_or_by_count(small: Small) -> None:
    harness = small(FILES)
    assert harness.rows("tags") == [
        "#home 1",
        "#work 2 (4 places)",
        "#work/now 1 (2 places)",
        "(tags: 3)",
    ]
    assert harness.rows("tags", sort="count", limit=1)[0] == "#work 2 (4 places)"
    assert harness.rows("tags", tag="#Work")[:-1] == [
        "#work 2 (4 places)",
        "#work/now 1 (2 places)",
    ]
    assert harness.rows("tags", limit=1, offset=2)[-1] == "(3-3 of 3)"


def test_the_tags_of_a_note_and_the_notes_of_a_tag(small: Small) -> None:
    harness = small(FILES)
    assert harness.rows("tags", name="A") == ["#work", "#work/now", "(tags: 2)"]
    assert harness.rows("tags", action="notes", tag="work") == ["A.md", "B.md", "(notes: 2)"]
    assert harness.rows("tags", action="notes", tag="#work/now")[:-1] == ["A.md"]


def test_add_and_remove(small: Small) -> None:
    harness = small(FILES)
    harness.data("edit_note", op="add_tag", name="B", tag="#new")
    assert harness.rows("tags", name="B")[:-1] == ["#new", "#home", "#work"]
    harness.data("edit_note", op="remove_tag", name="B", tag="home")
    assert "#home" not in harness.read("B.md")


def test_rename_in_one_note_or_everywhere(small: Small) -> None:
    harness = small(FILES)
    assert harness.data("edit_note", op="rename_tag", name="B", tag="work", to="job")["path"] == "B.md"
    assert harness.read("B.md") == "#home #job\n"
    dry = harness.data("edit_note", op="rename_tag", name="", tag="work", to="job", dry_run=True)
    assert "+#job/now #job/now" in dry["diff"]
    data = harness.data("edit_note", op="rename_tag", name="", tag="work", to="job")
    assert [file["path"] for file in data["files"]] == ["A.md", "Templates/T.md"]
    assert harness.read("A.md") == "---\ntags: [job]\n---\n#job/now #job/now\n"


def test_a_rename_everywhere_that_one_note_stops_says_which(small: Small) -> None:
    files = {"A.md": "#work\n", "Odd.md": "---\ntags: &t [work]\nother: &t 1\n---\n"}
    harness = small(files)
    refused = harness.catch_refusal(EditRefused, "edit_note", op="rename_tag", name="", tag="work", to="job")
    assert refused.message.startswith("Odd.md: ")
    assert {name: harness.read(name) for name in files} == files


def test_wrong_calls_are_named(small: Small) -> None:
    harness = small(FILES)

    def catch_argument(**arguments: object) -> str:
        named: str = harness.catch_refusal(InvalidArgument, "tags", **arguments).argument
        return named

    assert catch_argument(action="notes") == "tag"
    assert catch_argument(action="add", name="A", tag="x") == "action"
    assert catch_argument(action="nothing") == "action"
    assert catch_argument(sort="size") == "sort"
    assert (
        harness.catch_refusal(NotFound, "edit_note", op="rename_tag", name="", tag="nope", to="x").name
        == "nope"
    )
    for wrong, named in (
        ({"op": "add_tag", "name": "A"}, "tag"),
        ({"op": "add_tag", "name": "", "tag": "x"}, "name"),
        ({"op": "rename_tag", "name": "", "tag": "work"}, "to"),
        ({"op": "add_tag", "name": "A", "tag": "two words"}, "tag"),
    ):
        assert harness.catch_refusal(InvalidArgument, "edit_note", **wrong).argument == named
    harness.catch_refusal(StaleWrite, "edit_note", op="add_tag", name="A", tag="x", expected="0" * 16)


def test_hidden_notes_have_no_tags(small: Small) -> None:
    harness = small(FILES, scope=Scope(deny=("B.md",)))
    assert "#home" not in harness.text("tags")
    assert harness.rows("tags", action="notes", tag="work")[:-1] == ["A.md"]
    harness.data("edit_note", op="rename_tag", name="", tag="work", to="job")
    assert harness.read("B.md") == FILES["B.md"]


def test_a_tag_of_many_thousand_levels_is_counted_with_some_of_its_parents(small: Small) -> None:
    """All of them, each with all above it, would take gigabytes."""
    vault = small({"A.md": "#" + "a/" * 50_000 + "b #c"})
    assert vault.text("tags", limit=500).endswith(f"(tags: {TAG_LEVELS + 2})")
    assert "A.md" in vault.text("tags", action="notes", tag="a/a")
