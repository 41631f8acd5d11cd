"""`create_note`, as the stdio contract (docs/protocols/mcp-stdio.md) shows it."""

from __future__ import annotations

import pytest

from support.tools import Small, ToolHarness
from vaultbridge.errors import EditRefused, InvalidArgument, InvalidPath, NoteNotFound


def test_the_answer_is_exactly_the_contracts(small: Small) -> None:
    """Seed 004, "Response: Success"."""
    harness = small({})
    answer = harness.call(
        "obsidian_create_note", name="Meeting Notes", content="# Meeting Notes\n\n- Agenda item 1"
    )
    assert answer.text == '{"success":true,"data":{"path":"Meeting Notes.md","created":true}}'
    assert answer.data == {"success": True, "data": {"path": "Meeting Notes.md", "created": True}}
    assert answer.changed
    assert harness.read("Meeting Notes.md") == "# Meeting Notes\n\n- Agenda item 1"


def test_an_exact_path_creates_its_folders(small: Small) -> None:
    harness = small({})
    assert harness.data("create_note", path="A/B/Note.md") == {"path": "A/B/Note.md", "created": True}
    assert harness.read("A/B/Note.md") == ""


def test_a_bare_name_goes_to_the_folder_of_the_settings(sample: ToolHarness) -> None:
    assert sample.data("create_note", name="Idea")["path"] == "Inbox/Idea.md"


def test_an_existing_note_is_kept_unless_overwrite_is_set(small: Small) -> None:
    harness = small({"A.md": "old"})
    error = harness.catch_refusal(EditRefused, "create_note", name="A", content="new")
    assert "A.md already exists" in str(error)
    assert harness.data("create_note", name="A", content="new", overwrite=True) == {
        "path": "A.md",
        "created": False,
    }
    assert harness.read("A.md") == "new"
    answer = harness.call("create_note", name="A", content="new", overwrite=True)
    assert answer.data == {"success": True, "data": {"path": "A.md", "created": False}}
    assert not answer.changed, "the same text again changes nothing"


def test_a_template_is_expanded_and_content_follows_it(sample: ToolHarness) -> None:
    path = sample.data("create_note", name="Sundial", template="Project", content="- [ ] Buy brass")["path"]
    text = sample.read(path)
    assert "# Sundial" in text
    assert 'started: "2026-03-15"' in text
    assert text.rstrip().endswith("- [ ] Buy brass")


def test_properties_become_frontmatter_of_their_types(sample: ToolHarness) -> None:
    path = sample.data("create_note", name="P", content="Body\n", properties={"hours": "3", "tags": ["x"]})[
        "path"
    ]
    assert sample.read(path) == "---\nhours: 3\ntags:\n  - x\n---\nBody\n"


def test_links_that_resolve_to_the_new_note_are_reported(small: Small) -> None:
    harness = small({"A.md": "[[New]]"})
    data = harness.data("create_note", name="New")
    assert data["notices"] == ["1 unresolved link(s) now lead to New.md, from: A.md."]


def test_an_invalid_note_name_is_refused(small: Small) -> None:
    harness = small({})
    assert "'?'" in str(harness.catch_refusal(InvalidPath, "create_note", name="What?"))
    harness.catch_refusal(InvalidPath, "create_note", name="../out")
    harness.catch_refusal(InvalidArgument, "create_note", name="  ")
    assert harness.catch_refusal(NoteNotFound, "create_note", name="A", template="Nope").name == "Nope"


def test_arguments_of_the_wrong_type_are_named(small: Small) -> None:
    harness = small({})
    assert harness.catch_refusal(InvalidArgument, "create_note").argument == "name"
    assert str(harness.catch_refusal(InvalidArgument, "create_note", name="A", overwrite="yes")) == (
        'overwrite is "yes". It should be true or false.'
    )
    assert (
        harness.catch_refusal(InvalidArgument, "create_note", name="A", properties=["a"]).argument
        == "properties"
    )
    assert (
        harness.catch_refusal(InvalidArgument, "create_note", name="A", contents="x").argument == "contents"
    )


@pytest.mark.parametrize("name", ["[[Sub/New]]", "[[Sub/New|shown]]", " Sub/New ", "Sub/New"])
def test_a_new_note_may_be_named_by_a_link(small: Small, name: str) -> None:
    """A blank at the end would have made a note that no link can name."""
    harness = small({"A.md": "[[New]]"})
    assert harness.data("create_note", name=name, content="x")["path"] == "Sub/New.md"
    assert harness.files()["Sub/New.md"] == b"x"


def test_a_part_of_a_note_cannot_be_created(small: Small) -> None:
    harness = small({"A.md": "# H\n"})
    assert (
        harness.catch_refusal(InvalidArgument, "create_note", name="[[A#H]]", overwrite=True).argument
        == "name"
    )
    assert harness.files() == {"A.md": b"# H\n"}


def test_a_folder_is_refused_as_the_name_of_a_note(small: Small) -> None:
    """The error said that the name `.md` begins with a dot."""
    harness = small({"A.md": ""})
    refused = harness.catch_refusal(InvalidArgument, "create_note", name="Folder/")
    assert refused.argument == "name"
    assert str(refused).startswith("name ends with /, so it names a folder. Name the note too")


@pytest.mark.parametrize("name", ["there", "ΣΊΣΥΦΟΣ", "v1.2"])
def test_a_new_note_does_not_take_over_a_name_in_a_base(small: Small, name: str) -> None:
    """The base then named the new note, and followed that one when it moved."""
    base = f"filters: 'file.hasLink(\"{name}\")'\nviews: []\n"
    harness = small(
        {
            f"Sub/{name}.md": "",
            "Own.base": base,
            "Block.md": f"```base\n{base}```\n",
            "Other.base": base.replace(name, "else"),
        }
    )
    data = harness.data("create_note", name=f"A/{name}")
    assert data["notices"] == [
        f"2 older link(s) would have led to the new A/{name}.md; they were rewritten to keep their "
        "target, in: Block.md, Own.base."
    ]
    pinned = base.replace(name, f"Sub/{name}")
    assert harness.read("Own.base") == pinned
    assert harness.read("Block.md") == f"```base\n{pinned}```\n"
    assert harness.read("Other.base") == base.replace(name, "else")
    harness.data("move_note", name=f"A/{name}", to="Else/")
    assert harness.read("Own.base") == pinned


def test_a_file_that_takes_the_name_of_a_note_leaves_a_base_on_the_note(small: Small) -> None:
    """`pic.png` is the note `pic.png.md` only while no file has that name."""
    base = "filters: 'file.hasLink(\"pic.png\")'\n"
    harness = small({"pic.png.md": "", "Own.base": base})
    harness.data("add_attachment", path="pic.png", data="AA==")
    assert harness.read("Own.base") == base.replace("pic.png", "pic.png.md")


@pytest.mark.parametrize("blank", [[], None, ""])
def test_the_empty_tags_that_a_strict_client_must_send_are_not_written(small: Small, blank: object) -> None:
    harness = small({})
    harness.data("create_note", name="A", content="a\n", properties={"tags": blank})
    assert harness.read("A.md") == "a\n"
    operations = [{"op": "create", "name": "B", "content": "b\n", "properties": {"tags": blank}}]
    harness.data("batch", operations=operations)
    assert harness.read("B.md") == "b\n"


def test_any_other_empty_property_is_meant(small: Small) -> None:
    harness = small({})
    harness.data("create_note", name="A", properties={"tags": ["x"], "due": None, "text": ""})
    assert harness.read("A.md") == '---\ntags:\n  - x\ndue:\ntext: ""\n---\n'


def test_an_error_names_the_property_and_the_argument(small: Small) -> None:
    harness = small({".obsidian/types.json": '{"types": {"n": "number"}}'})
    refused = harness.catch_refusal(InvalidArgument, "create_note", name="A", properties={"n": "many"})
    assert refused.argument == "properties.n"
    assert str(refused).startswith("n: 'many' is not a number")
    refused = harness.catch_refusal(InvalidArgument, "create_note", name="A", properties={"tags": [{}]})
    assert refused.argument == "properties.tags"
