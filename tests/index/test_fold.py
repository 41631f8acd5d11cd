"""Folding is our choice of what a search treats as equal, for the scripts that we promise to support."""

from __future__ import annotations

import random
import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.scripts import draw_mixed_word, draw_word, list_scripts
from vaultbridge.index.fold import (
    WORD,
    FoldedText,
    fold_text,
    occurs_folded,
    search_encoded,
    separate_words,
    split_words,
    stands_apart,
)


@pytest.mark.parametrize(
    ("written", "folded"),
    [
        ("Résumé", "resume"),
        ("re\u0301sume\u0301", "resume"),
        ("STRASSE", "strasse"),
        ("Straße", "strasse"),
        ("ΟΔΟΣ", "οδοσ"),
        ("İstanbul", "istanbul"),
        ("ıssız ISSIZ", "issiz issiz"),
        ("ＡＢＣ１", "abc1"),
        ("ﬁne", "fine"),
        ("naïve co\u00adop", "naive coop"),
        ("שָׁלוֹם", "שלום"),
        ("Ёлка", "елка"),
        ("❤\ufe0f", "❤"),
    ],
)
def test_case_accents_width_and_invisible_characters_are_folded_away(written: str, folded: str) -> None:
    assert fold_text(written) == folded


@pytest.mark.parametrize("text", ["が", "한국어", "हिन्दी", "ภาษา", "北京"])
def test_marks_that_make_a_different_letter_stay(text: str) -> None:
    assert fold_text(text) == unicodedata.normalize("NFKC", text)


def test_decomposed_kana_and_hangul_are_composed() -> None:
    assert fold_text(unicodedata.normalize("NFD", "ガ한")) == "ガ한"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("北京abc大学", ["北", "京", "abc", "大", "学"]),
        ("ไทย ok", ["ไ", "ท", "ย", "ok"]),
        ("한국어", ["한", "국", "어"]),
        ("हिन्दी भाषा", ["हिन्दी", "भाषा"]),
        ("it's “so” — so_good", ["it", "s", "so", "so", "good"]),
        ("ship it 🚀now", ["ship", "it", "🚀", "now"]),
        ("東京、大阪。", ["東", "京", "大", "阪"]),
    ],
)
def test_words_are_separated_in_scripts_without_spaces(text: str, expected: list[str]) -> None:
    assert split_words(text) == expected


@given(st.text(max_size=40), st.text(max_size=8))
def test_what_occurs_in_folded_text_without_separators_lies_within_words(text: str, part: str) -> None:
    """Every look-up in the full-text table depends on this rule."""
    folded, wanted = fold_text(text), fold_text(part)
    pieces = WORD.findall(separate_words(part))
    if len(pieces) == 1 and pieces[0] == wanted and wanted in folded:
        assert any(wanted in word for word in split_words(text))


@given(st.text(max_size=60))
def test_folding_twice_gives_the_table_the_same_words(text: str) -> None:
    assert WORD.findall(separate_words(text).lower()) == split_words(text)


@given(st.text(alphabet=st.characters(max_codepoint=0x2FFF), max_size=40))
def test_spans_of_folded_text_lead_back_to_text_that_folds_to_the_same(text: str) -> None:
    folded = FoldedText(text)
    for start in range(len(folded.folded)):
        first, last = folded.span(start, start + 1)
        assert 0 <= first < last <= len(text)
        assert folded.folded[start] in FoldedText(text[first:last]).folded


@given(st.integers(0, 10**9))
def test_folding_piece_by_piece_equals_folding_the_whole_in_every_script(seed: int) -> None:
    rng = random.Random(seed)
    text = " ".join(
        (draw_mixed_word(rng), *(draw_word(rng.choice(sorted(list_scripts())), rng) for _ in range(4)))
    )
    assert FoldedText(text).folded == fold_text(text)


@given(st.text(max_size=40))
def test_folding_piece_by_piece_equals_folding_the_whole(text: str) -> None:
    assert FoldedText(text).folded == fold_text(text)


def test_a_span_covers_the_marks_that_were_folded_away() -> None:
    text = "x re\u0301sume\u0301 y"
    folded = FoldedText(text)
    at = folded.folded.index("resume")
    first, last = folded.span(at, at + len("resume"))
    assert text[first:last] == "re\u0301sume\u0301"


def test_separators_are_not_words() -> None:
    assert not stands_apart("。")
    assert not stands_apart("a")
    assert stands_apart("京")


@pytest.mark.parametrize("seed", range(30))
def test_a_string_occurs_where_it_does_in_the_folded_text(seed: int) -> None:
    rng = random.Random(seed)
    names = sorted(list_scripts())
    pieces = [
        rng.choice(("in", " ", "é", "İ", "e\u0301", "…", "—", "ﬁ", "s", "ß", "\u00ad")) for _ in range(30)
    ]
    pieces += [draw_mixed_word(rng), draw_word(rng.choice(names), rng)]
    rng.shuffle(pieces)
    text = "".join(pieces)
    folded = fold_text(text)
    for _ in range(60):
        start = rng.randrange(len(folded))
        wanted = folded[start : start + rng.randint(1, 9)]
        assert occurs_folded(wanted, text)
        changed = wanted[:-1] + rng.choice("aein z")
        assert occurs_folded(changed, text) == (changed in folded), changed


@pytest.mark.parametrize("wanted", ["in", "fi", "s i", "ein", " ", "1", "a"])
def test_one_search_of_many_encoded_texts_finds_what_each_folded_text_has(wanted: str) -> None:
    """What it learns about characters from one text holds for all others."""
    rng = random.Random(wanted)
    occurs = search_encoded(wanted)
    pieces = [
        "i",
        "n",
        "N",
        " ",
        "é",
        "ï",
        "ñ",
        "İ",
        "e\u0301",
        "n\u0303",
        "…",
        "ﬁ",
        "ﬃ",
        "ß",
        "\u00ad",
        "\u200d",
    ]
    pieces += ["１", "²", "Å", "ａ", "京", "한", "\u3000", "ſ", "K", "🎈", "㎏"]
    found = 0
    for _ in range(2000):
        text = "".join(rng.choices(pieces, k=rng.randint(0, 8)))
        found += occurs(text.encode())
        assert occurs(text.encode()) == (wanted in fold_text(text)), text
    assert 0 < found < 2000


@pytest.mark.parametrize("seed", range(30))
def test_normalized_text_is_folded_like_any_other(seed: int) -> None:
    """The quick way of a text in which nothing composes gives what the careful one does."""
    rng = random.Random(seed)
    words = [draw_word(name, rng) for name in sorted(list_scripts())[seed::30]] + [draw_mixed_word(rng)]
    for word in words:
        text = unicodedata.normalize("NFKC", word) + " e\u0301x"[: rng.choice((0, 1))]
        careful = FoldedText(text, lambda part: fold_text(part))
        quick = FoldedText(text)
        assert quick.folded == careful.folded == fold_text(text)
        for start in range(len(quick.folded)):
            assert quick.span(start, start + 1) == careful.span(start, start + 1), (text, start)


@pytest.mark.parametrize("seed", range(40))
def test_a_long_text_is_separated_like_its_parts(seed: int) -> None:
    """Few different characters are replaced one by one, many in runs: the words are the same."""
    rng = random.Random(seed)
    names = sorted(list_scripts())
    few = [draw_word(name, rng) for name in rng.sample(names, 1 + seed % 4)] + ["é", "e\u0301", "—", "ﬁ", "ß"]
    text = " ".join(rng.choice((rng.choice(few), "plain", "WORDS ")) for _ in range(120))
    assert separate_words(text) == " ".join(separate_words(part) for part in text.split(" "))


@pytest.mark.parametrize("seed", range(60))
def test_a_text_of_many_characters_is_separated_like_its_words(seed: int) -> None:
    """Long texts are separated all at once, whether most of their characters change or few do."""
    rng = random.Random(seed)
    names = sorted(list_scripts())
    words = [draw_word(name, rng) for name in rng.sample(names, 2) for _ in range(30)]
    words += ["Ёлка", "ΟΔΟΣ", "か\uff9e", "가\u3133", "ก้ำ", "Ꭰ", "\u09c7\u09be", "。，", "plain"]
    text = " ".join(rng.choice(words) for _ in range(200))
    assert separate_words(text) == " ".join(separate_words(part) for part in text.split(" "))


@pytest.mark.parametrize("many", ["ЖЗИКЛМНОПРСТУФХЦ" * 20, "漢字" * 150, "many words " * 30])
def test_every_character_is_separated_alike_in_a_short_and_a_long_text(many: str) -> None:
    separated = separate_words(many)
    for code in (*range(0x80, 0x3400), *range(0xA000, 0xAC10), *range(0xF900, 0x10000)):
        char = chr(code)
        assert separate_words(f"{many} {char}") == f"{separated} {separate_words(char)}", hex(code)


@pytest.mark.parametrize("pair", ["漢\ufa47", "字\u2f26漢", "σς", "\u00e9\u0435"])
def test_a_character_that_becomes_another_one_is_separated_once(pair: str) -> None:
    """In whatever order the characters of a text are met."""
    for many in (pair, pair[::-1]):
        text = " ".join([many] * 100 + ["plain words"])
        assert separate_words(text) == " ".join(separate_words(part) for part in text.split(" "))


@pytest.mark.parametrize("char", ["a", "é", "я", "ა", "𐐨", "\u094d"])
@pytest.mark.parametrize("before", [0, 1, 8_190, 40_000])
def test_a_word_too_long_for_the_table_becomes_several(char: str, before: int) -> None:
    """SQLite would cut it within a character."""
    text = f"{'b ' * before}я{char * 33_000}z яz"
    words = split_words(text)
    assert "".join(words) == fold_text(text).replace(" ", "")
    assert all(len(word.encode()) <= 32_768 for word in words)
    assert words[: before + 1] == ["b"] * before + words[before : before + 1] and words[-1] == "яz"
