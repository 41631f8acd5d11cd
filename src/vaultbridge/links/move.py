"""What a rename, move or new file does to the links of a vault: a plan, carried out by the engine.

The rule is the app's (docs/obsidian.md 4): every link keeps meaning the file it meant. A link whose text
still does so is left alone; the others get a new target in the vault's link format and keep their own style,
subpath, display, size and title. Two cases go beyond "still resolves": a `./` or `../` link must still spell
the way to its file, and a link that was unambiguous may not become ambiguous.

Links and folders named in a base, a file or a block in a note, and their rewriting.

A base is YAML whose strings hold expressions. Files are named in `link("…")`, `file("…")`, `image("…")` and
`file.hasLink("…")`, by wikilinks in any string, and folders in `file.inFolder("…")`. The text is edited in
place, through the YAML's and the expression's own quoting; a base that is not valid YAML is left alone.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from msgspec import Struct, structs

from vaultbridge.errors import EditRefused, EngineFailure, NoteNotFound
from vaultbridge.links.resolve import FileTable, Resolved, dot_path, file_name, name_key, resolve
from vaultbridge.links.retarget import Rewrite, is_file_card, retarget
from vaultbridge.links.syntax import (
    LinkSettings,
    choose_target,
    encode_destination,
    note_name,
    resolves_only_to,
)
from vaultbridge.markdown.edits.change import Change, sort_changes
from vaultbridge.markdown.embedded import Embedded, Quoting, decode_embedded
from vaultbridge.markdown.inline.links import internal_target
from vaultbridge.markdown.model import Link

if TYPE_CHECKING:
    from yaml.nodes import Node, ScalarNode

NewTarget = Callable[[str], str | None]
"""Given a path part or a folder as written, the new one, or None to leave it."""

BASE_NODES: Final = 100_000
"""The most YAML nodes looked at: far above any base written by hand, and a bound for one that is not."""

_TEXT: Final = re.compile(
    r"""(?P<call>\b(?:link|file|image|hasLink|inFolder)\s*\(\s*)?"""
    r"""(?P<string>"(?:[^"\\]|\\.)*"|'(?:[^'\\]|\\.)*')|(?P<wiki>\[\[[^\[\]\r\n]+\]\])""",
    re.S,
)
_WIKI: Final = re.compile(r"\[\[([^\[\]|#\r\n]+)[^\[\]\r\n]*\]\]")


def rewrite_base(text: str, *, file: NewTarget, folder: NewTarget) -> tuple[Change, ...]:
    """The changes that rewrite every file and folder for which a callable gives a new name.

    Raises EditRefused when the text is not YAML: then the app cannot use it either."""
    changes: list[Change] = []
    for layer in _scalars(text):
        changes += layer.to_outer(_in_expression(layer.text, file, folder))
    return tuple(changes)


def _in_expression(text: str, file: NewTarget, folder: NewTarget) -> Iterator[Change]:
    for match in _TEXT.finditer(text):
        if match["wiki"]:
            yield from _wikilinks(text, match.start(), match.end(), file)
            continue
        quoting: Quoting = "expression-double" if match["string"][0] == '"' else "expression-single"
        inner = decode_embedded(text, match.start("string") + 1, match.end("string") - 1, quoting)
        call = (match["call"] or "").rstrip("( \t\r\n")
        yield from inner.to_outer(_in_string(inner.text, call, file, folder))


def _in_string(text: str, call: str, file: NewTarget, folder: NewTarget) -> Iterator[Change]:
    if "[[" in text:
        yield from _wikilinks(text, 0, len(text), file)
    elif call == "inFolder":
        new = folder(text)
        if new is not None and new != text:
            yield Change(0, len(text), new)
    elif call:
        target = text.partition("#")[0]
        new = file(target) if target else None
        if new is not None and new != target:
            yield Change(0, len(target), new)


def _wikilinks(text: str, start: int, end: int, file: NewTarget) -> Iterator[Change]:
    for match in _WIKI.finditer(text, start, end):
        new = file(match[1])
        if new is not None and new != match[1]:
            yield Change(match.start(1), match.end(1), new)


def _scalars(text: str) -> Iterator[Embedded]:
    # PyYAML takes long to import, and only a rename in a vault with bases comes here.
    import yaml

    try:
        root = yaml.compose(text, Loader=yaml.SafeLoader)
    except (yaml.YAMLError, RecursionError) as error:
        raise EditRefused("The base is not valid YAML.") from error
    for node in _leaves(root):
        start, end = node.start_mark.index, node.end_mark.index
        if node.style == '"':
            yield decode_embedded(text, start + 1, end - 1, "yaml-double")
        elif node.style == "'":
            yield decode_embedded(text, start + 1, end - 1, "yaml-single")
        else:
            yield decode_embedded(text, start, end, "none")


def _leaves(root: Node | None) -> Iterator[ScalarNode]:
    """Each scalar once, in the order of the text. Aliases lead to nodes already seen."""
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
"""The text of a note or canvas by its path before the rename. Asked only for files that get edits."""


class Reference(Struct, frozen=True):
    """A link, where it stands and which file it means; None when it means none."""

    source: str
    link: Link
    resolved: str | None


class MovePlan(Struct, frozen=True):
    """`edits` are by path before the moves, and are to be made together with them. `rewritten` are the links
    that get a new text (those in bases are not among them). `adopted` are links that meant no file and will
    now mean one of the moved ones. `unreadable_bases` are files with a base that could not be looked into and
    stays as it is."""

    moves: dict[str, str]
    edits: dict[str, tuple[Change, ...]]
    rewritten: tuple[Reference, ...] = ()
    adopted: tuple[Reference, ...] = ()
    unreadable_bases: tuple[str, ...] = ()


class CreatePlan(Struct, frozen=True):
    """What a new file does to older links. `repointed` are those that would silently mean the new file;
    `edits` pin each of them to the file it meant. `adopted` meant no file and will mean the new one."""

    path: str
    edits: dict[str, tuple[Change, ...]]
    repointed: tuple[Reference, ...] = ()
    adopted: tuple[Reference, ...] = ()


def touched_keys(paths: Iterable[str]) -> frozenset[str]:
    """The name keys of these paths. A plan for moves needs the references with one of the keys of the old
    and new paths among their `candidate_keys`, and all references whose source moves."""
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
) -> MovePlan:
    """Plan the moves `{old: new}` of files (a folder's move is that of its files, with `folders` naming the
    folder itself for the sake of `file.inFolder`).

    `table` is the vault before. `references` may be all of the vault's or the ones `touched_keys` tells;
    `bases` are the vault's bases by the file they stand in: whole `.base` files, or blocks in notes.

    Raises NoteNotFound for an old path that is not in the table, EditRefused when a new path is taken or no
    link can be written for it."""
    after = _table_after(moves, table)
    rewrites: dict[str, list[tuple[Reference, Rewrite]]] = {}
    adopted: list[Reference] = []
    news = frozenset(moves.values())
    for reference in references:
        rewrite = _rewrite_for(reference, moves, table, after, settings)
        if rewrite is not None:
            rewrites.setdefault(reference.source, []).append((reference, rewrite))
        elif reference.resolved is None and _adopted(reference, moves, after, news):
            adopted.append(reference)
    edits = {source: _edits(source, read(source), found) for source, found in rewrites.items()}
    unreadable: list[str] = []
    for path, found in (bases or {}).items():
        new_file = _base_file(path, moves, table, after, settings)
        changes, readable = _base_edits(found, new_file, lambda name: move_folder(name, folders or {}))
        if not readable:
            unreadable.append(path)
        if changes:
            edits[path] = sort_changes((*edits.get(path, ()), *changes), len(read(path)))
    return MovePlan(
        moves=dict(moves),
        edits={source: changes for source, changes in edits.items() if changes},
        rewritten=tuple(reference for found in rewrites.values() for reference, _ in found),
        adopted=tuple(adopted),
        unreadable_bases=tuple(unreadable),
    )


def plan_create(
    path: str, references: Iterable[Reference], table: FileTable, settings: LinkSettings, *, read: ReadText
) -> CreatePlan:
    """Plan a new file `path`. `table` is the vault before; `references` may be all of the vault's, or those
    that have `touched_keys([path])` among their candidate keys."""
    after = table.copy()
    after.add(path)
    rewrites: dict[str, list[tuple[Reference, Rewrite]]] = {}
    adopted: list[Reference] = []
    for reference in references:
        rewrite = _rewrite_for(reference, {}, table, after, settings)
        if rewrite is not None:
            rewrites.setdefault(reference.source, []).append((reference, rewrite))
        elif reference.resolved is None and _adopted(reference, {}, after, frozenset([path])):
            adopted.append(reference)
    return CreatePlan(
        path=path,
        edits={source: _edits(source, read(source), found) for source, found in rewrites.items()},
        repointed=tuple(reference for found in rewrites.values() for reference, _ in found),
        adopted=tuple(adopted),
    )


def _table_after(moves: Mapping[str, str], table: FileTable) -> FileTable:
    after = table.copy()
    for old in moves:
        if old not in table:
            raise NoteNotFound(old, what="file")
        after.remove(old)
    for old, new in moves.items():
        taken = after.same_path(new)
        if taken:
            raise EditRefused(f"{old!r} cannot become {new!r}: {taken[0]!r} is there.", path=new)
        after.add(new)
    return after


def _rewrite_for(
    reference: Reference,
    moves: Mapping[str, str],
    before: FileTable,
    after: FileTable,
    settings: LinkSettings,
) -> Rewrite | None:
    """What the link must say after the moves, or None when it may stay as it is."""
    link, meant = reference.link, reference.resolved
    if meant is None or not link.target:
        return None
    means = moves.get(meant, meant)
    if is_file_card(link):
        return Rewrite(card_path=means) if means != meant else None
    source = moves.get(reference.source, reference.source)
    if _still_names(reference, source, means, before, after):
        return None
    markdown = link.markdown or link.kind == "markdown"
    target = choose_target(means, source, after, settings.new_link_format, markdown=markdown)
    _verify(target, means, source, after, markdown=markdown)
    return Rewrite(target=target, shown=_shown(meant, means))


def _still_names(reference: Reference, source: str, means: str, before: FileTable, after: FileTable) -> bool:
    target = reference.link.target
    found = resolve(target, source, after)
    if not isinstance(found, Resolved) or found.path != means:
        return False
    if found.others:
        past = resolve(target, reference.source, before)
        if isinstance(past, Resolved) and not past.others:
            return False
    way = dot_path(target, source)
    if way is None or name_key(means) in (way, way + ".md"):
        return True
    past_way = dot_path(target, reference.source)
    meant = name_key(reference.resolved or "")
    return past_way is None or meant not in (past_way, past_way + ".md")


def _shown(meant: str, means: str) -> tuple[tuple[str, str], ...]:
    """Display texts that repeat the old name, and what becomes of them."""
    if file_name(meant) == file_name(means):
        return ()
    names = ((file_name(meant), file_name(means)), (note_name(meant), note_name(means)))
    return tuple((old, new) for old, new in names if old != new)


def _adopted(reference: Reference, moves: Mapping[str, str], after: FileTable, news: frozenset[str]) -> bool:
    if not reference.link.target or is_file_card(reference.link):
        return False
    found = resolve(reference.link.target, moves.get(reference.source, reference.source), after)
    return isinstance(found, Resolved) and found.path in news


def _edits(source: str, text: str, found: list[tuple[Reference, Rewrite]]) -> tuple[Change, ...]:
    changes: list[Change] = []
    seen: set[tuple[int, int, str]] = set()
    for reference, rewrite in found:
        link = reference.link
        # A YAML alias repeats a link, and one span covers all links of a text card: once is enough.
        key = (link.start, link.end, link.raw)
        if key not in seen:
            seen.add(key)
            changes += retarget(source, text, link, rewrite)
    return sort_changes(changes, len(text))


def _verify(target: str, means: str, source: str, after: FileTable, *, markdown: bool) -> None:
    """The promise of this module, checked on the text that will be written."""
    read_back = internal_target(encode_destination(target)) if markdown else (target, "")
    if read_back is None or read_back[1] or not resolves_only_to(read_back[0], means, source, after):
        raise EngineFailure(f"The link {target!r} planned for {source!r} would not mean {means!r}.")


def _base_edits(bases: Iterable[Embedded], file: NewTarget, folder: NewTarget) -> tuple[list[Change], bool]:
    """The changes in the bases of one file, and whether all could be read."""
    changes: list[Change] = []
    readable = True
    for base in bases:
        try:
            changes += base.to_outer(rewrite_base(base.text, file=file, folder=folder))
        except EditRefused:
            readable = False
    return changes, readable


def _base_file(
    path: str, moves: Mapping[str, str], before: FileTable, after: FileTable, settings: LinkSettings
) -> NewTarget:
    source = moves.get(path, path)
    blank = Link("", "", "", None, embed=False, kind="wiki", line=1, start=0, end=0)

    def file(target: str) -> str | None:
        found = resolve(target, path, before)
        if not isinstance(found, Resolved):
            return None
        reference = Reference(path, structs.replace(blank, target=target), found.path)
        means = moves.get(found.path, found.path)
        if _still_names(reference, source, means, before, after):
            return None
        # A name written with `.md` keeps it, as it would in a Markdown link.
        with_extension = name_key(target).endswith(".md")
        return choose_target(means, source, after, settings.new_link_format, markdown=with_extension)

    return file


def move_folder(folder: str, folders: Mapping[str, str]) -> str | None:
    """Where a folder stands after its own or an outer folder's move; None when it stays. Slashes at the ends
    are kept as written."""
    bare = folder.strip("/")
    key = name_key(bare)
    for old, new in folders.items():
        old_key = name_key(old)
        if key == old_key or key.startswith(old_key + "/"):
            moved = new + bare[len(old) :]
            return folder.replace(bare, moved, 1)
    return None
