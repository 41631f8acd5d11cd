"""Says what a note has instead of a text that was sought in it and is not there.

Models write straight quotes, plain hyphens and composed letters where notes have “these”, — and others, and
they quote from memory. Nothing is edited by guessing: the passage is shown exactly as it is, to be copied.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

SOUGHT_CHARS: Final = 2000
"""The longest text for which we look for a near miss: nobody quotes more from memory."""

SEARCHED_CHARS: Final = 2**20
"""The longest note that we search: reading it character by character takes a third of a second."""

SHOWN_CHARS: Final = 400
"""How much of a passage is shown: a paragraph, which can then be copied."""

_ALIKE: Final = {
    **dict.fromkeys("‘’‚‛′`´", "'"),
    **dict.fromkeys("“”„‟″«»", '"'),
    **dict.fromkeys("‐‑‒–—―−", "-"),
    **dict.fromkeys("\u00ad\u200b\u200c\u200d\u2060\ufeff", ""),
}
"""Characters that people and programs exchange for each other, and those that nobody sees."""

_WORD: Final = re.compile(r"\w+")


def describe_near_miss(text: str, sought: str) -> str:
    """Describe the passage that the text probably meant, with its line; "" if there is none."""
    if not sought.strip() or len(sought) > SOUGHT_CHARS or len(text) > SEARCHED_CHARS:
        return ""
    folded, places = _fold(text)
    wanted = _fold(sought)[0].strip(" ")
    at = folded.find(wanted) if wanted else -1
    if at >= 0:
        start, end = places[at], places[at + len(wanted) - 1] + 1
        while end < len(text) and unicodedata.combining(text[end]):
            end += 1
        passage = text[start:end]
        how = _name_difference(passage, sought.strip())
        return f"It occurs {how} at line {_line_of(text, start)}: {_show(passage)}"
    return _describe_closest_line(text, sought)


def _fold(text: str) -> tuple[str, list[int]]:
    """Fold what is easily confused, and find the place of each character of the result in the text."""
    known: dict[str, str] = {}
    folded: list[str] = []
    places: list[int] = []
    for place, char in enumerate(text):
        plain = known.get(char)
        if plain is None:
            plain = known[char] = _fold_character(char)
        if plain == " " and folded and folded[-1] == " ":
            continue
        folded.extend(plain)
        places.extend([place] * len(plain))
    return "".join(folded), places


def _fold_character(char: str) -> str:
    if char.isspace():
        return " "
    if char in _ALIKE:
        return _ALIKE[char]
    return "".join(_ALIKE.get(one, one) for one in unicodedata.normalize("NFKD", char).casefold())


def _name_difference(passage: str, sought: str) -> str:
    if passage.split() == sought.split():
        return "with different blanks"
    if passage.casefold().split() == sought.casefold().split():
        return "in a different case"
    return "with other characters (quotes, dashes, blanks or accents)"


def _describe_closest_line(text: str, sought: str) -> str:
    """Find the line that shares the most words with the text, if it shares more than half of them. Of a text
    of several lines, the longest is looked for."""
    longest = max(sought.splitlines(), key=len)
    wanted = {word.casefold() for word in _WORD.findall(longest)}
    best, most = "", 0
    for line in text.splitlines():
        shared = len(wanted.intersection(map(str.casefold, _WORD.findall(line))))
        if shared > most:
            best, most = line, shared
    if 2 * most <= len(wanted) or most < 2:
        return ""
    return f"The closest is line {_line_of(text, text.index(best))}: {_show(best.strip())}"


def _line_of(text: str, place: int) -> int:
    before = text[:place]
    return len(re.findall(r"\r\n|\r|\n", before)) + 1


def _show(passage: str) -> str:
    return passage if len(passage) <= SHOWN_CHARS else f"{passage[:SHOWN_CHARS]}…"
