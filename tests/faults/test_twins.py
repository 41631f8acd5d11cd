"""Vaults that differ only in hidden notes are one vault to a limited caller, over every protocol.

`faults.twins` has a longer run."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.twins import Twins


@pytest.mark.long
@pytest.mark.parametrize(("seed", "by_token"), [(1, True), (2, False)], ids=["token", "server"])
async def test_hidden_notes_make_no_difference_to_any_answer(
    tmp_path: Path, seed: int, by_token: bool
) -> None:
    twins = Twins(tmp_path, seed, by_token=by_token)
    await twins.run(150)
    assert twins.differences == []
    assert twins.compared > 100
