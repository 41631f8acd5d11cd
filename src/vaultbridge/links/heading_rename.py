"""Plans the rename of a heading or block id: the edit of the note, and of every link to it.

The first heading that matches a link wins, so a heading's new name may hide another heading of that name, or
be hidden by one. A link that would then lead to another heading is written with the headings above it
(`#A#B`); if that is still ambiguous, the rename is refused.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from msgspec import Struct

from vaultbridge.errors import EditRefused
from vaultbridge.links.move import Reference
from vaultbridge.links.subpath import (
    BlockId,
    HeadingPath,
    find_heading,
    heading_for_link,
    heading_paths,
    heading_subpath,
    parse_subpath,
)
from vaultbridge.links.syntax import Rewrite, retarget
from vaultbridge.markdown.edits.change import Change, sort_changes
from vaultbridge.markdown.edits.sections import rename_block_id, rename_heading
from vaultbridge.markdown.model import Note
from vaultbridge.markdown.sections import find_block, find_section, heading_key

NewSubpath = Callable[[str], str | None]


class SubpathPlan(Struct, frozen=True):
    """`edits` by path, including those of the note itself; `rewritten` are the links that change."""

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
    """Plan to rename a heading of the note `path` and every link to it. `references` are those that resolve
    to the note, including its links to itself; `read` returns the text of another note or canvas.

    Raises EditRefused if the heading does not exist or is not unique, or if a link would break."""
    section = find_section(text, note, heading, unique=True)
    own = rename_heading(text, note, section, new)
    renamed = _HeadingRename(note, section.heading, new.strip())
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
    """Plan to rename a block id of the note `path` and every link to it, like `plan_heading_rename`."""
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


class _HeadingRename:
    """Computes new subpaths from a note's headings before and after the rename."""

    def __init__(self, note: Note, index: int, new: str) -> None:
        texts = [heading.text for heading in note.headings]
        self._paths = heading_paths(note.headings)
        self._index = index
        self._before = [heading_key(text) for text in texts]
        self._texts = [*texts[:index], new, *texts[index + 1 :]]
        self._after = [heading_key(text) for text in self._texts]

    def subpath(self, written: str) -> str | None:
        """Return the new subpath; None if the written one still leads to the same heading, or never led to
        one."""
        match parse_subpath(written):
            case HeadingPath(parts):
                return self._heading_path(parts)
            case _:
                return None

    def _heading_path(self, parts: tuple[str, ...]) -> str | None:
        found = find_heading(self._before, self._paths, parts)
        if found is None:
            return None
        new = heading_for_link(self._texts[self._index])
        renamed = [new if at == self._index else part for at, part in zip(found, parts, strict=True)]
        if self._leads_to(renamed, found[-1]):
            return None if self._index not in found else "".join(f"#{part}" for part in renamed)
        full = [self._texts[at] for at in self._paths[found[-1]]]
        if self._leads_to(full, found[-1]):
            return heading_subpath(full)
        raise EditRefused(
            f"With that name, links to {self._texts[found[-1]]!r} would lead to another heading.",
            hint="Choose a heading that the note does not have yet.",
        )

    def _leads_to(self, parts: Sequence[str], index: int) -> bool:
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
        changes.setdefault(reference.source, []).extend(
            retarget(reference.source, texts[reference.source], link, Rewrite(subpath=new))
        )
    edits = {
        source: sort_changes(unsorted, len(texts[source])) for source, unsorted in changes.items() if unsorted
    }
    return SubpathPlan(edits, tuple(rewritten))
