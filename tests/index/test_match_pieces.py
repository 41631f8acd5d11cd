"""Lines, blocks, sections, and queries on one of them."""

from __future__ import annotations

import pytest

from vaultbridge.index.query.match import match_texts, split_blocks, split_sections
from vaultbridge.index.query.parse import parse_query
from vaultbridge.index.query.regex import PatternMatcher
from vaultbridge.markdown.edits.change import split_lines
from vaultbridge.markdown.parse import parse

TEXT = "intro\n\n# One\nfirst\nsecond\n\n- a\n- b\n\n## Two\n\nthird\n"


def test_lines_end_at_any_line_end() -> None:
    assert split_lines("a\r\nb\rc\n\nd\u2028e") == ["a", "b", "c", "", "d\u2028e"]


def test_blank_lines_and_headings_separate_blocks() -> None:
    blocks = [block.strip() for block in split_blocks(TEXT, parse(TEXT))]
    assert blocks == ["intro", "# One", "first\nsecond", "- a\n- b", "## Two", "third"]


def test_sections_go_from_heading_to_heading() -> None:
    sections = [section.strip() for section in split_sections(TEXT, parse(TEXT))]
    assert sections == ["intro", "# One\nfirst\nsecond\n\n- a\n- b", "## Two\n\nthird"]


@pytest.mark.parametrize(
    ("query", "held"),
    [
        ("foo", [True, True, False]),
        ("foo bar", [True, False, False]),
        ("foo -bar", [False, True, False]),
        ("bar OR /^o/", [True, False, True]),
        ("match-case:FOO", [False, True, False]),
        ("tag:#x", [False, False, True]),
        ("content:foo", [True, True, False]),
        ("[foo]", [False, False, False]),
        ('""', [True, True, True]),
    ],
)
def test_a_query_matches_a_text_or_not(query: str, held: list[bool]) -> None:
    texts = ["foo bar", "FOO", "other #x/y #xz"]
    with PatternMatcher() as patterns:
        assert match_texts(parse_query(query), texts, patterns, sensitive=False) == held
