"""The part of a link after the path: which heading or block of the target note it names.

Owns how a subpath is taken apart, found in an outline and written. The rule by which two headings are equal
is `markdown.sections.heading_key`'s.
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
    """`#A#B`: B somewhere beneath A. The parts are as written, without `#`."""

    parts: tuple[str, ...]


class BlockId(Struct, frozen=True):
    """`#^id`, the id without its mark."""

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
    """For each heading the indices of those above it and its own: each one's nearest earlier heading of a
    lower level is its parent."""
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
    """Which heading each part of a heading path names, the last being the one linked to; None when there is
    no such heading. The first match wins, as in the app. `keys` are the headings' `heading_key`s."""
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
    """A heading's text as a link may hold it. What would end the link or split the path becomes a space,
    which counts as equal when headings are compared."""
    cleaned = _BLANKS.sub(" ", _BREAKS.sub(" ", text)).strip()
    return cleaned.rstrip("]").rstrip() if cleaned.endswith("]") else cleaned


def heading_subpath(parts: Sequence[str]) -> str:
    return "".join(f"#{heading_for_link(part)}" for part in parts)


def writable_subpath(subpath: str) -> str:
    """A subpath given by a caller, made safe to stand in a link; `#` is put before it if it lacks one."""
    match parse_subpath(subpath):
        case HeadingPath(parts):
            return heading_subpath(parts)
        case BlockId(block):
            return f"#^{block}"
        case _:
            return ""
