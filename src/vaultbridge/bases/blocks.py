"""The ```base blocks of a note: their text and where they stand."""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

_FENCE: Final = re.compile(r"(?P<quote>(?: {0,3}>[ \t]?)*)[ \t]*(?P<marks>`{3,}|~{3,})(?P<info>[^\n]*)")
_QUOTE: Final = re.compile(r" {0,3}>[ \t]?")


class BaseBlock(Struct, frozen=True):
    """`text` is the YAML, quote marks taken off; `line` where it begins; the span covers it in the note,
    without the fences."""

    text: str
    line: int
    start: int
    end: int


def extract_base_blocks(text: str) -> tuple[BaseBlock, ...]:
    """All of them, in order. A fence inside another code block opens nothing; one without an end runs to the
    end of the note, as the app renders it."""
    blocks: list[BaseBlock] = []
    open_marks, is_base, depth = "", False, 0
    line_of_body = start_of_body = offset = 0
    body: list[str] = []
    lines = text.splitlines(keepends=True)
    for number, line in enumerate(lines, 1):
        match = _FENCE.match(line)
        if not open_marks:
            if match and not (match["marks"][0] == "`" and "`" in match["info"]):
                open_marks = match["marks"]
                is_base = match["info"].strip().split(" ", 1)[0].lower() == "base"
                depth = match["quote"].count(">")
                line_of_body, start_of_body, body = number + 1, offset + len(line), []
        elif match and _closes(match, open_marks):
            if is_base:
                blocks.append(BaseBlock("".join(body), line_of_body, start_of_body, offset))
            open_marks = ""
        else:
            body.append(_unquoted(line, depth))
        offset += len(line)
    if open_marks and is_base:
        blocks.append(BaseBlock("".join(body), line_of_body, start_of_body, len(text)))
    return tuple(blocks)


def _closes(match: re.Match[str], open_marks: str) -> bool:
    marks = match["marks"]
    return marks[0] == open_marks[0] and len(marks) >= len(open_marks) and not match["info"].strip()


def _unquoted(line: str, depth: int) -> str:
    for _ in range(depth):
        if mark := _QUOTE.match(line):
            line = line[mark.end() :]
    return line
