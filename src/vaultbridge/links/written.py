"""The written form of a link: where in it the target, subpath and display stand, and how a Markdown
destination spells a path.

Knows nothing of files: which target a link should have is decided in `links.rewrite`. A link is taken apart
only into offsets, so that a rewrite replaces the target's characters and leaves every other one alone.
"""

from __future__ import annotations

import re
from typing import Final

from msgspec import Struct

from vaultbridge.errors import EngineFailure
from vaultbridge.note.inline_links import destination, internal_target

_WIKI_BREAKS: Final = re.compile(r"[#|\r\n\x00]|\[\[|\]\]|\]$|^\s|\s$")
_ENCODED_PLAIN: Final = re.compile(r"[\s\x00-\x1f\x7f\\<>%`|]")
_ENCODED_ANGLE: Final = re.compile(r"[\r\n\t\x00-\x1f\x7f\\<>%`|]")
_OPENED: Final = re.compile(r"\(\s*<?")


class WrittenLink(Struct, frozen=True):
    """A link's raw text with the offsets of its parts in it. The subpath follows the target directly and
    includes its `#`; both may be empty. `display` is None when there is none, else the span of the display
    text (for an image with a size: of the text and the size)."""

    raw: str
    markdown: bool
    embed: bool
    target_start: int
    target_end: int
    subpath_end: int
    display: tuple[int, int] | None
    angle: bool = False

    @property
    def target(self) -> str:
        """As written: a Markdown destination still encoded."""
        return self.raw[self.target_start : self.target_end]

    @property
    def subpath(self) -> str:
        return self.raw[self.target_end : self.subpath_end]

    @property
    def display_text(self) -> str | None:
        return self.raw[self.display[0] : self.display[1]] if self.display else None


def parse_written_link(raw: str, *, target: str | None = None) -> WrittenLink:
    """Take a link's raw text apart. `target`, when known, is what the note's parser took as the path part:
    it decides whether a backslash before `|` separates (in a table) or belongs to the name.

    Raises EngineFailure when `raw` is no link: callers give what the parser called one."""
    embed = raw.startswith("!")
    opening = 1 if embed else 0
    if raw.startswith("[[", opening) and raw.endswith("]]") and len(raw) >= opening + 4:
        return _wiki(raw, opening + 2, embed=embed, target=target)
    if raw.startswith("[", opening):
        found = _markdown(raw, opening + 1, embed=embed)
        if found is not None:
            return found
    raise EngineFailure(f"Not the text of a link: {raw[:80]!r}.")


def _wiki(raw: str, start: int, *, embed: bool, target: str | None) -> WrittenLink:
    end = len(raw) - 2
    bar = raw.find("|", start + 1, end)
    inner_end = end if bar < 0 else bar
    escaped = bar > 0 and raw[bar - 1] == "\\" and not (target or "").endswith("\\")
    if escaped:
        inner_end -= 1
    hash_at = raw.find("#", start, inner_end)
    target_end = inner_end if hash_at < 0 else hash_at
    written = raw[start:target_end]
    lead = len(written) - len(written.lstrip())
    if hash_at < 0:
        # Blanks around the name are not part of it; before a `#` they stay with the name, which is followed
        # by the subpath directly.
        target_end = start + len(written.rstrip()) if written.strip() else target_end
        inner_end = max(target_end, start + lead)
    return WrittenLink(
        raw=raw,
        markdown=False,
        embed=embed,
        target_start=min(start + lead, target_end),
        target_end=target_end,
        subpath_end=max(inner_end, target_end) if hash_at >= 0 else target_end,
        display=None if bar < 0 else (bar + 1, end),
    )


def _markdown(raw: str, text_start: int, *, embed: bool) -> WrittenLink | None:
    """The first `](` whose destination and title reach exactly to the end of the raw text. Brackets in the
    link's text, code or a nested image cannot: what follows them goes on."""
    at = raw.find("](", text_start)
    while at >= 0:
        found = _destination(raw, at + 1)
        if found is not None:
            start, end, angle = found
            hash_at = raw.find("#", start, end)
            display = (text_start, at) if at > text_start else None
            return WrittenLink(
                raw=raw,
                markdown=True,
                embed=embed,
                target_start=start,
                target_end=end if hash_at < 0 else hash_at,
                subpath_end=end,
                display=display,
                angle=angle,
            )
        at = raw.find("](", at + 1)
    return None


def _destination(raw: str, parenthesis: int) -> tuple[int, int, bool] | None:
    read = destination(raw, parenthesis)
    if read is None or read[1] != len(raw):
        return None
    opened = _OPENED.match(raw, parenthesis)
    start = opened.end() if opened else parenthesis + 1
    return start, start + len(read[0]), raw[start - 1] == "<"


def fits_wiki(target: str) -> bool:
    """Whether a wikilink can hold this path part. Wikilinks know no escapes, so some names have no form."""
    return bool(target) and not _WIKI_BREAKS.search(target)


def fits_markdown(target: str) -> bool:
    """Whether a Markdown destination can, that is, whether it is read back as the same path: `#` has no form
    that the app decodes, and a colon makes a destination external unless it starts with a dot segment."""
    return bool(target) and internal_target(encode_destination(target)) == (target, "")


def encode_destination(target: str, *, angle: bool = False) -> str:
    """A path as a Markdown destination spells it: what would end or change the destination is
    percent-encoded, everything else stays readable."""
    text = (_ENCODED_ANGLE if angle else _ENCODED_PLAIN).sub(_percent_encoded, target)
    if not angle and not _balanced(text):
        text = text.replace("(", "%28").replace(")", "%29")
    return text


def _percent_encoded(match: re.Match[str]) -> str:
    return "".join(f"%{byte:02X}" for byte in match.group().encode("utf-8", "surrogatepass"))


def _balanced(text: str) -> bool:
    depth = 0
    for character in text:
        depth += (character == "(") - (character == ")")
        if depth < 0:
            return False
    return depth == 0
