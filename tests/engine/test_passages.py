"""Passages are stretches of the text, within their size, where the words are."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.engine.passages import (
    EarlierPassages,
    cut_passage,
    find_body,
    find_properties_end,
    share_room,
    trim,
)
from vaultbridge.index.fold import fold_text
from vaultbridge.markdown.text import split_with_starts

lines = st.one_of(
    st.just(""),
    st.text(st.characters(codec="utf-8", exclude_characters="\r\n"), max_size=40),
    st.sampled_from(
        ["# Heading", "---", "word " * 80, "One. Two! 三。四？ Five", "x" * 500, "    - [ ] indented"]
    ),
)
texts = st.lists(st.tuples(lines, st.sampled_from(["\n", "\n", "\r\n", "\r"])).map("".join), max_size=40).map(
    "".join
)


@given(texts, st.integers(1, 600), st.lists(st.sampled_from(["word", "two", "三", "five", "x"]), max_size=3))
def test_a_passage_is_a_stretch_within_its_size(text: str, size: int, words: list[str]) -> None:
    _, starts = split_with_starts(text)
    span = find_body(text, starts, 1, len(starts), headed=False)
    start, end = cut_passage(text, span, dict.fromkeys(map(fold_text, words), 1.0), size)
    assert span[0] <= start <= end <= span[1]
    assert end - start <= size
    if span[0] < span[1]:
        assert start < end, "there is room for something"
        assert text[start:end].strip(" \t\r\n")
        if span[1] - span[0] <= size:
            assert (start, end) == span


@given(
    st.integers(0, 60), st.integers(0, 60), st.integers(60, 400), st.sampled_from(["needle", "иголка", "針"])
)
def test_the_passage_is_where_the_words_are(before: int, after: int, size: int, word: str) -> None:
    other = "Nothing of the kind is said here, line after line.\n"
    text = other * before + f"The {word} lies here.\n" + other * after
    start, end = cut_passage(text, (0, len(text)), {fold_text(word): 1.0}, size)
    assert word in text[start:end]


def test_a_passage_in_a_long_paragraph_begins_with_a_sentence() -> None:
    text = "Filler of no use here. " * 40 + "At 21.4 the needle is found. " + "More of the same. " * 40
    start, end = cut_passage(text, (0, len(text)), {"needle": 1.0}, 120)
    assert "At 21.4 the needle is found." in text[start:end]
    assert text[start:end].startswith(("Filler", "At 21.4"))
    assert end - start <= 120


def test_of_two_places_the_one_with_more_of_the_words_is_taken() -> None:
    text = "alpha here\n" + "filler\n" * 100 + "alpha and beta here\n" + "filler\n" * 100
    start, end = cut_passage(text, (0, len(text)), {"alpha": 1.0, "beta": 1.0}, 60)
    assert "alpha and beta" in text[start:end]


def test_a_body_has_no_heading_no_properties_and_no_blank_lines_around() -> None:
    text = "---\na: 1\n---\n\nIntro.\n\n# One\n\n    code\n\n\n# Two\n"
    _, starts = split_with_starts(text)
    assert text[slice(*find_body(text, starts, 1, 6, headed=False))] == "Intro."
    assert text[slice(*find_body(text, starts, 7, 11, headed=True))] == "    code"
    start, end = find_body(text, starts, 12, 12, headed=True)
    assert start == end
    assert find_properties_end("---\nnever closed") == 0
    assert find_properties_end("--- x\n---\n") == 0
    assert trim("  \n \n", 0, 5)[0] == trim("  \n \n", 0, 5)[1]


@given(
    st.lists(st.tuples(st.integers(1, 2000), st.floats(0.01, 10)), min_size=1, max_size=12),
    st.integers(0, 5000),
)
def test_shares_never_exceed_the_room_or_the_need(wanted: list[tuple[int, float]], room: int) -> None:
    needs = [need for need, _ in wanted]
    shares = share_room(needs, [weight for _, weight in wanted], room)
    assert sum(shares) <= room
    assert all(0 <= share <= need for share, need in zip(shares, needs, strict=True))
    if sum(needs) <= room:
        assert shares == needs
    else:
        assert sum(shares) >= room - len(needs), "no room is wasted"


def test_repeated_sentences_are_recognised_in_every_script() -> None:
    for text, other in (
        ("The meter reads the sky above the dome.", "the METER reads the sky above the dome!"),
        ("Метр измеряет небо над куполом ночью", "метр измеряет небо над куполом ночью."),
        ("我们每个月测量夜空的亮度", "我们每个月测量夜空的亮度。"),
        ("naïve résumé of the whole café", "naive resume of the whole cafe"),
    ):
        earlier = EarlierPassages()
        assert not earlier.repeats(text)
        assert earlier.repeats(other)
        assert not earlier.repeats("Something else entirely, about other things.")
    assert EarlierPassages().repeats("  ... "), "it says nothing at all"
