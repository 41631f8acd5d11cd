"""What the rename of a heading or a block id does to the links that name it: a plan for all notes.

The plan holds the edit of the note itself too. A heading's new name may hide another heading of that name or
be hidden by one, since the first match wins: a link that would then mean another heading is written with the
headings above it (`#A#B`), and if that does not tell them apart either, the rename is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from vaultbridge.errors import EditRefused
from vaultbridge.links.move import Reference
from vaultbridge.links.retarget import Rewrite, retarget
from vaultbridge.links.subpath import (
    BlockId,
    HeadingPath,
    find_heading,
    heading_for_link,
    heading_paths,
    heading_subpath,
    parse_subpath,
)
from vaultbridge.markdown.edits.change import Change, sort_changes
from vaultbridge.markdown.edits.sections import rename_block_id, rename_heading
from vaultbridge.markdown.model import Note
from vaultbridge.markdown.sections import find_block, find_section, heading_key

NewSubpath = Callable[[str], str | None]


class SubpathPlan(Struct, frozen=True):
    """`edits` by path, the renamed note's own among them; `rewritten` are the links that get a new text."""

    edits: dict[str, tuple[Change, ...]]
    rewritten: tuple[Reference, ...] = ()


def plan_heading_rename(
    path: str,
    text: str,
    note: Note,
    heading: str | Sequence[str],
    new: str,
    references: Iterable[Reference],
    *,
    read: Callable[[str], str],
) -> SubpathPlan:
    """Rename a heading of the note `path` and every link to it. `references` are those that resolve to the
    note, its links to itself included; `read` gives the text of another note or canvas.

    Raises EditRefused when the heading is not there or not unique, or when a link could not be kept."""
    section = find_section(text, note, heading, unique=True)
    own = rename_heading(text, note, section, new)
    renamed = _Renamed(note, section.heading, new.strip())
    return _plan(path, text, own, references, renamed.subpath, read)


def plan_block_rename(
    path: str,
    text: str,
    note: Note,
    block_id: str,
    new: str,
    references: Iterable[Reference],
    *,
    read: Callable[[str], str],
) -> SubpathPlan:
    """Rename a block id of the note `path` and every link to it, as `plan_heading_rename` does."""
    own = rename_block_id(text, note, block_id, new)
    old = find_block(note, block_id, unique=True).id.lower()
    wanted = new.removeprefix("^")

    def subpath(written: str) -> str | None:
        match parse_subpath(written):
            case BlockId(block) if block.lower() == old:
                return f"#^{wanted}"
            case _:
                return None

    return _plan(path, text, own, references, subpath, read)


class _Renamed:
    """The note's headings before and after, and what a subpath must become."""

    def __init__(self, note: Note, index: int, new: str) -> None:
        texts = [heading.text for heading in note.headings]
        self._paths = heading_paths(note.headings)
        self._index = index
        self._before = [heading_key(text) for text in texts]
        self._texts = [*texts[:index], new, *texts[index + 1 :]]
        self._after = [heading_key(text) for text in self._texts]

    def subpath(self, written: str) -> str | None:
        """The new subpath, or None when the written one still means the same heading, or never meant one."""
        match parse_subpath(written):
            case HeadingPath(parts):
                return self._heading_path(parts)
            case _:
                return None

    def _heading_path(self, parts: tuple[str, ...]) -> str | None:
        meant = find_heading(self._before, self._paths, parts)
        if meant is None:
            return None
        new = heading_for_link(self._texts[self._index])
        kept = [new if at == self._index else part for at, part in zip(meant, parts, strict=True)]
        if self._means(kept, meant[-1]):
            return None if self._index not in meant else "".join(f"#{part}" for part in kept)
        full = [self._texts[at] for at in self._paths[meant[-1]]]
        if self._means(full, meant[-1]):
            return heading_subpath(full)
        raise EditRefused(
            f"With that name, links to {self._texts[meant[-1]]!r} would mean another heading.",
            hint="Choose a heading that does not stand in the note yet.",
        )

    def _means(self, parts: Sequence[str], index: int) -> bool:
        found = find_heading(self._after, self._paths, parts)
        return found is not None and found[-1] == index


def _plan(
    path: str,
    text: str,
    own: tuple[Change, ...],
    references: Iterable[Reference],
    subpath: NewSubpath,
    read: Callable[[str], str],
) -> SubpathPlan:
    if not own:
        return SubpathPlan({})
    texts = {path: text}
    changes: dict[str, list[Change]] = {path: list(own)}
    rewritten: list[Reference] = []
    seen: set[tuple[str, int, int, str]] = set()
    for reference in references:
        link = reference.link
        if reference.resolved != path or not link.subpath:
            continue
        new = subpath(link.subpath)
        if new is None:
            continue
        rewritten.append(reference)
        key = (reference.source, link.start, link.end, link.raw)
        if key in seen:
            continue
        seen.add(key)
        if reference.source not in texts:
            texts[reference.source] = read(reference.source)
        found = retarget(reference.source, texts[reference.source], link, Rewrite(subpath=new))
        changes.setdefault(reference.source, []).extend(found)
    edits = {source: sort_changes(found, len(texts[source])) for source, found in changes.items() if found}
    return SubpathPlan(edits, tuple(rewritten))
