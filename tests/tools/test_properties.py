"""`properties`."""

from __future__ import annotations

from support.tools import Small
from vaultbridge.errors import EditRefused, InvalidArgument, NoteNotFound, StaleWrite
from vaultbridge.vault.read import content_hash
from vaultbridge.vault.scope import Scope

FILES = {
    ".obsidian/types.json": '{"types":{"due":"date"}}',
    "A.md": "---\nstatus: open\ndue: 2026-01-02\nn: 3\n---\n",
    "B.md": "---\nStatus: done\n---\n",
    "C.md": "---\nstatus: [open, urgent]\n---\n",
}


def test_the_vaults_properties_with_type_count_and_examples(small: Small) -> None:
    assert small(FILES).rows("properties") == [
        "due  date  notes 1  e.g. 2026-01-02",
        "n  number  notes 1  e.g. 3",
        "status  text|list  notes 3  e.g. open, done, urgent",
        "(properties: 3)",
    ]


def test_the_values_of_one_property_by_note(small: Small) -> None:
    assert small(FILES).rows("properties", property="STATUS") == [
        'A.md: "open"',
        'B.md: "done"',
        'C.md: ["open","urgent"]',
        "(notes: 3)",
    ]


def test_the_properties_of_a_note_with_its_hash(small: Small) -> None:
    harness = small(FILES)
    head, *rows = harness.rows("properties", name="A")
    assert head == f"[A.md | hash {content_hash(FILES['A.md'].encode())[:8]}]"
    assert rows == ['status: "open"', 'due: "2026-01-02"  (date)', "n: 3", "(properties: 3)"]
    assert harness.rows("properties", name="A", property="N")[1:] == ["n: 3", "(properties: 1)"]


def test_properties_are_listed_in_pages(small: Small) -> None:
    harness = small(FILES)
    assert harness.rows("properties", limit=1, offset=1) == [
        "n  number  notes 1  e.g. 3",
        "(2-2 of 3; offset=2)",
    ]
    assert (
        harness.rows("properties", name="A", limit=1)[-1] == "(properties 1-1 of 3; continue with offset=1)"
    )


def test_set_remove_and_rename(small: Small) -> None:
    harness = small(FILES)
    seen = content_hash(FILES["A.md"].encode())
    data = harness.data(
        "edit_note", op="set_property", name="A", property="due", value="2026-02-03", expected=seen
    )
    assert data["path"] == "A.md"
    assert data["hash"] == content_hash((harness.folder / "A.md").read_bytes())[:8]
    harness.data("edit_note", op="remove_property", name="A", property="n")
    harness.data("edit_note", op="rename_property", name="A", property="status", to="state")
    assert harness.read("A.md") == "---\nstate: open\ndue: 2026-02-03\n---\n"


def test_a_dry_run_changes_nothing(small: Small) -> None:
    harness = small(FILES)
    data = harness.data("edit_note", op="set_property", name="A", property="n", value=4, dry_run=True)
    assert "+n: 4" in data["diff"]
    assert harness.read("A.md") == FILES["A.md"]


def test_a_value_that_does_not_fit_the_type_is_refused(small: Small) -> None:
    error = small(FILES).catch_refusal(
        InvalidArgument, "edit_note", op="set_property", name="A", property="due", value="soon"
    )
    assert error.argument == "value"


def test_wrong_calls_are_named(small: Small) -> None:
    harness = small(FILES)

    def catch_argument(**arguments: object) -> str:
        named: str = harness.catch_refusal(InvalidArgument, "edit_note", **arguments).argument
        return named

    assert catch_argument(op="set_property", name="A", value=1) == "property"
    assert catch_argument(op="set_property", name="A", property="x") == "value"
    assert catch_argument(op="set_property", property="x", value=1) == "name"
    assert catch_argument(op="rename_property", name="A", property="n", to="") == "to"
    assert catch_argument(op="remove_property", name="A", property="n", value=1) == "value"
    assert catch_argument(op="set_property", name="A", property="n", value=1, to="m") == "to"
    assert harness.catch_refusal(InvalidArgument, "properties", action="set").argument == "action"
    harness.catch_refusal(NoteNotFound, "properties", name="Q")
    harness.catch_refusal(EditRefused, "edit_note", op="remove_property", name="B", property="n")
    harness.catch_refusal(
        StaleWrite, "edit_note", op="remove_property", name="A", property="n", expected="0" * 16
    )


def test_unreadable_properties_are_reported_and_never_rewritten(small: Small) -> None:
    harness = small({"A.md": "---\na: [1\n---\n"})
    assert "cannot be read" in harness.text("properties", name="A")
    harness.catch_refusal(EditRefused, "edit_note", op="set_property", name="A", property="b", value=1)


def test_hidden_notes_are_never_counted(small: Small) -> None:
    harness = small(FILES, scope=Scope(deny=("C.md",)))
    assert harness.rows("properties")[2] == "Status  text  notes 2  e.g. done, open"
    assert "C.md" not in harness.text("properties", property="status")
