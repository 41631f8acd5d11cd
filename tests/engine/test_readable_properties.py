"""No change leaves a note whose properties can no longer be read, unless a person wrote that text."""

from __future__ import annotations

from typing import Final

import pytest

from vaultbridge.engine.operations import (
    Append,
    ApplyDiff,
    Create,
    Insert,
    Move,
    ReplaceText,
    SetTask,
    Write,
)
from vaultbridge.engine.operations.base import Operation
from vaultbridge.errors import EditRefused

from .conftest import MakeVault, read_contents

NOTE: Final = "---\nkind: book\nrated: 5\n---\n# Dune\n- [ ] read it\n"

BREAKING: Final[list[Operation]] = [
    Insert(note="Dune", line=3, content="title: Dune: Part One"),
    Insert(note="Dune", line=3, content="Read this first."),
    Insert(note="Dune", line=3, content="kind: film"),
    Insert(note="Dune", line=4, content="- one\n\tkey: [two"),
    Insert(note="Dune", line=2, content="---"),
    Insert(note="Dune", line=3, content="---\n"),
    Insert(note="Dune", line=3, content="---\nRead this first."),
    ReplaceText(note="Dune", old="kind: book", new="kind: book\n---"),
    ReplaceText(note="Dune", old="rated: 5", new="rated: [5"),
    ReplaceText(note="Dune", old="5\n---\n", new="5\n"),
    ReplaceText(note="Dune", old="---\nkind", new="kind"),
    ReplaceText(note="Dune", old="---\nkind", new="Read this first.\n---\nkind"),
    ApplyDiff(note="Dune", diff="@@ -1,2 +1,3 @@\n ---\n kind: book\n+title: Dune: Part One\n"),
    ApplyDiff(note="Dune", diff="@@ -1,2 +1,3 @@\n+# Dune\n ---\n kind: book\n"),
    Write(note="Dune", content="---\nkind: book: novel\n---\n# Dune\n"),
    Write(note="Dune", content="---\nkind: book\nkind: film\n---\n# Dune\n"),
    Create(note="Dune", content="---\nkind: book: novel\n---\n", overwrite=True),
    Create(note="New", content="---\nkind: book: novel\n---\n"),
    Create(note="New", template="Broken"),
]


@pytest.mark.parametrize("operation", BREAKING, ids=lambda operation: repr(operation)[:70])
def test_a_change_that_makes_properties_unreadable_is_refused(
    operation: Operation, make_vault: MakeVault
) -> None:
    engine = make_vault({"Dune.md": NOTE, "Broken.md": "---\na: b: c\n---\n", "Other.md": "x\n"})
    before = read_contents(engine)
    with pytest.raises(EditRefused) as refused:
        engine.apply([Append(note="Other", content="y"), operation])
    message, hint = refused.value.message, refused.value.hint
    assert "properties" in message
    assert "Dune.md" in message or "New.md" in message
    assert hint
    assert read_contents(engine) == before


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
def test_a_line_that_ends_the_properties_early_is_refused(line_end: str, make_vault: MakeVault) -> None:
    engine = make_vault({"Dune.md": NOTE.replace("\n", line_end)})
    with pytest.raises(EditRefused) as refused:
        engine.apply([Insert(note="Dune", line=3, content="---")])
    assert refused.value.message.endswith("A line of '---' ends them, and 'rated: 5' would become text.")
    assert engine.apply([Insert(note="Dune", line=4, content="---")]).change_id


def test_the_refusal_says_what_is_wrong_and_where(make_vault: MakeVault) -> None:
    engine = make_vault({"Dune.md": NOTE})
    with pytest.raises(EditRefused) as refused:
        engine.apply([Insert(note="Dune", line=3, content="title: Dune: Part One")])
    assert refused.value.message == (
        "The properties of Dune.md could no longer be read, so it was not changed. "
        "Line 3: mapping values are not allowed in this context."
    )
    assert "set_property" in refused.value.hint


@pytest.mark.parametrize(
    ("operation", "after"),
    [
        (Insert(note="Dune", line=3, content="title: 'Dune: Part One'"), "title: 'Dune: Part One'"),
        (ReplaceText(note="Dune", old="---\nkind: book\nrated: 5\n---\n", new=""), "# Dune\n"),
        (ReplaceText(note="Dune", old="kind: book\nrated: 5\n", new=""), "---\n---\n# Dune"),
        (Write(note="Dune", content="only text\n"), "only text\n"),
        (Write(note="Dune", content="---\ncreated: {{date}}\ntitle: {{title}} x\n---\n"), "{{title}} x"),
        (Create(note="Line", content="---\nNote: a line across the page\n"), ""),
    ],
    ids=lambda value: repr(value)[:60],
)
def test_what_stays_readable_is_written(operation: Operation, after: str, make_vault: MakeVault) -> None:
    """Removing properties is no damage, and a template's placeholders are no YAML yet."""
    engine = make_vault({"Dune.md": NOTE})
    assert engine.apply([operation]).change_id
    assert after in engine.view("Dune").text


@pytest.mark.parametrize(
    "operation",
    [
        ReplaceText(note="Bad", old="b: c", new="'b: c'"),
        ReplaceText(note="Bad", old="b: c", new="b: c: d"),
        Append(note="Bad", content="more"),
        SetTask(note="Bad", text="read it", status="done"),
        Move(note="Bad", to="Worse"),
    ],
    ids=lambda operation: repr(operation)[:60],
)
def test_a_note_that_was_unreadable_before_can_be_edited(operation: Operation, make_vault: MakeVault) -> None:
    engine = make_vault({"Bad.md": "---\na: b: c\n---\n- [ ] read it\n"})
    assert engine.apply([operation]).change_id


def test_operations_of_a_batch_may_mend_each_other(make_vault: MakeVault) -> None:
    engine = make_vault({"Dune.md": NOTE})
    broken = ReplaceText(note="Dune", old="kind: book", new="kind: a: b")
    assert engine.apply([broken, ReplaceText(note="Dune", old="a: b", new="'a: b'")]).change_id


def test_a_person_may_write_what_they_like(make_vault: MakeVault) -> None:
    """Somebody who types in an editor saves half a line at times; undo leads back to it and away from it."""
    engine = make_vault({"Dune.md": NOTE})
    half = "---\nkind: [\n---\n"
    change = engine.apply([Write(note="Dune", content=half)], by_person=True).change_id
    assert engine.view("Dune").text == half
    undone = engine.undo(int(change))
    engine.undo(int(undone.change_id))
    assert engine.view("Dune").text == half
