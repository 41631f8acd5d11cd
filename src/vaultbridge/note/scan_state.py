"""What is open while the lines of a note are read: boxes, a paragraph, a leaf block.

Opens and closes them and hands on what they held when they end: text to the inline scanner, spans to the
output. Which line opens or closes what is `scan`'s rule.
"""

from __future__ import annotations

from typing import Final, Literal

from vaultbridge.note import scan_marks as marks
from vaultbridge.note.inline import Found, scan_inline
from vaultbridge.note.scan_boxes import ITEM, QUOTE, ROOT, Box
from vaultbridge.note.scan_output import Blocks

NESTING: Final = 100
"""The deepest nesting of quotes and list items that is followed; what lies deeper is read as text. Nobody can
read past twenty, and the cap bounds the work on a line."""

Leaf = Literal["", "code", "math", "comment", "html", "table"]


class ScanState:
    """One text being scanned; `out` collects the values of its blocks."""

    def __init__(self, text: str, lines: list[str], starts: list[int], found: Found) -> None:
        self.out = Blocks(text, starts, found)
        self._text = text
        self._lines = lines
        self._starts = starts
        self._found = found
        self._root = Box(ROOT, 0)
        self._boxes: list[Box] = []
        self._para: list[tuple[int, int]] = []  # start and end of each line of the open paragraph
        self._lazy_below = -1  # how many boxes its last line was really in, when it was a lazy one
        self._leaf: Leaf = ""
        self._leaf_start = 0
        self._leaf_mark = ""  # the fence, or the kind of HTML
        self._held: list[tuple[int, int]] = []  # the lines of an open comment
        self._last_end = 0  # end of the last line that was not blank
        # The line being read: its content starts at `_at`, `_indent` columns behind the innermost box.
        self._line = ""
        self._base = 0
        self._at = 0
        self._column = 0
        self._indent = 0
        self._matched = 0

    def _box(self) -> Box:
        return self._boxes[-1] if self._boxes else self._root

    def _open_box(self, kind: int, width: int) -> Box | None:
        """A new box at the current place; None when it would lie too deep."""
        if self._matched >= NESTING:
            self.out.too_deep(self._base + self._at, NESTING)
            return None
        self._close_boxes(self._matched)
        box = Box(kind, self._base + self._at, width)
        self._boxes.append(box)
        self._matched += 1
        return box

    def _close_boxes(self, depth: int) -> None:
        """Ends the open paragraph or leaf and every box deeper than `depth`: a new block begins there."""
        if self._para:
            self._end_paragraph()
        if self._leaf:
            self._end_leaf(self._last_end)
        boxes = self._boxes
        while len(boxes) > depth:
            box = boxes.pop()
            above = self._box()
            if box.kind == QUOTE:
                above.ended("quote", box.start, self._last_end)
            elif box.kind == ITEM:
                above.ended("list", box.list_start, self._last_end, box.mark)
            else:
                above.ended("other", box.start, self._last_end)
            if box.ids or box.title:
                self.out.box_ended(box, boxes, self._last_end)

    def _open_leaf(self, leaf: Leaf, mark: str) -> None:
        self._close_boxes(self._matched)
        self._leaf, self._leaf_mark, self._leaf_start = leaf, mark, self._base + self._at

    def _end_leaf(self, end: int) -> None:
        leaf, self._leaf = self._leaf, ""
        self._box().ended("other" if leaf in ("", "comment") else leaf, self._leaf_start, end)  # type: ignore[arg-type]
        held, self._held = self._held, []
        if leaf == "comment":
            # Nothing inside is structure, but its links and tags count.
            scan_inline(self._joined(held), held[0][0], self._found, in_comment=True)

    def _joined(self, lines: list[tuple[int, int]]) -> str:
        """The text of several lines with what stands between them (line ends, marks of boxes) blanked out, so
        that an offset in it is an offset in the note."""
        if not self._boxes or len(lines) == 1:
            return self._text[lines[0][0] : lines[-1][1]]
        parts: list[str] = []
        before = -1
        for start, end in lines:
            if before >= 0:
                parts.append("\n" + " " * (start - before - 1))
            parts.append(self._text[start:end])
            before = end
        return "".join(parts)

    def _paragraph_text(self) -> tuple[str, int]:
        """The open paragraph without the link definitions at its start, and where it starts."""
        part = self._joined(self._para)
        start = self._para[0][0]
        if part.startswith("[") and "]:" in part:
            skipped = marks.definitions_end(part)
            return part[skipped:], start + skipped
        return part, start

    def _end_paragraph(self) -> None:
        part, start = self._paragraph_text()
        last, end = self._para[-1]
        lazy_below = self._lazy_below
        self._para, self._lazy_below = [], -1
        box = self._box()
        if not part:
            box.ended("other", start, end)
            return
        if "^" in part:
            self.out.block_id(start, last, end, box, self._boxes, lazy_below)
        box.ended("paragraph", start, end)
        if "[" in part or "#" in part or "::" in part:
            scan_inline(part, start, self._found)
