"""The containers a line may stand in: block quotes, list items and footnote definitions.

A box knows how a further line shows that it still belongs to it (CommonMark 5), and what stood last inside
it, which a block id on a line of its own names.
"""

from __future__ import annotations

from typing import Final, Literal

from vaultbridge.note.scan_marks import indentation, skip_columns

QUOTE: Final = 0
ITEM: Final = 1
NOTE: Final = 2
ROOT: Final = 3

BlockKind = Literal["", "paragraph", "list", "quote", "table", "code", "math", "html", "other"]


class Box:
    """`width` is how far the content of an item is indented; `empty` marks one that has no content yet.
    `title` is type, title and fold of a callout, or id and text of a footnote; `ids` are block ids that name
    the box. `last_*` describe the block that ended last directly inside; `mark` is the list's marker."""

    __slots__ = (
        "empty",
        "ids",
        "kind",
        "last_end",
        "last_kind",
        "last_mark",
        "last_start",
        "list_start",
        "mark",
        "start",
        "title",
        "width",
    )

    def __init__(self, kind: int, start: int, width: int = 0) -> None:
        self.kind = kind
        self.start = start
        self.width = width
        self.empty = False
        self.mark = ""
        self.list_start = start
        self.title: tuple[str, str, str] | None = None
        self.ids: list[tuple[str, int, int]] | None = None
        self.last_kind: BlockKind = ""
        self.last_start = 0
        self.last_end = 0
        self.last_mark = ""

    def ended(self, kind: BlockKind, start: int, end: int, mark: str = "") -> None:
        """A block directly inside has ended."""
        self.last_kind = kind
        self.last_start = start
        self.last_end = end
        self.last_mark = mark

    def code_line(self, start: int, end: int) -> None:
        """A line of indented code directly inside; several make one block."""
        if self.last_kind == "code" and self.last_mark == "indented":
            start = self.last_start
        self.ended("code", start, end, "indented")

    def continue_list(self, mark: str, above: Box) -> None:
        """Makes this item a further one of the list that ended last in `above`, if it has the same mark."""
        self.mark = mark
        if above.last_kind == "list" and above.last_mark == mark:
            self.list_start = above.last_start


def after_quote_mark(line: str, pos: int) -> tuple[int, int]:
    """Passes over `>` at `pos` and the one space that belongs to it. Columns start over behind it, as they do
    in the app: a tab there is always four wide."""
    pos += 1
    return (pos + 1, 0) if pos < len(line) and line[pos] == " " else (pos, 0)


def match_boxes(boxes: list[Box], line: str, *, in_text: bool) -> tuple[int, int, int]:
    """How many of the open boxes the line stays in, and where its content begins (offset and column).

    `in_text` says that a paragraph is open. Then, in the app but not in CommonMark, a `>` right below the
    text of an item belongs to the item however it is indented."""
    pos = column = matched = 0
    size = len(line)
    at, at_column = indentation(line, 0, 0)
    for box in boxes:
        if box.kind == QUOTE:
            if at == size or line[at] != ">" or at_column - column > 3:
                break
            pos, column = after_quote_mark(line, at)
            at, at_column = indentation(line, pos, column)
        elif at == size:
            # A blank line stays in an item, unless the item began with one (CommonMark 5.2, rule 3).
            if box.empty:
                break
            pos, column = at, at_column
        elif at_column - column >= box.width:
            pos, column = skip_columns(line, pos, column, box.width)
        elif not (in_text and line[at] == ">" and at_column - column <= 3):
            break
        matched += 1
    return matched, pos, column
