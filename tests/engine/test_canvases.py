"""A canvas by name, edited as one change."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vaultbridge.canvas.edit import CanvasEdit, NewText, add_card
from vaultbridge.engine import DirectEngine
from vaultbridge.engine.files import edit_canvas, view_canvas
from vaultbridge.errors import NoteNotFound, StaleWrite

MakeVault = Callable[..., DirectEngine]


def add_sample_card(text: str) -> CanvasEdit:
    return add_card(text, NewText("hi"), random_bytes=lambda count: b"\x01" * count)


def test_a_note_of_the_same_name_is_not_the_canvas(make_vault: MakeVault) -> None:
    engine = make_vault({"f/C.canvas": "{}", "C.md": "", "Only.md": ""})
    assert view_canvas(engine, "C").path == "f/C.canvas"
    with pytest.raises(NoteNotFound):
        view_canvas(engine, "Only")


def test_an_edit_is_written_and_can_be_undone(make_vault: MakeVault) -> None:
    engine = make_vault({"C.canvas": ""})
    view, edited, outcome = edit_canvas(engine, "C", add_sample_card)
    assert edited.id == "01" * 8
    assert '"hi"' in engine.view("C.canvas").text
    engine.undo(int(outcome.change_id))
    assert engine.view("C.canvas").hash == view.hash


def test_an_edit_of_a_canvas_that_has_changed_is_refused(make_vault: MakeVault) -> None:
    engine = make_vault({"C.canvas": ""})
    with pytest.raises(StaleWrite):
        edit_canvas(engine, "C", add_sample_card, expected="0" * 16)
