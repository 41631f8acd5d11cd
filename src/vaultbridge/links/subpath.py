"""Parses, finds and writes subpaths: the part of a link that names a heading or block of the target note.

`markdown.sections.heading_key` decides when two headings are equal.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from vaultbridge.markdown.model import Heading
from vaultbridge.markdown.sections import heading_key

_BREAKS: Final = re.compile(r"[#^|\\:\r\n]|%%|\[\[|\]\]")
_BLANKS: Final = re.compile(r"[ \t]+")


class HeadingPath(Struct, frozen=True):
    """`#A#B`: B somewhere below A. The parts are as written, without `#`."""

    parts: tuple[str, ...]


class BlockId(Struct, frozen=True):
    """`#^id`; `id` is without `^`."""

    id: str


class NoSubpath(Struct, frozen=True):
    """The link names the whole file."""


Subpath: TypeAlias = HeadingPath | BlockId | NoSubpath


def parse_subpath(subpath: str) -> Subpath:
    parts = tuple(part for part in subpath.split("#") if part.strip())
    if not parts:
        return NoSubpath()
    if parts[-1].strip().startswith("^"):
        return BlockId(parts[-1].strip()[1:])
    return HeadingPath(parts)


def heading_paths(headings: Sequence[Heading]) -> tuple[tuple[int, ...], ...]:
    """Return for each heading the indices of the headings above it and its own. A heading's parent is the
    nearest earlier heading of a lower level."""
    paths: list[tuple[int, ...]] = []
    open_at: list[int] = []
    for index, heading in enumerate(headings):
        while open_at and headings[open_at[-1]].level >= heading.level:
            open_at.pop()
        open_at.append(index)
        paths.append(tuple(open_at))
    return tuple(paths)


def find_heading(
    keys: Sequence[str], paths: Sequence[tuple[int, ...]], parts: Sequence[str]
) -> tuple[int, ...] | None:
    """Return the heading that each part of a heading path names, the last one being the link's; None if there
    is no such heading. The first match wins, as in the app. `keys` are the headings' `heading_key`s."""
    wanted = [heading_key(part) for part in parts]
    for index, path in enumerate(paths):
        if keys[index] != wanted[-1]:
            continue
        matched: list[int] = []
        for above in path[:-1]:
            if len(matched) < len(wanted) - 1 and keys[above] == wanted[len(matched)]:
                matched.append(above)
        if len(matched) == len(wanted) - 1:
            return (*matched, index)
    return None


def heading_for_link(text: str) -> str:
    """Return a heading's text as a link can contain it. What would end the link or split the path becomes a
    space, which makes no difference when headings are compared."""
    cleaned = _BLANKS.sub(" ", _BREAKS.sub(" ", text)).strip()
    return cleaned.rstrip("]").rstrip() if cleaned.endswith("]") else cleaned


def heading_subpath(parts: Sequence[str]) -> str:
    return "".join(f"#{heading_for_link(part)}" for part in parts)
