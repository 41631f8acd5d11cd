"""The fast reader of plain properties must give what the YAML parser gives, or decline."""

import math
from typing import Any

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from vaultbridge.markdown.yaml import parse_plain, parse_yaml

_pieces = st.sampled_from(
    [
        "a", "b", "tags", "key", "two words", "x-y", "é", "日本", "😀", "1", "010", "2024-01-05", "12:30",
        "true", "~", "null", ".inf", "http://x.y/z#f", "a:b", "a#b", "a #b", ":", ": ", "- ", "-", "--",
        "---", "...", "#", " # c", "[", "]", "[]", "[a, b]", "[a,b ,c]", "['x', \"y\"]", "[a, ]", "{", "}",
        "{}", ", ", "\"q\"", "'q'", "\"", "'", "\\", "\\n", "''", "\"\"", "[[n]]", "\"[[n]]\"", "&a", "*a",
        "!t", "|", ">", "%", "@", "`", "?", "? ", "<<", " ", "  ", "    ", "\t", "\n", "\n", "\n",
        "\n  - ", "\n- ", "\n    - ", "\nk: ", "\nk2: ", "\r\n", "\r", "\xa0", "\u3000", "\u2028", "\x85",
        "\ufeff", "\x07", "_", "it's", "say \"x\"", "=", "^", "$", "(", ")", "/", "+1", "1.", "0x1F",
    ]
)  # fmt: skip


def _comparable(value: Any) -> Any:
    if isinstance(value, float) and math.isnan(value):
        return "NaN"
    if isinstance(value, list):
        return [_comparable(item) for item in value]
    if isinstance(value, dict):
        return {key: _comparable(item) for key, item in value.items()}
    return (type(value).__name__, value)


@settings(max_examples=1500, deadline=None)
@given(st.lists(_pieces, max_size=14).map("".join))
@example("a: 1\nb:\n  - x\n\n  - y\n# c\nc: [p, 'q']\n")
@example("a:\n- x\n   - y\n")
@example("a:\n  # c\n  - x\n")
@example("a: b\n  # c\n  more\n")
@example("k: -x\nk2: - x\n")
def test_the_fast_reader_agrees_with_the_parser_or_declines(text: str) -> None:
    fast = parse_plain(text)
    if fast is None:
        return
    slow = parse_yaml(text)
    assert slow.problem is None
    assert _comparable(fast.value) == _comparable(slow.value)
    assert fast.leaves == slow.leaves


@settings(max_examples=500, deadline=None)
@given(
    st.lists(
        st.tuples(st.sampled_from(["a", "b c", "日", "x_1", "d-e", "tags"]), _pieces, _pieces), max_size=5
    )
)
def test_key_value_lines_agree_with_the_parser(entries: list[tuple[str, str, str]]) -> None:
    text = "".join(f"{key}: {value}{more}\n" for key, value, more in entries)
    fast = parse_plain(text)
    if fast is not None:
        slow = parse_yaml(text)
        assert slow.problem is None
        assert (_comparable(fast.value), fast.leaves) == (_comparable(slow.value), slow.leaves)


@pytest.mark.parametrize(
    "text",
    [
        "title: A note about things\ncreated: 2024-01-05\nrating: 4.5\ndone: false\n",
        "tags:\n  - one\n  - two/three\naliases: [First, 'Second']\n",
        'tags: []\nup: "[[Home]]"\nempty:\nurl: https://example.org/a#b\n',
        "日付: 明日\r\ncssclasses:\r\n- wide\r\n",
        "# a comment\n\na: 1\n",
        "",
    ],
)
def test_the_usual_properties_are_read_without_the_parser(text: str) -> None:
    fast = parse_plain(text)
    assert fast is not None
    assert (fast.value, fast.leaves) == (parse_yaml(text).value, parse_yaml(text).leaves)


@pytest.mark.parametrize(
    "text",
    [
        "a: b: c\n",
        "a: 1\na: 2\n",
        "a: x # comment\n",
        "a: \"es\\\"caped\"\n",
        "a: 'it''s'\n",
        "a: >\n  folded\n",
        "a:\n  b: c\n",
        "a: x\n  y\n",
        "a: [x, [y]]\n",
        "a: {x: y}\n",
        "- a\n",
        "a:\tb\n",
        "<<: x\n",
        f"{'k' * 2000}: x\n",
    ],
)  # fmt: skip
def test_anything_else_is_left_to_the_parser(text: str) -> None:
    assert parse_plain(text) is None
