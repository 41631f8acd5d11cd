"""Derives a parsed note from the one in the index, when nothing but the targets of wikilinks has changed.

Renaming a note that hundreds link to changes hundreds of notes in this way, and parsing each again takes
several times as long. The result equals what the parser would return, so only changes that no parsing rule
depends on are accepted: in `[[target#part|text]]` only the target may differ, both targets must be free of
characters that mean something in Markdown, and nothing whose text is stored (headings, tasks, titles of
callouts, footnotes, fields) may contain the link. In every other case the caller parses.

So all rows of the note stay as they are in the index, except for those links, and only these are listed.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable
from typing import Any, Final

from msgspec import Struct

from vaultbridge.index.store.rows import (
    Rows,
    build_rows,
    decode_note,
    decode_parts,
    encode_parts,
    join_heads_of_parts,
    make_link_keys,
)

_PLAIN_WIKI: Final = re.compile(r"(!?\[\[)(\w(?:[\w ().,/&'+-]*\w)?)((?:#|\\?\|)[^\[\]\r\n]*)?\]\]")
"""A link to a plain target: what is before the target, the target, and what follows it."""

_MARKS: Final = ("](", "<")
"""Before a link in the same paragraph, one of these may begin a Markdown link or a tag that ends inside the
target or after it. Whether it does depends on blanks, quotes and parentheses, which a target may contain."""

_BLANK_LINE: Final = re.compile(r"\n\r?\n|\r\r")
"""The end of a paragraph."""

_HEADINGS, _LINKS, _TASKS, _CALLOUTS, _FOOTNOTES, _FIELDS, _PROBLEMS = 2, 4, 5, 7, 8, 9, 10
"""Places in `decode_parts`."""

_OFFSETS: Final = {2: (3, 4), 3: (2, 3), 4: (7, 8), 5: (4, 5), 6: (2, 3, 4), 7: (5, 6), 8: (4, 5)}
"""Where the offsets are in the items of each part that has some in the body."""

_TEXT_LINES: Final = ((_HEADINGS, 2), (_TASKS, 0), (_CALLOUTS, 3), (_FOOTNOTES, 3))
"""The parts that store the text of a line, and where the line's number is in their items."""

_RAW, _TARGET, _KIND, _LINE, _START, _END = 0, 1, 5, 6, 7, 8
"""Places in a link."""

_Replaced = list[tuple[int, list[Any], re.Match[str]]]
"""The links that differ: the position of each among all links, the old one, and the match of the new one."""


class Known(Struct, frozen=True):
    """A note as it is in the index: its encoded form, its text, and the hash of its file."""

    note: bytes
    text: str
    hash: str


RelinkedLink = tuple[int, str, str, str | None, str | None]
"""The position of a link among all links of its note, and its new text, target and candidate keys."""


class Relinked(Struct, frozen=True):
    """What changes in the index when links of a note have new targets. `known` is the note before, `note` and
    `text` are the note now, and `links` has the links that differ. `heads` is as in `Rows`; it stays the
    same."""

    known: Known
    hash: str
    text: str
    note: bytes
    heads: str
    links: list[RelinkedLink]

    def all_rows(self) -> Rows:
        """Returns the rows of the whole note."""
        return build_rows(decode_note(self.note), self.text, self.hash)


def relink(known: Known, text: str, hash_: str) -> Relinked | None:
    """Returns what parsing the changed text would change, or None if it has to be parsed."""
    # The name of a field is the text before it on its line, which may be a link.
    if "::" in known.text:
        return None
    parts = decode_parts(known.note)
    if parts[_PROBLEMS] or parts[_FIELDS]:
        return None
    replaced = _find_replaced(parts[_LINKS], known.text, text)
    if not replaced or _is_text_stored(parts, replaced) or _may_be_inside(known.text, replaced):
        return None
    if not _replace(parts, replaced):
        return None
    keys = {new[2]: make_link_keys(new[2]) for _, _, new in replaced}
    changed = [(seq, new[0], new[2], *keys[new[2]]) for seq, _, new in replaced]
    return Relinked(known, hash_, text, encode_parts(parts), join_heads_of_parts(parts), changed)


def _find_replaced(links: Iterable[list[Any]], before: str, text: str) -> _Replaced | None:
    """Finds the links whose targets differ; None when anything else does."""
    replaced: _Replaced = []
    last = at = 0
    for seq, link in enumerate(links):
        start, end = link[_START], link[_END]
        # A link around an image contains it.
        if start < last or not text.startswith(before[last:start], at):
            return None
        at += start - last
        last = end
        written = before[start:end]
        if text.startswith(written, at):
            at += end - start
            continue
        old, new = _PLAIN_WIKI.fullmatch(written), _PLAIN_WIKI.match(text, at)
        if link[_KIND] != "wiki" or old is None or new is None or link[_TARGET] != old[2]:
            return None
        if (old[1], old[3]) != (new[1], new[3]):
            return None
        replaced.append((seq, link, new))
        at = new.end()
    return replaced if text[at:] == before[last:] else None


def _is_text_stored(parts: list[Any], replaced: _Replaced) -> bool:
    """Whether one of the links is inside something whose text is stored too."""
    lines = {link[_LINE] for _, link, _ in replaced}
    if any(item[0] == "inline" for item in parts[_FOOTNOTES]):
        # It may span several lines.
        return True
    return any(item[at] in lines for part, at in _TEXT_LINES for item in parts[part])


def _may_be_inside(before: str, replaced: _Replaced) -> bool:
    """Whether one of the links is in the same paragraph as a mark before it."""
    looked = 0
    for _, link, _ in replaced:
        start = link[_START]
        # Each part of the text once: a note may have a hundred thousand links.
        mark = max(before.rfind(mark, looked, start) for mark in _MARKS)
        if mark >= 0 and _BLANK_LINE.search(before, mark, start) is None:
            return True
        looked = start
    return False


def _replace(parts: list[Any], replaced: _Replaced) -> bool:
    """Puts the new targets into their links and shifts everything after them. Returns False if an offset is
    inside a link that was replaced."""
    starts = [link[_START] for _, link, _ in replaced]
    ends = [link[_END] for _, link, _ in replaced]
    moved = [0]
    for _, link, new in replaced:
        moved.append(moved[-1] + new.end() - new.start() - (link[_END] - link[_START]))
        link[_RAW], link[_TARGET] = new[0], new[2]
    for part, places in _OFFSETS.items():
        for item in parts[part]:
            for place in places:
                offset = item[place]
                if offset > starts[0]:
                    passed = bisect_right(ends, offset)
                    if passed < len(starts) and starts[passed] < offset:
                        return False
                    item[place] = offset + moved[passed]
    return True
