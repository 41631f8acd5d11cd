"""`vaultbridge.vault.settings`: docs/obsidian.md 1, `userIgnoreFilters`."""

from __future__ import annotations

import pytest

from vaultbridge.vault.settings import IgnoreFilters


@pytest.mark.parametrize(
    ("given", "ignored", "shown"),
    [
        ("Archive/", ["Archive/a.md", "archive/B/c.md"], ["Archives/a.md", "X/Archive/a.md"]),
        ("Tem", ["Templates/a.md", "Temp.md"], ["A/Temp.md"]),
        ("/\\.excalidraw\\.md$/", ["A/x.excalidraw.md"], ["x.md"]),
        ("/^(Old|New)\\//", ["Old/a.md", "new/b.md"], ["Older.md"]),
        ("/A\\/B/", ["A/B/c.md"], ["AB.md"]),
        ("/(?<year>\\d{4})/", ["2024.md"], ["x.md"]),
        ("", [], ["a.md"]),
        ("/", [], ["a.md"]),
    ],
)
def test_plain_filters_are_prefixes_and_slashed_ones_expressions(
    given: str, ignored: list[str], shown: list[str]
) -> None:
    filters = IgnoreFilters((given,))
    assert filters.problems == ()
    assert [path for path in ignored if not filters.match(path)] == []
    assert [path for path in shown if filters.match(path)] == []


@pytest.mark.parametrize("given", ["/[/", "/(a+)+$/", "/(x*)*y/", "/" + "a" * 501 + "/", "/(?<=a+)b/"])
def test_an_unusable_expression_is_reported_and_the_others_still_work(given: str) -> None:
    filters = IgnoreFilters((given, "Archive/"))
    assert len(filters.problems) == 1
    assert filters.match("Archive/x.md")
    assert not filters.match("a" * 40)


def test_only_so_many_filters_are_used() -> None:
    filters = IgnoreFilters(tuple(f"f{number}/" for number in range(1001)))
    assert filters.problems
    assert filters.match("f999/x.md") and not filters.match("f1000/x.md".replace("f1000", "g"))


def test_equal_filters_are_equal() -> None:
    assert IgnoreFilters(("a",)) == IgnoreFilters(("a",))
    assert hash(IgnoreFilters(("a",))) == hash(IgnoreFilters(("a",)))
    assert IgnoreFilters(("a",)) != IgnoreFilters(("b",))
