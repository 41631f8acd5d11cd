"""Patterns are JavaScript's, as in the app; that none can block the process is our promise."""

from __future__ import annotations

import os
import re
import select
import signal
import subprocess
import sys
from contextlib import suppress
from subprocess import DEVNULL

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.process import find_busy_child
from support.waiting import BOUND
from vaultbridge.errors import InvalidQuery, TimedOut
from vaultbridge.index.query.regex import REGEX_CHARS, SPANS_PER_TEXT, PatternMatcher, compile_pattern

AMPLE = 60.0
"""Seconds for what is quick: the process that matches may start slowly on a busy machine."""


@pytest.mark.parametrize(
    ("pattern", "text", "matches"),
    [
        (r"a\/b", "a/b", True),
        (r"(?<y>\d{4}) \k<y>", "2024 2024", True),
        (r"(?<y>\d{4}) \k<y>", "2024 2025", False),
        (r"(?<=€)\d+", "€5", True),
        (r"\u{1F680}", "🚀", True),
        (r"\u00e9", "é", True),
        (r"^b$", "a\nb\nc", True),
        (r"[^]", "\n", True),
        (r"[]", "a", False),
        (r"[[]", "[", True),
        (r"[a&&b]", "&", True),
        (r"\p{L}+", "é", True),
        (r"^\p{L}+$", "a1", False),
        (r"\P{L}", "abc", False),
        (r"\p{Script=Han}", "京", True),
        (r"\p{sc=Han}", "k", False),
        (r"\q", "q", True),
        (r"\cI", "\t", True),
        (r"WORD", "word", True),
    ],
)
def test_a_pattern_means_what_it_means_in_javascript(pattern: str, text: str, matches: bool) -> None:
    assert (compile_pattern(pattern, ignore_case=True).search(text) is not None) == matches


def test_case_matters_on_request() -> None:
    assert not compile_pattern("WORD", ignore_case=False).search("word")


@pytest.mark.parametrize(
    "pattern", ["(", "a**", "(?<=a+)b", r"\p{Nonsense}", r"[\p{L}]", "x" * (REGEX_CHARS + 1)]
)
def test_an_invalid_pattern_is_refused(pattern: str) -> None:
    with pytest.raises(InvalidQuery):
        compile_pattern(pattern, ignore_case=True)


@settings(max_examples=300)
@given(st.text(alphabet=r"ab\()[]{}^$?*+|.-<=!:kup&~1", max_size=20))
def test_any_pattern_compiles_or_is_an_invalid_query(pattern: str) -> None:
    with suppress(InvalidQuery):
        compile_pattern(pattern, ignore_case=True)


def test_spans_are_returned_for_each_text() -> None:
    with PatternMatcher(seconds=AMPLE) as patterns:
        found = patterns.spans(compile_pattern("b+", ignore_case=True), ["aBb b", "", "日b"])
        again = patterns.spans(compile_pattern("b", ignore_case=False), ["B", "b"])
    assert found == [[(1, 3), (4, 5)], [], [(1, 2)]]
    assert again == [[], [(0, 1)]]


def test_the_number_of_matches_in_one_text_is_limited() -> None:
    with PatternMatcher(seconds=AMPLE) as patterns:
        (spans,) = patterns.spans(re.compile("a"), ["a" * 1000])
    assert len(spans) == SPANS_PER_TEXT


def test_texts_larger_than_a_pipe_buffer_are_matched() -> None:
    text = "x" * 300_000 + "needle"
    with PatternMatcher(seconds=AMPLE) as patterns:
        found = patterns.spans(re.compile("needle"), [text] * 4)
    assert found == [[(300_000, 300_006)]] * 4


def test_a_pattern_that_backtracks_forever_is_stopped() -> None:
    with PatternMatcher(seconds=0.2) as patterns, pytest.raises(TimedOut):
        patterns.spans(compile_pattern("(a+)+$", ignore_case=True), ["a" * 60 + "b"])


_ASKS_FOREVER = """
import re, sys
from vaultbridge.index.query.regex import PatternMatcher
with PatternMatcher(seconds=float(sys.argv[1])) as matcher:
    matcher.spans(re.compile("(a+)+$"), ["a" * 60 + "!"])
"""


@pytest.mark.skipif(sys.platform != "linux", reason="processes are looked up in /proc")
def test_a_pattern_ends_when_the_process_that_asked_for_it_was_killed() -> None:
    """Its own time limit dies with it."""
    # On a very busy machine the parent may see the end of its limit before the child has computed much.
    for seconds in (1.0, 8.0, 30.0):
        parent = subprocess.Popen([sys.executable, "-c", _ASKS_FOREVER, str(seconds)], stderr=DEVNULL)
        child = 0
        while parent.poll() is None and not child:
            child = find_busy_child(parent.pid)
        if child:
            break
    ended = os.pidfd_open(child)
    try:
        parent.kill()
        parent.wait()
        assert select.select([ended], [], [], BOUND)[0], "it computes for ever"
    finally:
        signal.pidfd_send_signal(ended, signal.SIGKILL)
        os.close(ended)
