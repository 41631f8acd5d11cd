"""Cuts out the part of a note that a caller asked for, limited in size, and parses a file by its kind.

Pure: text in, an excerpt out. Which note, and whether it may be read, has been decided before.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from vaultbridge.canvas.parse import parse_canvas
from vaultbridge.errors import InvalidArgument
from vaultbridge.markdown.model import Note
from vaultbridge.markdown.parse import parse
from vaultbridge.markdown.sections import find_block, find_section, outline
from vaultbridge.markdown.text import Positions, replace_surrogates
from vaultbridge.vault.paths import VaultPath


def parse_file(path: str, text: str) -> Note:
    """Parses a note or a canvas; any other file gives an empty Note."""
    kind = path.rpartition(".")[2].lower()
    if kind == "md":
        return parse(text)
    if kind == "canvas":
        return parse_canvas(text)
    return Note()


EXCERPT_CHARS: Final = 24_000
"""The default length of an excerpt: about 6,000 tokens, a quarter of what assistants accept as one result."""

LARGEST_EXCERPT_CHARS: Final = 90_000
"""The most a caller may ask for: below the 25,000 tokens at which assistants refuse a result."""


class FileView(Struct, frozen=True):
    """One file as it is on disk now. `text` may contain lone surrogates: call
    `markdown.text.replace_surrogates` before it is sent to anyone."""

    path: VaultPath
    text: str
    note: Note
    hash: str
    modified: float


class Part(Struct, frozen=True, kw_only=True, gc=False):
    """What to read of a note. At most one of `heading`, `block`, `lines` and `outline` is given.

    `lines` are first and last, counted from 1, both included; a last of 0 means to the end. `start` is where
    the previous excerpt said that the text continues."""

    heading: str = ""
    block: str = ""
    lines: tuple[int, int] | None = None
    outline: bool = False
    properties: bool = True
    start: int = 0
    max_chars: int = EXCERPT_CHARS


WHOLE: Final = Part()

_LINES: Final = re.compile(r"\s*(\d{1,9})?\s*(?:(-)\s*(\d{1,9})?\s*)?")


def parse_lines(text: str, argument: str = "lines") -> tuple[int, int]:
    """Read `10-20`, `10-`, `-20` or `10` as `Part.lines`. Raises InvalidArgument."""
    found = _LINES.fullmatch(text)
    if found is None or not (found[1] or found[3]):
        raise InvalidArgument(
            f"{text[:40]!r} is not a range of lines.",
            argument=argument,
            hint="Write 10-20, 10- for the rest, or 10 for one line.",
        )
    first = int(found[1] or 1)
    return first, int(found[3]) if found[3] else 0 if found[2] else first


class Excerpt(Struct, frozen=True, gc=False):
    """`first_line` and `last_line` are where the text is in the note. `next_start` is what to give as `start`
    to go on, or None when nothing is left."""

    text: str
    first_line: int
    last_line: int
    total_lines: int
    next_start: int | None = None


class Reading(Struct, frozen=True, gc=False):
    """A part of a file. `lines` is how many the whole file has, as a reader counts them. `problem` says why
    the file is not UTF-8, so that the excerpt has other characters in place of some of its bytes; "" if it
    is."""

    path: VaultPath
    hash: str
    lines: int
    excerpt: Excerpt
    problem: str = ""


def needs_structure(part: Part) -> bool:
    """Whether the note must be parsed to find the part."""
    return bool(part.heading or part.block or part.outline or not part.properties)


def excerpt(text: str, note: Note, part: Part = WHOLE) -> Excerpt:
    """Cut the part out of the note. Raises EditRefused when a heading or block is not there, InvalidArgument
    when the request contradicts itself or names lines the note does not have."""
    _check_single(part)
    positions = Positions(text)
    if part.outline:
        return _outline_excerpt(text, note, positions, part)
    start, end = _span(text, note, positions, part)
    return _cut(text, start, end, positions, part)


def exact_part(text: str, note: Note, part: Part = WHOLE) -> str:
    """The part exactly as it is in the note, however long. Raises as `excerpt` does."""
    _check_single(part)
    start, end = _span(text, note, Positions(text), part)
    return text[start:end]


def _check_single(part: Part) -> None:
    asked = [
        name
        for name, value in (
            ("heading", part.heading),
            ("block", part.block),
            ("lines", part.lines),
            ("outline", part.outline),
        )
        if value
    ]
    if len(asked) > 1:
        raise InvalidArgument(f"{' and '.join(asked)} cannot be combined.", argument=asked[1])


def _span(text: str, note: Note, positions: Positions, part: Part) -> tuple[int, int]:
    if part.heading:
        section = find_section(text, note, part.heading)
        return section.start, section.content_end
    if part.block:
        block = find_block(note, part.block)
        return block.start, block.end
    if part.lines:
        return _line_span(text, positions, part.lines)
    if not part.properties and note.properties is not None:
        return note.properties.end, len(text)
    return 0, len(text)


def _line_span(text: str, positions: Positions, lines: tuple[int, int]) -> tuple[int, int]:
    first, last = lines
    total = positions.written_lines
    last = min(last or total, total)
    if not 1 <= first <= total or last < first:
        raise InvalidArgument(
            f"There are no lines {first} to {lines[1] or 'the end'}: the note has {total}.", argument="lines"
        )
    end = positions.offset_of_line(last + 1) if last < total else len(text)
    return positions.offset_of_line(first), end


def _outline_excerpt(text: str, note: Note, positions: Positions, part: Part) -> Excerpt:
    """One row per heading: its mark, its text and the lines it covers, so that the next call can be exact."""
    rows = [f"{'#' * s.level} {s.text}  (lines {s.line}-{s.end_line})" for s in outline(note, text)]
    body = "\n".join(rows) if rows else "(no headings)"
    cut = _cut(body, 0, len(body), Positions(body), part)
    return Excerpt(cut.text, 1, positions.written_lines, positions.written_lines, cut.next_start)


def _cut(text: str, start: int, end: int, positions: Positions, part: Part) -> Excerpt:
    if not 1 <= part.max_chars <= LARGEST_EXCERPT_CHARS:
        raise InvalidArgument(
            f"max_chars is {part.max_chars}; it may be from 1 to {LARGEST_EXCERPT_CHARS}.",
            argument="max_chars",
        )
    if part.start and not start <= part.start <= end:
        raise InvalidArgument(
            f"start is {part.start}, outside of what was asked for ({start} to {end}).",
            argument="start",
            hint="Give the number that the previous result ended with; the note may have changed since.",
        )
    start = part.start or start
    stop = min(end, start + part.max_chars)
    if stop < end:
        # Whole lines where possible; a single line longer than the budget is cut inside.
        line_break = text.rfind("\n", start, stop)
        stop = line_break + 1 if line_break >= start else stop
    return Excerpt(
        replace_surrogates(text[start:stop]),
        positions.line_of(start),
        positions.line_of(max(start, stop - 1)),
        positions.written_lines,
        stop if stop < end else None,
    )
