"""Moves, new files and renamed headings, with the links of the whole vault, on a draft.

Which notes may hold a link that is concerned comes from the index; what their links say is read from the
notes themselves, so that an index that lags behind can never place an edit wrongly.

Links are planned apart for the notes that the caller may see and for the hidden ones. In a visible note a
hidden file does not exist: its links are resolved, pinned and shortened as if it were not there, because the
text they get can be read by the caller. The links of a hidden note follow with regard to every file.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from typing import Final, Protocol

from vaultbridge.bases.parse import extract_base_blocks
from vaultbridge.engine.draft import Draft
from vaultbridge.engine.redaction import redact
from vaultbridge.links.move import Reference, plan_create, plan_move, touched_keys
from vaultbridge.links.resolve import FileTable, Resolved, candidate_keys, name_key, resolve
from vaultbridge.links.syntax import LinkSettings, note_name
from vaultbridge.markdown.embedded import Embedded, whole_text
from vaultbridge.vault.paths import VaultPath

SOURCES_NAMED: Final = 10
"""How many notes a notice names: enough to look at, and it stays a line."""


class LinkSources(Protocol):
    """What the index knows of who links where."""

    def sources_naming(self, keys: Iterable[str]) -> list[VaultPath]:
        """The notes and canvases with a link that one of these name keys may decide."""
        ...

    def sources_of(self, paths: Iterable[VaultPath]) -> list[VaultPath]:
        """The notes and canvases with a link to one of these files."""
        ...

    def paths_of_kind(self, kind: str) -> list[VaultPath]: ...

    def notes_with_bases(self) -> list[VaultPath]:
        """The notes that may hold a base as a code block."""
        ...


def move(
    draft: Draft,
    sources: LinkSources,
    moves: Mapping[VaultPath, VaultPath],
    settings: LinkSettings,
    visible: Callable[[str], bool],
    *,
    folder: tuple[VaultPath, VaultPath] | None = None,
) -> None:
    """Move files (all those of `folder` when one is given) and rewrite every link that must be."""
    keys = touched_keys([*moves, *moves.values()])
    concerned = {*_concerned(draft, sources.sources_naming(keys)), *(p for p in moves if _has_links(p))}
    bases = _bases(draft, sources, moves, folder)
    plans = []
    for hidden, group, table in _apart(draft, {*concerned, *map(VaultPath, bases)}):
        with redact(group if hidden else ()):
            plans.append(
                plan_move(
                    {str(old): str(new) for old, new in moves.items()},
                    _references(draft, group, keys, whole=frozenset(moves)),
                    table,
                    settings,
                    read=lambda path: draft.open(VaultPath(path)).text,
                    bases={path: inside for path, inside in bases.items() if draft.hides(path) is hidden},
                    folders={folder[0]: folder[1]} if folder else {},
                )
            )
    for plan in plans:
        rewritten = _counted(plan.rewritten)
        for path, changes in plan.edits.items():
            draft.edit(VaultPath(path), changes).links_rewritten += rewritten.get(path, len(changes))
    if folder:
        draft.move_folder(*folder, moves.items())
    else:
        for old, new in moves.items():
            draft.move_file(old, new)
    for path in (path for plan in plans for path in plan.unreadable_bases):
        notice = f"{path}: a base in it could not be read and was left as it is."
        if visible(path) and notice not in draft.notices:
            draft.notices.append(notice)


def _apart(draft: Draft, paths: Iterable[VaultPath]) -> Iterator[tuple[bool, list[VaultPath], FileTable]]:
    """The files by whether they are hidden, each group with the table among which its links are resolved."""
    ordered = sorted(paths)
    for hidden in (False, True) if draft.restricted else (False,):
        group = [path for path in ordered if draft.hides(path) is hidden]
        if group or not hidden:
            yield hidden, group, draft.table if hidden else draft.seen


def _bases(
    draft: Draft,
    sources: LinkSources,
    moves: Mapping[VaultPath, VaultPath],
    folder: tuple[VaultPath, VaultPath] | None,
) -> dict[str, tuple[Embedded, ...]]:
    """The vault's bases by the file they stand in; of those in notes only the ones that may name what moves:
    a note full of code has many."""
    bases: dict[str, tuple[Embedded, ...]] = {
        path: (whole_text(draft.open(path).text),) for path in draft.where_now(sources.paths_of_kind("base"))
    }
    names = {name_key(note_name(path)) for path in (*moves, *moves.values(), *(folder or ()))}
    for path in sorted(_concerned(draft, sources.notes_with_bases())):
        if path.endswith(".canvas"):
            continue
        inside = [block.inside for block in extract_base_blocks(draft.open(path).text)]
        if naming := tuple(one for one in inside if path in moves or _may_name(one.text, names)):
            bases[path] = naming
    return bases


def _may_name(text: str, names: Iterable[str]) -> bool:
    """Whether one of the name keys can stand in the text. Behind a backslash anything can."""
    key = name_key(text)
    return "\\" in text or any(name in key for name in names)


def pin_older_links(
    draft: Draft,
    sources: LinkSources,
    path: VaultPath,
    settings: LinkSettings,
) -> None:
    """Before a new file `path`: keep older links meaning what they meant, and say so of the visible ones.

    A link that meant nothing and now means the new note is what its writer waited for: that is only told."""
    keys = touched_keys([path])
    concerned = _concerned(draft, sources.sources_naming(keys))
    plans = []
    for hidden, group, table in _apart(draft, concerned):
        with redact(group if hidden else ()):
            plans.append(
                plan_create(
                    path,
                    _references(draft, group, keys),
                    table,
                    settings,
                    read=lambda source: draft.open(VaultPath(source)).text,
                )
            )
    for plan in plans:
        for source, changes in plan.edits.items():
            draft.edit(VaultPath(source), changes).links_rewritten += len(changes)
    repointed, adopted = plans[0].repointed, plans[0].adopted
    if repointed:
        where = _where(repointed)
        draft.notices.append(
            f"{len(repointed)} older link(s) would have meant the new {path}; they were pinned to "
            f"the file they meant, in: {where}."
        )
    if adopted:
        where = _where(adopted)
        draft.notices.append(f"{len(adopted)} unresolved link(s) now lead to {path}, from: {where}.")


def _where(references: Iterable[Reference]) -> str:
    paths = sorted({reference.source for reference in references})
    more = f" and {len(paths) - SOURCES_NAMED} more" if len(paths) > SOURCES_NAMED else ""
    return ", ".join(paths[:SOURCES_NAMED]) + more


def find_references(draft: Draft, sources: LinkSources, path: VaultPath) -> list[Reference]:
    """Every link to one file, as the draft stands; links of a note to itself included."""
    concerned = {*_concerned(draft, _sources_of(draft, sources, [path])), path}
    return [
        reference for reference in _references(draft, sorted(concerned), None) if reference.resolved == path
    ]


def find_linking_files(draft: Draft, sources: LinkSources, files: Collection[VaultPath]) -> list[VaultPath]:
    """The visible files with a link to one of these, as the draft stands, less those files themselves."""
    going = frozenset(files)
    found = [
        source
        for source in draft.where_now(_sources_of(draft, sources, files))
        if source not in going and not draft.hides(source)
    ]
    if not draft.restricted:
        return found
    links = _references(draft, found, touched_keys(files))
    linking = {link.source for link in links if link.resolved in going}
    return [source for source in found if source in linking]


def _sources_of(draft: Draft, sources: LinkSources, paths: Iterable[VaultPath]) -> list[VaultPath]:
    """What may link to these files. The index resolves among all files: where some are hidden, a link that
    leads to a hidden one there may mean one of these to the caller, so those that name them are asked for."""
    origins = [draft.origin(path) for path in paths]
    found = sources.sources_of(origins)
    if not draft.restricted:
        return found
    return sorted({*found, *sources.sources_naming(touched_keys(origins))})


def _concerned(draft: Draft, indexed: Iterable[VaultPath]) -> set[VaultPath]:
    """What the index names, as it is in the draft, plus what the draft itself has written."""
    written = (file.path for file in draft.opened() if file.changed and _has_links(file.path))
    return {*draft.where_now(indexed), *written}


def _has_links(path: str) -> bool:
    return path.lower().endswith((".md", ".canvas"))


def _references(
    draft: Draft,
    paths: Iterable[VaultPath],
    keys: frozenset[str] | None,
    *,
    whole: frozenset[str] = frozenset(),
) -> Iterator[Reference]:
    """The links of these files; only those that depend on `keys`, except in the files of `whole`."""
    for path in filter(_has_links, paths):
        table = draft.table_for(path)
        for link in draft.open(path).note.links:
            if keys is not None and path not in whole and keys.isdisjoint(candidate_keys(link.target)):
                continue
            found = resolve(link.target, path, table)
            yield Reference(path, link, found.path if isinstance(found, Resolved) else None)


def _counted(references: Iterable[Reference]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for reference in references:
        counts[reference.source] = counts.get(reference.source, 0) + 1
    return counts
