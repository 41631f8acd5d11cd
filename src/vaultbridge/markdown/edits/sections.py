"""Edits sections and blocks: the text under a heading, a block with an id, and their names.

`markdown.sections` finds the heading or block. An edit requires a unique one: a repeated heading is refused,
with its lines, rather than guessed. After a rename the result is parsed again: an edit that would not produce
the requested heading or block is refused.

A section's own text is what is between its heading and the next heading of any level; the whole section
includes its subsections.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from vaultbridge.errors import EditRefused, InvalidArgument
from vaultbridge.markdown.edits.change import (
    Change,
    apply_changes,
    convert_line_ends,
    fit_lines,
    fit_lines_in_note,
    heading_separator,
    line_end_near,
    split_keeping_ends,
    start_of_line,
    start_of_next_line,
)
from vaultbridge.markdown.edits.text import append, find_first_content, keep_as_body
from vaultbridge.markdown.model import Block, Heading, Note
from vaultbridge.markdown.parse import parse
from vaultbridge.markdown.sections import Section, find_block, find_section, has_section

_ATX: Final = re.compile(r"[ ]{0,3}#{1,6}(?:[ \t]+|$)")
_ITEM: Final = re.compile(r"[ \t]*(?:[-*+]|\d{1,9}[.)])[ \t]+(?:\[.\][ \t]+)?")
_BLOCK_ID: Final = re.compile(r"[A-Za-z0-9-]+")

HeadingName = str | Sequence[str]
"""`"A#B"` or `["A", "B"]`: B somewhere below A."""


def append_under_heading(text: str, note: Note, heading: HeadingName, addition: str) -> tuple[Change, ...]:
    """Append to the section's own text, before its trailing blank lines, so that the addition belongs to this
    heading and not to its last subsection. An addition that itself begins with a heading goes to the end of
    the whole section."""
    section = find_section(text, note, heading, unique=True)
    if not addition:
        return ()
    begins_with_heading = _ATX.match(addition.lstrip("\r\n"))
    end = section.end if begins_with_heading else _find_own_end(text, note, section)
    offset = _find_content_end(text, section.body_start, end)
    return (
        Change(
            offset, offset, fit_lines_in_note(text, note, offset, addition, floor=min(section.start, offset))
        ),
    )


def append_section(text: str, note: Note, heading: str, addition: str) -> tuple[Change, ...]:
    """Append a new section to the note, after a blank line. The heading has level 2 unless it is given with
    its own `#`s. Raises EditRefused for a path, because any part of it may be missing, and for more than one
    line."""
    written = heading.strip()
    marks = len(written) - len(written.lstrip("#"))
    name = written.lstrip("#").strip()
    if not name or marks > 6 or "#" in name or len(name.splitlines()) > 1:
        raise EditRefused(
            f"A heading {heading!r} cannot be created.",
            hint="Give only the heading's text, such as Log or ### Log.",
        )
    floor = note.properties.end if note.properties else 0
    lines = text[floor:].splitlines()
    apart = "\n" if lines and lines[-1].strip() else ""
    edit = keep_as_body(text, note, append(text, note, f"{apart}{'#' * (marks or 2)} {name}\n\n{addition}"))
    after = apply_changes(text, edit)
    if not has_section(after, parse(after), name):
        raise EditRefused(
            f"The heading {name!r} would not be read as one: the note ends inside code or a comment.",
            hint="Close what is open at the end of the note first.",
        )
    return edit


def prepend_under_heading(text: str, note: Note, heading: HeadingName, addition: str) -> tuple[Change, ...]:
    """Insert before the first line of the section that is not blank, so that the blank lines after the
    heading stay where they are; right below the heading if its own text is empty."""
    section = find_section(text, note, heading, unique=True)
    if not addition:
        return ()
    offset = find_first_content(text, section.body_start, _find_own_end(text, note, section))
    return (
        Change(
            offset, offset, fit_lines_in_note(text, note, offset, addition, floor=min(section.start, offset))
        ),
    )


def replace_under_heading(text: str, note: Note, heading: HeadingName, new: str) -> tuple[Change, ...]:
    """Replace the body of the section with its subsections, as reading it returns it; the heading and the
    blank lines around the body stay."""
    section = find_section(text, note, heading, unique=True)
    start, stop = _find_body(text, section)
    if stop <= start:
        return (
            (
                Change(
                    start, start, fit_lines_in_note(text, note, start, new, floor=min(section.start, start))
                ),
            )
            if new
            else ()
        )
    line_end = line_end_near(text, stop)
    body = re.sub(r"(?:\r\n|\n|\r)+$", "", convert_line_ends(new, line_end))
    body = re.sub(r"^(?:[ \t]*(?:\r\n|\n|\r))+", "", body)
    ending = re.search(r"(?:\r\n|\n|\r)?$", text[start:stop])
    body += ending.group() if body and ending else ""
    return (Change(start, stop, body + (heading_separator(text, note, stop, body) if body else "")),)


def find_body(text: str, note: Note, heading: HeadingName) -> tuple[int, int] | None:
    """Return the span that `replace_under_heading` replaces, with its last line end; None if there is only
    the heading."""
    start, stop = _find_body(text, find_section(text, note, heading, unique=True))
    return (start, stop) if stop > start else None


def _find_body(text: str, section: Section) -> tuple[int, int]:
    start = find_first_content(text, section.body_start, section.end)
    return start, _find_content_end(text, section.body_start, section.end)


def append_after_block(text: str, note: Note, block_id: str, addition: str) -> tuple[Change, ...]:
    """Insert on the lines after the block and its id."""
    block = find_block(note, block_id, unique=True)
    if not addition:
        return ()
    offset = start_of_next_line(text, block.end)
    fitted, blank = fit_lines(text, offset, addition), line_end_near(text, offset)
    return _insert_beside_block(text, note, block, offset, fitted, blank + fitted)


def prepend_before_block(text: str, note: Note, block_id: str, addition: str) -> tuple[Change, ...]:
    """Insert on the lines before the block."""
    block = find_block(note, block_id, unique=True)
    if not addition:
        return ()
    offset = start_of_line(text, block.start)
    fitted, blank = fit_lines(text, offset, addition), line_end_near(text, offset)
    return _insert_beside_block(text, note, block, offset, fitted, fitted + blank)


def _insert_beside_block(
    text: str, note: Note, block: Block, offset: int, close: str, apart: str
) -> tuple[Change, ...]:
    """Insert the addition next to the block (`close`) or, if that would change the block, after a blank line
    (`apart`). An addition that is indented to continue an item becomes part of the block either way; then the
    id must still name the block."""
    edits = [keep_as_body(text, note, (Change(offset, offset, added),)) for added in (close, apart)]
    blocks = [_find_again(apply_changes(text, edit), block.id) for edit in edits]
    if text[block.start : block.end] in blocks:
        return edits[blocks.index(text[block.start : block.end])]
    kept = [edit for edit, block_text in zip(edits, blocks, strict=True) if block_text]
    if not kept:
        raise EditRefused(f"This text beside ^{block.id} would leave the id outside any block.")
    return kept[0]


def _find_again(text: str, block_id: str) -> str:
    """Return the text of the block with this id; "" if there is none."""
    found = (block for block in parse(text).blocks if block.id == block_id)
    return next((text[block.start : block.end] for block in found), "")


def replace_block(text: str, note: Note, block_id: str, new: str) -> tuple[Change, ...]:
    """Replace the block's text; its id stays where it is, at the end of the text or on its own line. A list
    item keeps its marker and its checkbox if the new text has none."""
    block = find_block(note, block_id, unique=True)
    start, stop = _find_block_text(text, block)
    body = convert_line_ends(new, line_end_near(text, block.start)).strip("\r\n").rstrip()
    body = re.sub(rf"[ \t\r\n]*\^{re.escape(block.id)}$", "", body, flags=re.IGNORECASE)
    if not body:
        raise EditRefused(f"The block ^{block.id} cannot become empty.", hint="Remove its lines instead.")
    item = _ITEM.match(text, start, stop)
    if item and not _ITEM.match(body):
        start = item.end()
    edit = (Change(start, stop, body),)
    _require_block(apply_changes(text, edit), block.id)
    return edit


def rename_heading(text: str, note: Note, heading: HeadingName | Section, new: str) -> tuple[Change, ...]:
    """Replace the heading's text; its level, markers and closing markers stay. `links.heading_rename` plans
    the changes of the links to it."""
    section = heading if isinstance(heading, Section) else find_section(text, note, heading, unique=True)
    wanted = new.strip()
    if not wanted or re.search(r"[\r\n]", wanted):
        raise InvalidArgument("A heading is one line of text.", argument="new")
    old = note.headings[section.heading]
    if old.text == wanted:
        return ()
    edit = (_change_heading(text, old, wanted),)
    after = parse(apply_changes(text, edit)).headings
    if len(after) != len(note.headings) or after[section.heading].text != wanted:
        raise EditRefused(f"{wanted!r} would not be read as that heading's text.", hint="Use simpler text.")
    return edit


def rename_block_id(text: str, note: Note, block_id: str, new: str) -> tuple[Change, ...]:
    """Replace the id. `links.heading_rename` plans the changes of the links to it."""
    block = find_block(note, block_id, unique=True)
    wanted = new.removeprefix("^")
    if not _BLOCK_ID.fullmatch(wanted):
        raise InvalidArgument(
            f"{wanted!r} is not a block id.", argument="new", hint="Use letters, digits and '-' only."
        )
    taken = [other for other in note.blocks if other.id.lower() == wanted.lower() and other != block]
    if taken:
        raise EditRefused(f"The note already has a block ^{taken[0].id}, at line {taken[0].line}.")
    start = block.id_start + 1
    return (Change(start, start + len(block.id), wanted),) if wanted != block.id else ()


def _find_own_end(text: str, note: Note, section: Section) -> int:
    """Return where the section's own text ends: at the next heading of any level."""
    following = section.heading + 1
    if following >= len(note.headings):
        return section.end
    return min(section.end, max(section.body_start, start_of_line(text, note.headings[following].start)))


def _find_content_end(text: str, start: int, end: int) -> int:
    """Return the end of the last line that is not blank, after its line end; `start` if all are blank."""
    offset = start
    content = start
    for line in split_keeping_ends(text[start:end]):
        offset += len(line)
        if line.strip():
            content = offset
    return content


def _find_block_text(text: str, block: Block) -> tuple[int, int]:
    """Return the span of the block without its id and the blanks before it."""
    stop = block.id_start
    while stop > block.start and text[stop - 1] in " \t\r\n":
        stop -= 1
    return block.start, stop


def _change_heading(text: str, heading: Heading, wanted: str) -> Change:
    source = text[heading.start : heading.end]
    marks = _ATX.match(source)
    if marks is None:
        underline = max(source.rfind("\n"), source.rfind("\r")) + 1
        stop = len(source[:underline].rstrip())
        lead = len(source) - len(source.lstrip())
        return Change(heading.start + lead, heading.start + stop, wanted)
    if not heading.text:
        blank = "" if marks.group().endswith((" ", "\t")) else " "
        closing = " " if len(source.rstrip()) > marks.end() else ""
        at = heading.start + marks.end()
        return Change(at, at, blank + wanted + closing)
    start = heading.start + marks.end()
    return Change(start, start + len(heading.text), wanted)


def _require_block(text: str, block_id: str) -> None:
    if not _find_again(text, block_id):
        raise EditRefused(
            f"The new text would leave ^{block_id} outside any block.",
            hint="Give one paragraph, list item, quote or table.",
        )
