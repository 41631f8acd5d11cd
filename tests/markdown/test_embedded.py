"""Text escaped inside another text."""

from __future__ import annotations

import json

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.markdown.edits.change import Change, apply_changes
from vaultbridge.markdown.embedded import decode_embedded, escape

TEXT = st.text(st.sampled_from("ab\"'\\/\n\té😀\u2028 "), max_size=12)


@given(TEXT, st.booleans())
def test_a_json_string_is_decoded_with_every_offset(text: str, ascii_only: bool) -> None:
    outer = "x" + json.dumps(text, ensure_ascii=ascii_only)
    layer = decode_embedded(outer, 2, len(outer) - 1, "json")
    assert layer.text == text
    assert len(layer.offsets) == len(text) + 1


@given(TEXT, TEXT, st.data())
def test_a_change_of_the_inner_text_is_read_back(text: str, new: str, data: st.DataObject) -> None:
    outer = json.dumps(text)
    start = data.draw(st.integers(0, len(text)))
    end = data.draw(st.integers(start, len(text)))
    layer = decode_embedded(outer, 1, len(outer) - 1, "json")
    change = Change(start, end, new)
    assert json.loads(apply_changes(outer, layer.to_outer([change]))) == apply_changes(text, [change])


@given(st.text(st.sampled_from("ab\"'\\/é😀 :#"), max_size=12))
def test_text_escaped_for_yaml_quotes_is_read_back(text: str) -> None:
    for quote, quoting in (("'", "yaml-single"), ('"', "yaml-double")):
        outer = quote + escape(text, quoting) + quote  # type: ignore[arg-type]
        assert yaml.safe_load(outer) == text
        assert decode_embedded(outer, 1, len(outer) - 1, quoting).text == text  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("outer", "inner"),
    [
        ("\\x41\\u00e9\\U0001f600", "Aé😀"),
        ("\\ud83d\\ude00", "😀"),
        ("a\\\nb", "ab"),
        ("\\e\\_\\q", "\x1b\xa0q"),
        ("end\\", "end\\"),
        ("\\U7fffffff", "\\U7fffffff"),
    ],
)
def test_yaml_escapes_are_known(outer: str, inner: str) -> None:
    assert decode_embedded(outer, 0, len(outer), "yaml-double").text == inner


def test_layers_nest() -> None:
    outer = "'link(\"it''s \\\"x\\\"\")'"
    scalar = decode_embedded(outer, 1, len(outer) - 1, "yaml-single")
    string = decode_embedded(scalar.text, 6, len(scalar.text) - 2, "expression-double")
    assert string.text == 'it\'s "x"'
    changes = scalar.to_outer(string.to_outer([Change(0, 4, "that's")]))
    assert apply_changes(outer, changes) == "'link(\"that''s \\\"x\\\"\")'"


def test_plain_text_is_not_escaped() -> None:
    assert decode_embedded("a\\n'b'", 0, 6, "none").text == "a\\n'b'"
    assert escape("'\"\\", "none") == "'\"\\"
    assert escape("'\\", "expression-single") == "\\'\\\\"
