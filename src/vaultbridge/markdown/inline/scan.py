"""Finds the links, tags, footnotes and Dataview fields in a paragraph, heading or table row.

It makes one pass from left to right over the tokens that matter. Code, math and HTML are skipped as a whole;
brackets, which may nest, are on a stack. Each kind of failed search is remembered, so that no text takes more
than linear time. `blocks.scan` decides which parts of a note are passed in.

Dataview's inline fields are `key:: value` lines, `[key:: value]` and `(key:: value)`. Their keys are compared
in lower case with hyphens for blanks, without emphasis marks.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterable, Iterator

from vaultbridge.markdown.inline.links import WIKI_INSIDE, internal_target, read_destination, read_wiki_link
from vaultbridge.markdown.inline.spans import HtmlScanner, Spans
from vaultbridge.markdown.model import Footnote, InlineField, Link, LinkKind, Tag
from vaultbridge.markdown.text import BLANKS

KEY_CHARS = 100
"""The longest key. It bounds how far a key before `::` can reach, and so the cost of text full of colons."""

_BRACKET_KEY = re.compile(rf"[ \t]*+([^\[\]():\r\n]{{1,{KEY_CHARS}}}+)::(?!:)")
_LINE_FIELD = re.compile(
    rf"^[ \t]*+([^\s:\[\]()`][^:\r\n\[\]()`]{{0,{KEY_CHARS}}}+)::(?!:)[ \t]*+([^\r\n]*+)", re.MULTILINE
)
_EMPHASIS = " \t*_~"
# Letters, digits, `_`, `-`, `/`, blanks, and all symbols beyond Latin-1 punctuation, including emoji. The
# class is negated because one that spans all of Unicode takes milliseconds to compile.
_KEY_CHAR = r"[^\x00-\x08\x0a-\x1f!-,.:-@\[-^`{-\xa8]"
_KEY = re.compile(rf"(?![-/ \t]){_KEY_CHAR}+\Z")
_BLANKS = re.compile(r"\s+")
_DROPPED = re.compile(r"[\x00-,./:-@\[-^`{-\xa8]")


def field_key(name: str) -> str:
    """Normalize a key for comparison."""
    return _DROPPED.sub("", _BLANKS.sub("-", name.strip().lower()))


def bracket_key(part: str, pos: int) -> tuple[str, int] | None:
    """Return the key right after an opening bracket, and where its value starts."""
    match = _BRACKET_KEY.match(part, pos)
    if match is None:
        return None
    name = match[1].strip(_EMPHASIS)
    return (name, match.end()) if _KEY.match(name) else None


def bracket_field(
    key: tuple[str, int], part: str, opened: int, closed: int, line: int, base: int
) -> InlineField | None:
    """Return the field between the brackets at `opened` and `closed`; None if they are not on one line."""
    name, value_at = key
    value = part[value_at:closed]
    if "\n" in value or "\r" in value:
        return None
    return InlineField(field_key(name), name, value.strip(), line, base + opened, base + closed + 1)


def line_fields(
    part: str, base: int, starts: list[int], hidden: list[tuple[int, int]]
) -> Iterator[InlineField]:
    """Yield the fields that take a whole line; `hidden` are the spans of code, math and HTML, in order."""
    ends = [end for _, end in hidden]
    for match in _LINE_FIELD.finditer(part):
        name = match[1].strip(_EMPHASIS)
        if not _KEY.match(name):
            continue
        at = bisect_right(ends, match.start(1))
        if at < len(hidden) and hidden[at][0] < match.end(1) + 2:
            continue
        start = base + match.start(1)
        value = match[2].rstrip()
        end = base + match.start(2) + len(value)
        yield InlineField(field_key(name), name, value, bisect_right(starts, start), start, end)


TAG_NAME = rf"[^{BLANKS}\u2000-\u206f\u2e00-\u2e7f'!\"#$%&()*+,.:;<=>?@^`{{|}}~\[\]\\]++"
# Each token begins with a character of one set, for which the engine searches quickly; look-behinds at that
# character then select what may follow.
_ALWAYS = (
    r"(?<=\\)([!-/:-@\[-`{-~])"  # 1 a backslash escape
    r"|(?<=`)(`*+)"  # 2 code
    r"|(?<=\$)(\$*+)"  # 3 math
    r"|(?<=<)((?=[A-Za-z/!?]))"  # 4 HTML or an autolink
    rf"|(?<=\[)(\[{WIKI_INSIDE}\]\])"  # 5 a wikilink; an embed if `!` precedes it
    rf"|(?<=\#)({TAG_NAME})"  # 6 a tag, if it may start here
    r"|(?<=\[)(\^[^\[\]\s^]++\])"  # 7 a footnote reference
    r"|(?<=%)(%)"  # 8 a comment begins or ends
)
_BRACKETS = r"|(?<=\[)()|(?<=\])()"  # 9, 10
_PARENS = r"|(?<=\()()|(?<=\))()"  # 11, 12
_ESCAPE, _CODE, _MATH, _HTML, _WIKI, _TAGGED, _FOOTNOTE, _COMMENT, _OPEN, _CLOSE, _PAREN = range(1, 12)
_PLAIN_TOKEN = re.compile(rf"[\\`$<#%\[](?:{_ALWAYS})")
_BRACKET_TOKEN = re.compile(rf"[\\`$<#%\[\]](?:{_ALWAYS}{_BRACKETS})")
_FIELD_TOKEN = re.compile(rf"[\\`$<#%\[\]()](?:{_ALWAYS}{_BRACKETS}{_PARENS})")
_IS_BLANK = frozenset(BLANKS)


class InlineResult:
    """The results of the inline passes over one note so far."""

    __slots__ = ("fields", "footnotes", "labels", "links", "starts", "tags", "text")

    def __init__(self, text: str, starts: list[int]) -> None:
        self.text = text
        self.starts = starts
        self.links: list[Link] = []
        self.tags: list[Tag] = []
        self.footnotes: list[Footnote] = []
        self.fields: list[InlineField] = []
        self.labels: list[str] = []

    def add_definitions(self, definitions: Iterable[tuple[int, int, str, str]]) -> None:
        """Add link reference definitions, each by its start, the end of its destination, the destination as
        written and the label. A destination of `#` is how people write a comment: `[//]: # (text)`."""
        for start, end, written, label in definitions:
            leads = internal_target(written)
            if leads in (("", ""), ("", "#")):
                continue
            self.labels.append(label)
            if leads is not None and "](" not in written:
                raw, line = self.text[start:end], bisect_right(self.starts, start)
                self.links.append(
                    Link(
                        raw,
                        *leads,
                        None,
                        embed=False,
                        kind="markdown",
                        line=line,
                        start=start,
                        end=end,
                        markdown=True,
                    )
                )


def scan_inline(
    part: str, base: int, found: InlineResult, *, in_comment: bool = False, whole_lines: bool = True
) -> None:
    """Add what is found in `part`, whose first character has the offset `base` in the text.

    Block markers inside it (`>` on a quoted paragraph's further lines) must have been replaced by blanks, not
    cut, to keep offsets right. `whole_lines` is False for cells and headings, where no line can be a
    field."""
    if "::" in part:
        token = _FIELD_TOKEN
    elif "](" in part or "^[" in part:
        token = _BRACKET_TOKEN
    elif "[[" in part or "#" in part or "[^" in part:
        token = _PLAIN_TOKEN
    else:
        return
    scan = _Pass(part, base, found, in_comment=in_comment, fields=token is _FIELD_TOKEN and not in_comment)
    scan.run(token)
    if scan.fields:
        scan.add_fields(whole_lines=whole_lines)


class _Pass:
    """A pass over one piece of text. An entry of the bracket stack is (start, after, tags before, field
    key)."""

    __slots__ = (
        "base",
        "bracketed",
        "brackets",
        "comment_end",
        "fields",
        "found",
        "hidden",
        "html",
        "inactive_below",
        "parens",
        "part",
        "spans",
        "tag_may_start",
    )

    def __init__(self, part: str, base: int, found: InlineResult, *, in_comment: bool, fields: bool) -> None:
        self.part = part
        self.base = base
        self.found = found
        self.fields = fields
        self.comment_end = len(part) if in_comment else 0
        self.spans: Spans | None = None
        self.html: HtmlScanner | None = None
        self.hidden: list[tuple[int, int]] = []
        self.brackets: list[tuple[int, int, int, tuple[str, int] | None]] = []
        self.parens: list[tuple[int, tuple[str, int] | None]] = []
        self.bracketed: list[tuple[tuple[str, int], int, int]] = []
        self.inactive_below = 0
        self.tag_may_start = 0

    def run(self, token: re.Pattern[str]) -> None:
        search = token.search
        part = self.part
        before = 0  # where the previous token ended
        match = search(part)
        while match is not None:
            kind = match.lastindex
            start, pos = match.span()
            if kind == _WIKI:
                embed = start > before and part[start - 1] == "!"
                self._add_wiki_link(part[start - 1 : pos] if embed else match[0], start - embed)
            elif kind == _TAGGED:
                if start == self.tag_may_start or part[start - 1] in _IS_BLANK:
                    self._add_tag(match[0], start)
            elif kind == _ESCAPE:
                self.tag_may_start = pos
            elif kind in (_CODE, _MATH, _HTML):
                pos = self._hide(kind, start, pos)
            elif kind == _OPEN:
                if start > before and part[start - 1] in "!^":
                    self.brackets.append((start - 1, pos, len(self.found.tags), None))
                else:
                    key = bracket_key(part, pos) if self.fields else None
                    self.brackets.append((start, pos, len(self.found.tags), key))
            elif kind == _CLOSE:
                if self.brackets:
                    pos = self._close_bracket(start, pos)
            elif kind == _FOOTNOTE:
                if pos > self.comment_end:
                    self._add_footnote("reference", part[start + 2 : pos - 1], "", start, pos)
            elif kind == _COMMENT:
                self._skip_comment(pos)
            elif kind == _PAREN:
                self.parens.append((start, bracket_key(part, pos) if self.fields else None))
            elif self.parens:
                opened, key = self.parens.pop()
                if key is not None:
                    self._add_field(key, opened, start)
            before = pos
            match = search(part, pos)

    def _line(self, start: int) -> int:
        return bisect_right(self.found.starts, self.base + start)

    def _add_wiki_link(self, raw: str, start: int) -> None:
        kind: LinkKind = "wiki"
        link = read_wiki_link(raw, kind, self._line(start), self.base + start)
        if link is None:
            return
        self.found.links.append(link)
        if not link.embed:
            # A link cannot contain a link, so brackets around this one cannot become one. Images can.
            self.inactive_below = len(self.brackets)

    def _add_tag(self, written: str, start: int) -> None:
        name = written[1:].rstrip("/")
        if not name or (name.isdigit() and name.isascii()):
            return
        first = self.base + start
        end = first + 1 + len(name)
        self.found.tags.append(Tag(name, bisect_right(self.found.starts, first), first, end))
        self.tag_may_start = start + 1 + len(name)

    def _hide(self, kind: int, start: int, pos: int) -> int:
        """Return where the code, math or HTML that begins here ends; `pos` if it has no end and so is
        text."""
        if kind == _HTML:
            if self.html is None:
                self.html = HtmlScanner(self.part)
            end = self.html.end(start)
        else:
            if self.spans is None:
                self.spans = Spans(self.part)
            end = self.spans.code_end(start, pos) if kind == _CODE else self.spans.math_end(start, pos)
        if end < 0:
            return pos
        if self.fields:
            self.hidden.append((start, end))
        return end

    def _skip_comment(self, pos: int) -> None:
        if pos <= self.comment_end:
            return
        end = self.part.find("%%", pos)
        self.comment_end = end + 2 if end >= 0 else self.comment_end

    def _close_bracket(self, start: int, pos: int) -> int:
        opened, inside, tags_before, key = self.brackets.pop()
        part = self.part
        active = len(self.brackets) >= self.inactive_below
        self.inactive_below = min(self.inactive_below, len(self.brackets))
        mark = part[opened]
        if mark == "^":
            if pos > self.comment_end:
                self._add_footnote("inline", "", part[inside:start].strip(), opened, pos)
            return pos
        image = mark == "!"
        if part.startswith("(", pos) and (active or image):
            read = read_destination(part, pos)
            if read is not None:
                del self.found.tags[tags_before:]
                self._add_markdown_link(read[0], part[inside:start], opened, read[1], image=image)
                if not image:
                    self.inactive_below = len(self.brackets)
                return read[1]
        if key is not None and pos > self.comment_end:
            self._add_field(key, opened, start)
        return pos

    def _add_markdown_link(self, written: str, display: str, start: int, end: int, *, image: bool) -> None:
        leads = internal_target(written)
        if leads is None:
            return
        first, last = self.base + start, self.base + end
        raw = self.found.text[first:last]
        line = self._line(start)
        self.found.links.append(
            Link(raw, leads[0], leads[1], display, image, "markdown", line, first, last, markdown=True)
        )

    def _add_footnote(self, kind: str, name: str, text: str, start: int, end: int) -> None:
        first = self.base + start
        line = self._line(start)
        footnote = Footnote(kind, name, text, line, first, self.base + end)  # type: ignore[arg-type]
        self.found.footnotes.append(footnote)

    def _add_field(self, key: tuple[str, int], opened: int, closed: int) -> None:
        if closed < self.comment_end:
            return
        # A field cannot contain fields: those found inside this one are part of its value.
        while self.bracketed and self.bracketed[-1][1] > opened:
            self.bracketed.pop()
        self.bracketed.append((key, opened, closed))

    def add_fields(self, *, whole_lines: bool) -> None:
        fields = self.found.fields
        for key, opened, closed in self.bracketed:
            field = bracket_field(key, self.part, opened, closed, self._line(opened), self.base)
            if field is not None:
                fields.append(field)
        if whole_lines:
            fields.extend(line_fields(self.part, self.base, self.found.starts, self.hidden))
