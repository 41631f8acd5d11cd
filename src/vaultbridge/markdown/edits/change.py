"""Represents an edit as changes of a text, and fits inserted text between the lines around it.

Every edit of a note is a tuple of `Change`s against the original text. So an edit rewrites only what it is
about, edits can be previewed before they are made, and each has an inverse. The other modules of this folder
decide what an edit means; none of them writes files.

Inserted text takes the line ends of its neighbours. A blank line is added only where the text would otherwise
be read as part of a neighbour, or the neighbour as part of it. Line ends are only CR LF, LF and CR; U+2028,
form feeds and the like end no line in Markdown.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from typing import Final

from msgspec import Struct

from vaultbridge.errors import EditRefused
from vaultbridge.markdown.model import Note
from vaultbridge.markdown.text import LINE_END


class Change(Struct, frozen=True, gc=False, order=True):
    """Replaces the characters from `start` up to `end` by `text`. Equal offsets insert; an empty text
    deletes."""

    start: int
    end: int
    text: str


def sort_changes(changes: Iterable[Change], length: int) -> tuple[Change, ...]:
    """Sort the changes by position; insertions at the same position stay in the given order.

    Raises EditRefused if two of them touch the same characters or one is outside a text of `length`."""
    ordered = sorted(changes, key=lambda change: (change.start, change.end))
    previous = 0
    for change in ordered:
        if not 0 <= change.start <= change.end <= length:
            raise EditRefused(
                f"An edit of characters {change.start} to {change.end} is outside a text of {length}."
            )
        if change.start < previous:
            raise EditRefused(f"Two edits overlap at character {change.start}; make one after the other.")
        previous = change.end
    return tuple(ordered)


def apply_changes(text: str, changes: Iterable[Change]) -> str:
    """Return the text with all changes made. Raises EditRefused as `sort_changes` does."""
    pieces: list[str] = []
    done = 0
    for change in sort_changes(changes, len(text)):
        pieces.append(text[done : change.start])
        pieces.append(change.text)
        done = change.end
    pieces.append(text[done:])
    return "".join(pieces)


_LIST_ITEM: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)")
_LATER_ITEM: Final = re.compile(r"[ ]{0,3}(?!1[.)])\d{1,9}[.)][ \t]")
_OPENS_BLOCK: Final = re.compile(
    r"[ ]{0,3}(?:#{1,6}(?:[ \t]|$)|>|```|~~~|\$\$|%%|(?:[-*+]|\d{1,9}[.)])[ \t]"
    r"|([-*_])[ \t]*(?:\1[ \t]*){2,}$)"
)
_UNDERLINE: Final = re.compile(r"[ ]{0,3}(?:=+|-+)[ \t]*$")
_BLOCK_ID_LAST: Final = re.compile(r"(?:^|\s)\^[A-Za-z0-9-]+[ \t]*$")
_ON_ONE_LINE: Final = re.compile(r"(%%|\$\$).*\1")
_TABLE_ROW: Final = re.compile(r"[ ]{0,3}\|")
_CODE: Final = re.compile(r"(?: {4}| {0,3}\t)")
_QUOTE: Final = re.compile(r"[ ]{0,3}>")
_HEADING: Final = re.compile(r"[ ]{0,3}#{1,6}(?:[ \t]|$)")


def line_end_near(text: str, offset: int) -> str:
    """Return the line end of the line before `offset`, else of the line at it, else LF."""
    newline = text.rfind("\n", 0, offset)
    carriage = text.rfind("\r", 0, offset)
    if carriage > newline:
        return "\r\n" if text[carriage : carriage + 2] == "\r\n" else "\r"
    if newline >= 0:
        return "\r\n" if newline > 0 and text[newline - 1] == "\r" else "\n"
    after = LINE_END.search(text, offset)
    return after.group() if after else "\n"


def convert_line_ends(text: str, line_end: str) -> str:
    """Return the text with each line end replaced by `line_end`."""
    return LINE_END.sub(lambda _: line_end, text)


def split_lines(text: str) -> list[str]:
    """Return the lines without their ends; the last one is empty if the text ends with a line end."""
    return LINE_END.split(text)


def split_keeping_ends(text: str) -> list[str]:
    """Return the lines with their ends; no line is empty, and joined they are the text."""
    lines: list[str] = []
    done = 0
    for match in LINE_END.finditer(text):
        lines.append(text[done : match.end()])
        done = match.end()
    if done < len(text):
        lines.append(text[done:])
    return lines


def ends_with_line_end(text: str) -> bool:
    return text.endswith(("\n", "\r"))


def start_of_line(text: str, offset: int) -> int:
    """Return where the line that contains `offset` begins."""
    return max(text.rfind("\n", 0, offset), text.rfind("\r", 0, offset)) + 1


def end_of_line(text: str, offset: int) -> int:
    """Return where the line that contains `offset` ends, before its line end."""
    match = LINE_END.search(text, offset)
    return match.start() if match else len(text)


def start_of_next_line(text: str, offset: int) -> int:
    """Return where the line after the one that contains `offset` begins."""
    match = LINE_END.search(text, offset)
    return match.end() if match else len(text)


def last_line(text: str, start: int, end: int) -> str:
    """Return the last line before `end` (which begins a line or ends the text), without its end."""
    stop = end
    if text[start:stop].endswith("\r\n"):
        stop -= 2
    elif ends_with_line_end(text[max(start, stop - 1) : stop]):
        stop -= 1
    return text[max(start, start_of_line(text, stop)) : stop]


def would_merge(above: str, below: str) -> bool:
    """Return whether two adjacent lines would be read as one block although they should be two, and so need a
    blank line between them.

    Two lines of plain text may share a paragraph (a log grows that way), and so may two items of a list, rows
    of a table or lines of a quote. A heading above needs no blank line; a heading below gets one."""
    if not above.strip() or not below.strip():
        return False
    if _HEADING.match(below):
        return True
    if _HEADING.match(above):
        return False
    if _UNDERLINE.match(below):
        # The line would turn the paragraph above into a heading.
        return True
    if _TABLE_ROW.match(above):
        return not _TABLE_ROW.match(below)
    if _CODE.match(below) and above[:1] not in (" ", "\t") and not _LIST_ITEM.match(above):
        # Right below a paragraph, the line would be part of the paragraph, not code.
        return True
    if _LATER_ITEM.match(below) and not _OPENS_BLOCK.match(above) and above[:1] not in (" ", "\t"):
        # Only an item numbered 1 may interrupt a paragraph; any other would be part of it.
        return True
    if _BLOCK_ID_LAST.search(above):
        # An id counts only at the end of its paragraph, so only a line that opens a block may follow.
        bare = below.lstrip(" \t")
        return not _OPENS_BLOCK.match(bare) or bool(_ON_ONE_LINE.match(bare))
    if _OPENS_BLOCK.match(below) or below[:1] in (" ", "\t"):
        # The line opens its own block, or is indented to continue the item above.
        return False
    if _TABLE_ROW.match(below):
        # The first row of a table right below a paragraph would be part of the paragraph.
        return True
    return bool(_QUOTE.match(above) or _LIST_ITEM.match(above))


def fit_lines(text: str, offset: int, addition: str, *, floor: int = 0) -> str:
    """Return what to insert at `offset`, the start of a line or the end of the text, so that `addition`
    becomes separate lines. `floor` is where the region begins whose last line is the neighbour above.

    The ending of the text is preserved: a text without a final line end gets one before the addition, and one
    after it only if the addition has its own. Everywhere else the addition's last line gets a line end."""
    line_end = line_end_near(text, offset)
    body = convert_line_ends(addition, line_end)
    lines = split_lines(body)
    unended = offset == len(text) and text != "" and not ends_with_line_end(text)
    before = line_end if unended else ""
    if offset > floor and would_merge(last_line(text, floor, offset), lines[0]):
        before += line_end
    after = "" if unended or not text or ends_with_line_end(body) else line_end
    last = lines[-2] if lines[-1] == "" and len(lines) > 1 else lines[-1]
    if offset < len(text) and would_merge(last, text[offset : end_of_line(text, offset)]):
        after += line_end
    return before + body + after


def fit_lines_in_note(text: str, note: Note, offset: int, addition: str, *, floor: int = 0) -> str:
    """Like `fit_lines`, with a blank line before a heading that follows."""
    inserted = fit_lines(text, offset, addition, floor=floor)
    return inserted + heading_separator(text, note, offset, inserted)


def heading_separator(text: str, note: Note, offset: int, before: str) -> str:
    """Return the line end that separates `before` from a heading at `offset`, or "" if none is needed. Lines
    right above the text of a setext heading would become part of the heading."""
    if not any(start_of_line(text, heading.start) == offset for heading in note.headings):
        return ""
    lines = split_lines(before)
    ends_blank = len(lines) > 2 and not lines[-1] and not lines[-2].strip()
    return "" if ends_blank else line_end_near(text, offset)
