"""Where a text mentions a note: in every script, and not in code, links, properties or addresses."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.scripts import draw_words
from vaultbridge.engine.related.mentions import TEXT_CHARS, Beginnings, find_mentions, split_units
from vaultbridge.links.resolve import name_key
from vaultbridge.links.syntax import fits_wiki
from vaultbridge.markdown.parse import parse


def list_mentions(text: str, *names: str) -> dict[str, list[str]]:
    """What is mentioned, as it is written in the text, by the name."""
    known = {name_key(name): name for name in names}

    def lookup(key: str) -> Sequence[str]:
        return [known[key]] if key in known else ()

    found = find_mentions(text, parse(text), lookup)
    # How the names begin only saves look-ups.
    assert find_mentions(text, parse(text), lookup, beginnings=Beginnings(known)) == found
    return {name: [text[place.start : place.end] for place in places] for name, places in found.items()}


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("We met Ada Lovelace today.", ["Ada Lovelace"]),
        ("ada lovelace, ADA LOVELACE!", ["ada lovelace", "ADA LOVELACE"]),
        ("**Ada Lovelace** and *Ada Lovelace*", ["Ada Lovelace"] * 2),
        ("- [ ] ask Ada Lovelace\n> Ada Lovelace said", ["Ada Lovelace"] * 2),
        ("| Ada Lovelace | 1815 |\n| --- | --- |\n| Ada Lovelace | x |", ["Ada Lovelace"] * 2),
        ("Ada Lovelaces", []),
        ("xAda Lovelace", []),
        ("Ada\nLovelace", []),
        ("[[Ada Lovelace]] and [[x|Ada Lovelace]]", []),
        ("[Ada Lovelace](https://example.org/x)", []),
        ("[about Ada Lovelace](note.md) ![Ada Lovelace](a.png)", []),
        ("[Ada Lovelace][1]\n\n[1]: https://example.org", []),
        ("[Ada Lovelace]: https://example.org", []),
        ("see [Ada Lovelace]", []),
        ("https://example.org/Ada Lovelace is not it", []),
        ("`Ada Lovelace` and ``x Ada Lovelace``", []),
        ("```\nAda Lovelace\n```", []),
        ("text\n\n    Ada Lovelace in code", []),
        ("$Ada Lovelace$ and\n\n$$\nAda Lovelace\n$$", []),
        ("<!-- Ada Lovelace --> <b title='Ada Lovelace'>", []),
        ("%%Ada Lovelace%%", []),
        ("---\nauthor: Ada Lovelace\n---\n", []),
        ("# Ada Lovelace\n", []),
        ("Ada Lovelace\n===\n", []),
        ("![[Ada Lovelace]]", []),
    ],
)
def test_only_text_mentions(text: str, found: list[str]) -> None:
    assert list_mentions(text, "Ada Lovelace").get("Ada Lovelace", []) == found


def test_the_longest_matching_name_is_the_one_mentioned() -> None:
    text = "Obsidian Sync and Obsidian"
    assert list_mentions(text, "Obsidian", "Sync", "Obsidian Sync") == {
        "Obsidian Sync": ["Obsidian Sync"],
        "Obsidian": ["Obsidian"],
    }


def test_a_name_of_two_notes_mentions_none() -> None:
    note = parse("See Plan today.")
    assert (
        find_mentions(
            "See Plan today.", note, lambda key: ["A/Plan.md", "B/Plan.md"] if key == "plan" else ()
        )
        == {}
    )


@pytest.mark.parametrize(
    "name", ["C++", "@home", "What is this?", "(draft)", "R&D", "3.14", "A/B test", "naïve café"]
)
def test_signs_belong_to_a_name(name: str) -> None:
    assert list_mentions(f"see {name} and more", name) == {name: [name]}


@pytest.mark.parametrize("seed", range(6))
def test_names_of_every_script_are_found_where_a_word_begins_and_ends(seed: int) -> None:
    rng = random.Random(seed)
    for word in draw_words(seed, 40):
        if not fits_wiki(word) or not split_units(word) or word[0] in "'\"`":
            continue
        around = rng.choice(("see {} here", "{}", "({})", "– {}, then", "\n- {}\n"))
        text = around.format(word)
        assert list_mentions(text, word).get(word) == [word], (word, ascii(word))


def test_a_script_without_spaces_has_no_borders_between_words() -> None:
    assert list_mentions("我们在北京大学学习", "北京大学") == {"北京大学": ["北京大学"]}
    assert list_mentions("東京タワーに行った", "東京タワー", "東京") == {"東京タワー": ["東京タワー"]}
    assert list_mentions("ฉันชอบแมวมาก", "แมว") == {"แมว": ["แมว"]}


def test_a_text_whose_words_have_no_end_is_looked_at_only_so_far() -> None:
    endless = "x" * TEXT_CHARS
    assert list_mentions(f"Ada Lovelace {endless}", "Ada Lovelace") == {"Ada Lovelace": ["Ada Lovelace"]}
    assert list_mentions(f"{endless} Ada Lovelace", "Ada Lovelace") == {}


@given(st.text(max_size=200))
def test_units_are_in_order_and_apart(text: str) -> None:
    end = 0
    for line in split_units(text):
        for start, stop in line:
            assert end <= start < stop
            assert not any(char in "\r\n" for char in text[start:stop])
            end = stop


@given(st.text(alphabet="ab [](){}`$%<>|\\#^!*_~\n-", max_size=80), st.integers(0, 80))
def test_no_text_breaks_it(text: str, at: int) -> None:
    whole = f"{text[:at]}name{text[at:]}"
    for places in find_mentions(whole, parse(whole), lambda key: ["x"] if key == "name" else ()).values():
        for place in places:
            linked = f"{whole[: place.start]}[[name]]{whole[place.end :]}"
            assert any(link.raw == "[[name]]" and link.start == place.start for link in parse(linked).links)


def test_footnotes_that_never_end_are_passed_over_once() -> None:
    """To look for the end of each would take as many steps as their number squared: minutes."""
    text = "Plan " + "[^" * 100_000
    assert list(find_mentions(text, parse(text), lambda key: ["P.md"] if key == "plan" else ())) == ["P.md"]
