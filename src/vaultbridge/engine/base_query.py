"""Runs a view of a base over the vault: files become rows, links are resolved, and hidden notes are left
out."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Final

from vaultbridge.bases.parse import Base, extract_base_blocks, parse_base
from vaultbridge.bases.result import ViewResult
from vaultbridge.bases.run import run_view
from vaultbridge.bases.values import FileRow, RowLink, default_display
from vaultbridge.errors import InvalidArgument, VaultbridgeError
from vaultbridge.links.resolve import Resolved, file_name, resolve
from vaultbridge.markdown.model import Link, Note
from vaultbridge.markdown.text import replace_surrogates
from vaultbridge.vault.dates import format_moment
from vaultbridge.vault.paths import VaultPath, folder_of

if TYPE_CHECKING:
    from vaultbridge.engine.engine import Engine
    from vaultbridge.index.files import IndexedFile

PROGRESS_EVERY: Final = 500
"""How many notes are read between two progress reports."""

SHOWN_LISTED: Final = 5
"""How many of the bases that a note shows an error lists: more than notes have, but for an index of bases."""


def load_base(engine: Engine, name: str, *, block: int = 1) -> tuple[Base, str, VaultPath]:
    """Returns the base that a name refers to, its text, and its file: a `.base` file, or the block of that
    number (from 1) in a note. Raises NoteNotFound, AmbiguousName, InvalidArgument."""
    path = engine.find(name)
    kind = path.rpartition(".")[2].lower()
    if kind not in ("base", "md"):
        raise InvalidArgument(f"{path} is not a base.", argument="name", hint="Name a .base file or a note.")
    view = engine.view(path)
    text = view.text
    if kind == "base":
        return parse_base(text), text, path
    blocks = extract_base_blocks(text)
    if not blocks:
        raise InvalidArgument(
            f"{path} has no ```base block.", argument="name", hint=_advise_on_shown(path, view.note)
        )
    if not 1 <= block <= len(blocks):
        raise InvalidArgument(
            f"{path} has {len(blocks)} ```base blocks; there is no block {block}.",
            argument="block",
            hint="Blocks are counted from 1.",
        )
    chosen = blocks[block - 1]
    return parse_base(chosen.text, chosen.line), chosen.text, path


def _advise_on_shown(path: VaultPath, note: Note) -> str:
    """A note may show bases instead of containing them; in these, `this` is the note."""
    shown = [
        f"{link.target}{link.subpath}"
        for link in note.links
        if link.embed and link.target.lower().endswith(".base")
    ]
    if not shown:
        return "Name a .base file, or give the YAML as base."
    more = f" and {len(shown) - SHOWN_LISTED} more" if len(shown) > SHOWN_LISTED else ""
    listed = "; ".join(shown[:SHOWN_LISTED])
    return f"It shows {listed}{more}: give one of them as name, and {path} as this."


def run_base_query(
    engine: Engine,
    base: Base,
    text: str,
    view: str | None,
    this: VaultPath | None = None,
    progress: Callable[[int, int], None] = lambda done, total: None,
) -> ViewResult:
    """Run a view. `text` is the base's own text, `this` the file that shows it. Raises InvalidQuery for a bad
    expression, InvalidArgument for a base or view that cannot be used, TimedOut."""
    if not base.readable:
        first = base.problems[0] if base.problems else None
        why = f" (line {first.line}): {first.message}" if first else "."
        raise InvalidArgument(f"The base cannot be used{why}", argument="name")
    rows = _make_rows(engine, progress, with_creation_time="ctime" in text)
    table = engine.queries.visible_table()

    def resolve_link(target: str, source: str) -> str | None:
        found = resolve(target, source, table)
        return found.path if isinstance(found, Resolved) else None

    return run_view(
        base,
        view,
        rows.values(),
        now=engine.now().astimezone(),
        resolve=resolve_link,
        format_moment=format_moment,
        this=rows.get(this) if this is not None else None,
        row_of=rows.get,
        types=engine.settings.property_types,
    )


def _make_rows(
    engine: Engine, progress: Callable[[int, int], None], *, with_creation_time: bool
) -> dict[str, FileRow]:
    files = engine.queries.files()
    rows: dict[str, FileRow] = {
        file.path: _make_row(engine, file, Note(), (), with_creation_time=with_creation_time)
        for file in files
    }
    for number, indexed in enumerate(engine.queries.notes(), 1):
        rows[indexed.file.path] = _make_row(
            engine, indexed.file, indexed.note, indexed.resolved, with_creation_time=with_creation_time
        )
        if not number % PROGRESS_EVERY:
            progress(number, len(files))
    return rows


def _make_row(
    engine: Engine,
    file: IndexedFile,
    note: Note,
    resolved: tuple[VaultPath | None, ...],
    *,
    with_creation_time: bool,
) -> FileRow:
    # In the app's order: the links of the properties, of the text, then the embeds.
    leads = sorted(
        zip(note.links, resolved, strict=True),
        key=lambda lead: 2 if lead[0].embed else 0 if lead[0].kind == "property" else 1,
    )
    links = [(link.embed, _make_row_link(link, to)) for link, to in leads]
    name = file_name(file.path)
    stem, dot, extension = name.rpartition(".")
    modified = datetime.fromtimestamp(file.modified_ns / 1e9, UTC)
    return FileRow(
        path=file.path,
        name=name,
        basename=stem if dot else name,
        folder=folder_of(file.path),
        ext=extension if dot else "",
        size=file.size,
        ctime=_find_creation_time(engine, file.path, modified) if with_creation_time else modified,
        mtime=modified,
        tags=tuple(dict.fromkeys(replace_surrogates(tag.name) for tag in note.tags)),
        links=tuple(link for _, link in links),
        embeds=tuple(link for embed, link in links if embed),
        backlinks=lambda: tuple(dict.fromkeys(link.source for link in engine.queries.backlinks(file.path))),
        properties=note.properties.values if note.properties is not None else {},
        aliases=note.aliases,
    )


def _make_row_link(link: Link, path: VaultPath | None) -> RowLink:
    target = replace_surrogates(link.target + link.subpath)
    display = replace_surrogates(link.display or "") or default_display(target)
    return RowLink(target, display, path)


def _find_creation_time(engine: Engine, path: VaultPath, modified: datetime) -> datetime:
    """When the file was created, if the system knows; looked up only for bases that use it."""
    try:
        status = engine.root.status(path)
    except VaultbridgeError:
        return modified
    born = getattr(status, "st_birthtime", None)
    if born is None:
        # This system records no creation time: the older of the two times that it has comes closest. In
        # nanoseconds, as in the index, so that no file seems younger than its own text.
        born = min(status.st_ctime_ns, status.st_mtime_ns) / 1e9
    return datetime.fromtimestamp(born, UTC)
