from __future__ import annotations

import contextlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultbridge.bases.regex_compile import MAX_GROUPS, InvalidPattern, compile_regex
from vaultbridge.bases.regex_match import RegexTooCostly


def match_first(pattern: str, text: str, flags: str = "") -> str | None:
    match, _ = compile_regex(pattern, flags).search(text)
    return match.groups[0] if match else None


@pytest.mark.parametrize(
    ("pattern", "flags", "text", "expected"),
    [
        ("a.c", "", "a\nc abc", "abc"),
        ("a.c", "s", "a\nc", "a\nc"),
        ("^b", "", "a\nb", None),
        ("^b$", "m", "a\nb\nc", "b"),
        ("ÄB", "i", "xäb", "äb"),
        ("[a-c]+", "i", "xABCd", "ABC"),
        ("[^a-c]+", "", "abcxyz", "xyz"),
        (r"[\d-]+", "", "tel 12-34", "12-34"),
        (r"[\]\\]+", "", r"a]\b", r"]\ "[:2]),
        ("[]]", "", "]", None),
        (r"\x41\u0042\u{43}\cJ", "u", "ABC\n", "ABC\n"),
        (r"\t\n\r\f\v\0", "", "\t\n\r\f\v\0", "\t\n\r\f\v\0"),
        (r"\.\*\/", "", "a.*/", ".*/"),
        (r"\p{L}+", "u", "12größe3", "größe"),
        (r"\P{Lu}", "u", "ÄB1", "1"),
        (r"\p{Letter}\p{Nd}", "u", "-é7", "é7"),
        (r"[\p{Lu}\s]+", "u", "aÄ B", "Ä B"),
        (r"(\w)\1", "", "abccd", "cc"),
        (r"(?<x>\w)-\k<x>", "", "a-b b-b", "b-b"),
        (r"(a)?b\1c", "", "bc", "bc"),
        (r"(\w)\1", "i", "aA", "aA"),
        ("a{2,3}", "", "aaaa", "aaa"),
        ("a{2,3}?", "", "aaaa", "aa"),
        ("a{,3}", "", "a{,3}", "a{,3}"),
        ("x{1}?y", "", "xy", "xy"),
        ("(?:ab|cd)+", "", "xabcdab", "abcdab"),
        ("a(?=b)", "", "ac ab", "a"),
        ("a(?!b)", "", "ab ac", "a"),
        ("(?<=a)b", "", "b ab", "b"),
        ("(?<!a)b", "", "ab b", "b"),
        (r"\bcat\b", "", "concat cat", "cat"),
        (r"\Bat", "", "at cat", "at"),
        ("", "", "x", ""),
        ("|a", "", "a", ""),
        ("\\s", "", "a\u00a0", "\u00a0"),
    ],
)
def test_the_syntax_is_javascript_s(pattern: str, flags: str, text: str, expected: str | None) -> None:
    assert match_first(pattern, text, flags) == expected


@pytest.mark.parametrize(
    ("pattern", "reason"),
    [
        ("*a", "nothing to repeat"),
        ("a**", "nothing to repeat"),
        ("(a", "unclosed group"),
        ("a)", "unmatched"),
        ("[a", "unclosed class"),
        ("[z-a]", "out of order"),
        ("a{3,2}", "out of order"),
        ("a\\", "lone"),
        (r"\1", "no group 1"),
        (r"\k<x>", "no group"),
        ("(?a)", "unknown kind"),
        ("(?<x>a)(?<x>b)", "taken"),
        (r"\p{Script=Greek}x", None),
        (r"\p{Nonsense}", "unknown character property"),
        ("(a{1000}){1000}", "larger"),
        ("(" * 60 + ")" * 60, "deeper"),
        ("()" * (MAX_GROUPS + 1), "more than"),
        (r"\u{110000}", "no such character"),
    ],
)
def test_what_cannot_be_read_is_refused_with_a_reason(pattern: str, reason: str | None) -> None:
    if reason is None:  # an unknown escape is the letter itself, as in JavaScript without the flag u
        assert match_first(pattern, "p{Script=Greek}x") == "p{Script=Greek}x"
        return
    with pytest.raises(InvalidPattern, match=reason) as refused:
        compile_regex(pattern)
    assert 0 <= refused.value.position <= len(pattern)


@pytest.mark.parametrize("flags", ["q", "gg"])
def test_unknown_and_repeated_flags_are_refused(flags: str) -> None:
    with pytest.raises(InvalidPattern, match="flags"):
        compile_regex("a", flags)


@settings(deadline=None)
@given(st.text(alphabet="ab(|)[]{}*+?.^$\\d-,:=!<>1ukp", max_size=30), st.text(alphabet="ab1", max_size=8))
def test_any_text_compiles_and_ends_or_is_refused(pattern: str, text: str) -> None:
    with contextlib.suppress(InvalidPattern, RegexTooCostly):
        compile_regex(pattern).search(text)
