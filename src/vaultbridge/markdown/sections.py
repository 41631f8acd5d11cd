"""Builds the outline of a note and finds a section or block by its name.

It defines how headings match, for links, reading and editing alike. It changes nothing; edits use the spans
that it finds.

A section runs from the start of its heading's line to the start of the line of the next heading of the same
or a higher level, or to the end of the note. It includes its subsections and all blank lines before that next
heading. `content_end` excludes the trailing blank lines, for edits that append.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from msgspec import Struct

from vaultbridge.errors import EditRefused
from vaultbridge.markdown.model import Block, Heading, Note
from vaultbridge.markdown.text import Positions

LISTED_NAMES = 40
"""The most headings or block ids that an error lists: enough to choose from, short enough to read."""

_IGNORED = re.compile(r"[!\"#$%&()*+,.:;<=>?@^`{|}~/\[\]\\\s]+")


class Section(Struct, frozen=True):
    """A section of a note. `heading` is the index in `Note.headings`; `path` has the texts of the headings
    above and its own. `body_start` is where the first line after the heading begins; `end_line` is the
    section's last line."""

    heading: int
    level: int
    text: str
    path: tuple[str, ...]
    start: int
    body_start: int
    content_end: int
    end: int
    line: int
    end_line: int


def heading_key(text: str) -> str:
    """Return the key by which headings are compared: runs of punctuation (except `-`, `_`, `'`) and blanks
    become one space, and case is ignored."""
    return _IGNORED.sub(" ", text).strip().lower()


def outline(note: Note, text: str) -> tuple[Section, ...]:
    """Return every section in the order of the text; a subsection lies within the span of its parent."""
    positions = Positions(text)
    headings = note.headings
    ends = [len(text)] * len(headings)
    open_at: list[int] = []
    paths: list[tuple[str, ...]] = []
    for index, heading in enumerate(headings):
        while open_at and headings[open_at[-1]].level >= heading.level:
            ends[open_at.pop()] = positions.offset_of_line(heading.line)
        parent = paths[open_at[-1]] if open_at else ()
        paths.append((*parent, heading.text))
        open_at.append(index)
    return tuple(
        _make_section(text, positions, index, heading, paths[index], ends[index])
        for index, heading in enumerate(headings)
    )


def _make_section(
    text: str, positions: Positions, index: int, heading: Heading, path: tuple[str, ...], end: int
) -> Section:
    body_start = min(positions.offset_of_line(positions.line_of(heading.end) + 1), end)
    content_end = end
    while content_end > heading.end and text[content_end - 1] in " \t\r\n":
        content_end -= 1
    return Section(
        heading=index,
        level=heading.level,
        text=heading.text,
        path=path,
        start=positions.offset_of_line(heading.line),
        body_start=body_start,
        content_end=content_end,
        end=end,
        line=heading.line,
        end_line=max(heading.line, positions.line_of(end - 1)),
    )


def require_parsed(note: Note) -> None:
    """Raises EditRefused for a note that is too large to be parsed. It looks empty, but what it contains is
    unknown: a text put before its first heading could end up before its properties."""
    for problem in note.problems:
        if problem.code == "too-large":
            raise EditRefused(
                problem.message,
                hint="Its lines can be read, and changed with append, replace_text, apply_diff or write; its "
                "properties, headings, blocks, tags and tasks cannot.",
            )


def find_section(text: str, note: Note, heading: str | Sequence[str], *, unique: bool = False) -> Section:
    """Find the section that `heading` names: a text, a path `A#B` (B somewhere below A), or a path as a list.

    The first match wins, as in the app. With `unique` several matches are refused, because an edit must not
    guess. Raises EditRefused with a list of the note's headings.
    """
    require_parsed(note)
    sections = outline(note, text)
    found: list[Section] = []
    for wanted in _interpretations(heading):
        found = [section for section in sections if _matches(wanted, section)]
        if found:
            break
    if not found:
        raise _no_such_heading(heading, sections)
    if unique and len(found) > 1:
        exact = [section for section in found if section.text == _last_part(heading)]
        if len(exact) != 1:
            raise _ambiguous_heading(heading, found)
        found = exact
    return found[0]


def has_section(text: str, note: Note, heading: str) -> bool:
    """Return whether `find_section` would find a section."""
    sections = outline(note, text)
    return any(_matches(wanted, section) for wanted in _interpretations(heading) for section in sections)


def find_block(note: Note, block_id: str, *, unique: bool = False) -> Block:
    """Find the block with this id; `^` is optional and case is ignored. Raises EditRefused with a list of the
    note's ids; with `unique`, also if two blocks have the id."""
    require_parsed(note)
    wanted = block_id.lstrip("#").removeprefix("^").lower()
    found = [block for block in note.blocks if block.id.lower() == wanted]
    if not found:
        ids = [f"^{block.id}" for block in note.blocks]
        listed = f"The note has: {_join_names(ids)}." if ids else "The note has no block ids."
        raise EditRefused(
            f"No block with the id ^{wanted}.", hint=listed, block=wanted, blocks=ids[:LISTED_NAMES]
        )
    if unique and len(found) > 1:
        lines = [block.line for block in found]
        raise EditRefused(
            f"The block id ^{wanted} is used more than once: on lines {', '.join(map(str, lines))}.",
            hint="Block ids must be unique: edit by line, or change one of the ids.",
            block=wanted,
            lines=lines,
        )
    return found[0]


def _interpretations(heading: str | Sequence[str]) -> list[list[str]]:
    """Return the ways to interpret a heading argument, best first. A heading may itself contain `#` (as in
    "C# notes"), so a text that does not match as a path is tried as one heading."""
    if not isinstance(heading, str):
        return [[heading_key(part) for part in heading]]
    path = [key for part in heading.split("#") if (key := heading_key(part))]
    whole = heading_key(heading)
    return [path] if [whole] == path else [path, [whole]]


def _last_part(heading: str | Sequence[str]) -> str:
    if not isinstance(heading, str):
        return heading[-1].strip()
    return heading.rpartition("#")[2].strip()


def _matches(wanted: list[str], section: Section) -> bool:
    if not wanted or heading_key(section.text) != wanted[-1]:
        return False
    above = iter(section.path[:-1])
    return all(any(heading_key(text) == key for text in above) for key in wanted[:-1])


def _format_heading(heading: str | Sequence[str]) -> str:
    return heading if isinstance(heading, str) else "#".join(heading)


def _join_names(names: Sequence[str]) -> str:
    more = len(names) - LISTED_NAMES
    return "; ".join(names[:LISTED_NAMES]) + (f"; and {more} more" if more > 0 else "")


def _no_such_heading(heading: str | Sequence[str], sections: tuple[Section, ...]) -> EditRefused:
    paths = ["#".join(section.path) for section in sections]
    hint = f"The note has: {_join_names(paths)}." if paths else "The note has no headings."
    return EditRefused(
        f"No heading {_format_heading(heading)!r}.",
        hint=hint,
        heading=_format_heading(heading),
        headings=paths[:LISTED_NAMES],
    )


def _ambiguous_heading(heading: str | Sequence[str], found: list[Section]) -> EditRefused:
    places = [f"{'#'.join(section.path)} (line {section.line})" for section in found]
    alike = len({tuple(section.path) for section in found}) < len(found)
    return EditRefused(
        f"{len(found)} headings match {_format_heading(heading)!r}: {_join_names(places)}.",
        hint=(
            "Some have the same headings above them, so only line numbers tell them apart. "
            "Insert at a line, or apply a diff."
            if alike
            else "Include the headings above it, as in A#B, or edit by line."
        ),
        heading=_format_heading(heading),
        headings=places[:LISTED_NAMES],
    )
