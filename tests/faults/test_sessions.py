"""Drawn sessions over every protocol. `faults.sessions` has a longer run."""

from __future__ import annotations

from pathlib import Path

import pytest

from faults.link_oracle import resolve
from faults.sessions import Session


@pytest.mark.long
@pytest.mark.parametrize("seed", [4000, 4001], ids=["with another program", "alone"])
def test_a_drawn_session_loses_no_byte_and_no_link(tmp_path: Path, seed: int) -> None:
    session = Session(tmp_path, seed)
    session.run(25)
    assert session.faults == []
    assert session.done > 10
    assert session.undone
    assert bool(session.saves) is not session.alone


def test_the_oracle_resolves_as_the_documents_say() -> None:
    """docs/obsidian.md 3; what checks the program must itself be right."""
    paths = ["Note.md", "a/Note.md", "a/b/Deep.md", "c/Deep.md", "v1.2.md", "p.png", "ab/c.md", "É.md"]
    for target, source, found in (
        ("note", "a/x.md", {"Note.md"}),
        ("./Note", "a/x.md", {"a/Note.md"}),
        ("../Note", "a/x.md", {"Note.md"}),
        ("Deep", "a/x.md", {"a/b/Deep.md"}),
        ("Deep", "x.md", {"c/Deep.md"}),
        ("/Deep", "x.md", set()),
        ("v1.2", "x.md", {"v1.2.md"}),
        ("p", "x.md", set()),
        ("b/c", "x.md", {"ab/c.md"}),
        ("e\u0301", "x.md", {"É.md"}),
    ):
        assert resolve(target, source, paths) == found, target
