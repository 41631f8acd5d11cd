"""Places in notes, in the one form that every command takes: `Note`, `Note#Heading`, `Note#^block`, `Note:3`,
`Note:3-5`, `Note:3:1-5:10`, and `Note#L3-L5` as assistants write lines."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from vaultbridge.errors import InvalidArgument, NoteNotFound

if TYPE_CHECKING:
    from vaultbridge.engine import Engine

_NUMBER: Final = r"\d{1,9}"
_LINES: Final = re.compile(
    rf"(?P<note>.+?):(?P<l1>{_NUMBER})(?::(?P<c1>{_NUMBER}))?"
    rf"(?P<dash>-(?:(?P<l2>{_NUMBER})(?::(?P<c2>{_NUMBER}))?)?)?",
    re.DOTALL,
)
_MENTION: Final = re.compile(rf"(?P<note>.+?)#L(?P<l1>{_NUMBER})(?:-L?(?P<l2>{_NUMBER}))?", re.DOTALL)

FORMS: Final = "NOTE, NOTE#Heading, NOTE#^block, NOTE:3 or NOTE:3-5"


class NotePlace(Struct, frozen=True):
    """`start` and `end` are (line,) or (line, column), counted from 1. An empty `end` means the same line,
    and with `open_end` the end of the note."""

    note: str
    heading: str = ""
    block: str = ""
    start: tuple[int, ...] = ()
    end: tuple[int, ...] = ()
    open_end: bool = False

    def lines(self) -> tuple[int, int] | None:
        """First and last line, as `Part` takes them: a last of 0 is the end of the note."""
        if not self.start:
            return None
        return self.start[0], 0 if self.open_end else (self.end or self.start)[0]


def parse_place(text: str) -> NotePlace:
    """Raises InvalidArgument for an empty name, and for impossible lines."""
    if not text.strip():
        raise InvalidArgument("The name of the note is empty.", argument="usage", hint=f"Write {FORMS}.")
    found = _MENTION.fullmatch(text) or _LINES.fullmatch(text)
    if found is None:
        note, mark, below = text.partition("#")
        if not mark or not note:
            return NotePlace(text)
        return NotePlace(note, block=below[1:]) if below.startswith("^") else NotePlace(note, heading=below)
    parts = found.groupdict()
    start = tuple(int(parts[name]) for name in ("l1", "c1") if parts.get(name))
    end = tuple(int(parts[name]) for name in ("l2", "c2") if parts.get(name))
    if 0 in start or 0 in end:
        raise InvalidArgument(f"{text!r}: lines and columns are counted from 1.", argument="usage")
    if end and end < start[: len(end)]:
        raise InvalidArgument(f"{text!r}: the end comes before the start.", argument="usage")
    return NotePlace(parts["note"], start=start, end=end, open_end=parts.get("dash") == "-")


def find_place(engine: Engine, text: str) -> NotePlace:
    """Parse a place whose note exists. A note's whole name comes first: it may itself contain `#` or `:3`.
    Raises NoteNotFound, which names only the note."""
    place = parse_place(text)
    if place.note != text:
        try:
            return NotePlace(engine.find(text))
        except (NoteNotFound, InvalidArgument):
            pass
    return NotePlace(
        engine.find(place.note), place.heading, place.block, place.start, place.end, place.open_end
    )


def find_place_lines(engine: Engine, text: str) -> tuple[str, tuple[int, ...], tuple[int, ...]]:
    """Find a place as path, start and end, each (line,) or (line, column); both are empty for a whole note. A
    heading means the lines of its section, a block id those of its block."""
    from vaultbridge.markdown.sections import find_block, find_section
    from vaultbridge.markdown.text import Positions

    place = find_place(engine, text)
    if not (place.heading or place.block or place.open_end):
        return place.note, place.start, place.end
    view = engine.view(place.note)
    positions = Positions(view.text)
    if place.heading:
        section = find_section(view.text, view.note, place.heading)
        return place.note, (section.line,), (section.end_line,)
    if place.block:
        block = find_block(view.note, place.block)
        first, last = positions.line_of(block.start), positions.line_of(max(block.start, block.end - 1))
        return place.note, (first,), (last,)
    return place.note, place.start, (positions.written_lines,)


def make_selection(path: str, start: tuple[int, ...], end: tuple[int, ...]) -> dict[str, Any]:
    """The parameters of the bridge's `select`."""
    params: dict[str, Any] = {"note": path}
    if start:
        params["start"] = list(start)
    if end:
        params["end"] = list(end)
    return params


def make_mention(path: str, start: tuple[int, ...], end: tuple[int, ...]) -> dict[str, Any]:
    """The parameters of the bridge's `mention`, which counts lines from 0."""
    params: dict[str, Any] = {"note": path}
    if start:
        params["lineStart"], params["lineEnd"] = start[0] - 1, (end or start)[0] - 1
    return params
