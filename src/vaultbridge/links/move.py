"""Plans what a moved or new file does to the links of a vault; the engine carries the plan out.

The rule is the app's (docs/obsidian.md 4): every link keeps leading to the same file. A link whose text still
does is not changed; the others get a new target in the vault's link format and keep their style, subpath,
display, size and title. Two cases go beyond "still resolves": a `./` or `../` link must still spell the path
to its file, and an unambiguous link must not become ambiguous.

Bases (`.base` files and blocks in notes) are YAML with expressions in its strings. They name files in
`link("…")`, `file("…")`, `image("…")`, `file.hasLink("…")` and wikilinks, and folders in
`file.inFolder("…")`. They are edited in place, through the quoting of YAML and of the expression; a base that
is not valid YAML is not changed.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct, structs

from vaultbridge.errors import EditRefused, EngineFailure, NoteNotFound
from vaultbridge.limits import BASE_CHARS
from vaultbridge.links.resolve import FileTable, Resolved, dot_path, file_name, name_key, resolve
from vaultbridge.links.syntax import (
    LinkSettings,
    Rewrite,
    choose_target,
    encode_destination,
    is_file_card,
    note_name,
    resolves_only_to,
    retarget,
)
from vaultbridge.markdown.edits.change import Change, sort_changes
from vaultbridge.markdown.embedded import Embedded, Quoting, decode_embedded
from vaultbridge.markdown.inline.links import internal_target
from vaultbridge.markdown.model import Link
from vaultbridge.markdown.yaml import base_loader

if TYPE_CHECKING:
    from yaml.nodes import Node, ScalarNode

NewTarget = Callable[[str], str | None]
"""Takes a path part or a folder as written and returns the new one, or None to leave it."""

BASE_NODES: Final = 100_000
"""The most YAML nodes visited: far more than any base written by hand has, and a bound for others."""

_TEXT: Final = re.compile(
    r"""(?P<call>\b(?:link|file|image|hasLink|inFolder)\s*\(\s*)?"""
    r"""(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<wiki>\[\[[^\[\]\r\n]+\]\])""",
    re.S,
)
_WIKI: Final = re.compile(r"\[\[([^\[\]|#\r\n]+)[^\[\]\r\n]*\]\]")


def rewrite_base(text: str, *, file: NewTarget, folder: NewTarget) -> tuple[Change, ...]:
    """Rewrite every file and folder for which a callable returns a new name.

    Raises EditRefused if the text is not YAML: then the app cannot use it either. Also if it is longer than
    any base that we read."""
    if len(text) > BASE_CHARS:
        raise EditRefused(f"The base has more than {BASE_CHARS} characters.")
    changes: list[Change] = []
    for layer in _list_scalars(text):
        changes += layer.to_outer(_rewrite_expression(layer.text, file, folder))
    return tuple(changes)


def _rewrite_expression(text: str, file: NewTarget, folder: NewTarget) -> Iterator[Change]:
    for match in _TEXT.finditer(text):
        if match["wiki"]:
            yield from _rewrite_wikilinks(text, match.start(), match.end(), file)
            continue
        quoting: Quoting = "expression-double" if match["string"][0] == '"' else "expression-single"
        inner = decode_embedded(text, match.start("string") + 1, match.end("string") - 1, quoting)
        call = (match["call"] or "").rstrip("( \t\r\n")
        yield from inner.to_outer(_rewrite_string(inner.text, call, file, folder))


def _rewrite_string(text: str, call: str, file: NewTarget, folder: NewTarget) -> Iterator[Change]:
    if "[[" in text:
        yield from _rewrite_wikilinks(text, 0, len(text), file)
    elif call == "inFolder":
        new = folder(text)
        if new is not None and new != text:
            yield Change(0, len(text), new)
    elif call:
        target = text.partition("#")[0]
        new = file(target) if target else None
        if new is not None and new != target:
            yield Change(0, len(target), new)


def _rewrite_wikilinks(text: str, start: int, end: int, file: NewTarget) -> Iterator[Change]:
    for match in _WIKI.finditer(text, start, end):
        new = file(match[1])
        if new is not None and new != match[1]:
            yield Change(match.start(1), match.end(1), new)


def _list_scalars(text: str) -> Iterator[Embedded]:
    # PyYAML is slow to import, and only a move in a vault with bases needs it.
    import yaml

    try:
        root = yaml.compose(text, Loader=base_loader())
    except (yaml.YAMLError, RecursionError) as error:
        raise EditRefused("The base is not valid YAML.") from error
    for node in _list_leaves(root):
        start, end = node.start_mark.index, node.end_mark.index
        if node.style == '"':
            yield decode_embedded(text, start + 1, end - 1, "yaml-double")
        elif node.style == "'":
            yield decode_embedded(text, start + 1, end - 1, "yaml-single")
        else:
            yield decode_embedded(text, start, end, "none")


def _list_leaves(root: Node | None) -> Iterator[ScalarNode]:
    """Yield each scalar once, in the order of the text. Aliases refer to nodes already seen."""
    import yaml

    seen: set[int] = set()
    stack: list[Node] = [root] if root is not None else []
    while stack and len(seen) < BASE_NODES:
        node = stack.pop()
        if id(node) in seen:
            continue
        seen.add(id(node))
        if isinstance(node, yaml.ScalarNode):
            yield node
        elif isinstance(node, yaml.MappingNode):
            for key, value in reversed(node.value):
                stack += [value, key]
        elif isinstance(node, yaml.SequenceNode):
            stack += reversed(node.value)


ReadText = Callable[[str], str]
"""Returns the text of a note or canvas by its path before the move. Called only for files that change."""


class Reference(Struct, frozen=True):
    """A link, the file it is in, and the file it resolves to; None if it resolves to none."""

    source: str
    link: Link
    resolved: str | None


class MovePlan(Struct, frozen=True):
    """`edits` are by path before the moves, and must be made together with them. `rewritten` are the links
    that change (without those in bases). `adopted` are links that resolved to no file and will now resolve to
    a moved one. `unreadable_bases` are files with a base that could not be read and does not change."""

    edits: dict[str, tuple[Change, ...]]
    rewritten: tuple[Reference, ...] = ()
    adopted: tuple[Reference, ...] = ()
    unreadable_bases: tuple[str, ...] = ()


class CreatePlan(Struct, frozen=True):
    """What a new file does to existing links. `repointed` are those that would silently lead to the new file;
    `edits` keep each of them on its old file. `adopted` are links that resolved to no file and will now
    resolve to the new one. `pinned_bases` are the files with a base in which names are rewritten, which
    `repointed` does not list, and `unreadable_bases` those with one that could not be read."""

    path: str
    edits: dict[str, tuple[Change, ...]]
    repointed: tuple[Reference, ...] = ()
    adopted: tuple[Reference, ...] = ()
    pinned_bases: tuple[str, ...] = ()
    unreadable_bases: tuple[str, ...] = ()


def touched_keys(paths: Iterable[str]) -> frozenset[str]:
    """Return the name keys of these paths. A plan for moves needs the references that have one of the keys of
    the old and new paths among their `candidate_keys`, and all references whose source moves."""
    return frozenset(name_key(file_name(path)) for path in paths)


def plan_move(
    moves: Mapping[str, str],
    references: Iterable[Reference],
    table: FileTable,
    settings: LinkSettings,
    *,
    read: ReadText,
    bases: Mapping[str, Sequence[Embedded]] | None = None,
    folders: Mapping[str, str] | None = None,
    merging: bool = False,
) -> MovePlan:
    """Plan the moves `{old: new}` of files. To move a folder, move its files and name the folder in
    `folders`, which `file.inFolder` needs.

    `table` is the vault before the move. `references` may be all of the vault's or those that `touched_keys`
    selects; `bases` are the vault's bases by file: whole `.base` files, or blocks in notes. When `merging`,
    the new paths are files that take the others in, and so must exist.

    Raises NoteNotFound for an old path that is not in the table, and EditRefused if a new path is taken or no
    link can be written to it."""
    after = _make_table_after(moves, table, merging=merging)
    rewrites, adopted = _plan_rewrites(
        references, moves, table, after, settings, new_paths=frozenset(moves.values())
    )
    edits = {source: _make_edits(source, read(source), pairs) for source, pairs in rewrites.items()}
    based, unreadable = _plan_bases(bases or {}, moves, table, after, settings, folders or {})
    for path, changes in based.items():
        edits[path] = sort_changes((*edits.get(path, ()), *changes), len(read(path)))
    return MovePlan(
        edits={source: changes for source, changes in edits.items() if changes},
        rewritten=tuple(reference for pairs in rewrites.values() for reference, _ in pairs),
        adopted=adopted,
        unreadable_bases=unreadable,
    )


def plan_create(
    path: str,
    references: Iterable[Reference],
    table: FileTable,
    settings: LinkSettings,
    *,
    read: ReadText,
    bases: Mapping[str, Sequence[Embedded]] | None = None,
) -> CreatePlan:
    """Plan a new file `path`. `table` is the vault before it; `references` may be all of the vault's, or
    those that have one of `touched_keys([path])` among their candidate keys; `bases` are as for a move."""
    after = table.copy()
    after.add(path)
    rewrites, adopted = _plan_rewrites(references, {}, table, after, settings, new_paths=frozenset([path]))
    edits = {source: _make_edits(source, read(source), pairs) for source, pairs in rewrites.items()}
    based, unreadable = _plan_bases(bases or {}, {}, table, after, settings, {})
    for source, changes in based.items():
        edits[source] = sort_changes((*edits.get(source, ()), *changes), len(read(source)))
    return CreatePlan(
        path=path,
        edits=edits,
        repointed=tuple(reference for pairs in rewrites.values() for reference, _ in pairs),
        adopted=adopted,
        pinned_bases=tuple(based),
        unreadable_bases=unreadable,
    )


def _plan_rewrites(
    references: Iterable[Reference],
    moves: Mapping[str, str],
    before: FileTable,
    after: FileTable,
    settings: LinkSettings,
    *,
    new_paths: frozenset[str],
) -> tuple[dict[str, list[tuple[Reference, Rewrite]]], tuple[Reference, ...]]:
    """Return the links that must be rewritten, by the file they are in, and those without a file that will
    lead to one of `new_paths`."""
    rewrites: dict[str, list[tuple[Reference, Rewrite]]] = {}
    adopted: list[Reference] = []
    for reference in references:
        rewrite = _rewrite_for(reference, moves, before, after, settings)
        if rewrite is not None:
            rewrites.setdefault(reference.source, []).append((reference, rewrite))
        elif reference.resolved is None and _is_adopted(reference, moves, after, new_paths):
            adopted.append(reference)
    return rewrites, tuple(adopted)


def _make_table_after(moves: Mapping[str, str], table: FileTable, *, merging: bool = False) -> FileTable:
    after = table.copy()
    for old in moves:
        if old not in table:
            raise NoteNotFound(old, what="file")
        after.remove(old)
    for old, new in () if merging else moves.items():
        taken = after.same_path(new)
        if taken:
            raise EditRefused(f"{old!r} cannot become {new!r}: {taken[0]!r} already exists.", path=new)
        after.add(new)
    return after


def _rewrite_for(
    reference: Reference,
    moves: Mapping[str, str],
    before: FileTable,
    after: FileTable,
    settings: LinkSettings,
) -> Rewrite | None:
    """Return what the link must say after the moves, or None if it can stay as it is."""
    link, old = reference.link, reference.resolved
    if old is None or not link.target:
        return None
    new = moves.get(old, old)
    if is_file_card(link):
        return Rewrite(card_path=new) if new != old else None
    source = moves.get(reference.source, reference.source)
    if _still_names(reference, source, new, before, after):
        return None
    markdown = link.markdown or link.kind == "markdown"
    target = choose_target(new, source, after, settings.new_link_format, markdown=markdown)
    _verify(target, new, source, after, markdown=markdown)
    return Rewrite(target=target, shown=_renamed_displays(old, new))


def _still_names(reference: Reference, source: str, new: str, before: FileTable, after: FileTable) -> bool:
    """Return whether the link as written leads to the file's new path after the moves."""
    target = reference.link.target
    found = resolve(target, source, after)
    if not isinstance(found, Resolved) or found.path != new:
        return False
    if found.others:
        previous = resolve(target, reference.source, before)
        if isinstance(previous, Resolved) and not previous.others:
            return False
    spelled = dot_path(target, source)
    if spelled is None or name_key(new) in (spelled, spelled + ".md"):
        return True
    spelled_before = dot_path(target, reference.source)
    old = name_key(reference.resolved or "")
    return spelled_before is None or old not in (spelled_before, spelled_before + ".md")


def _renamed_displays(old: str, new: str) -> tuple[tuple[str, str], ...]:
    """Return the display texts that repeat the old name, each with its replacement."""
    if file_name(old) == file_name(new):
        return ()
    names = ((file_name(old), file_name(new)), (note_name(old), note_name(new)))
    return tuple((before, after) for before, after in names if before != after)


def _is_adopted(
    reference: Reference, moves: Mapping[str, str], after: FileTable, new_paths: frozenset[str]
) -> bool:
    if not reference.link.target or is_file_card(reference.link):
        return False
    found = resolve(reference.link.target, moves.get(reference.source, reference.source), after)
    return isinstance(found, Resolved) and found.path in new_paths


def _make_edits(source: str, text: str, pairs: list[tuple[Reference, Rewrite]]) -> tuple[Change, ...]:
    changes: list[Change] = []
    seen: set[tuple[int, int, str]] = set()
    for reference, rewrite in pairs:
        link = reference.link
        # A YAML alias repeats a link, and one span covers all links of a text card: rewrite each only once.
        key = (link.start, link.end, link.raw)
        if key not in seen:
            seen.add(key)
            changes += retarget(source, text, link, rewrite)
    return sort_changes(changes, len(text))


def _verify(target: str, new: str, source: str, after: FileTable, *, markdown: bool) -> None:
    """Check that the text that will be written leads to the file."""
    read_back = internal_target(encode_destination(target)) if markdown else (target, "")
    if read_back is None or read_back[1] or not resolves_only_to(read_back[0], new, source, after):
        raise EngineFailure(f"The link {target!r} planned for {source!r} would not lead to {new!r}.")


def _plan_bases(
    bases: Mapping[str, Sequence[Embedded]],
    moves: Mapping[str, str],
    before: FileTable,
    after: FileTable,
    settings: LinkSettings,
    folders: Mapping[str, str],
) -> tuple[dict[str, list[Change]], tuple[str, ...]]:
    """Return the changes in bases by the file they are in, and the files with one that could not be read."""
    edits: dict[str, list[Change]] = {}
    unreadable: list[str] = []
    for path, inside in bases.items():
        new_file = _make_base_rewriter(path, moves, before, after, settings)
        changes, readable = _make_base_edits(inside, new_file, lambda name: move_folder(name, folders))
        if not readable:
            unreadable.append(path)
        if changes:
            edits[path] = changes
    return edits, tuple(unreadable)


def _make_base_edits(
    bases: Iterable[Embedded], file: NewTarget, folder: NewTarget
) -> tuple[list[Change], bool]:
    """Return the changes in the bases of one file, and whether all could be read."""
    changes: list[Change] = []
    readable = True
    for base in bases:
        try:
            changes += base.to_outer(rewrite_base(base.text, file=file, folder=folder))
        except EditRefused:
            readable = False
    return changes, readable


def _make_base_rewriter(
    path: str, moves: Mapping[str, str], before: FileTable, after: FileTable, settings: LinkSettings
) -> NewTarget:
    source = moves.get(path, path)
    blank = Link("", "", "", None, embed=False, kind="wiki", line=1, start=0, end=0)

    def file(target: str) -> str | None:
        found = resolve(target, path, before)
        if not isinstance(found, Resolved):
            return None
        reference = Reference(path, structs.replace(blank, target=target), found.path)
        new = moves.get(found.path, found.path)
        if _still_names(reference, source, new, before, after):
            return None
        # A name written with `.md` keeps it, as it would in a Markdown link.
        with_extension = name_key(target).endswith(".md")
        return choose_target(new, source, after, settings.new_link_format, markdown=with_extension)

    return file


def move_folder(folder: str, folders: Mapping[str, str]) -> str | None:
    """Return a folder's path after its own move or that of a folder above it; None if it does not move.
    Slashes at the ends are preserved."""
    bare = folder.strip("/")
    key = name_key(bare)
    for old, new in folders.items():
        old_key = name_key(old)
        if key == old_key or key.startswith(old_key + "/"):
            moved = new + bare[len(old) :]
            return folder.replace(bare, moved, 1)
    return None
