"""The containers a line may stand in: block quotes, list items and footnote definitions.

A box knows how a further line shows that it still belongs to it (CommonMark 5), and what stood last inside
it, which a block id on a line of its own names.

The marks that begin and end blocks, as CommonMark and the app have them: one line in, a fact out.

Knows nothing of containers or of what came before; the block scanner asks in the order that the specification
gives. Every pattern is possessive or bounded, so that no line takes more than linear time.
"""

from __future__ import annotations

import re
from typing import Final, Literal

from vaultbridge.markdown.inline.spans import CLOSING_TAG, OPEN_TAG

ATX = re.compile(r"#{1,6}(?=[ \t]|\Z)")
FENCE = re.compile(r"`{3,}+(?=[^`]*\Z)|~{3,}+")
SETEXT = re.compile(r"(?:=++|-++)\Z")
THEMATIC = re.compile(r"(?:(?:-[ \t]*+){3,}|(?:\*[ \t]*+){3,}|(?:_[ \t]*+){3,})\Z")
INTERRUPTING = frozenset(("-", "+", "*", "1.", "1)"))
"""The list marks that may interrupt a paragraph; `7.` at the start of a line is more often a date."""
LIST_MARK = re.compile(r"(?:[-+*]|[0-9]{1,9}[.)])(?=[ \t]|\Z)")
TASK = re.compile(r"\[(.)\](?=[ \t]|\Z)")
_CALLOUT = re.compile(r"\[!([^\]|\r\n]*+)(?:\|[^\]\r\n]*+)?\]([+-]?)(?=[ \t]|\Z)")
FOOTNOTE = re.compile(r"\[\^([^\[\]\s^]++)\]:[ \t]*+")
BLOCK_ID = re.compile(r"(?:\A|(?<=[ \t]))\^([A-Za-z0-9-]++)[ \t]*\Z")

_DELIMITER_ROW = re.compile(r"\|?[ \t]*+:?-++:?[ \t]*+(?:\|[ \t]*+:?-++:?[ \t]*+)*\|?[ \t]*\Z")
CELL_BAR = re.compile(r"(?<!\\)\|")

_RAW_NAMES = "script|pre|style|textarea"
_BLOCK_NAMES = (
    "address|article|aside|base|basefont|blockquote|body|caption|center|col|colgroup|dd|details|dialog|dir|div|dl|dt"
    "|fieldset|figcaption|figure|footer|form|frame|frameset|h1|h2|h3|h4|h5|h6|head|header|hr|html|iframe|legend|li"
    "|link|main|menu|menuitem|nav|noframes|ol|optgroup|option|p|param|search|section|summary|table|tbody|td|tfoot|th"
    "|thead|title|tr|track|ul"
)
_HTML_START = re.compile(
    rf"<(?:(?P<raw>(?:{_RAW_NAMES})(?=[ \t>]|\Z))|(?P<comment>!--)|(?P<instruction>\?)|(?P<cdata>!\[CDATA\[)"
    rf"|(?P<declaration>![A-Za-z])|(?P<block>/?(?:{_BLOCK_NAMES})(?=[ \t>]|/>|\Z)))",
    re.IGNORECASE,
)
_HTML_ALONE = re.compile(rf"(?!<(?:{_RAW_NAMES})[ \t>])(?:{OPEN_TAG}|{CLOSING_TAG})[ \t]*\Z", re.IGNORECASE)
_RAW_END = re.compile(rf"</(?:{_RAW_NAMES})>", re.IGNORECASE)
_HTML_ENDS = {"comment": "-->", "instruction": "?>", "cdata": "]]>", "declaration": ">"}

_DEFINITION = re.compile(
    r"[ \t]{0,3}\[(?!\^)(?=[^\]]*[^\s\]])((?:[^\[\]\\]|\\.){1,999})\]:[ \t]*+(?:(?:\r\n?|\n)[ \t]*+)?"
    r"(?:<[^<>\r\n\\]*+(?:\\.[^<>\r\n\\]*+)*>|[^\s<\x00-\x1f][^\s\x00-\x1f]*+)"
)
_DEFINITION_TITLE = re.compile(
    r"(?:[ \t]++(?:(?:\r\n?|\n)[ \t]*+)?|(?:\r\n?|\n)[ \t]*+)"
    r"(?:\"[^\"\\]*+(?:\\.[^\"\\]*+)*\"|'[^'\\]*+(?:\\.[^'\\]*+)*'|\([^()\\]*+(?:\\.[^()\\]*+)*\))"
    r"[ \t]*+(?=\r|\n|\Z)",
    re.DOTALL,
)
_LINE_REST = re.compile(r"[ \t]*+(?:\r\n?|\n|\Z)")


def indentation(line: str, pos: int, column: int) -> tuple[int, int]:
    """Where the next character that is no blank stands, and in which column; tabs reach to multiples of 4.

    `column` may lie inside a tab at `pos`, when a container mark has taken a part of it."""
    size = len(line)
    while pos < size:
        character = line[pos]
        if character == " ":
            column += 1
        elif character == "\t":
            column += 4 - column % 4
        else:
            break
        pos += 1
    return pos, column


def skip_columns(line: str, pos: int, column: int, wanted: int) -> tuple[int, int]:
    """Passes over this many columns of blanks; in the middle of a tab `pos` stays at the tab."""
    target = column + wanted
    while column < target:
        if line[pos] == "\t":
            width = 4 - column % 4
            if column + width > target:
                return pos, target
            column += width
        else:
            column += 1
        pos += 1
    return pos, column


def atx_text(line: str, pos: int) -> tuple[int, str]:
    """Where the text of an ATX heading starts, behind its marks, and the text without the closing ones."""
    rest = line[pos:]
    content = rest.strip(" \t")
    start = pos + len(rest) - len(rest.lstrip(" \t"))
    opened = content.rstrip("#")
    if opened != content and (not opened or opened[-1] in " \t"):
        content = opened.rstrip(" \t")
    return start, content


def html_start(line: str, pos: int, *, in_paragraph: bool) -> str | None:
    """The kind of HTML block that begins here, by its name in `html_ends`, or None."""
    match = _HTML_START.match(line, pos)
    if match is not None:
        return match.lastgroup
    if not in_paragraph and _HTML_ALONE.match(line, pos):
        return "alone"
    return None


def html_ends(kind: str, line: str, pos: int) -> bool:
    """Whether this line, which is not blank, is the last of an HTML block of this kind."""
    if kind == "raw":
        return _RAW_END.search(line, pos) is not None
    ending = _HTML_ENDS.get(kind)
    return ending is not None and line.find(ending, pos) >= 0


def html_ends_blank(kind: str) -> bool:
    """Whether a blank line ends an HTML block of this kind."""
    return kind in ("block", "alone")


def closes_fence(fence: str, line: str, pos: int) -> bool:
    rest = line[pos:].rstrip(" \t")
    return len(rest) >= len(fence) and rest == fence[0] * len(rest)


def callout_title(line: str, pos: int) -> tuple[str, str, str] | None:
    """Type, title and fold of a callout whose `[!` stands here."""
    match = _CALLOUT.match(line, pos)
    if match is None:
        return None
    return match[1].strip().lower(), line[match.end() :].strip(), match[2]


def is_table_head(header: str, delimiter: str) -> bool:
    """Whether two lines are the head of a table: a delimiter row with as many cells as the row above."""
    if "|" not in delimiter and "|" not in header:
        return False
    return _DELIMITER_ROW.match(delimiter) is not None and _cells(header) == _cells(delimiter)


def _cells(row: str) -> int:
    row = row.strip(" \t")
    bars = len(CELL_BAR.findall(row))
    if row.startswith("|"):
        bars -= 1
    if len(row) > 1 and row.endswith("|") and not row.endswith("\\|"):
        bars -= 1
    return bars + 1


def definitions_end(part: str) -> int:
    """How much of a paragraph's beginning are link reference definitions; they are no text."""
    end = 0
    while True:
        match = _DEFINITION.match(part, end)
        if match is None:
            return end
        titled = _DEFINITION_TITLE.match(part, match.end())
        closed = _LINE_REST.match(part, titled.end()) if titled else None
        if closed is None:
            closed = _LINE_REST.match(part, match.end())
        if closed is None:
            return end
        end = closed.end()
        if end >= len(part):
            return len(part)


QUOTE: Final = 0
ITEM: Final = 1
NOTE: Final = 2
ROOT: Final = 3

BlockKind = Literal["", "paragraph", "list", "quote", "table", "code", "math", "html", "other"]


class Container:
    """`width` is how far the content of an item is indented; `empty` marks one that has no content yet.
    `title` is type, title and fold of a callout, or id and text of a footnote; `ids` are block ids that name
    the box. `last_*` describe the block that ended last directly inside; `mark` is the list's marker."""

    __slots__ = (
        "empty",
        "ids",
        "kind",
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
        self.last_mark = ""

    def ended(self, kind: BlockKind, start: int, mark: str = "") -> None:
        """A block directly inside has ended."""
        self.last_kind = kind
        self.last_start = start
        self.last_mark = mark

    def code_line(self, start: int) -> None:
        """A line of indented code directly inside; several make one block."""
        if self.last_kind == "code" and self.last_mark == "indented":
            start = self.last_start
        self.ended("code", start, "indented")

    def continue_list(self, mark: str, above: Container) -> None:
        """Makes this item a further one of the list that ended last in `above`, if it has the same mark."""
        self.mark = mark
        if above.last_kind == "list" and above.last_mark == mark:
            self.list_start = above.last_start


def after_quote_mark(line: str, pos: int) -> tuple[int, int]:
    """Passes over `>` at `pos` and the one space that belongs to it. Columns start over behind it, as they do
    in the app: a tab there is always four wide."""
    pos += 1
    return (pos + 1, 0) if pos < len(line) and line[pos] == " " else (pos, 0)


def match_containers(boxes: list[Container], line: str, *, in_text: bool) -> tuple[int, int, int]:
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
