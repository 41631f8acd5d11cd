"""`search`: the language is the index's and tested there; here its answer."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from support.tools import ToolHarness
from vaultbridge.errors import InvalidArgument, InvalidQuery
from vaultbridge.vault.scope import Scope

Small = Callable[..., ToolHarness]

FILES = {"A.md": "one\nneedle\nthree\nfour\nneedle five\n", "B.md": "needle\n", "Needle case.md": "nothing\n"}


def test_hits_are_grep_lines_and_a_name_alone_is_a_path(small: Small) -> None:
    rows = small(FILES).rows("search", query="needle", sort="path", matches=3)
    assert rows == [
        "A.md",
        " 2: needle",
        " 5: needle five",
        "B.md:1: needle",
        "Needle case.md",
        "(notes: 3)",
    ]


def test_context_lines_are_marked_and_appear_once(small: Small) -> None:
    rows = small(FILES).rows("search", query="file:A.md needle", context=2, matches=3)
    assert rows == [
        "A.md",
        " 1- one",
        " 2: needle",
        " 3- three",
        " 4- four",
        " 5: needle five",
        " 6- ",
        "(notes: 1)",
    ]


def test_lines_per_note_and_paths_only(small: Small) -> None:
    harness = small(FILES)
    assert harness.rows("search", query="needle", matches=0, sort="path")[:-1] == [
        "A.md",
        "B.md",
        "Needle case.md",
    ]
    assert harness.rows("search", query="file:A.md needle")[:-1] == ["A.md:2: needle"]


def test_pages(small: Small) -> None:
    harness = small(FILES)
    assert (
        harness.rows("search", query="needle", sort="name", limit=1)[-1]
        == "(notes 1-1 of 3; continue with offset=1)"
    )
    assert harness.rows("search", query="needle", sort="name", limit=1, offset=2) == [
        "Needle case.md",
        "(3-3 of 3)",
    ]


@pytest.mark.parametrize("query", ["/nee.le$/", '"needle five"', "needle -three", "path:A needle OR four"])
def test_the_whole_query_language_works(small: Small, query: str) -> None:
    assert "needle" in small(FILES).text("search", query=query)


def test_nothing_found_is_an_answer(small: Small) -> None:
    assert small(FILES).text("search", query="absent") == "(notes: none)"


def test_wrong_queries_and_arguments_are_named(small: Small) -> None:
    harness = small(FILES)
    assert harness.refused(InvalidQuery, "search", query="(a").position == 0
    assert harness.refused(InvalidArgument, "search").argument == "query"
    for argument, value in (("context", 21), ("matches", 101), ("limit", 501), ("offset", -1), ("sort", "x")):
        assert harness.refused(InvalidArgument, "search", query="a", **{argument: value}).argument == argument


def test_hidden_notes_are_neither_found_nor_counted(small: Small) -> None:
    harness = small(FILES, scope=Scope(deny=("B.md",)))
    text = harness.text("search", query="needle")
    assert "B.md" not in text
    assert text.endswith("(notes: 2)")


def test_a_page_of_long_hits_stays_within_its_size(small: Small) -> None:
    harness = small({f"N{number}.md": "needle word\n" * 300 for number in range(40)})
    text = harness.text("search", query="needle", limit=40, matches=100, context=5)
    assert len(text) < 62_000
    assert "continue with offset=" in text
