from __future__ import annotations

import re

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultbridge.bases.regex_compile import compile_regex
from vaultbridge.bases.regex_match import RegexTooCostly


def find_span(pattern: str, text: str, flags: str = "", start: int = 0) -> tuple[int, int] | None:
    match, _ = compile_regex(pattern, flags).search(text, start)
    return (match.start, match.end) if match else None


@pytest.mark.parametrize(
    ("pattern", "text"),
    [
        ("(a+)+$", "a" * 40 + "b"),
        ("(a|aa)+$", "a" * 60 + "b"),
        ("(.*)*x", "y" * 60),
        (r"(\w+\s?)*!", "word " * 20),
    ],
)
def test_a_pattern_that_would_never_end_is_stopped(pattern: str, text: str) -> None:
    with pytest.raises(RegexTooCostly):
        compile_regex(pattern).search(text)


@pytest.mark.parametrize("pattern", [".*foo", "[ab]*c", "a*a*a*c", r"\w+\s*=\s*\w+;"])
def test_an_ordinary_pattern_costs_in_proportion_to_the_text(pattern: str) -> None:
    _, short = compile_regex(pattern).search("ab" * 100)
    _, long = compile_regex(pattern).search("ab" * 1_000)
    assert long < 12 * short


def test_a_loop_over_nothing_ends() -> None:
    assert find_span("(a*)*b", "aab") == (0, 3)
    assert find_span("(|a)+", "aa") == (0, 2)  # only the first turn, which must be, may be empty
    assert find_span("(?:a*?)*?$", "aa") == (0, 2)


def test_a_long_text_does_not_exhaust_the_stack() -> None:
    assert find_span("a*b", "a" * 20_000 + "b") == (0, 20_001)


def test_groups_are_returned_and_those_that_did_not_participate_are_none() -> None:
    match, steps = compile_regex("(a)|(b)(?<rest>.*)").search("xbcd")
    assert match is not None
    assert match.groups == ("bcd", None, "b", "cd")
    assert steps > 0


def test_the_steps_of_a_failed_search_are_counted_too() -> None:
    match, steps = compile_regex("[ab]c").search("ababab")
    assert match is None
    assert steps >= 6


def test_the_search_begins_at_start_but_sees_what_is_before() -> None:
    assert find_span("^a", "aa", start=1) is None
    assert find_span(r"\ba", "ba a", start=1) == (3, 4)
    assert find_span("(?<=b)a", "ba", start=1) == (1, 2)


def test_the_sticky_flag_matches_at_start_only() -> None:
    assert find_span("a", "ba", "y") is None
    assert find_span("a", "ba", "y", 1) == (1, 2)


ATOMS = st.sampled_from(
    ["a", "b", ".", "[ab]", "[^a]", r"\d", r"\w", r"\b", "^", "$", "1", r"\s", "(?=a)", "(?!b)", "(?<=a)"]
)


def patterns() -> st.SearchStrategy[str]:
    """Patterns that mean the same in Python and in JavaScript."""
    repeat = st.sampled_from(["", "", "*", "+", "?", "*?", "+?", "{2}", "{0,2}", "{1,}"])
    consuming = st.sampled_from(["a", "b", ".", "[ab]", "[^a]", r"\d", r"\w", "1"])
    repeated = st.builds(lambda atom, mark: atom + mark, consuming, repeat)
    return st.recursive(
        st.one_of(ATOMS, repeated),
        lambda inner: st.one_of(
            st.lists(inner, min_size=1, max_size=3).map("".join),
            st.lists(inner, min_size=2, max_size=3).map(lambda parts: f"(?:{'|'.join(parts)})"),
            inner.map(lambda pattern: f"({pattern})"),
        ),
        max_leaves=6,
    )


@settings(deadline=None)
@given(patterns(), st.text(alphabet="ab1 ", max_size=12))
def test_matches_are_those_of_another_engine(pattern: str, text: str) -> None:
    theirs = re.search(pattern, text, re.ASCII)
    # The two differ in one thing: Python's `$` also matches before a final line end, which no text here has.
    assert find_span(pattern, text) == (theirs.span() if theirs else None)
