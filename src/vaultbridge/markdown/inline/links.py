"""Parses one link: wikilinks, Markdown destinations, and a property whose value is a link.

Takes the pieces that `inline.scan` or `markdown.parse` found. They decide where a link may be;
`links.resolve` decides which file it names.
"""

from __future__ import annotations

import re
from typing import Any

from vaultbridge.markdown.model import Link, LinkKind

PARENTHESES = 8
"""The deepest nesting of parentheses in a bare destination. CommonMark requires at least three levels,
addresses have one or two, and the bound keeps text full of failed attempts linear."""

# Before Python 3.11.5 a possessive group whose inside can backtrack matches wrongly (cpython gh-106052). So
# only single characters are repeated possessively, and groups are unrolled so that they match in one way
# only.

WIKI_INSIDE = r"(?!\]\])[^\[\]\r\n]*+(?:(?:\](?!\])|\[(?!\[))[^\[\]\r\n]*+)*"
"""The inside of `[[…]]`: one line, up to the first `]]`; an inner `[[` starts over."""

_WHOLE_WIKI = re.compile(rf"\[\[({WIKI_INSIDE})\]\]\Z")
_ESCAPE = re.compile(r"\\([!-/:-@\[-`{-~])")
_ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,31});")
_BLANKS = r"[ \t]*+(?:(?:\r\n?|\n)[ \t]*+)?"
_OPEN = re.compile(rf"\({_BLANKS}(<[^<>\r\n\\]*+(?:\\.[^<>\r\n\\]*+)*>)?")
_BARE = r"[^\s()\\\x00-\x1f\x7f]*+"
_ESCAPED = r"\\[!-/:-@\[-`{-~]?+"
_NESTED = rf"{_BARE}(?:{_ESCAPED}{_BARE})*"
for _ in range(PARENTHESES):
    _NESTED = rf"{_BARE}(?:(?:{_ESCAPED}|\({_NESTED}\)){_BARE})*"
_BARE_DESTINATION = re.compile(_NESTED)
_TITLE_LINE = r"(?:\r\n|\r(?!\n)|\n)(?![ \t]*(?:\r|\n))"
_TITLE = (
    rf"(?:\"[^\"\\\r\n]*+(?:(?:\\.|{_TITLE_LINE})[^\"\\\r\n]*+)*\""
    rf"|'[^'\\\r\n]*+(?:(?:\\.|{_TITLE_LINE})[^'\\\r\n]*+)*'"
    rf"|\([^()\\\r\n]*+(?:(?:\\.|{_TITLE_LINE})[^()\\\r\n]*+)*\))"
)
_CLOSE = re.compile(rf"(?:(?:[ \t]|\r\n?|\n){_BLANKS}{_TITLE})?{_BLANKS}\)")
_TEXT = r"[^\[\]\\]*+"
_WHOLE_TEXT = re.compile(rf"\[({_TEXT}(?:(?:\\.|\[{_TEXT}(?:\\.{_TEXT})*\]){_TEXT})*)\](?=\()")
_PERCENT_RUN = re.compile(r"(?:%[0-9a-fA-F]{2})+")
_BROKEN_PERCENT = re.compile(r"%(?![0-9a-fA-F]{2})")
_KEPT = frozenset(b";/?:@&=+$,#")


def split_wiki(inside: str) -> tuple[str, str, str | None]:
    """Split the text between `[[` and `]]` into target, subpath and display.

    The first `|` after the first character is the separator. In a table it must be written `\\|`; the app
    accepts that form everywhere."""
    bar = inside.find("|", 1)
    display: str | None = None
    if bar > 0:
        display = inside[bar + 1 :].strip()
        inside = inside[: bar - 1] if inside[bar - 1] == "\\" else inside[:bar]
    # Only the whole is trimmed: in `[[a #b]]` the app looks for a note named "a ".
    target, mark, subpath = inside.strip().partition("#")
    return target, mark + subpath, display


def read_wiki_link(raw: str, kind: LinkKind, line: int, start: int) -> Link | None:
    """Parse a whole `[[…]]` or `![[…]]`; None if it names nothing."""
    embed = raw[0] == "!"
    target, subpath, display = split_wiki(raw[3:-2] if embed else raw[2:-2])
    if not target and not subpath:
        return None
    return Link(raw, target, subpath, display, embed, kind, line, start, start + len(raw))


def read_destination(text: str, at: int) -> tuple[str, int] | None:
    """Read `(dest "title")` at an opening parenthesis: the destination as written, and the offset after the
    closing one. None if it is not a destination by CommonMark (a literal space, unbalanced parentheses)."""
    opened = _OPEN.match(text, at)
    if opened is None:
        return None
    written, pos = opened[1], opened.end()
    if written is not None:
        written = written[1:-1]
    elif text.startswith("<", pos):
        return None
    else:
        bare = _BARE_DESTINATION.match(text, pos)
        assert bare is not None  # it may be empty
        written, pos = bare[0], bare.end()
    closed = _CLOSE.match(text, pos)
    return None if closed is None else (written, closed.end())


def internal_target(written: str) -> tuple[str, str] | None:
    """Return target and subpath of a Markdown destination; None if it is external or empty."""
    dest = _ESCAPE.sub(r"\1", written) if "\\" in written else written
    if "&" in dest and _ENTITY.search(dest):
        import html

        dest = _ENTITY.sub(lambda match: html.unescape(match[0]), dest)
    if not dest or (":" in dest and not dest.startswith(("./", "../"))):
        return None
    target, mark, subpath = decode_uri(dest).partition("#")
    return target, f"#{subpath}" if mark else ""


def decode_uri(text: str) -> str:
    """Decode like JavaScript's decodeURI: reserved characters stay encoded; a malformed text is returned
    unchanged."""
    if "%" not in text:
        return text
    if _BROKEN_PERCENT.search(text):
        return text
    try:
        return _PERCENT_RUN.sub(_decode_run, text)
    except UnicodeDecodeError:
        return text


def _decode_run(match: re.Match[str]) -> str:
    run = bytes.fromhex(match[0].replace("%", ""))
    if _KEPT.isdisjoint(run):
        return run.decode("utf-8")
    out: list[str] = []
    plain = bytearray()
    for index, byte in enumerate(run):
        if byte in _KEPT:
            out.append(plain.decode("utf-8"))
            plain.clear()
            out.append(match[0][index * 3 : index * 3 + 3])
        else:
            plain.append(byte)
    out.append(plain.decode("utf-8"))
    return "".join(out)


def read_property_link(value: str, raw: str, name: str, line: int, start: int) -> Link | None:
    """Parse a property whose whole value is a link, wiki or Markdown. `raw` is the value as written."""
    place: Any = {"kind": "property", "line": line, "start": start, "end": start + len(raw)}
    place["property_name"] = name
    if value.startswith("[["):
        whole = _WHOLE_WIKI.match(value)
        if whole is None:
            return None
        target, subpath, display = split_wiki(whole[1])
        if not target and not subpath:
            return None
        return Link(raw, target, subpath, display, embed=False, **place)
    if not value.startswith("["):
        return None
    text = _WHOLE_TEXT.match(value)
    if text is None:
        return None
    read = read_destination(value, text.end())
    if read is None or read[1] != len(value):
        return None
    leads = internal_target(read[0])
    if leads is None:
        return None
    return Link(raw, leads[0], leads[1], text[1], embed=False, markdown=True, **place)
