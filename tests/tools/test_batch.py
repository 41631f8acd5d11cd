"""`batch`: all operations or none, in the vocabulary of `edit_note`."""

from __future__ import annotations

from typing import Any

import pytest

from support.tools import Small
from vaultbridge.errors import EditRefused, InvalidArgument, NoteNotFound
from vaultbridge.tools.base.schema import load_schema
from vaultbridge.tools.edit_note import BatchArguments
from vaultbridge.vault.read import content_hash


def test_a_batch_is_one_change_that_is_undone_as_one(small: Small) -> None:
    harness = small({"A.md": "a\n", "B.md": "[[A]]\n", "C.md": "c\n"})
    before = harness.files()
    operations = [
        {"op": "append", "name": "B", "content": "more"},
        {"op": "move", "name": "A", "to": "Z"},
        {"op": "create", "name": "N", "content": "n\n", "properties": {"k": 1}},
        {"op": "set_property", "path": "N", "property": "l", "value": True},
        {"op": "rename_tag", "tag": "x", "to": "y", "name": "C"},
        {"op": "delete", "name": "C"},
    ]
    data = harness.data("batch", operations=operations)
    assert data["operations"] == 6
    assert data["change"] == 1
    assert sorted(data["files"], key=lambda file: file["path"]) == [
        {"path": "B.md", "links": 1},
        {"path": "C.md", "change": "deleted"},
        {"path": "N.md", "change": "created"},
        {"path": "Z.md", "was": "A.md"},
    ]
    assert harness.read("B.md") == "[[Z]]\nmore\n"
    assert harness.read("N.md") == "---\nk: 1\nl: true\n---\nn\n"
    harness.data("undo")
    after = {path: data for path, data in harness.files().items() if not path.startswith(".trash/")}
    assert after == before


def test_a_template_goes_into_a_note_that_the_batch_made(small: Small) -> None:
    harness = small({"T.md": "---\nk: 1\n---\nfrom {{title}}\n"})
    operations = [
        {"op": "create", "name": "N", "content": "n\n"},
        {"op": "insert_template", "name": "N", "template": "T"},
    ]
    harness.data("batch", operations=operations)
    assert harness.read("N.md") == "---\nk: 1\n---\nn\nfrom N\n"


def test_one_failing_operation_stops_all(small: Small) -> None:
    harness = small({"A.md": "a\n"})
    good = {"op": "append", "name": "A", "content": "x"}
    bad = {"op": "replace_text", "name": "A", "old": "nowhere", "new": "x"}
    assert "Operation 2 of 2" in str(harness.catch_refusal(EditRefused, "batch", operations=[good, bad]))
    harness.catch_refusal(NoteNotFound, "batch", operations=[good, {"op": "delete", "name": "Q"}])


def test_a_dry_run_shows_all_diffs(small: Small) -> None:
    harness = small({"A.md": "a\n", "B.md": "b\n"})
    before = harness.files()
    operations = [{"op": "append", "name": name, "content": "x"} for name in "AB"]
    data = harness.data("batch", operations=operations, dry_run=True)
    assert "+++ b/A.md" in data["diff"]
    assert "+++ b/B.md" in data["diff"]
    assert harness.files() == before


def test_an_operation_may_state_the_hash_it_expects(small: Small) -> None:
    harness = small({"A.md": "a\n"})
    seen = {"op": "append", "name": "A", "content": "x", "expected": content_hash(b"a\n")}
    harness.catch_refusal(EditRefused, "batch", operations=[{**seen, "expected": "0" * 16}])
    harness.data("batch", operations=[seen, {**seen, "content": "y"}])
    assert harness.read("A.md") == "a\nx\ny\n"


def test_many_changed_files_are_counted_rather_than_listed(small: Small) -> None:
    names = [f"N{number}" for number in range(60)]
    harness = small({f"{name}.md": "#x\n" for name in names})
    data = harness.data("batch", operations=[{"op": "rename_tag", "tag": "x", "to": "y"}])
    assert len(data["files"]) == 10
    assert data["more_files"] == 50


@pytest.mark.parametrize(
    ("operations", "argument"),
    [
        ([], "operations"),
        ("append", "operations"),
        ([3], "operations[0]"),
        (
            [{"op": "append", "name": "A", "content": "x"}, {"op": "append", "name": "A"}],
            "operations[1].content",
        ),
        ([{"op": "append", "content": "x"}], "operations[0].name"),
        ([{"name": "A"}], "operations[0].op"),
        ([{"op": "explode", "name": "A"}], "operations[0].op"),
        ([{"op": "delete", "name": "A", "to": "B"}], "operations[0].to"),
        ([{"op": "delete", "name": "A", "nmae": "B"}], "operations[0].nmae"),
        ([{"op": "move", "name": "A", "path": "B", "to": "C"}], "operations[0].path"),
        ([{"op": "insert", "name": "A", "line": 1.5, "content": ""}], "operations[0].line"),
    ],
)
def test_a_wrong_operation_is_named_by_its_place(small: Small, operations: Any, argument: str) -> None:
    harness = small({"A.md": "a\n"})
    assert harness.catch_refusal(InvalidArgument, "batch", operations=operations).argument == argument


def test_the_number_of_operations_is_limited(small: Small) -> None:
    harness = small({"A.md": "a\n"})
    many = [{"op": "append", "name": "A", "content": "x"}] * 501
    assert harness.catch_refusal(InvalidArgument, "batch", operations=many).argument == "operations"


def test_the_schema_lists_what_a_strict_caller_needs_in_an_operation() -> None:
    """A caller that follows the schema strictly can give no other members. For a block it writes
    `[[Note#^id]]` as the name, and for a diff it has edit_note."""
    listed = load_schema(BatchArguments)["properties"]["operations"]["items"]["properties"]
    assert {"create", "expected"} <= listed.keys()
