from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaultbridge.json_text import (
    MAX_NESTING,
    BadJson,
    JsonArray,
    JsonObject,
    JsonScalar,
    JsonValue,
    scan_json,
    to_plain_value,
)

VALUES = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(allow_nan=False, allow_infinity=False), st.text()
    ),
    lambda inner: st.one_of(st.lists(inner), st.dictionaries(st.text(), inner)),
    max_leaves=10,
)


def list_values(value: JsonValue) -> list[JsonValue]:
    match value:
        case JsonScalar():
            return [value]
        case JsonArray():
            return [value, *(inner for item in value.items for inner in list_values(item))]
        case JsonObject():
            return [value, *(inner for member in value.members for inner in list_values(member.value))]


@settings(deadline=None)
@given(VALUES, st.sampled_from([None, "\t", 2]), st.booleans())
def test_what_json_writes_is_read_back_and_each_span_is_that_value(
    value: object, indent: str | int | None, ascii_only: bool
) -> None:
    text = json.dumps(value, indent=indent, ensure_ascii=ascii_only)
    tree = scan_json(text)
    assert to_plain_value(tree) == value
    for node in list_values(tree):
        assert json.loads(text[node.start : node.end]) == to_plain_value(node)


@settings(deadline=None)
@given(st.text(alphabet='{}[],:"\\ue1.-0truefalsn \n', max_size=40))
def test_the_scanner_accepts_exactly_what_json_accepts(text: str) -> None:
    try:
        expected = json.loads(text, parse_constant=lambda name: (_ for _ in ()).throw(ValueError(name)))
    except (ValueError, RecursionError):
        with pytest.raises(BadJson) as refused:
            scan_json(text)
        assert 0 <= refused.value.offset <= len(text)
    else:
        assert to_plain_value(scan_json(text)) == expected


def test_a_key_has_a_position_and_the_last_of_two_counts() -> None:
    tree = scan_json(' {"a": 1, "a": 2}')
    assert isinstance(tree, JsonObject)
    assert [member.key_start for member in tree.members] == [2, 10]
    assert tree.get("a") == JsonScalar(2, 15, 16)
    assert tree.get("b") is None


@pytest.mark.parametrize(
    ("text", "offset"),
    [
        ("", 0),
        ("[1,]", 3),
        ('{"a" 1}', 5),
        ('{"a":1 "b"}', 7),
        ("[1 2]", 3),
        ("1 2", 2),
        ('"a\nb"', 0),
        ("[", 1),
        ("nul", 0),
    ],
)
def test_a_mistake_is_reported_with_its_offset(text: str, offset: int) -> None:
    with pytest.raises(BadJson) as refused:
        scan_json(text)
    assert refused.value.offset == offset


def test_nesting_and_numbers_have_bounds() -> None:
    scan_json("[" * MAX_NESTING + "]" * MAX_NESTING)
    for text in ("[" * 100_000, "[" * (MAX_NESTING + 1) + "]" * (MAX_NESTING + 1), "9" * 10_000):
        with pytest.raises(BadJson):
            scan_json(text)
