"""Words drawn from every script that Unicode knows, for whatever takes a person's words.

Words picked by hand are those that the author thought of. Python ships no table of scripts, but the name of a
character begins with its script, which is as good for drawing."""

from __future__ import annotations

import random
import sys
import unicodedata
from functools import cache

ODDITIES = (
    "Straße", "STRASSE", "ẞ", "İstanbul", "ısı", "I\u0307", "ΟΔΟΣ", "οδος", "ςΣσ", "ǅ", "ŉ", "ﬁne", "ﬅ",
    "ΐ", "ᾳ", "ᾼ", "\u1fb3\u0345", "Å", "\u212b", "A\u030a", "\u212a", "ｶﾞｷﾞ", "ガ", "カ\u3099", "각",
    "\u1100\u1161\u11a8", "क\u093c", "\u0958", "\u09c7\u09be", "\u09cb", "e\u0301\u0323",
    "e\u0323\u0301", "👩\u200d👩\u200d👧", "🏳️\u200d🌈", "❤\ufe0f", "🇩🇪", "न\u094d\u200dय",
    "می\u200cخواهم", "שָׁלוֹם", "مُحَمَّد", "ＡＢＣ", "𝒜𝓁𝓅𝒽𝒶", "ꭰᎠ", "x\u0345",
)  # fmt: skip
"""What folds to more or fewer characters, composes, joins or has no single case."""


@cache
def list_scripts() -> dict[str, tuple[str, str]]:
    """By the first word of the character's name: its letters, and the marks that go with them."""
    letters: dict[str, list[str]] = {}
    marks: dict[str, list[str]] = {}
    for code in range(0xA0, sys.maxunicode + 1):
        char = chr(code)
        category = unicodedata.category(char)
        if category[0] not in "LM" or not (name := unicodedata.name(char, "")):
            continue
        (letters if category[0] == "L" else marks).setdefault(name.split()[0], []).append(char)
    return {name: ("".join(found), "".join(marks.get(name, ()))) for name, found in letters.items()}


def draw_word(script: str, rng: random.Random) -> str:
    """Some letters of a script, marks between them, in one of the forms that a keyboard or a file has."""
    letters, marks = list_scripts()[script]
    pieces: list[str] = []
    for _ in range(rng.randint(1, 6)):
        pieces.append(rng.choice(letters))
        if marks and rng.random() < 0.4:
            pieces.append(rng.choice(marks))
    return _choose_form("".join(pieces), rng)


def draw_mixed_word(rng: random.Random) -> str:
    """Letters of several scripts, also ASCII, right to left beside left to right, and oddities between."""
    names = sorted(list_scripts())
    pieces = [
        rng.choice((draw_word(rng.choice(names), rng), rng.choice(ODDITIES), rng.choice("abcXYZ019")))
        for _ in range(rng.randint(2, 4))
    ]
    return _choose_form("".join(pieces), rng)


def _choose_form(word: str, rng: random.Random) -> str:
    form = rng.choice(("", "NFC", "NFD"))
    return unicodedata.normalize(form, word) if form else word


def draw_words(seed: int, count: int) -> list[str]:
    """Words for one test: of scripts in turn, so that few seeds meet every script, then mixed ones, then
    oddities."""
    rng = random.Random(seed)
    names = sorted(list_scripts())
    own = [draw_word(names[(seed * count + place) % len(names)], rng) for place in range(count)]
    return [*own, *(draw_mixed_word(rng) for _ in range(count // 3)), *rng.sample(ODDITIES, count // 4)]
