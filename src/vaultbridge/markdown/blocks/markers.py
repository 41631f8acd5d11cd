"""Recognizes the markers that begin, continue and end blocks, as CommonMark and the app define them.

Most functions test one line for one thing; `blocks.scan` calls them in the order that the specification
gives. `Container` is an open block quote, list item or footnote definition: `match_containers` decides
whether a further line still belongs to it (CommonMark 5). Every pattern is possessive or bounded, so no line
takes more than linear time.
"""

from __future__ import annotations

import re
from typing import Final, Literal, NamedTuple

from vaultbridge.markdown.inline.spans import CLOSING_TAG, OPEN_TAG

ATX = re.compile(r"#{1,6}(?=[ \t]|\Z)")
FENCE = re.compile(r"`{3,}+(?=[^`]*\Z)|~{3,}+")
SETEXT = re.compile(r"(?:=++|-++)\Z")
THEMATIC = re.compile(r"(?:(?:-[ \t]*+){3,}|(?:\*[ \t]*+){3,}|(?:_[ \t]*+){3,})\Z")
INTERRUPTING = frozenset(("-", "+", "*", "1.", "1)"))
"""The list markers that may interrupt a paragraph; `7.` at the start of a line is more often a date."""
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
    r"(<[^<>\r\n\\]*+(?:\\.[^<>\r\n\\]*+)*>|[^\s<\x00-\x1f][^\s\x00-\x1f]*+)"
)
_DEFINITION_TITLE = re.compile(
    r"(?:[ \t]++(?:(?:\r\n?|\n)[ \t]*+)?|(?:\r\n?|\n)[ \t]*+)"
    r"(?:\"[^\"\\]*+(?:\\.[^\"\\]*+)*\"|'[^'\\]*+(?:\\.[^'\\]*+)*'|\([^()\\]*+(?:\\.[^()\\]*+)*\))"
    r"[ \t]*+(?=\r|\n|\Z)",
    re.DOTALL,
)
_LINE_REST = re.compile(r"[ \t]*+(?:\r\n?|\n|\Z)")


def indentation(line: str, pos: int, column: int) -> tuple[int, int]:
    """Return the offset and column of the next character that is not blank; tab stops are multiples of 4.

    `column` may be inside a tab at `pos`, when a container's marker has used a part of the tab."""
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
    """Skip this many columns of blanks; in the middle of a tab `pos` stays at the tab."""
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
    """Return where the text of an ATX heading starts, and the text without closing `#`s."""
    rest = line[pos:]
    content = rest.strip(" \t")
    start = pos + len(rest) - len(rest.lstrip(" \t"))
    opened = content.rstrip("#")
    if opened != content and (not opened or opened[-1] in " \t"):
        content = opened.rstrip(" \t")
    return start, content


def html_start(line: str, pos: int, *, in_paragraph: bool) -> str | None:
    """Return the kind of HTML block that begins here, by its name in `html_ends`, or None."""
    match = _HTML_START.match(line, pos)
    if match is not None:
        return match.lastgroup
    if not in_paragraph and _HTML_ALONE.match(line, pos):
        return "alone"
    return None


def html_ends(kind: str, line: str, pos: int) -> bool:
    """Return whether this line, which is not blank, is the last of an HTML block of this kind."""
    if kind == "raw":
        return _RAW_END.search(line, pos) is not None
    ending = _HTML_ENDS.get(kind)
    return ending is not None and line.find(ending, pos) >= 0


def html_ends_blank(kind: str) -> bool:
    """Return whether a blank line ends an HTML block of this kind."""
    return kind in ("block", "alone")


def closes_fence(fence: str, line: str, pos: int) -> bool:
    rest = line[pos:].rstrip(" \t")
    return len(rest) >= len(fence) and rest == fence[0] * len(rest)


def callout_title(line: str, pos: int) -> tuple[str, str, str] | None:
    """Return the type, title and fold of a callout whose `[!` is at `pos`."""
    match = _CALLOUT.match(line, pos)
    if match is None:
        return None
    return match[1].strip().lower(), line[match.end() :].strip(), match[2]


def is_table_head(header: str, delimiter: str) -> bool:
    """Return whether two lines are the head of a table: a delimiter row with as many cells as the row
    above."""
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


class Definition(NamedTuple):
    """A link reference definition `[label]: destination "title"`: where it starts, where its destination
    ends, the destination as written, without angle brackets, and the label as labels are compared."""

    start: int
    end: int
    written: str
    label: str


def normalize_label(label: str) -> str:
    """Return the label of a link reference as CommonMark compares it."""
    return " ".join(label.casefold().split())


def read_definitions(part: str) -> tuple[list[Definition], int]:
    """Return the link reference definitions at the start of a paragraph, and where they end; they are not
    text."""
    read: list[Definition] = []
    end = 0
    while end < len(part):
        match = _DEFINITION.match(part, end)
        if match is None:
            break
        titled = _DEFINITION_TITLE.match(part, match.end())
        closed = _LINE_REST.match(part, titled.end()) if titled else None
        if closed is None:
            closed = _LINE_REST.match(part, match.end())
        if closed is None:
            break
        written = match[2][1:-1] if match[2][0] == "<" else match[2]
        label = normalize_label(match[1])
        read.append(Definition(part.index("[", end), match.end(), written, label))
        end = closed.end()
    return read, end


QUOTE: Final = 0
ITEM: Final = 1
NOTE: Final = 2
ROOT: Final = 3

BlockKind = Literal["", "paragraph", "list", "quote", "table", "code", "math", "html", "other"]


class Container:
    """An open container. `width` is the indentation of an item's content; `empty` is true while an item has
    no content. `title` is the type, title and fold of a callout, or the id and text of a footnote; `ids` are
    the block ids that name the container; `mark` is the list's marker. `last_*` describe the last block that
    ended directly inside; a block id on its own line names that block."""

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

    def record_end(self, kind: BlockKind, start: int, mark: str = "") -> None:
        """Record that a block directly inside has ended."""
        self.last_kind = kind
        self.last_start = start
        self.last_mark = mark

    def add_code_line(self, start: int) -> None:
        """Record a line of indented code directly inside; consecutive lines are one block."""
        if self.last_kind == "code" and self.last_mark == "indented":
            start = self.last_start
        self.record_end("code", start, "indented")

    def continue_list(self, mark: str, above: Container) -> None:
        """Add this item to the list that ended last in `above` if both have the same marker."""
        self.mark = mark
        if above.last_kind == "list" and above.last_mark == mark:
            self.list_start = above.last_start


def skip_quote_mark(line: str, pos: int) -> tuple[int, int]:
    """Skip `>` at `pos` and the one space that belongs to it. Columns start again after it, as in the app: a
    tab there is always four columns wide."""
    pos += 1
    return (pos + 1, 0) if pos < len(line) and line[pos] == " " else (pos, 0)


def match_containers(containers: list[Container], line: str, *, in_text: bool) -> tuple[int, int, int]:
    """Return how many of the open containers the line stays in, and its content's offset and column.

    `in_text` is true while a paragraph is open. Then a `>` right below the text of an item belongs to the
    item however it is indented. CommonMark differs, but the app does it that way."""
    pos = column = matched = 0
    size = len(line)
    at, at_column = indentation(line, 0, 0)
    for container in containers:
        if container.kind == QUOTE:
            if at == size or line[at] != ">" or at_column - column > 3:
                break
            pos, column = skip_quote_mark(line, at)
            at, at_column = indentation(line, pos, column)
        elif at == size:
            # A blank line stays in an item unless the item began with one (CommonMark 5.2, rule 3).
            if container.empty:
                break
            pos, column = at, at_column
        elif at_column - column >= container.width:
            pos, column = skip_columns(line, pos, column, container.width)
        elif not (in_text and line[at] == ">" and at_column - column <= 3):
            break
        matched += 1
    return matched, pos, column
