"""A client that shows its model only names, and searches the descriptions, finds the tool by users' words."""

from __future__ import annotations

import pytest

from support.tool_search import ASKED, PATTERNS, find_matching, rank
from vaultbridge.tools.standard import standard_catalog

LISTED = standard_catalog().list_tools(prefix="")

SHOWN = 3
"""How many of the best tools are taken; a model is given five."""


@pytest.mark.parametrize(("words", "tool"), ASKED.items())
def test_a_search_for_users_words_finds_the_tool(words: str, tool: str) -> None:
    assert tool in rank(LISTED, words)[:SHOWN]


@pytest.mark.parametrize(("pattern", "tool"), PATTERNS.items())
def test_a_search_by_pattern_finds_the_tool(pattern: str, tool: str) -> None:
    found = find_matching(LISTED, pattern)
    assert tool in found
    assert len(found) <= 5, "a pattern that finds nearly all tools tells a model nothing"
