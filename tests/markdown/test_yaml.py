"""YAML 1.2 core (docs/obsidian.md 5): the types of scalars, what is refused, and that work is bounded."""

import math
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.markdown.yaml import YAML_CHARS, parse_yaml, resolve_plain


@pytest.mark.parametrize(
    ("written", "value"),
    [
        ("2024-01-05", "2024-01-05"),
        ("2024-01-05T10:20:30", "2024-01-05T10:20:30"),
        ("12:30", "12:30"),
        ("1:20:30", "1:20:30"),
        ("yes", "yes"),
        ("No", "No"),
        ("on", "on"),
        ("OFF", "OFF"),
        ("y", "y"),
        ("010", 10),
        ("01234", 1234),
        ("0o17", 15),
        ("0x1F", 31),
        ("0b11", "0b11"),
        ("1_000", "1_000"),
        ("+12", 12),
        ("-3", -3),
        ("1.50", 1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("-.inf", -math.inf),
        (".INF", math.inf),
        ("null", None),
        ("~", None),
        ("Null", None),
        ("nUll", "nUll"),
        ("true", True),
        ("FALSE", False),
        ("tRue", "tRue"),
        ("=", "="),
        ("<<", "<<"),
        ("9223372036854775807", 9223372036854775807),
        ("18446744073709551616", 18446744073709551616.0),
        ("9" * 5000, math.inf),
        ("-" + "9" * 399, -math.inf),
    ],
)
def test_plain_scalars_follow_the_core_schema(written: str, value: Any) -> None:
    assert resolve_plain(written) == value
    assert type(resolve_plain(written)) is type(value)
    assert parse_yaml(f"k: {written}\n").value == {"k": value}


def test_nan_is_a_number() -> None:
    value = resolve_plain(".NaN")
    assert isinstance(value, float) and math.isnan(value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("", None),
        ("a:\nb: ''\n", {"a": None, "b": ""}),
        ("a: '010'\nb: \"true\"\n", {"a": "010", "b": "true"}),
        ("a: !!str 12\nb: !!int '7'\nc: !local x\n", {"a": "12", "b": 7, "c": "x"}),
        ("d: !!timestamp 2001-01-01\n", {"d": "2001-01-01"}),
        ("1: a\ntrue: b\nnull: c\n", {"1": "a", "true": "b", "null": "c"}),
        ("? [a, b]\n: c\n", {"[a, b]": "c"}),
        ("t: {{title}}\n", {"t": {"{title}": None}}),
        ("a: [[x]]\n", {"a": [["x"]]}),
        ("a: >\n  one\n  two\nb: |\n  x\n  y\n", {"a": "one two\n", "b": "x\ny\n"}),
        ("a: &x [1, 2]\nb: *x\n", {"a": [1, 2], "b": [1, 2]}),
        ("base: &b {x: 1}\nd:\n  <<: *b\n  y: 2\n", {"base": {"x": 1}, "d": {"<<": {"x": 1}, "y": 2}}),
        ("&k a: 1\n", {"a": 1}),
        ("a: \"\\u00e9\\n\"\n", {"a": "é\n"}),
        ("- 1\n- - 2\n", [1, [2]]),
        ("a: 1 # c\n# d\nb: x#y\n", {"a": 1, "b": "x#y"}),
        ("a:\n- x\n- y\n", {"a": ["x", "y"]}),
        ("a: 1\r\nb: 2\r\n", {"a": 1, "b": 2}),
    ],
)  # fmt: skip
def test_collections_quotes_blocks_and_aliases(text: str, value: Any) -> None:
    read = parse_yaml(text)
    assert read.problem is None
    assert read.value == value
    msgspec.json.encode(read.value)


@pytest.mark.parametrize(
    ("text", "code", "line"),
    [
        ("a: 1\nb: 2\na: 3\n", "duplicate-key", 3),
        ("x:\n  a: 1\n  a: 2\n", "duplicate-key", 3),
        ("1: a\n'1': b\n", "duplicate-key", 2),
        ("a: b: c\n", "bad-yaml", 1),
        ("a: 1\nb: [x\nc: d\n", "bad-yaml", 3),
        ("a: *nobody\n", "bad-yaml", 1),
        ("a: &x [*x]\n", "bad-yaml", 1),
        ("a: @x\n", "bad-yaml", 1),
        ("a: \uffff\n", "bad-yaml", 1),
        ("a: 1\n...\n---\nb: 2\n", "bad-yaml", 3),
        ("a: 1\n\tb: 2\n", "bad-yaml", 2),
    ],
)
def test_what_cannot_be_read_is_a_problem_with_its_line(text: str, code: str, line: int) -> None:
    read = parse_yaml(text)
    assert read.problem is not None
    assert (read.problem.code, read.problem.line) == (code, line)
    assert read.problem.message.startswith(f"Line {line}: ")
    assert read.value is None and read.leaves == ()


def test_aliases_cannot_expand_without_bound() -> None:
    lines = ["a0: &a0 [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"a{n}: &a{n} [" + ", ".join([f"*a{n - 1}"] * 10) + "]" for n in range(1, 12)]
    problem = parse_yaml("\n".join(lines)).problem
    assert problem is not None and problem.code == "bad-yaml" and "more than" in problem.message


@pytest.mark.parametrize(
    "text", ["[" * 100_000, "- " * 100_000, "? " * 100_000, "{a: " * 100_000, "a: " + "[" * 65 + "]" * 65]
)
def test_deep_nesting_is_refused_rather_than_followed(text: str) -> None:
    problem = parse_yaml(text).problem
    assert problem is not None and problem.code == "bad-yaml"


def test_sixty_four_levels_are_fine() -> None:
    assert parse_yaml("[" * 64 + "]" * 64).problem is None


def test_yaml_beyond_the_cap_is_not_read() -> None:
    problem = parse_yaml("a: " + "x" * YAML_CHARS).problem
    assert problem is not None and str(YAML_CHARS) in problem.message


@pytest.mark.parametrize(
    ("text", "leaves"),
    [
        ("a: héllo\nb: 'q'\n", [("a", "héllo", 0), ("b", "q", 0)]),
        ("a:\n  - 😀x\n  - \"y\"\n", [("a", "😀x", 1), ("a", "y", 1)]),
        ("a: [p, {k: v}]\n", [("a", "p", 1), ("a", "v", 2)]),
        ("a: &n word\n", [("a", "word", 0)]),
        ("a: !!str word\n", [("a", "word", 0)]),
        ("a: |\r\n  word\r\n", [("a", "word", 0)]),
    ],
)  # fmt: skip
def test_every_string_has_its_position(text: str, leaves: list[tuple[str, str, int]]) -> None:
    read = parse_yaml(text)
    assert [(leaf.key, text[leaf.start : leaf.end], leaf.depth) for leaf in read.leaves] == leaves


def test_a_string_of_an_alias_has_the_position_of_its_anchor() -> None:
    text = "a: &x word\nb:\n  - *x\n"
    first, second = parse_yaml(text).leaves
    assert (second.key, second.depth) == ("b", 1)
    assert (second.start, second.end) == (first.start, first.end)


@given(
    st.text(
        alphabet=st.sampled_from(list("abk: -?[]{},&*!|>'\"%@`#\n\t~019.\\é😀\ud800\x00\x85\u2028")),
        max_size=40,
    )
)
def test_any_text_is_read_or_refused_and_never_raises(text: str) -> None:
    from vaultbridge.markdown.text import replace_surrogates

    read = parse_yaml(replace_surrogates(text))
    if read.problem is None:
        msgspec.json.encode(read.value)
    for leaf in read.leaves:
        assert 0 <= leaf.start <= leaf.end <= len(text)
