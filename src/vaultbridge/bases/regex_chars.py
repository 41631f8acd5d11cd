"""Which characters a class, escape or border of a regular expression accepts, by JavaScript's rules."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from typing import Final

Accepts = Callable[[str], bool]

CATEGORIES: Final = {
    "Letter": "L",
    "Alphabetic": "L",
    "Alpha": "L",
    "Uppercase_Letter": "Lu",
    "Uppercase": "Lu",
    "Lowercase_Letter": "Ll",
    "Lowercase": "Ll",
    "Mark": "M",
    "Number": "N",
    "Decimal_Number": "Nd",
    "Punctuation": "P",
    "Symbol": "S",
    "Separator": "Z",
}


def _is_digit(char: str) -> bool:
    return "0" <= char <= "9"


def _is_word(char: str) -> bool:
    return char == "_" or (char.isascii() and char.isalnum())


def _is_space(char: str) -> bool:
    return char.isspace() or char == "\ufeff"


CLASSES: Final[dict[str, Accepts]] = {"d": _is_digit, "w": _is_word, "s": _is_space}


def negated(accepts: Accepts) -> Accepts:
    return lambda char: not accepts(char)


def at_word_border(text: str, at: int) -> bool:
    before = at > 0 and _is_word(text[at - 1])
    after = at < len(text) and _is_word(text[at])
    return before != after


def has_category(category: str) -> Accepts:
    return lambda char: unicodedata.category(char).startswith(category)


def member_test(
    singles: frozenset[str],
    ranges: tuple[tuple[str, str], ...],
    tests: tuple[Accepts, ...],
    *,
    fold: bool,
) -> Accepts:
    def exactly(char: str) -> bool:
        return (
            char in singles
            or any(low <= char <= high for low, high in ranges)
            or any(test(char) for test in tests)
        )

    if not fold:
        return exactly
    return lambda char: exactly(char) or exactly(char.lower()) or exactly(char.upper())
