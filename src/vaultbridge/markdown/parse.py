"""Parses the text of a note into a `Note`: the entry point of this package.

Joins the properties, the blocks and the results of the inline passes. It never raises and does no I/O:
whatever is wrong with a text is reported in `Note.problems`, and the rest is still read.
"""

from __future__ import annotations

from typing import Any

from vaultbridge.limits import MIB, NOTE_PARSE_BYTES
from vaultbridge.markdown.blocks.scan import BlockScan
from vaultbridge.markdown.frontmatter import read_frontmatter
from vaultbridge.markdown.inline.scan import InlineResult
from vaultbridge.markdown.model import Note, Problem
from vaultbridge.markdown.positions import split_lines


def parse(text: str) -> Note:
    """Parse any text. Decode bytes with `text.decode` first: the text must have no BOM."""
    if _too_large(text):
        message = f"The note is larger than {NOTE_PARSE_BYTES // MIB} MiB, so its content is not read."
        return Note(problems=(Problem("too-large", message),))
    lines, starts = split_lines(text)
    front = read_frontmatter(text, starts)
    found = InlineResult(text, starts)
    scan = BlockScan(text, lines, starts, found)
    scan.run(front.end)
    blocks = scan.out
    return Note(
        properties=front.properties,
        headings=tuple(blocks.headings),
        tags=front.tags + tuple(found.tags),
        aliases=front.aliases,
        links=front.links + _in_order(found.links),
        tasks=tuple(blocks.tasks),
        blocks=tuple(blocks.blocks),
        callouts=_in_order(blocks.callouts),
        footnotes=_in_order(found.footnotes),
        fields=_in_order(found.fields),
        problems=front.problems + tuple(blocks.problems),
    )


def _too_large(text: str) -> bool:
    if len(text) * 4 <= NOTE_PARSE_BYTES:
        return False
    if len(text) > NOTE_PARSE_BYTES or text.isascii():
        return len(text) > NOTE_PARSE_BYTES
    return len(text.encode("utf-8", "surrogatepass")) > NOTE_PARSE_BYTES


def _start(value: Any) -> int:
    start: int = value.start
    return start


def _in_order(values: list[Any]) -> tuple[Any, ...]:
    """Sort by start. Values are found in the order in which they close, so a link around an image comes
    late."""
    if len(values) > 1:
        values.sort(key=_start)
    return tuple(values)
