"""Property tests draw the same examples, whichever modules the tests before them have loaded."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st


def draw_examples() -> list[tuple[int, str]]:
    drawn: list[tuple[int, str]] = []

    @settings(max_examples=100)
    @given(st.integers(), st.text())
    def draw(number: int, text: str) -> None:
        drawn.append((number, text))

    draw()
    return drawn


def test_another_module_changes_no_example(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if settings.get_current_profile_name() == "explore":
        pytest.skip("this run looks for new examples")
    before = draw_examples()
    constants = [f"a constant of its own {number}" for number in range(500)]
    place = tmp_path / "full_of_constants.py"
    place.write_text(f"TEXTS = {constants!r}\nNUMBERS = {list(range(70_000, 71_000))!r}\n", "utf-8")
    spec = importlib.util.spec_from_file_location("full_of_constants", place)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    monkeypatch.setitem(sys.modules, "full_of_constants", module)
    spec.loader.exec_module(module)
    assert draw_examples() == before
