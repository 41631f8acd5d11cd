"""`extract_section`: the text under a heading becomes a note of its own, and no link is lost."""

from __future__ import annotations

import pytest

from support.tools import Small
from vaultbridge.errors import EditRefused, InvalidPath, PermissionDenied
from vaultbridge.vault.scope import Scope

HUT = "# Hut\n\nintro\n\n## Routes\n\nThe ridge.\n\n### Wet days\n\nThe road. ^road\n\n## Stove\n\nwood\n"


def test_a_section_becomes_a_note_and_leaves_a_link(small: Small) -> None:
    harness = small({"f/Hut.md": HUT})
    before = harness.files()
    data = harness.data("edit_note", op="extract_section", name="Hut", heading="Routes", to="f/Ways up")
    assert data["path"] == "f/Hut.md"
    [made] = data["files"]
    assert (made["path"], made["change"]) == ("f/Ways up.md", "created")
    assert harness.read("f/Ways up.md") == "The ridge.\n\n### Wet days\n\nThe road. ^road\n"
    assert harness.read("f/Hut.md") == "# Hut\n\nintro\n\n## Routes\n\n[[Ways up]]\n\n## Stove\n\nwood\n"
    harness.data("undo")
    assert {path: text for path, text in harness.files().items() if ".trash" not in path} == before


@pytest.mark.parametrize(
    ("settings", "to", "path"),
    [
        ("{}", "", "Routes.md"),
        ('{"newFileLocation": "current"}', "", "f/Routes.md"),
        ('{"newFileLocation": "folder", "newFileFolderPath": "New"}', "Ways", "New/Ways.md"),
        ("{}", "g/", "g/Routes.md"),
        ("{}", "g/Ways.md", "g/Ways.md"),
    ],
)
def test_the_note_is_named_after_the_heading_where_new_notes_go(
    small: Small, settings: str, to: str, path: str
) -> None:
    harness = small({"f/Hut.md": HUT, ".obsidian/app.json": settings})
    harness.data("edit_note", op="extract_section", name="Hut", heading="Routes", to=to)
    assert harness.read(path).startswith("The ridge.")


def test_a_heading_that_is_no_name_becomes_one(small: Small) -> None:
    harness = small({"A.md": "## What: a/b?\n\ntext\n"})
    harness.data("edit_note", op="extract_section", name="A", heading="What: a/b?")
    assert harness.read("What a b.md") == "text\n"
    assert "[[What a b]]" in harness.read("A.md")


def test_links_to_what_was_moved_follow_it_and_links_to_the_heading_stay(small: Small) -> None:
    harness = small(
        {
            "f/Hut.md": HUT + "\n[[#Wet days]] [[#Stove]] [[Hut#^road]]\n",
            "B.md": (
                "[[Hut#Wet days|wet]] [[Hut#Routes#Wet days]] [[Hut#Routes]] ![[Hut#^road]] [[Hut#Stove]]\n"
            ),
            "C.md": "[x](f/Hut.md#Wet%20days)\n",
        }
    )
    data = harness.data("edit_note", op="extract_section", name="Hut", heading="Routes", to="Ways")
    assert {file["path"]: file.get("links") for file in data["files"]} == {
        "B.md": 3, "C.md": 1, "Ways.md": None,
    }  # fmt: skip
    assert (
        harness.read("B.md")
        == "[[Ways#Wet days|wet]] [[Ways#Wet days]] [[Hut#Routes]] ![[Ways#^road]] [[Hut#Stove]]\n"
    )
    assert harness.read("C.md") == "[x](Ways.md#Wet%20days)\n"
    assert harness.read("f/Hut.md").endswith("[[Ways#Wet days]] [[#Stove]] [[Ways#^road]]\n")


def test_links_in_the_moved_text_lead_where_they_led(small: Small) -> None:
    body = (
        "[[#Stove]] [[#Deep]] [[Hut#Deep]] [[Hut#Stove]] "
        "[up](../B.md) [by](Near.md) [[B]] ![[./Near]] [[None]]"
    )
    harness = small(
        {
            "f/Hut.md": f"## Routes\n\n{body}\n\n### Deep\n\nx\n\n## Stove\n\ny\n",
            "f/Near.md": "n",
            "B.md": "b",
        }
    )
    harness.data("edit_note", op="extract_section", name="Hut", heading="Routes", to="g/h/Ways")
    outgoing = harness.text("links", kind="outgoing", name="Ways")
    moved = harness.read("g/h/Ways.md").splitlines()[0]
    assert moved.startswith("[[Hut#Stove]] [[#Deep]] [[Ways#Deep]] [[Hut#Stove]] ")
    assert moved.endswith("[[None]]")
    assert outgoing.count("f/Hut.md") == 2
    assert outgoing.count("-> B.md") + outgoing.count("B.md") >= 2
    assert outgoing.count("f/Near.md") == 2


def test_a_card_that_shows_what_was_moved_shows_the_new_note(small: Small) -> None:
    card = '{"id":"k","type":"file","file":"Hut.md","subpath":"#Wet days","x":0,"y":0,"width":9,"height":9}'
    harness = small({"Hut.md": HUT, "C.canvas": f'{{"nodes":[{card}],"edges":[]}}'})
    harness.data("edit_note", op="extract_section", name="Hut", heading="Routes", to="Ways")
    assert '"file":"Ways.md","subpath":"#Wet days"' in harness.read("C.canvas")


def test_dashes_at_the_top_do_not_become_properties(small: Small) -> None:
    harness = small({"A.md": "## H\n\n---\na: 1\n\n---\nend\n"})
    harness.data("edit_note", op="extract_section", name="A", heading="H")
    assert harness.read("H.md").startswith("\n---")
    assert harness.rows("properties", name="H")[-1] == "(properties: none)"


def test_line_ends_and_footnotes(small: Small) -> None:
    harness = small({"A.md": "## H\r\n\r\none[^1]\r\n\r\n## I\r\n\r\n[^1]: note\r\n"})
    data = harness.data("edit_note", op="extract_section", name="A", heading="H")
    assert data["notices"] == ["H.md refers to definitions that stayed in A.md: [^1]."]
    assert harness.files()["H.md"] == b"one[^1]\r\n"
    assert harness.files()["A.md"] == b"## H\r\n\r\n[[H]]\r\n\r\n## I\r\n\r\n[^1]: note\r\n"


@pytest.mark.parametrize(
    ("text", "notices"),
    [
        (
            "## H\n\n[x][1], [Zwei], [ÉTÉ\n A][] [4]\n\n"
            "## I\n\n[1]: https://a.example\n[zwei]: B.md\n[été a]: <C.md> 't'\n",
            ["H.md refers to definitions that stayed in A.md: [1], [zwei], [été a]."],
        ),
        (
            "[x][Ж] [y][2] [z][^3]\n\n## H\n\ntext\n\n[ж]: https://a.example\n[2]: B.md\n[^3]: note\n",
            ["A.md refers to definitions that moved to H.md: [2], [^3], [ж]."],
        ),
        ("[x][1]\n\n[1]: B.md\n\n## H\n\n[x][1]\n\n[1]: B.md\n", []),
        ("## H\n\n[//]: # (a comment)\n\n[x](y) [[1]] text\n\n## I\n\n[1]: B.md\n[y]: B.md\n", []),
    ],
)
def test_definitions_that_the_two_notes_no_longer_share_are_named(
    small: Small, text: str, notices: list[str]
) -> None:
    harness = small({"A.md": text, "B.md": "", "C.md": ""})
    data = harness.data("edit_note", op="extract_section", name="A", heading="H")
    assert data.get("notices", []) == notices


def test_what_cannot_be_extracted_is_refused(small: Small) -> None:
    harness = small({"A.md": "## H\n\ntext\n\n## E\n\n## H 2\n", "Taken.md": "x"})

    def refuse(kind: type[Exception] = EditRefused, **arguments: str) -> str:
        return str(harness.catch_refusal(kind, "edit_note", op="extract_section", name="A", **arguments))  # type: ignore[arg-type]

    assert "There is no text under 'E'" in refuse(heading="E")
    assert "Taken.md already exists" in refuse(heading="H", to="Taken")
    assert "No heading 'Q'" in refuse(heading="Q")
    refuse(InvalidPath, heading="H", to="a:b")


def test_a_scope_that_may_not_create_there_refuses(small: Small) -> None:
    harness = small({"f/A.md": "## H\n\ntext\n"}, scope=Scope(deny=("g/",)))
    harness.catch_refusal(
        PermissionDenied, "edit_note", op="extract_section", name="A", heading="H", to="g/N"
    )


def test_it_works_in_a_batch_with_a_note_made_before(small: Small) -> None:
    harness = small({})
    operations = [
        {"op": "create", "name": "A", "content": "## H\n\ntext\n"},
        {"op": "extract_section", "name": "A", "heading": "H", "to": "B"},
    ]
    harness.data("batch", operations=operations)
    assert (harness.read("A.md"), harness.read("B.md")) == ("## H\n\n[[B]]\n", "text\n")
