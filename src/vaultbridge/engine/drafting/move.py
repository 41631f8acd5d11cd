"""Rewrites the links of the whole vault on a draft when files move, are created, or have a heading renamed.

The index says which notes may contain an affected link. The notes themselves are read, and parsed unless the
index has parsed exactly these bytes, so an index that lags behind can never cause a wrong edit.

Links are planned separately for visible and for hidden notes. In a visible note a hidden file does not exist:
links are resolved, pinned and shortened without it, because the caller can read the result. The links of a
hidden note are resolved among all files.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from vaultbridge.bases.parse import extract_base_blocks
from vaultbridge.engine.drafting.draft import Draft, DraftFile
from vaultbridge.errors import EditRefused, EngineFailure, NoteBusy, PermissionDenied, StaleWrite
from vaultbridge.links.move import Reference, plan_create, plan_move, touched_keys
from vaultbridge.links.resolve import FileTable, Resolved, candidate_keys, name_key, resolve
from vaultbridge.links.syntax import LinkSettings, note_name
from vaultbridge.markdown.embedded import Embedded, whole_text
from vaultbridge.markdown.model import Link
from vaultbridge.markdown.text import has_surrogates
from vaultbridge.vault.paths import VaultPath, Visible
from vaultbridge.vault.scope import HiddenNoteInUse, redact

if TYPE_CHECKING:
    from vaultbridge.engine.drafting.link_sources import LinkSources
    from vaultbridge.index.graph import StoredLinks

SOURCES_NAMED: Final = 10
"""How many notes a notice names: enough to look at, and still one line."""


def move(
    draft: Draft,
    sources: LinkSources,
    moves: Mapping[VaultPath, VaultPath],
    settings: LinkSettings,
    visible: Visible,
    *,
    folder: tuple[VaultPath, VaultPath] | None = None,
) -> None:
    """Moves files (all those of `folder` when one is given) and rewrites every link that needs it."""
    rewrite_links(draft, sources, moves, settings, visible, folder=folder)
    if folder:
        draft.move_folder(*folder, moves.items())
    else:
        for old, new in moves.items():
            draft.move_file(old, new)


def note_old_titles(draft: Draft, visible: Visible) -> None:
    """Adds a notice for each renamed note whose first heading or `title` is still its old name, with the
    operation that changes it. People and assistants who rename a note often mean both."""
    for file in draft.opened_files():
        if file.origin is None or not file.path.lower().endswith(".md") or not visible(file.path):
            continue
        old, new = note_name(file.origin), note_name(file.path)
        if old == new:
            continue
        heading = file.note.headings[0] if file.note.headings else None
        if heading is not None and heading.level == 1 and heading.text == old:
            draft.notices.append(
                f'The heading of {file.path} is still "{old}": op rename_heading changes it.'
            )
        properties = file.note.properties.values if file.note.properties is not None else {}
        if properties.get("title") == old:
            draft.notices.append(f'The title of {file.path} is still "{old}": op set_property changes it.')


def rewrite_links(
    draft: Draft,
    sources: LinkSources,
    moves: Mapping[VaultPath, VaultPath],
    settings: LinkSettings,
    visible: Visible,
    *,
    folder: tuple[VaultPath, VaultPath] | None = None,
    merging: bool = False,
) -> None:
    """Rewrites every link that a move of these files will need, and leaves the files where they are. When
    `merging`, the new paths are files that take the others in."""
    keys = touched_keys([*moves, *moves.values()])
    affected = {*_find_affected(draft, sources.find_by_name(keys)), *(p for p in moves if _has_links(p))}
    bases, unreadable = _bases(draft, sources, [*moves, *moves.values(), *(folder or ())], whole=moves)
    plans = []
    for hidden, group, table in _split_by_visibility(draft, {*affected, *map(VaultPath, bases)}):
        with redact(group if hidden else ()):
            plans.append(
                plan_move(
                    {str(old): str(new) for old, new in moves.items()},
                    _references(draft, sources, group, keys, whole=frozenset(moves)),
                    table,
                    settings,
                    read=lambda path: draft.open(VaultPath(path)).text,
                    bases={path: inside for path, inside in bases.items() if draft.hides(path) is hidden},
                    folders={folder[0]: folder[1]} if folder else {},
                    merging=merging,
                )
            )
    for plan in plans:
        rewritten = _count_by_source(plan.rewritten)
        for path, changes in plan.edits.items():
            draft.edit(VaultPath(path), changes).links_rewritten += rewritten.get(path, len(changes))
    for path in (*unreadable, *(path for plan in plans for path in plan.unreadable_bases)):
        if visible(path):
            _note_unreadable(draft, path)
    for path in draft.translate_paths(sources.list_unparsed()):
        if visible(path) and (path in moves or _may_link(draft, path, moves)):
            notice = f"{path}: it is too large to be parsed, so links in it were left as they are."
            if notice not in draft.notices:
                draft.notices.append(notice)


_BEFORE_TARGETS: Final = ("[[", "/", "(", "<", ": ", '"')
"""What comes before the name of a link's target: in a wikilink, a path, a Markdown link, a definition of a
reference or a canvas."""


def _may_link(draft: Draft, path: VaultPath, moved: Iterable[VaultPath]) -> bool:
    """Whether a file that is not parsed mentions one of the moved ones, as a link would."""
    try:
        file = draft.open_listed(path)
    except EngineFailure:
        return True  # It is too large even to be read.
    if file is None:
        return False
    text = _fold(file.text)
    for name in (_fold(note_name(target)) for target in moved):
        # A Markdown link may have its blanks, or all that is not ASCII, percent-encoded.
        forms = (name, name.replace(" ", "%20"), quote(name).lower())
        if any(f"{mark}{form}" in text for mark in _BEFORE_TARGETS for form in forms):
            return True
    return False


def _note_unreadable(draft: Draft, path: str) -> None:
    notice = f"{path}: a base in it could not be read and was left as it is."
    if notice not in draft.notices:
        draft.notices.append(notice)


def _split_by_visibility(
    draft: Draft, paths: Iterable[VaultPath]
) -> Iterator[tuple[bool, list[VaultPath], FileTable]]:
    """Splits the files into visible and hidden ones, each group with the table that its links are resolved
    in."""
    ordered = sorted(paths)
    for hidden in (False, True) if draft.restricted else (False,):
        group = [path for path in ordered if draft.hides(path) is hidden]
        if group or not hidden:
            yield hidden, group, draft.table if hidden else draft.visible_table


def _bases(
    draft: Draft,
    sources: LinkSources,
    named: Iterable[VaultPath],
    *,
    whole: Collection[VaultPath] = (),
    among: Callable[[str], bool] | None = None,
) -> tuple[dict[str, tuple[Embedded, ...]], list[VaultPath]]:
    """The bases that may name one of these files or folders, by the file they are in; of the files in `whole`
    all. Reading one as YAML takes long, and a note full of code has many. And the base files that cannot be
    read, for example because a cloud service has them: they must not prevent every move. `among` says which
    files are read; None means all."""
    names = {_fold(note_name(path)) for path in named}
    bases: dict[str, tuple[Embedded, ...]] = {}
    unreadable: list[VaultPath] = []
    for path in draft.translate_paths(sources.list_bases()):
        if among is not None and not among(path):
            continue
        try:
            file = draft.open_listed(path)
        except (NoteBusy, StaleWrite, HiddenNoteInUse):
            raise
        except (EngineFailure, PermissionDenied, EditRefused):
            # The last one stands for both when the base is hidden.
            unreadable.append(path)
            continue
        if file is not None and (path in whole or _may_name(file.text, names)):
            bases[path] = (whole_text(file.text),)
    for path in sorted(_find_affected(draft, sources.list_notes_with_bases())):
        if not path.lower().endswith(".md") or (among is not None and not among(path)):
            continue
        if (file := draft.open_listed(path)) is None:
            continue
        inside = [block.inside for block in extract_base_blocks(file.text)]
        if naming := tuple(block for block in inside if path in whole or _may_name(block.text, names)):
            bases[path] = naming
    return bases, unreadable


def _may_name(text: str, names: Iterable[str]) -> bool:
    """Whether the text may contain one of these folded names. An escape sequence may spell anything."""
    key = _fold(text)
    return "\\" in text or any(name in key for name in names)


def _fold(text: str) -> str:
    """The name key of a text that may be a part of another. The lower case of a Greek sigma depends on what
    follows it."""
    return name_key(text).replace("ς", "σ")


def pin_older_links(
    draft: Draft,
    sources: LinkSources,
    path: VaultPath,
    settings: LinkSettings,
) -> None:
    """Called before a file is created at `path`: rewrites older links that would lead to it from now on, so
    that they keep their target, and adds a notice about the visible ones.

    An unresolved link that will lead to the new note is what its writer intended; it only gets a notice."""
    keys = touched_keys([path])
    affected = _find_affected(draft, sources.find_by_name(keys))
    # Only a name that another file has already can be taken over, and few new notes have one. A hidden one is
    # no reason to read visible bases: that would take time only if it is there.
    namesakes = [p for key in keys for name in (key, f"{key}.md") for p in draft.table.paths_named(name)]
    shared = any(not draft.hides(namesake) for namesake in namesakes)
    bases = _bases(draft, sources, [path], among=None if shared else draft.hides)[0] if namesakes else {}
    plans = []
    for hidden, group, table in _split_by_visibility(draft, {*affected, *map(VaultPath, bases)}):
        with redact(group if hidden else ()):
            plans.append(
                plan_create(
                    path,
                    _references(draft, sources, group, keys),
                    table,
                    settings,
                    read=lambda source: draft.open(VaultPath(source)).text,
                    bases={file: inside for file, inside in bases.items() if draft.hides(file) is hidden},
                )
            )
    for plan in plans:
        for source, changes in plan.edits.items():
            draft.edit(VaultPath(source), changes).links_rewritten += len(changes)
    repointed, adopted, pinned = plans[0].repointed, plans[0].adopted, plans[0].pinned_bases
    if repointed or pinned:
        where = list_paths((*(reference.source for reference in repointed), *pinned))
        count = len(repointed) + len(pinned)
        draft.notices.append(
            f"{count} older link(s) would have led to the new {path}; they were rewritten to keep their "
            f"target, in: {where}."
        )
    if adopted:
        where = list_paths(reference.source for reference in adopted)
        draft.notices.append(f"{len(adopted)} unresolved link(s) now lead to {path}, from: {where}.")
    for base in plans[0].unreadable_bases:
        _note_unreadable(draft, base)


def list_paths(found: Iterable[str]) -> str:
    """Some of these files, for a notice."""
    paths = sorted(set(found))
    more = f" and {len(paths) - SOURCES_NAMED} more" if len(paths) > SOURCES_NAMED else ""
    return ", ".join(paths[:SOURCES_NAMED]) + more


def find_references(draft: Draft, sources: LinkSources, path: VaultPath) -> list[Reference]:
    """Finds every link to one file in the draft, including links of a note to itself."""
    affected = {*_find_affected(draft, _sources_of(draft, sources, [path])), path}
    return [
        reference
        for reference in _references(draft, sources, sorted(affected), None)
        if reference.resolved == path
    ]


def find_linking_files(draft: Draft, sources: LinkSources, files: Collection[VaultPath]) -> list[VaultPath]:
    """Finds the visible files of the draft that link to one of these, other than those files themselves."""
    going = frozenset(files)
    found = [
        source
        for source in draft.translate_paths(_sources_of(draft, sources, files))
        if source not in going and not draft.hides(source)
    ]
    if not draft.restricted:
        return found
    links = _references(draft, sources, found, touched_keys(files))
    linking = {link.source for link in links if link.resolved in going}
    return [source for source in found if source in linking]


def _sources_of(draft: Draft, sources: LinkSources, paths: Iterable[VaultPath]) -> list[VaultPath]:
    """The files that may link to these. The index resolves links among all files. Where some are hidden, a
    link that leads to a hidden file there may lead to one of these for the caller, so links are also looked
    up by name."""
    origins = [draft.origin(path) for path in paths]
    found = sources.find_linking_to(origins)
    if not draft.restricted:
        return found
    return sorted({*found, *sources.find_by_name(touched_keys(origins))})


def _find_affected(draft: Draft, indexed: Iterable[VaultPath]) -> set[VaultPath]:
    """Translates what the index names to paths of the draft, and adds what the draft itself has written."""
    written = (file.path for file in draft.opened_files() if file.changed and _has_links(file.path))
    return {*draft.translate_paths(indexed), *written}


def _has_links(path: str) -> bool:
    return path.lower().endswith((".md", ".canvas"))


def _references(
    draft: Draft,
    sources: LinkSources,
    paths: Iterable[VaultPath],
    keys: frozenset[str] | None,
    *,
    whole: frozenset[str] = frozenset(),
) -> Iterator[Reference]:
    """The links of these files: those that depend on `keys`, and in the files of `whole` all of them."""
    linking = [path for path in paths if _has_links(path)]
    stored = sources.read_stored_links(map(draft.origin, linking))
    for path in linking:
        table = draft.table_for(path)
        file = draft.open(path) if path in whole else draft.open_listed(path)
        if file is None:
            continue
        for link in _links(file, stored.get(file.origin or path)):
            if keys is not None and path not in whole and keys.isdisjoint(candidate_keys(link.target)):
                continue
            found = resolve(link.target, path, table)
            yield Reference(path, link, found.path if isinstance(found, Resolved) else None)


def _links(file: DraftFile, stored: StoredLinks | None) -> Sequence[Link]:
    """The links of a file. Parsing it takes ten times as long as reading what the index has of it."""
    if stored is None or file.changed or file.before_hash != stored.hash or has_surrogates(file.text):
        return file.note.links
    return stored.links


def _count_by_source(references: Iterable[Reference]) -> dict[str, int]:
    counts: dict[str, int] = {}
    for reference in references:
        counts[reference.source] = counts.get(reference.source, 0) + 1
    return counts
