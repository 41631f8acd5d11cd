"""`links`."""

from __future__ import annotations

import pytest

from support.tools import Small
from vaultbridge.errors import InvalidArgument, NoteNotFound
from vaultbridge.vault.scope import Scope

FILES = {
    "A.md": "[[B]] and ![[B#H]]\n[[Nowhere]]\n",
    "B.md": "[[C|see]]\n",
    "C.md": "end\n",
    "D.md": "[[Nowhere]] [[X]]\n",
    "x/X.md": "",
    "y/X.md": "",
}


@pytest.mark.parametrize(
    ("arguments", "rows"),
    [
        ({"name": "B"}, ["[to B.md]", "A.md", " 1: [[B]]", " 1: ![[B#H]]", "(backlinks: 2)"]),
        (
            {"kind": "outgoing", "name": "A"},
            [
                "[from A.md]",
                "1: [[B]] -> B.md",
                "1: ![[B#H]] -> B.md",
                "2: [[Nowhere]] -> (nothing)",
                "(links: 3)",
            ],
        ),
        (
            {"kind": "outgoing", "name": "D", "offset": 1},
            ["[from D.md]", "1: [[X]] -> x/X.md (ambiguous)", "(2-2 of 2)"],
        ),
        ({"kind": "unresolved"}, ["[[Nowhere]]  links 2, from: A.md, D.md", "(unresolved names: 1)"]),
        ({"kind": "orphans"}, ["A.md", "D.md", "y/X.md", "(notes without backlinks: 3)"]),
        ({"kind": "dead_ends"}, ["C.md", "x/X.md", "y/X.md", "(notes without links: 3)"]),
        ({"kind": "neighbourhood", "name": "C"}, ["[steps from C.md]", "1  B.md", "(notes: 1)"]),
        (
            {"kind": "neighbourhood", "name": "C", "depth": 2, "limit": 1},
            ["[steps from C.md]", "1  B.md", "(notes 1-1 of 2; continue with offset=1)"],
        ),
        ({"kind": "path", "name": "A", "to": "C"}, ["A.md", "B.md", "C.md", "(2 steps)"]),
        ({"kind": "path", "name": "A", "to": "y/X"}, ["(no path from A.md to y/X.md: no links lead there)"]),
    ],
)
def test_each_question_is_answered(small: Small, arguments: dict[str, object], rows: list[str]) -> None:
    assert small(FILES).rows("links", **arguments) == rows


def test_wrong_calls_are_named(small: Small) -> None:
    harness = small(FILES)
    for kind in ("backlinks", "outgoing", "neighbourhood", "path"):
        assert harness.catch_refusal(InvalidArgument, "links", kind=kind).argument == "name"
    assert harness.catch_refusal(InvalidArgument, "links", kind="path", name="A").argument == "to"
    assert harness.catch_refusal(InvalidArgument, "links", kind="friends").argument == "kind"
    assert (
        harness.catch_refusal(InvalidArgument, "links", kind="neighbourhood", name="A", depth=6).argument
        == "depth"
    )
    assert harness.catch_refusal(NoteNotFound, "links", name="Nowhere").name == "Nowhere"
    harness.catch_refusal(NoteNotFound, "links", kind="path", name="A", to="QQ")


def test_hidden_notes_have_no_links_in_either_direction(small: Small) -> None:
    harness = small(FILES, scope=Scope(deny=("B.md", "y/")))
    assert harness.rows("links", name="C") == ["[to C.md]", "(backlinks: none)"]
    assert harness.rows("links", kind="outgoing", name="A")[1] == "1: [[B]] -> (nothing)"
    assert harness.rows("links", kind="outgoing", name="D")[2] == "1: [[X]] -> x/X.md"
    assert harness.rows("links", kind="neighbourhood", name="C") == ["[steps from C.md]", "(notes: none)"]
    assert "B.md" not in harness.text("links", kind="orphans")
    assert harness.text("links", kind="path", name="A", to="C").startswith("(no path")
