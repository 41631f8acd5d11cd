"""Links in values: reading one from text, and what makes a property's text a link."""

from __future__ import annotations

import re
from typing import Final

from vaultbridge.bases.values import Link

_WIKILINK: Final = re.compile(r"!?\[\[([^\[\]\n]+)\]\]")
_MARKDOWN: Final = re.compile(r"!?\[([^\[\]\n]*)\]\(<?([^()<>\n]+)>?\)")
_URL: Final = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?://)?\S+")


def is_url(text: str) -> bool:
    return _URL.fullmatch(text) is not None


def written_link(text: str, source: str) -> Link | None:
    """The link that the whole of `text` is: `[[target|display]]` or `[display](target)`; else None."""
    text = text.strip()
    if match := _WIKILINK.fullmatch(text):
        # A `|` at the very start belongs to the target, as everywhere in the app.
        bar = match[1].find("|", 1)
        target, display = (match[1][:bar], match[1][bar + 1 :]) if bar > 0 else (match[1], "")
        return Link(target.strip(), source, display or None)
    if match := _MARKDOWN.fullmatch(text):
        target = match[2].strip()
        if is_url(target):
            return Link(target, source, match[1] or None, external=True)
        return Link(target.replace("%20", " "), source, match[1] or None)
    return None


def link_to(text: str, source: str) -> Link:
    """What `link(text)` makes: a written link is read, a URL leads out, anything else is a name or path."""
    written = written_link(text, source)
    if written is not None:
        return written
    return Link(text.strip(), source, external=is_url(text.strip()))
