"""The rows that a file puts into the index."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.scripts import draw_mixed_word, draw_word, list_scripts
from vaultbridge.index.fold import split_words
from vaultbridge.index.store.rows import (
    build_rows,
    decode_link_kind,
    decode_note,
    encode_link_flags,
    encode_note,
    find_text_change,
    infer_property_type,
    make_body,
    parse_rows,
)
from vaultbridge.markdown.model import Link, Note, Properties
from vaultbridge.markdown.parse import parse

TEXT = """---
tags: [a]
aliases: [Other]
list: [1, {deep: [x]}]
---
# Head ^not
[[n#h|d]] ![[p.png]] [m](n.md)

key:: value

> [!note]- Title
> text[^1] ^[inline]

- [x] done 📅 2024-01-01 ^id

[^1]: the note
"""


def test_a_stored_note_is_decoded_completely() -> None:
    note = parse(TEXT)
    assert note.callouts and note.footnotes and note.blocks and note.fields and note.tasks
    assert decode_note(encode_note(note)) == note


@given(st.text(max_size=200))
def test_any_text_gives_rows_whose_note_can_be_decoded(text: str) -> None:
    data = text.encode("utf-8", "surrogatepass")
    rows = parse_rows("note", data, "h")
    assert rows.text is not None
    assert decode_note(rows.note).headings == parse(rows.text).headings


@given(st.binary(max_size=200))
def test_any_bytes_give_rows_as_a_note_and_as_a_canvas(data: bytes) -> None:
    for kind in ("note", "canvas"):
        rows = parse_rows(kind, data, "h")
        assert rows.text is not None
        rows.text.encode()


@pytest.mark.parametrize("embed", [True, False])
@pytest.mark.parametrize("kind", ["wiki", "markdown", "property", "canvas"])
def test_link_flags_encode_kind_and_style(kind: str, embed: bool) -> None:
    link = Link("r", "t", "", None, embed, kind, 1, 0, 1)  # type: ignore[arg-type]
    assert decode_link_kind(encode_link_flags(link)) == kind
    assert bool(encode_link_flags(link) & 1) == embed


@pytest.mark.parametrize(
    ("value", "type_"),
    [
        (None, "null"),
        (True, "checkbox"),
        (3, "number"),
        (2.5, "number"),
        (["a"], "list"),
        ({"a": 1}, "object"),
        ("2024-01-02", "date"),
        ("2024-01-02T10:00", "datetime"),
        ("2024-01-02 or so", "text"),
        ("", "text"),
    ],
)
def test_property_types_are_those_of_the_app(value: object, type_: str) -> None:
    assert infer_property_type(value) == type_


def test_a_canvas_is_searched_with_decoded_escapes_and_unchanged_lines() -> None:
    rows = parse_rows("canvas", b'{"nodes":[\n{"text":"one\\ntwo \\u00e9\\ud83d\\ude80 \\"q\\""}\n]}', "h")
    assert rows.text is not None
    assert rows.text.split("\n")[1] == '{"text":"one two é🚀 "q""}'


def test_numbers_too_large_to_store_become_floats_as_in_javascript() -> None:
    rows = parse_rows("note", b"---\nid: 123456789012345678901234567890\n---\n", "h")
    assert [row[-1] for row in rows.properties] == ["1.2345678901234568e29"]
    properties = decode_note(rows.note).properties
    assert properties is not None
    assert properties.values == {"id": 123456789012345678901234567890.0}


def test_text_that_cannot_be_stored_is_made_displayable() -> None:
    """Decoding a file never gives such a text, but a YAML escape may."""
    note = Note(
        Properties({"odd": ["\ud800x", {"\udfff": 2**70}]}, 0, 0, 0, 0),
        aliases=("\ud800",),
        links=(Link("[[\ud800]]", "\ud800", "", "\ud800", False, "wiki", 1, 0, 5),),
    )
    rows = build_rows(note, "", "h")
    kept = decode_note(rows.note)
    assert kept.properties is not None
    assert kept.properties.values == {"odd": ["\ufffdx", {"\ufffd": float(2**70)}]}
    assert kept.aliases == ("\ufffd",)
    assert kept.links[0].target == "\ufffd"


def draw_text(rng: random.Random) -> str:
    """Words of several scripts with blanks of several kinds between them, or none."""
    words = (
        draw_mixed_word(rng) if rng.random() < 0.5 else draw_word(rng.choice(sorted(list_scripts())), rng)
        for _ in range(8)
    )
    return "".join(
        word + rng.choice((" ", "\n", "\r\n", "\t", "\xa0", "-", "", "\u0301", " \u0301")) for word in words
    )


@given(st.integers(0, 10**9))
def test_every_word_that_a_change_adds_is_among_those_of_its_changed_part(seed: int) -> None:
    rng = random.Random(seed)
    before = draw_text(rng)
    start, end = sorted(rng.randrange(len(before) + 1) for _ in range(2))
    after = (
        before[:start] + rng.choice(("", draw_text(rng), before[: rng.randrange(len(before))])) + before[end:]
    )
    part = find_text_change(before, after)
    assert (part.start + part.before + part.end, part.start + part.after + part.end) == (before, after)
    new = part.new_terms()
    assert set(split_words(after)) - set(split_words(before)) <= new <= set(split_words(after))
    # What is removed from the full-text table must be what was put there, whichever way it was made.
    for body, text in zip(part.bodies(), (before, after), strict=True):
        assert body.encode().lower() == make_body(text).encode().lower()


def test_an_edit_of_one_word_in_a_long_note_adds_few_words() -> None:
    text = " ".join(f"word{number}" for number in range(1000))
    assert find_text_change(text, text.replace("word500", "other")).new_terms() == {"other"}
    assert find_text_change(text, text).new_terms() <= {"word999"}
