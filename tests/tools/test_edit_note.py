"""`edit_note`: every op with its fields, and what each refuses."""

from __future__ import annotations

from typing import Any

import pytest

from support.edits import EDITS, NOTE, TEMPLATE
from support.tools import Small
from vaultbridge.engine.operations.vocabulary import OPERATIONS, list_arguments
from vaultbridge.errors import EditRefused, InvalidArgument, NoteNotFound, StaleWrite
from vaultbridge.limits import NOTE_PARSE_BYTES
from vaultbridge.tools.edit_note import EDIT_OPS
from vaultbridge.vault.read import content_hash


@pytest.mark.parametrize(("op", "fields", "old", "new"), EDITS)
def test_every_op_does_what_it_says(
    small: Small, op: str, fields: dict[str, Any], old: str, new: str
) -> None:
    harness = small({"A.md": NOTE, "T.md": TEMPLATE})
    data = harness.data("edit_note", name="A", op=op, expected=content_hash(NOTE.encode()), **fields)
    now = harness.read("A.md")
    wanted = NOTE.replace("i", "I") if fields.get("all") else NOTE.replace(old, new, 1)
    assert now == wanted
    assert data == {"path": "A.md", "hash": content_hash(now.encode())[:8], "change": 1}


LARGE = NOTE + "x" * NOTE_PARSE_BYTES + "\n"


@pytest.mark.parametrize(("op", "fields", "old", "new"), EDITS)
def test_in_a_note_that_is_too_large_to_be_parsed_only_its_text_is_edited(
    small: Small, op: str, fields: dict[str, Any], old: str, new: str
) -> None:
    """Its properties and headings are unknown: what should go below them would end up above."""
    harness = small({"A.md": LARGE, "T.md": TEMPLATE})
    plain = op == "append" and not {"heading", "block"} & fields.keys()
    if plain or op in ("replace_text", "apply_diff", "write"):
        harness.data("edit_note", name="A", op=op, **fields)
        assert harness.read("A.md") != LARGE
        return
    error = harness.catch_refusal(EditRefused, "edit_note", name="A", op=op, **fields)
    assert "The note is larger than 8 MiB" in error.message
    assert "append, replace_text" in error.hint
    assert harness.read("A.md") == LARGE


def test_a_note_that_is_too_large_to_be_parsed_is_not_merged(small: Small) -> None:
    harness = small({"A.md": LARGE, "B.md": NOTE})
    for name, to in (("A", "B"), ("B", "A")):
        harness.catch_refusal(EditRefused, "edit_note", name=name, op="merge", to=to)
    assert (harness.read("A.md"), harness.read("B.md")) == (LARGE, NOTE)


def test_every_op_has_a_test() -> None:
    # What concerns two notes is tested in test_fewer_calls.py, test_extract.py, test_link_mentions.py and
    # tests/engine/test_merge.py.
    assert {edit[0] for edit in EDITS} | {"merge", "extract_section", "link_mentions"} == set(EDIT_OPS)


def test_links_follow_a_renamed_heading_and_the_files_are_named(small: Small) -> None:
    harness = small({"A.md": NOTE, "B.md": "[[A#Two]] and [[A#^b1]]"})
    data = harness.data("edit_note", name="A", op="rename_heading", heading="Two", to="Zwei")
    assert data["files"] == [{"path": "B.md", "links": 1}]
    assert harness.read("B.md") == "[[A#Zwei]] and [[A#^b1]]"
    harness.data("edit_note", name="A", op="rename_block", block="b1", to="b9")
    assert harness.read("B.md") == "[[A#Zwei]] and [[A#^b9]]"


def test_a_dry_run_shows_the_diff_and_writes_nothing(small: Small) -> None:
    harness = small({"A.md": NOTE})
    before = harness.files()
    answer = harness.call("edit_note", name="A", op="append", content="end", dry_run=True)
    assert answer.data is not None
    assert answer.data["data"]["dry_run"] is True
    assert "+end\n" in answer.data["data"]["diff"]
    assert "change" not in answer.data["data"]
    assert not answer.changed
    assert harness.files() == before


def test_a_stale_edit_is_refused_with_the_current_hash(small: Small) -> None:
    harness = small({"A.md": NOTE})
    error = harness.catch_refusal(
        StaleWrite, "edit_note", name="A", op="append", content="x", expected="0" * 16
    )
    assert error.current == content_hash(NOTE.encode())


def test_an_edit_that_changes_nothing_says_so(small: Small) -> None:
    harness = small({"A.md": NOTE})
    answer = harness.call("edit_note", name="A", op="set_property", property="kind", value="x")
    assert answer.data == {"success": True, "data": {"path": "A.md", "unchanged": True}}
    assert not answer.changed


def test_the_journal_knows_who_asked(small: Small) -> None:
    harness = small({"A.md": NOTE}).with_context(actor="mcp:Somebody")
    harness.data("edit_note", name="A", op="append", content="x")
    assert "mcp:Somebody: append  A.md" in harness.text("history")


@pytest.mark.parametrize(
    ("arguments", "argument", "message"),
    [
        ({"op": "append"}, "content", "append takes: content, heading, create, block"),
        ({"op": "append", "content": "x", "line": 3}, "line", "does not belong to the op append"),
        ({"op": "insert", "content": "x"}, "line", "needs it"),
        ({"op": "insert", "content": "x", "line": "third"}, "line", "a whole number"),
        ({"op": "set_property", "property": "p"}, "value", "needs it"),
        ({"op": "replace_section", "content": "x"}, "heading", "heading or block"),
        ({"op": "append", "content": "x", "heading": "One", "block": "b1"}, "block", "not both"),
        ({"op": "set_task", "line": 8, "status": "xx"}, "status", "one character"),
        ({"op": "set_task"}, "line", "line or its text"),
        ({"op": "paint"}, "op", "one of: "),
        ({"op": 3}, "op", "one of: "),
        ({}, "op", "one of: "),
        ({"op": "append", "content": ["x"]}, "content", "text"),
        ({"op": "append", "content": "x", "contnet": "y"}, "contnet", "Did you mean content?"),
    ],
)
def test_wrong_arguments_are_named(
    small: Small, arguments: dict[str, Any], argument: str, message: str
) -> None:
    harness = small({"A.md": NOTE})
    error = harness.catch_refusal(InvalidArgument, "edit_note", name="A", **arguments)
    assert error.argument == argument
    assert message in str(error)


def test_an_edit_of_something_the_note_lacks_is_refused(small: Small) -> None:
    harness = small({"A.md": NOTE, "B.canvas": "{}"})
    harness.catch_refusal(EditRefused, "edit_note", name="A", op="replace_text", old="nowhere", new="x")
    harness.catch_refusal(EditRefused, "edit_note", name="A", op="append", heading="Three", content="x")
    harness.catch_refusal(EditRefused, "edit_note", name="A", op="insert", line=99, content="x")
    harness.catch_refusal(EditRefused, "edit_note", name="A", op="remove_property", property="nope")
    harness.catch_refusal(EditRefused, "edit_note", name="B.canvas", op="append", content="x")
    harness.catch_refusal(NoteNotFound, "edit_note", name="C", op="append", content="x")
    harness.catch_refusal(InvalidArgument, "edit_note", name="", op="append", content="x")


def test_null_counts_as_left_out_where_it_is_not_a_value(small: Small) -> None:
    """Some clients send null for every argument that they leave out."""
    harness = small({"A.md": NOTE})
    nothing = dict.fromkeys(("heading", "block", "line", "old", "expected", "dry_run"))
    harness.data("edit_note", name="A", op="append", content="x", **nothing)
    assert harness.read("A.md").endswith("third\nx\n")


def test_a_link_as_name_selects_the_part_of_the_note(small: Small) -> None:
    """It was appended to the end of the note: not where the link pointed."""
    harness = small({"A.md": "# One\nx ^b\n\n# Two\ny\n"})
    harness.data("edit_note", name="[[A#One]]", op="append", content="new")
    assert harness.files()["A.md"] == b"# One\nx ^b\n\nnew\n\n# Two\ny\n"
    harness.data("edit_note", name="[[A#^b|x]]", op="replace_section", content="z")
    assert harness.files()["A.md"].startswith(b"# One\nz ^b\n")
    harness.data("edit_note", name="[[A#One]]", op="append", heading="Two", content="last")
    assert harness.files()["A.md"].endswith(b"# Two\ny\nlast\n")
    harness.data("edit_note", name="[[A#Two]]", op="rename_heading", to="Three")
    assert b"# Three\n" in harness.files()["A.md"]


@pytest.mark.parametrize(
    "edit",
    [
        {"op": "write", "content": "x"},
        {"op": "replace_text", "old": "x", "new": "z"},
        {"op": "insert", "line": 1, "content": "x"},
    ],
)
def test_a_link_to_a_part_is_refused_by_ops_on_the_whole_note(small: Small, edit: dict[str, object]) -> None:
    harness = small({"A.md": "# One\nx\n"})
    assert harness.catch_refusal(InvalidArgument, "edit_note", name="[[A#One]]", **edit).argument == "name"
    named = harness.catch_refusal(
        InvalidArgument, "batch", operations=[{"name": "[[A#One]]", **edit}]
    ).argument
    assert named == "operations[0].name"
    assert harness.files() == {"A.md": b"# One\nx\n"}


def test_an_invalid_tag_is_refused_with_or_without_property_types(small: Small) -> None:
    harness = small({"A.md": "x\n"})
    wrong = {"op": "set_property", "property": "tags", "value": ["a b"]}
    assert "a b" in str(harness.catch_refusal(InvalidArgument, "edit_note", name="A", **wrong))
    harness.catch_refusal(InvalidArgument, "create_note", name="B", properties={"tags": "a, b"})
    assert harness.files() == {"A.md": b"x\n"}
    harness.data("edit_note", name="A", op="set_property", property="tags", value="#one")
    assert harness.read("A.md") == "---\ntags:\n  - one\n---\nx\n"


def test_an_argument_has_one_type_whichever_op_takes_it() -> None:
    """All ops share one flat form, so a word cannot be text for one and a number for another."""
    types: dict[str, Any] = {}
    for kind in OPERATIONS.values():
        for argument in list_arguments(kind):
            assert types.setdefault(argument.name, argument.type) == argument.type, argument.name


@pytest.mark.parametrize(
    "edit",
    [
        {"op": "append", "content": "more\n\n---\n\nmore"},
        {"op": "append", "content": "---", "heading": "H"},
        {"op": "prepend", "content": "more\n\n---", "heading": "H"},
        {"op": "append", "content": "---", "heading": "New", "create": True},
        {"op": "append", "content": "---", "block": "id"},
        {"op": "replace_section", "content": "---", "heading": "H"},
        {"op": "replace_section", "content": "more\n\n---\nmore", "block": "id"},
    ],
)
def test_a_line_across_the_page_never_turns_the_text_above_it_into_properties(
    small: Small, edit: dict[str, Any]
) -> None:
    text = "---\nA break at the top, not properties.\n\n# H\ntext ^id\n"
    harness = small({"N.md": text})
    refused = harness.catch_refusal(EditRefused, "edit_note", name="N", **edit)
    assert "***" in refused.hint
    assert harness.read("N.md") == text
    harness.data("edit_note", name="N", **{**edit, "content": edit["content"].replace("---", "***")})


@pytest.mark.parametrize(
    "content", ["one\ntwo\n", "one\r\ntwo\r\n", "mixed\r\nends\nhere", " \n\n", "\ttab\n\n"]
)
def test_every_tool_writes_a_whole_text_exactly_as_sent(small: Small, content: str) -> None:
    """Also over a note with other line ends. An edit keeps those of the note."""
    write = {"op": "write", "name": "A", "content": content}
    create = {"name": "A", "content": content, "overwrite": True}
    for tool, arguments in (
        ("edit_note", write),
        ("create_note", create),
        ("batch", {"operations": [write]}),
        ("batch", {"operations": [{"op": "create", **create}]}),
    ):
        harness = small({"A.md": b"old\r\nends\r\n"})
        harness.data(tool, **arguments)
        assert (harness.folder / "A.md").read_bytes() == content.encode(), tool
    harness = small({"A.md": b"old\r\nends\r\n"})
    harness.data("edit_note", name="A", op="append", content="one\ntwo\n")
    assert (harness.folder / "A.md").read_bytes() == b"old\r\nends\r\none\r\ntwo\r\n"
