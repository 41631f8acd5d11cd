"""Each operation has something that carries it out."""

from __future__ import annotations

import pytest

from vaultbridge.engine.drafting.carry_out import FUNCTIONS
from vaultbridge.engine.operations.base import NoteEdit, Operation
from vaultbridge.engine.operations.vocabulary import OPERATIONS


@pytest.mark.parametrize("kind", OPERATIONS.values())
def test_every_operation_is_carried_out(kind: type[Operation]) -> None:
    """By a function of its own, or as the edits of one note's text."""
    assert kind in FUNCTIONS or (issubclass(kind, NoteEdit) and kind.changes is not NoteEdit.changes)
