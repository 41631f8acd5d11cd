"""Parsing subpaths, finding them in an outline, and writing them."""

from __future__ import annotations

import pytest

from vaultbridge.links.subpath import (
    BlockId,
    HeadingPath,
    NoSubpath,
    find_heading,
    heading_for_link,
    heading_paths,
    heading_subpath,
    parse_subpath,
)
from vaultbridge.markdown.parse import parse
from vaultbridge.markdown.sections import find_section, heading_key

TEXT = "# A\n## B\n### C\n## D\n# B\n## C\n"


@pytest.mark.parametrize(
    ("subpath", "expected"),
    [
        ("", NoSubpath()),
        ("#", NoSubpath()),
        ("#A", HeadingPath(("A",))),
        ("#A#B c", HeadingPath(("A", "B c"))),
        ("#^id", BlockId("id")),
        ("#A#^id", BlockId("id")),
    ],
)
def test_a_subpath_is_split_into_its_parts(subpath: str, expected: object) -> None:
    assert parse_subpath(subpath) == expected


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        (["B"], (1,)),
        (["b"], (1,)),
        (["A", "C"], (0, 2)),
        (["A", "B", "C"], (0, 1, 2)),
        (["B", "C"], (1, 2)),
        (["D", "C"], None),
        (["E"], None),
    ],
)
def test_a_heading_path_walks_downward_and_the_first_match_wins(
    parts: list[str], expected: tuple[int, ...] | None
) -> None:
    note = parse(TEXT)
    keys = [heading_key(heading.text) for heading in note.headings]
    found = find_heading(keys, heading_paths(note.headings), parts)
    assert found == expected
    if expected:
        assert find_section(TEXT, note, parts).heading == expected[-1]


@pytest.mark.parametrize(
    "text", ["a: b", "a#b", "a|b", "[[x]] y", "x [y]", "50%% off", "a^b", "C:\\d", "tab\there", "plain"]
)
def test_a_heading_written_for_a_link_still_matches_it(text: str) -> None:
    written = heading_for_link(text)
    assert heading_key(written) == heading_key(text)
    link = parse(f"[[n{heading_subpath([text])}|d]]").links[0]
    assert link.subpath == f"#{written}" and link.display == "d"
