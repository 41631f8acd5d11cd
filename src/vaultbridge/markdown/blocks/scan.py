"""Finds the blocks of a note in one pass over its lines, by CommonMark 0.31 with the app's additions.

For each line we first find which open containers (quotes, items, footnotes) it stays in, then which new
blocks it begins; what is left is text. Text is collected per paragraph and goes to the inline scanner when
the paragraph ends. The app adds to CommonMark: `%%` comments, `$$` math, tables, footnote definitions,
callouts, tasks and block ids. Comments in the code say where the app differs from CommonMark. Nesting is
capped, nothing recurses, and every line is examined a bounded number of times.

`ScanState` opens and closes containers, paragraphs and leaf blocks; `BlockScan` defines the order of the
rules. `blocks.markers` recognizes the markers and `blocks.output` builds the values.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from typing import Final, Literal

from vaultbridge.markdown.blocks import markers as marks
from vaultbridge.markdown.blocks.markers import (
    ITEM,
    NOTE,
    QUOTE,
    ROOT,
    Container,
    indentation,
    match_containers,
    skip_quote_mark,
)
from vaultbridge.markdown.blocks.output import BlockOutput
from vaultbridge.markdown.inline.scan import InlineResult, scan_inline
from vaultbridge.markdown.text import BLANKS

NESTING: Final = 100
"""The deepest nesting of quotes and list items; deeper ones are read as text. Nobody can read more than
twenty levels, and the cap bounds the work on a line."""

LeafKind = Literal["", "code", "math", "comment", "html", "table"]


class ScanState:
    """What is open while a text is scanned; `out` collects the values of its blocks."""

    def __init__(self, text: str, lines: list[str], starts: list[int], found: InlineResult) -> None:
        self.out = BlockOutput(text, starts, found)
        self._text = text
        self._lines = lines
        self._starts = starts
        self._found = found
        self._root = Container(ROOT, 0)
        self._containers: list[Container] = []
        self._para: list[tuple[int, int]] = []  # start and end of each line of the open paragraph
        self._lazy_below = -1  # how many containers its last line was really in, if it was a lazy one
        self._leaf: LeafKind = ""
        self._leaf_start = 0
        self._leaf_mark = ""  # the fence, or the kind of HTML
        self._comment_lines: list[tuple[int, int]] = []  # the lines of an open comment
        self._last_end = 0  # end of the last line that was not blank
        # The line being read: its content starts at `_at`, `_indent` columns after the innermost container.
        self._line = ""
        self._base = 0
        self._at = 0
        self._column = 0
        self._indent = 0
        self._matched = 0

    def _innermost(self) -> Container:
        return self._containers[-1] if self._containers else self._root

    def _open_container(self, kind: int, width: int) -> Container | None:
        """Open a container at the current position; None if it would be nested too deep."""
        if self._matched >= NESTING:
            self.out.report_too_deep(self._base + self._at, NESTING)
            return None
        self._close_containers(self._matched)
        container = Container(kind, self._base + self._at, width)
        self._containers.append(container)
        self._matched += 1
        return container

    def _close_containers(self, depth: int) -> None:
        """End the open paragraph or leaf and every container deeper than `depth`: a new block begins
        there."""
        if self._para:
            self._end_paragraph()
        if self._leaf:
            self._end_leaf()
        containers = self._containers
        while len(containers) > depth:
            container = containers.pop()
            above = self._innermost()
            if container.kind == QUOTE:
                above.record_end("quote", container.start)
            elif container.kind == ITEM:
                above.record_end("list", container.list_start, container.mark)
            else:
                above.record_end("other", container.start)
            if container.ids or container.title:
                self.out.add_container(container, containers, self._last_end)

    def _open_leaf(self, leaf: LeafKind, mark: str) -> None:
        self._close_containers(self._matched)
        self._leaf, self._leaf_mark, self._leaf_start = leaf, mark, self._base + self._at

    def _end_leaf(self) -> None:
        leaf, self._leaf = self._leaf, ""
        self._innermost().record_end("other" if leaf in ("", "comment") else leaf, self._leaf_start)  # type: ignore[arg-type]
        lines, self._comment_lines = self._comment_lines, []
        if leaf == "comment":
            # There are no blocks inside a comment, but its links and tags count.
            scan_inline(self._join_lines(lines), lines[0][0], self._found, in_comment=True)

    def _join_lines(self, lines: list[tuple[int, int]]) -> str:
        """Join several lines, with what is between them (line ends, container markers) replaced by blanks, so
        that an offset in the result is an offset in the note."""
        if not self._containers or len(lines) == 1:
            return self._text[lines[0][0] : lines[-1][1]]
        parts: list[str] = []
        before = -1
        for start, end in lines:
            if before >= 0:
                parts.append("\n" + " " * (start - before - 1))
            parts.append(self._text[start:end])
            before = end
        return "".join(parts)

    def _paragraph_text(self) -> tuple[str, int, list[marks.Definition]]:
        """Return the open paragraph without the link definitions at its start, where it starts, and these
        definitions with their offsets in the note."""
        part = self._join_lines(self._para)
        start = self._para[0][0]
        if part.startswith("[") and "]:" in part:
            definitions, skipped = marks.read_definitions(part)
            placed = [read._replace(start=start + read.start, end=start + read.end) for read in definitions]
            return part[skipped:], start + skipped, placed
        return part, start, []

    def _end_paragraph(self) -> None:
        part, start, definitions = self._paragraph_text()
        self._found.add_definitions(definitions)
        last, end = self._para[-1]
        lazy_below = self._lazy_below
        self._para, self._lazy_below = [], -1
        container = self._innermost()
        if not part:
            container.record_end("other", start)
            return
        if "^" in part:
            self.out.add_block_id(start, last, end, container, self._containers, lazy_below)
        container.record_end("paragraph", start)
        if "[" in part or "#" in part or "::" in part:
            scan_inline(part, start, self._found)


_SPECIAL: Final = frozenset("#>-*+0123456789`~<$%=|_[:" + BLANKS)
"""The first characters of a line that may begin something other than text."""

# The outcome of an attempt to begin a block.
_TEXT: Final = 0  # nothing begins here
_DONE: Final = 1  # the rest of the line is consumed
_INSIDE: Final = 2  # a container has been opened; continue after its marker


class BlockScan(ScanState):
    """Scans one text. Call `run` once, then read `out`."""

    def run(self, begin: int) -> None:
        """Read all lines from the offset `begin`, which must be the start of a line."""
        lines, starts, containers = self._lines, self._starts, self._containers
        for index in range(bisect_right(starts, begin) - 1, len(lines)):
            line = lines[index]
            if not containers:
                # Most lines are text or blank at the top level and need none of what follows.
                if not self._leaf:
                    if not line:
                        if self._para:
                            self._end_paragraph()
                        continue
                    if line[0] not in _SPECIAL:
                        start = starts[index]
                        self._para.append((start, start + len(line)))
                        continue
                elif self._leaf == "code" and self._leaf_mark not in line:
                    continue
            self._read_line(line, starts[index])
        self._close_containers(0)
        self.out.finish()

    def _read_line(self, line: str, base: int) -> None:
        containers = self._containers
        matched, pos, column = (
            match_containers(containers, line, in_text=bool(self._para)) if containers else (0, 0, 0)
        )
        at, at_column = indentation(line, pos, column)
        if at == len(line):
            self._take_blank_line(matched)
            return
        self._line, self._base, self._matched = line, base, matched
        self._at, self._column, self._indent = at, at_column, at_column - column
        if self._leaf and self._leaf != "table" and matched == len(containers):
            self._take_leaf_line(pos)
        else:
            if containers and matched == len(containers):
                containers[-1].empty = False
            if self._leaf and self._leaf != "table":
                self._end_leaf()
            self._begin_blocks()
        self._last_end = base + len(line)

    def _take_blank_line(self, matched: int) -> None:
        if self._leaf and self._leaf != "table" and matched == len(self._containers):
            if self._leaf == "html" and marks.html_ends_blank(self._leaf_mark):
                self._end_leaf()
            return
        if self._para:
            self._end_paragraph()
        if self._leaf:
            self._end_leaf()
        if matched < len(self._containers):
            self._close_containers(matched)

    def _begin_blocks(self) -> None:
        while True:
            if self._indent > 3:
                if self._para:
                    break  # indented code cannot interrupt a paragraph
                self._close_containers(self._matched)
                self._innermost().add_code_line(self._base + self._at)
                return
            begin = _BEGINNINGS.get(self._line[self._at])
            if begin is None:
                break
            outcome = begin(self)
            if outcome == _TEXT:
                break
            if outcome == _DONE or self._at == len(self._line):
                return
        self._take_text_line()

    def _inside(self, pos: int, column: int) -> int:
        """Continue after the marker of a container that was just opened."""
        self._at, self._column = indentation(self._line, pos, column)
        self._indent = self._column - column
        return _INSIDE

    # Containers.

    def _quote(self) -> int:
        container = self._open_container(QUOTE, 0)
        if container is None:
            return _TEXT
        pos, column = skip_quote_mark(self._line, self._at)
        self._inside(pos, column)
        if self._line.startswith("[!", self._at):
            container.title = marks.callout_title(self._line, self._at)
        return _INSIDE

    def _footnote(self) -> int:
        match = marks.FOOTNOTE.match(self._line, self._at)
        if match is None:
            return _TEXT
        column = self._column + match.end() - self._at
        container = self._open_container(NOTE, 4)
        if container is None:
            return _TEXT
        container.title = (match[1], self._line[match.end() :].strip(), "")
        return self._inside(match.end(), column)

    def _item(self) -> int:
        line = self._line
        mark = marks.LIST_MARK.match(line, self._at)
        if mark is None:
            return _TEXT
        after_mark = mark.end()
        mark_column = self._column + after_mark - self._at
        content, content_column = indentation(line, after_mark, mark_column)
        blank = content == len(line)
        if (
            self._para
            and self._matched == len(self._containers)
            and (blank or mark[0] not in marks.INTERRUPTING)
        ):
            return _TEXT
        blanks = content_column - mark_column
        if blank or blanks > 4:
            blanks = 1
        container = self._open_container(ITEM, self._indent + after_mark - self._at + blanks)
        if container is None:
            return _TEXT
        container.continue_list(
            mark[0][-1], self._containers[-2] if len(self._containers) > 1 else self._root
        )
        if blank:
            container.empty = True
            return _DONE
        pos, column = marks.skip_columns(line, after_mark, mark_column, blanks)
        if line[content] == "[" and content_column - column < 4:
            task = marks.TASK.match(line, content)
            if task is not None:
                depth = sum(1 for above in self._containers if above.kind == ITEM) - 1
                self.out.add_task(line, self._base, task.start(1), task.end(), depth)
                self._para.append((self._base + task.end(), self._base + len(line)))
                return _DONE
        return self._inside(pos, column)

    # Leaves: blocks that contain no others.

    def _atx(self) -> int:
        match = marks.ATX.match(self._line, self._at)
        if match is None:
            return _TEXT
        self._close_containers(self._matched)
        start, content = marks.atx_text(self._line, match.end())
        if not self._containers:
            span = (self._base + self._at, self._base + len(self._line))
            self.out.add_heading(len(match[0]), content.strip(BLANKS), *span)
        self._innermost().record_end("other", self._base + self._at)
        scan_inline(content, self._base + start, self._found, whole_lines=False)
        return _DONE

    def _setext(self) -> int:
        # The app underlines one line only: below several, `---` is a break and `===` is text.
        if len(self._para) != 1 or self._matched < len(self._containers):
            return _TEXT
        if marks.SETEXT.match(self._line, self._at) is None:
            return _TEXT
        part, start, definitions = self._paragraph_text()
        if not part:
            self._end_paragraph()  # nothing but link definitions: there is no text to underline
            return _TEXT
        end = self._base + len(self._line)
        self._para, self._lazy_below = [], -1
        self._found.add_definitions(definitions)
        if not self._containers:
            self.out.add_heading(1 if self._line[self._at] == "=" else 2, part.strip(BLANKS), start, end)
        self._innermost().record_end("other", start)
        scan_inline(part, start, self._found, whole_lines=False)
        return _DONE

    def _dash(self) -> int:
        return self._setext() or self._thematic() or self._item()

    def _star(self) -> int:
        return self._thematic() or self._item()

    def _thematic(self) -> int:
        if marks.THEMATIC.match(self._line, self._at) is None:
            return _TEXT
        self._close_containers(self._matched)
        self._innermost().record_end("other", self._base + self._at)
        return _DONE

    def _fence(self) -> int:
        match = marks.FENCE.match(self._line, self._at)
        if match is None:
            return _TEXT
        self._open_leaf("code", match[0])
        return _DONE

    def _html(self) -> int:
        kind = marks.html_start(self._line, self._at, in_paragraph=bool(self._para))
        if kind is None:
            return _TEXT
        self._open_leaf("html", kind)
        if marks.html_ends(kind, self._line, self._at):
            self._end_leaf()
        return _DONE

    def _math(self) -> int:
        return self._open_marked("math", "$$")

    def _comment(self) -> int:
        return self._open_marked("comment", "%%")

    def _open_marked(self, leaf: LeafKind, mark: str) -> int:
        """Open a block that runs from a line beginning with `mark` to the next `mark` or the end of its
        container. If the mark appears twice on that line it is inline, and the line is text."""
        line, at = self._line, self._at
        if not line.startswith(mark, at) or line.find(mark, at + 2) >= 0:
            return _TEXT
        self._open_leaf(leaf, mark)
        self._comment_lines.append((self._base + at + 2, self._base + len(line)))
        return _DONE

    def _take_leaf_line(self, pos: int) -> None:
        """Read a further line of an open code, math, comment or HTML block."""
        line, end = self._line, self._base + len(self._line)
        if self._leaf == "code":
            if self._indent < 4 and marks.closes_fence(self._leaf_mark, line, self._at):
                self._end_leaf()
        elif self._leaf == "html":
            if marks.html_ends(self._leaf_mark, line, pos):
                self._end_leaf()
        else:
            closing = line.find(self._leaf_mark, pos)
            if closing < 0:
                self._comment_lines.append((self._base + pos, end))
                return
            self._comment_lines.append((self._base + pos, self._base + closing))
            self._end_leaf()
            rest, _ = indentation(line, closing + 2, 0)
            if rest < len(line):
                self._para.append((self._base + rest, end))

    # Text.

    def _take_text_line(self) -> None:
        start, end = self._base + self._at, self._base + len(self._line)
        lazy = self._matched < len(self._containers)
        if self._leaf == "table":
            if not lazy and not marks.BLOCK_ID.match(self._line, self._at):
                self._add_row(self._line[self._at :], start)
                return
            self._end_leaf()
        if not self._para:
            self._close_containers(self._matched)
            self._para.append((start, end))
            return
        if not lazy and self._line[self._at] in "|-:" and self._table_head():
            return
        if not self._line[self._at :].strip(BLANKS):
            # A line of other blanks (a no-break space is common in pasted text) ends a paragraph in the app.
            self._end_paragraph()
            self._close_containers(self._matched)
            lazy = False
        self._lazy_below = self._matched if lazy else -1
        self._para.append((start, end))

    def _table_head(self) -> bool:
        head_start, head_end = self._para[-1]
        header = self._text[head_start:head_end]
        if not marks.is_table_head(header, self._line[self._at :]):
            return False
        self._para.pop()
        self._close_containers(self._matched)
        self._leaf, self._leaf_start = "table", head_start
        self._add_row(header, head_start)
        return True

    def _add_row(self, row: str, start: int) -> None:
        """Read a row of a table. Cells are split first: an unescaped bar in a link breaks the link."""
        if "[" not in row and "#" not in row and "::" not in row:
            return
        pos = 0
        for bar in marks.CELL_BAR.finditer(row):
            scan_inline(row[pos : bar.start()], start + pos, self._found, whole_lines=False)
            pos = bar.end()
        scan_inline(row[pos:], start + pos, self._found, whole_lines=False)


_BEGINNINGS: Final[dict[str, Callable[[BlockScan], int]]] = {
    ">": BlockScan._quote,
    "#": BlockScan._atx,
    "-": BlockScan._dash,
    "=": BlockScan._setext,
    "*": BlockScan._star,
    "_": BlockScan._thematic,
    "+": BlockScan._item,
    **dict.fromkeys("0123456789", BlockScan._item),
    "`": BlockScan._fence,
    "~": BlockScan._fence,
    "<": BlockScan._html,
    "$": BlockScan._math,
    "%": BlockScan._comment,
    "[": BlockScan._footnote,
}
"""The rule that may begin a block at a character; any other character begins text."""
