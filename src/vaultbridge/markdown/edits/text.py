"""Edits a note's text at its start or end, at a line, or where a given text is.

Each function takes the text, and the parsed note where structure matters, and returns the changes; nothing is
written. The other modules of this folder edit sections, tasks, properties and tags, and apply diffs. The
caller's text may use any line ends: it gets those that the note has at that place.

We never guess where a text belongs that does not occur. Models quote from memory, and write straight quotes,
plain hyphens and composed letters where notes have “these”, — and others. So the error shows the passage that
was probably meant, as it is in the note, to be copied.
"""

from __future__ import annotations

import re
import unicodedata
from typing import Final

from vaultbridge.errors import EditRefused, InvalidArgument
from vaultbridge.markdown.edits.change import (
    Change,
    apply_changes,
    convert_line_ends,
    ends_with_line_end,
    fit_lines,
    fit_lines_in_note,
    line_end_near,
    split_keeping_ends,
    split_lines,
)
from vaultbridge.markdown.model import Note
from vaultbridge.markdown.parse import parse

LINES_NAMED: Final = 8
"""How many lines an error lists: enough to distinguish them, and the message stays on one line."""

SOUGHT_CHARS: Final = 2000
"""The longest text for which we look for a near miss. Nobody quotes more from memory."""

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
"""Characters that people and programs use for each other, and invisible ones."""

_WORD: Final = re.compile(r"\w+")


def append(text: str, note: Note, addition: str) -> tuple[Change, ...]:
    """Append to the note, on a new line.

    A note that ends with a line end still does; one that does not gets a line end before the addition, and
    none after it unless the addition has one. An empty note becomes the addition as given."""
    if not addition:
        return ()
    floor = note.properties.end if note.properties else 0
    return (Change(len(text), len(text), fit_lines(text, len(text), addition, floor=floor)),)


def prepend(text: str, note: Note, addition: str) -> tuple[Change, ...]:
    """Insert before the first line of the body that is not blank, so that the blank lines after the
    properties stay where they are."""
    if not addition:
        return ()
    floor = note.properties.end if note.properties else 0
    offset = find_first_content(text, floor, len(text))
    if offset == 0 and re.match(r"---[ \t]*(\r|\n|$)", addition):
        raise EditRefused(
            "Text that begins with '---' at the top of a note would become its properties.",
            hint="Set the properties one by one, or begin the text with another line.",
        )
    return (Change(offset, offset, fit_lines_in_note(text, note, offset, addition, floor=floor)),)


def keep_as_body(text: str, note: Note, changes: tuple[Change, ...]) -> tuple[Change, ...]:
    """Return the changes, unless they would close a line `---` that begins a note without properties: then
    all of its text up to there would be read as properties."""
    if note.properties is not None:
        return changes
    after = apply_changes(text, changes)
    if after.startswith("---") and parse(after).properties is not None:
        raise EditRefused(
            "The note begins with '---': one more such line would make the text above it properties.",
            hint="Write '***' or '___' for a line across the page.",
        )
    return changes


def find_first_content(text: str, start: int, end: int) -> int:
    """Return where the first line that is not blank begins, between `start` (the start of a line) and `end`;
    `start` itself if all are blank."""
    offset = start
    for line in split_keeping_ends(text[start:end]):
        if line.strip():
            return offset
        offset += len(line)
    return start


def insert_at_line(text: str, line: int, addition: str) -> tuple[Change, ...]:
    """Insert before the given line, counted from 1; one after the last line is the end. The addition becomes
    separate lines, without a blank line: the caller chose the place. Nothing can go above the properties:
    they would become text."""
    starts = _line_starts(text)
    if not 1 <= line <= len(starts) + 1:
        raise EditRefused(
            f"There is no line {line}: the note has {len(starts)}.",
            hint=f"Give a line from 1 to {len(starts) + 1}.",
        )
    if not addition:
        return ()
    if line == 1:
        _require_no_properties(text, starts)
    offset = starts[line - 1] if line <= len(starts) else len(text)
    line_end = line_end_near(text, offset)
    body = convert_line_ends(addition, line_end)
    if offset == len(text) and text and not ends_with_line_end(text):
        return (Change(offset, offset, line_end + body),)
    if text and not ends_with_line_end(body):
        body += line_end
    return (Change(offset, offset, body),)


def _require_no_properties(text: str, starts: list[int]) -> None:
    if not text.startswith("---"):
        return
    properties = parse(text).properties
    if properties is None:
        return
    first = 1 + sum(1 for start in starts if start < properties.end)
    raise EditRefused(
        "The note's properties begin at line 1; text above would turn them into text.",
        hint=f"Give line {first} for the start of the body, or prepend.",
    )


def replace_text(text: str, old: str, new: str, *, every: bool = False) -> tuple[Change, ...]:
    """Replace the only occurrence of `old` by `new`, or with `every` each of them.

    `old` must match exactly except for its line ends, which may be LF where the note has CR LF. Raises
    EditRefused if it does not occur, or if it occurs more than once without `every`, and says where."""
    if not old:
        raise InvalidArgument("The text to replace is empty.", argument="old")
    sought = _fit_line_ends(text, old)
    places = _find_all(text, sought)
    if not places:
        raise EditRefused(
            "The text to replace does not occur in the note.", hint=describe_near_miss(text, old)
        )
    if not every and len(places) > 1:
        lines = _find_lines(text, places)
        raise EditRefused(
            f"The text to replace occurs {len(places)} times, at lines {_list_lines(lines)}.",
            hint="Include more of the text around it, or ask to replace all of them.",
            lines=lines[:LINES_NAMED],
        )
    changes: list[Change] = []
    for place in places:
        if changes and place < changes[-1].end:
            continue
        body = convert_line_ends(new, line_end_near(text, place))
        changes.append(Change(place, place + len(sought), body))
    return tuple(changes)


def has_text(text: str, old: str) -> bool:
    """Return whether `replace_text` would find it."""
    return _fit_line_ends(text, old) in text


def _fit_line_ends(text: str, old: str) -> str:
    """Return `old` with the line ends with which it occurs in the text; unchanged if it does not."""
    if old in text or len(split_lines(old)) < 2:
        return old
    return next((s for e in ("\r\n", "\n", "\r") if (s := convert_line_ends(old, e)) in text), old)


def _find_all(text: str, sought: str) -> list[int]:
    """Return all occurrences, even overlapping ones: `aa` occurs twice in `aaa`."""
    places: list[int] = []
    place = text.find(sought)
    while place >= 0:
        places.append(place)
        place = text.find(sought, place + 1)
    return places


def _line_starts(text: str) -> list[int]:
    starts: list[int] = []
    offset = 0
    for line in split_keeping_ends(text):
        starts.append(offset)
        offset += len(line)
    return starts


def _find_lines(text: str, places: list[int]) -> list[int]:
    starts = _line_starts(text)
    lines: list[int] = []
    line = 0
    for place in places:
        while line < len(starts) and starts[line] <= place:
            line += 1
        lines.append(line)
    return lines


def _list_lines(lines: list[int]) -> str:
    shown = ", ".join(map(str, lines[:LINES_NAMED]))
    return shown if len(lines) <= LINES_NAMED else f"{shown} and {len(lines) - LINES_NAMED} more"


def describe_near_miss(text: str, sought: str) -> str:
    """Describe the passage that was probably meant, with its line; "" if there is none."""
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
    """Fold characters that are easily confused. Returns also the offset in the text of each character of the
    result."""
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
    return "".join(_ALIKE.get(letter, letter) for letter in unicodedata.normalize("NFKD", char).casefold())


def _name_difference(passage: str, sought: str) -> str:
    if passage.split() == sought.split():
        return "with different spacing"
    if passage.casefold().split() == sought.casefold().split():
        return "in a different case"
    return "with other characters (quotes, dashes, spaces or accents)"


def _describe_closest_line(text: str, sought: str) -> str:
    """Find the line that shares the most words with the text, if it shares more than half of them. If the
    text has several lines, its longest line is compared."""
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
