"""The ```base blocks of a note: their text and where they stand."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from vaultbridge.note.embedded import Embedded
from vaultbridge.note.positions import split_lines

_FENCE: Final = re.compile(r"(?P<quote>(?: {0,3}>[ \t]?)*)[ \t]*(?P<marks>`{3,}|~{3,})(?P<info>[^\n]*)")
_QUOTE: Final = re.compile(r" {0,3}>[ \t]?")


class BaseBlock(Struct, frozen=True):
    """`inside` is the YAML, quote marks taken off, and knows where each character stands in the note; `line`
    is where it begins. The span covers it in the note, without the fences."""

    inside: Embedded
    line: int
    start: int
    end: int

    @property
    def text(self) -> str:
        return self.inside.text


def extract_base_blocks(text: str) -> tuple[BaseBlock, ...]:
    """All of them, in order. A fence inside another code block opens nothing; one without an end runs to the
    end of the note, as the app renders it."""
    blocks: list[BaseBlock] = []
    lines, starts = split_lines(text)
    starts.append(len(text))
    opened: re.Match[str] | None = None
    first = 0
    for number, line in enumerate(lines):
        fence = _FENCE.match(line)
        if opened is None:
            if fence and not (fence["marks"][0] == "`" and "`" in fence["info"]):
                opened, first = fence, number + 1
        elif fence and _closes(fence, opened["marks"]):
            if _is_base(opened):
                blocks.append(_block(text, starts, first, number, opened))
            opened = None
    if opened is not None and _is_base(opened):
        blocks.append(_block(text, starts, first, len(lines), opened))
    return tuple(blocks)


def _is_base(fence: re.Match[str]) -> bool:
    return fence["info"].strip().split(" ", 1)[0].lower() == "base"


def _closes(fence: re.Match[str], open_marks: str) -> bool:
    marks = fence["marks"]
    return marks[0] == open_marks[0] and len(marks) >= len(open_marks) and not fence["info"].strip()


def _block(text: str, starts: list[int], first: int, last: int, fence: re.Match[str]) -> BaseBlock:
    """The lines from `first` up to `last`, without the quote marks that the fence has too."""
    depth = fence["quote"].count(">")
    pieces: list[str] = []
    offsets: list[int] = []
    for number in range(first, last):
        at, end = starts[number], starts[number + 1]
        for _ in range(depth):
            if mark := _QUOTE.match(text, at, end):
                at = mark.end()
        pieces.append(text[at:end])
        offsets.extend(range(at, end))
    offsets.append(starts[last])
    inside = Embedded("".join(pieces), offsets, "none")
    return BaseBlock(inside, first + 1, starts[first], starts[last])
