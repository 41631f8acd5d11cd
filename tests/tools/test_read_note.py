"""`read_note`: parts, budgets, several notes."""

from __future__ import annotations

import re

import pytest

from support.tools import Small, ToolHarness
from vaultbridge.errors import (
    AmbiguousName,
    EditRefused,
    EngineFailure,
    InvalidArgument,
    NoteNotFound,
    StaleWrite,
)
from vaultbridge.tools.base.schema import load_schema
from vaultbridge.tools.read_note import ReadNoteArguments
from vaultbridge.vault.read import content_hash
from vaultbridge.vault.scope import Scope

NOTE = "---\nkind: x\n---\n# One\nfirst ^b1\n\n## Two\nsecond\nthird\n"


def test_the_first_line_gives_path_hash_and_lines(small: Small) -> None:
    harness = small({"Folder/A.md": NOTE})
    head, _, body = harness.text("read_note", name="A").partition("\n")
    assert head == f"[Folder/A.md | hash {content_hash(NOTE.encode())[:8]} | 9 lines]"
    assert body == NOTE


def test_the_hash_that_was_read_is_the_one_an_edit_expects(small: Small) -> None:
    harness = small({"A.md": NOTE})
    hash_ = re.search(r"hash (\w+)", harness.text("read_note", name="A"))
    assert hash_ is not None
    harness.data("edit_note", name="A", op="append", content="x", expected=hash_[1])
    refused = harness.catch_refusal(
        StaleWrite, "edit_note", name="A", op="append", content="y", expected=hash_[1]
    )
    now = content_hash((harness.folder / "A.md").read_bytes())
    assert f"expected hash {hash_[1]}, now {now[:8]}." in str(refused)


@pytest.mark.parametrize(("digits", "holds"), [(7, False), (8, True), (12, True), (16, True)])
def test_an_edit_may_expect_the_whole_hash_or_its_beginning(small: Small, digits: int, holds: bool) -> None:
    harness = small({"A.md": NOTE})
    call = {"name": "A", "op": "append", "content": "x", "expected": content_hash(NOTE.encode())[:digits]}
    if holds:
        harness.data("edit_note", **call)
    else:
        harness.catch_refusal(StaleWrite, "edit_note", **call)
    harness.catch_refusal(StaleWrite, "edit_note", **(call | {"expected": "0" * digits}))


@pytest.mark.parametrize(
    ("part", "text", "lines"),
    [
        ({"heading": "Two"}, "## Two\nsecond\nthird", "7-9"),
        ({"heading": "One#Two"}, "## Two\nsecond\nthird", "7-9"),
        ({"block": "b1"}, "first ^b1", "5-5"),
        ({"block": "^b1"}, "first ^b1", "5-5"),
        ({"lines": "7-8"}, "## Two\nsecond\n", "7-8"),
        ({"lines": "8-"}, "second\nthird\n", "8-9"),
        ({"lines": "-1"}, "---\n", "1-1"),
        ({"lines": "4"}, "# One\n", "4-4"),
        ({"outline": True}, "# One  (lines 4-9)\n## Two  (lines 7-9)", ""),
        ({"frontmatter": False}, NOTE.removeprefix("---\nkind: x\n---\n"), "4-9"),
    ],
)
def test_a_part_is_read_exactly(small: Small, part: dict[str, object], text: str, lines: str) -> None:
    harness = small({"A.md": NOTE})
    head, _, body = harness.text("read_note", name="A", **part).partition("\n")
    assert body == text
    assert (f"| lines {lines} of 9]" if lines else "| 9 lines]") in head


def test_a_long_note_is_read_in_pages_that_add_up_to_the_whole(small: Small) -> None:
    whole = "".join(f"line {number}\n" for number in range(200)) + "x" * 300
    harness = small({"A.md": whole})
    pieces, start = [], 0
    while True:
        body = harness.text("read_note", name="A", max_chars=250, start=start).partition("\n")[2]
        more = re.search(r"\[cut; continue with start=(\d+)\]$", body)
        pieces.append(body[: more.start()] if more else body)
        if not more:
            break
        start = int(more[1])
    assert "".join(pieces) == whole
    assert len(pieces) > 5


@pytest.mark.parametrize("part", [{}, {"lines": "2-"}, {"start": 7}, {"path": "A.md", "name": ""}])
def test_a_cut_is_announced_above_the_text_where_no_note_can_write_it(
    small: Small, part: dict[str, object]
) -> None:
    """A script reads the first line; a note may end with the words of the mark."""
    harness = small({"A.md": "line 1\nline 2\nline 3\n[cut; continue with start=9]"})
    head, _, body = harness.text("read_note", **{"name": "A", "max_chars": 20} | part).partition("\n")
    more = re.search(r"\[cut; continue with start=(\d+)\]\Z", body)
    assert more is not None and head.endswith(f" | cut at {more[1]}]")
    head, _, body = harness.text("read_note", **{"name": "A"} | part).partition("\n")
    assert body.endswith("[cut; continue with start=9]") and "cut" not in head


@pytest.mark.parametrize(
    ("data", "problem"),
    [
        (b"one\ncaf\xe9\n", "line 2: byte 0xe9"),
        ("Grüße\n".encode("utf-16"), "it seems to be UTF-16"),
        ("Hi\n".encode("utf-16-le"), "it contains NUL bytes"),
    ],
)
def test_bytes_that_are_not_utf8_are_announced_above_the_text(
    small: Small, data: bytes, problem: str
) -> None:
    harness = small({"Old.md": data, "Old.csv": data, "Good.md": "café \ufffd\n"})
    for _ in range(2):  # The second answer comes from memory.
        assert f" | not UTF-8 ({problem}): " in harness.rows("read_note", name="Old")[0]
    assert f" | not UTF-8 ({problem}): " in harness.rows("attachment", name="Old.csv")[0]
    assert "UTF-8" not in harness.text("read_note", name="Good")
    for name, arguments in (
        ("create_note", {"name": "Old", "content": "x", "overwrite": True}),
        ("edit_note", {"name": "Old", "op": "write", "content": "x"}),
        ("batch", {"operations": [{"name": "Old", "op": "write", "content": "x"}]}),
    ):
        assert "set force" in str(harness.catch_refusal(EditRefused, name, **arguments))
        assert (harness.folder / "Old.md").read_bytes() == data
        if name == "batch":
            arguments["operations"][0]["force"] = True  # type: ignore[index]
        else:
            arguments["force"] = True
        harness.data(name, **arguments)
        assert harness.read("Old.md") == "x"
        (harness.folder / "Old.md").write_bytes(data)


def test_raw_is_in_the_schema() -> None:
    """A program that saves what it reads finds it there, and a strict one may send only what is listed."""
    assert load_schema(ReadNoteArguments)["properties"]["raw"]["type"] == "boolean"


def test_the_default_answer_stays_far_below_the_limit_of_clients(small: Small) -> None:
    harness = small({"A.md": "word " * 100_000})
    assert len(harness.text("read_note", name="A")) < 25_000


def test_several_notes_share_the_budget_and_a_missing_one_does_not_stop_the_rest(small: Small) -> None:
    harness = small({"A.md": "a" * 5000, "B.md": "bbb\n", "C.md": "ccc\n"})
    text = harness.text("read_note", names=["A", "nope", "B", "C"], max_chars=2000)
    assert "[A.md | hash" in text
    assert "[nope: FILE_NOT_FOUND] No note named 'nope'." in text
    assert "bbb" in text
    assert "ccc" in text
    assert len(text) < 2500


def test_notes_without_room_are_named(small: Small) -> None:
    harness = small({"A.md": "a" * 5000, "B.md": "b" * 5000})
    text = harness.text("read_note", name="A", names=["B"], max_chars=150)
    assert text.endswith("(no room for: B; read them in another call)")
    # Above the notes too, where a script looks and no note can write it.
    assert text.startswith("[1 of 2 notes | no room for the rest]\n\n[A.md | hash ")
    whole = harness.text("read_note", names=["A", "B"], max_chars=20_000)
    assert whole.startswith("[A.md | hash ") and "no room" not in whole


def test_a_name_may_be_an_alias_another_case_or_in_brackets(sample: ToolHarness) -> None:
    for name in ("Nightjar Hill", "HOME", "[[Home]]", "/Home.md"):
        assert sample.text("read_note", name=name).startswith("[Home.md |")


def test_an_unknown_note_is_refused_with_the_closest_names(sample: ToolHarness) -> None:
    error = sample.catch_refusal(NoteNotFound, "read_note", name="Moth gardn")
    assert error.code == "FILE_NOT_FOUND"
    assert "Projects/Moth garden.md" in error.closest


def test_an_ambiguous_name_is_refused_with_the_candidates(small: Small) -> None:
    harness = small({"a/X.md": "1", "b/X.md": "2"})
    error = harness.catch_refusal(AmbiguousName, "read_note", name="X")
    assert error.candidates == ("a/X.md", "b/X.md")
    assert harness.text("read_note", path="b/X.md").endswith("\n2")


def test_a_hidden_note_reads_like_a_missing_one(small: Small) -> None:
    harness = small({"Private/S.md": "secret", "A.md": "a"}, scope=Scope(deny=("Private/",)))
    hidden = harness.catch_refusal(NoteNotFound, "read_note", name="Private/S.md")
    missing = harness.catch_refusal(NoteNotFound, "read_note", name="Private/T.md")
    assert str(hidden).replace("/S", "/T") == str(missing)
    assert harness.catch_refusal(NoteNotFound, "read_note", name="S").closest == ()


@pytest.mark.parametrize(
    ("arguments", "argument"),
    [
        ({}, "name"),
        ({"name": "A", "lines": "x-y"}, "lines"),
        ({"name": "A", "lines": "90-99"}, "lines"),
        ({"name": "A", "lines": "3-2"}, "lines"),
        ({"name": "A", "heading": "Two", "outline": True}, "outline"),
        ({"name": "A", "max_chars": -1}, "max_chars"),
        ({"name": "A", "max_chars": 90_001}, "max_chars"),
        ({"name": "A", "start": -1}, "start"),
        ({"name": "A", "start": 9999}, "start"),
        ({"names": ["A", "A"], "start": 3}, "start"),
        ({"names": ["A"] * 51}, "names"),
        ({"names": "A"}, "names"),
        ({"name": "A", "path": "B"}, "path"),
        ({"name": "A", "frontmatter": 1}, "frontmatter"),
    ],
)
def test_contradictory_arguments_are_named(small: Small, arguments: dict[str, object], argument: str) -> None:
    harness = small({"A.md": NOTE})
    assert harness.catch_refusal(InvalidArgument, "read_note", **arguments).argument == argument


def test_a_missing_heading_or_block_lists_what_there_is(small: Small) -> None:
    harness = small({"A.md": NOTE})
    assert "One" in str(harness.catch_refusal(EditRefused, "read_note", name="A", heading="Three"))
    harness.catch_refusal(EditRefused, "read_note", name="A", block="b2")


def test_a_file_that_is_not_text_is_refused(sample: ToolHarness) -> None:
    assert "attachment" in str(sample.catch_refusal(InvalidArgument, "read_note", name="m81-sketch.png"))


def test_invalid_utf8_is_never_sent(small: Small) -> None:
    harness = small({"A.md": b"caf\xe9\n"})
    assert harness.text("read_note", name="A").endswith("\ncaf\ufffd\n")


def test_a_note_larger_than_the_scope_allows_is_refused(small: Small) -> None:
    harness = small({"A.md": "x" * 100}, scope=Scope(max_note_bytes=10))
    assert "100 bytes" in str(harness.catch_refusal(EngineFailure, "read_note", name="A"))


@pytest.mark.parametrize("name", ["A#Two", "[[A#Two]]", "[[A#Two|shown]]", "Folder/A.md#One#Two"])
def test_a_name_may_point_to_a_section_as_a_link_does(small: Small, name: str) -> None:
    harness = small({"Folder/A.md": NOTE})
    assert harness.text("read_note", name=name) == harness.text("read_note", name="A", heading="Two")


def test_a_name_may_point_to_a_block_as_a_link_does(small: Small) -> None:
    harness = small({"A.md": NOTE})
    assert harness.text("read_note", name="[[A#^b1]]") == harness.text("read_note", name="A", block="b1")
    assert harness.text("read_note", names=["A#^b1", "A#Two"]).count("| lines ") == 2


def test_an_explicit_part_takes_precedence_over_the_links(small: Small) -> None:
    harness = small({"A.md": NOTE})
    assert "| lines 5-5 of 9]" in harness.text("read_note", name="[[A#Two]]", block="b1")
    assert "| lines 8-8 of 9]" in harness.text("read_note", name="A#One", lines="8")


def test_a_file_with_a_hash_sign_in_its_name_is_read_whole(small: Small) -> None:
    harness = small({"C# notes.md": "sharp", "C.md": "# notes\nplain"})
    assert harness.text("read_note", name="C# notes").endswith("sharp")


def test_notes_that_a_query_finds_are_read_in_one_call(small: Small) -> None:
    harness = small(
        {"W/Kiln diary.md": "wet\n", "W/Kiln parts.md": "brick", "W/Fence.md": "kiln", "Kiln.md": "x"}
    )
    text = harness.text("read_note", query="path:W/ file:kiln")
    assert "[W/Kiln diary.md | " in text and "wet" in text
    assert "[W/Kiln parts.md | " in text and "brick" in text
    assert "Fence" not in text and "[Kiln.md" not in text
    assert harness.text("read_note", query="wet").endswith("| 1 line]\nwet\n")


def test_a_query_reads_a_part_of_each_note(small: Small) -> None:
    harness = small({"A.md": NOTE, "B.md": NOTE})
    assert harness.text("read_note", query="second", heading="Two").count("## Two\nsecond\nthird") == 2


def test_a_query_that_finds_nothing_or_too_much_is_refused(small: Small) -> None:
    harness = small({f"N{number}.md": "same" for number in range(51)})
    refused = harness.catch_refusal(InvalidArgument, "read_note", query="same")
    assert str(refused).startswith("51 notes match; at most 50 can be read at once.")
    assert harness.catch_refusal(InvalidArgument, "read_note", query="other").argument == "query"
    assert harness.catch_refusal(InvalidArgument, "read_note", query="same", name="N1").argument == "query"
    assert harness.text("read_note", query="", name="N1").endswith("\nsame")


def test_a_missing_part_is_refused(small: Small) -> None:
    harness = small({"A.md": NOTE})
    assert "No heading 'Three'" in str(harness.catch_refusal(EditRefused, "read_note", name="A#Three"))
    harness.catch_refusal(NoteNotFound, "read_note", name="B#Two")
    harness.catch_refusal(NoteNotFound, "read_note", name="#Two")


@pytest.mark.parametrize("lines", ["4", "4-", "9-12"])
def test_an_error_counts_lines_as_the_answer_does(small: Small, lines: str) -> None:
    harness = small({"A.md": "1\n2\n3\n"})
    assert "| 3 lines]" in harness.text("read_note", name="A")
    assert "lines 3-3 of 3]" in harness.text("read_note", name="A", lines="3-7")
    assert "the note has 3." in str(
        harness.catch_refusal(InvalidArgument, "read_note", name="A", lines=lines)
    )


def test_a_page_that_continues_a_note_gives_its_lines_alone(small: Small) -> None:
    harness = small({"A.md": "one\ntwo\nthree\n"})
    assert harness.rows("read_note", name="A", max_chars=5)[1:] == ["one", "[cut; continue with start=4]"]
    assert harness.rows("read_note", name="A", start=4) == ["[lines 2-3 of 3]", "two", "three"]
