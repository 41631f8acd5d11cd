"""`list_files`: lists the files of a folder by pattern, kind and time; deep folders appear as counts."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final, Literal

from msgspec import Meta, Struct

from vaultbridge.engine.days import parse_day
from vaultbridge.errors import NoteNotFound
from vaultbridge.limits import LARGEST_INTEGER
from vaultbridge.tools.base.answer import (
    PAGE_CHARS,
    Answer,
    answer_page,
    slice_rows,
    wait_for_index,
)
from vaultbridge.tools.base.schema import LIMIT, Arguments, MaxChars, Offset
from vaultbridge.tools.base.tool import Tool, VaultContext
from vaultbridge.vault.file_types import media_kind
from vaultbridge.vault.paths import vault_folder
from vaultbridge.vault.scope import compile_file_pattern

if TYPE_CHECKING:
    from vaultbridge.engine.queries import Queries
    from vaultbridge.index.files import IndexedFile
    from vaultbridge.vault.paths import VaultPath

KindFilter = Literal[
    "any", "note", "canvas", "base", "image", "pdf", "audio", "video", "other", "folder", "untagged", "unused"
]

Order = Literal["path", "modified", "size"]

LEVELS: Final = 100
"""The greatest `depth` that SQLite is asked for, as a pattern with so many stars. No vault is that deep."""


LATEST: Final = 20
ALL_BY_PATH: Final = 100
"""How many rows an answer has by default: of the newest or largest files the first few are wanted, of a
folder what is in it."""


class ListFilesArguments(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"max_chars"})

    folder: Annotated[str, Meta(description="Default: all")] = ""
    pattern: Annotated[str, Meta(description="Glob: *.png, Projects/**/Plan*")] = ""
    kind: Annotated[KindFilter, Meta(description="Only these")] = "any"
    depth: Annotated[int, Meta(ge=0, le=LARGEST_INTEGER, description="Folder levels to open; 0: all")] = 0
    sort: Annotated[Order, Meta(description="Order")] = "path"
    modified_since: Annotated[str, Meta(description="YYYY-MM-DD, today, or offset: -7; newest first")] = ""
    limit: Annotated[
        int, Meta(ge=0, le=LIMIT, description=f"Rows; 0: {LATEST} by time or size, else {ALL_BY_PATH}")
    ] = 0
    offset: Offset = 0
    max_chars: MaxChars = PAGE_CHARS


class _Wanted(Struct, frozen=True):
    """What is listed, with the defaults that depend on other arguments filled in. `since_ns` is 0 for any
    time."""

    folder: VaultPath
    pattern: str
    kind: KindFilter
    depth: int
    sort: Order
    since_ns: int
    limit: int
    offset: int
    max_chars: int


def run(context: VaultContext, arguments: ListFilesArguments) -> Answer:
    notes = wait_for_index(context)
    folder = vault_folder(context.engine.make_vault_relative(arguments.folder))
    wanted = _fill_in(context, folder, arguments)
    rows, total, what = _find_page(context.engine.queries, wanted)
    if folder and not total:
        _check_folder(context, folder, arguments.folder)
    return answer_page(rows, total, wanted, what, notes=notes)


def _fill_in(context: VaultContext, folder: VaultPath, arguments: ListFilesArguments) -> _Wanted:
    since_ns = 0
    if arguments.modified_since:
        now = context.engine.now()
        day = parse_day(arguments.modified_since, now.date(), argument="modified_since")
        since_ns = int(datetime(day.year, day.month, day.day, tzinfo=now.tzinfo).timestamp()) * 10**9
    sort: Order = "modified" if since_ns and arguments.sort == "path" else arguments.sort
    return _Wanted(
        folder=folder,
        pattern=arguments.pattern,
        kind=arguments.kind,
        depth=arguments.depth,
        sort=sort,
        since_ns=since_ns,
        limit=arguments.limit or (ALL_BY_PATH if sort == "path" else LATEST),
        offset=arguments.offset,
        max_chars=arguments.max_chars,
    )


def _find_page(queries: Queries, wanted: _Wanted) -> tuple[Sequence[str], int, str]:
    """The rows of one page, the number of all rows, and what they are."""
    folder = wanted.folder
    what = "folders" if wanted.kind == "folder" else "entries" if wanted.depth else "files"
    if not wanted.pattern:
        if wanted.kind == "folder" and not wanted.since_ns:
            return _slice(_list_folders(queries.folders(), folder, wanted.depth), wanted, what)
        if wanted.kind == "any" and 0 < wanted.depth <= LEVELS and wanted.sort == "path":
            return _slice(_list_levels(queries, folder, wanted.depth), wanted, what)
        if wanted.kind in ("any", "note", "canvas", "base") and not (wanted.depth and wanted.sort == "path"):
            found = queries.files_page(
                folder,
                kind="" if wanted.kind == "any" else wanted.kind,
                order=wanted.sort,
                modified_since_ns=wanted.since_ns,
                limit=wanted.limit,
                offset=wanted.offset,
            )
            return [_render_row(file, wanted.sort) for file in found.rows], found.total, what
    files = _choose_files(queries, wanted)
    if wanted.kind == "folder":
        return _slice(_list_folders(_count_by_folder(files), folder, wanted.depth), wanted, what)
    return _slice(_render_rows(files, wanted), wanted, what)


def _slice(rows: list[str], wanted: _Wanted, what: str) -> tuple[Sequence[str], int, str]:
    return slice_rows(rows, offset=wanted.offset, limit=wanted.limit), len(rows), what


def _check_folder(context: VaultContext, folder: VaultPath, written: str) -> None:
    """Raises NoteNotFound if the folder does not exist; an existing folder may be empty."""
    engine = context.engine
    known = engine.queries.folders()
    if folder not in known and not (engine.scope.visible(folder) and engine.is_folder(folder)):
        raise NoteNotFound(written, what="folder", closest=_find_closest(folder, known))


def _choose_files(queries: Queries, wanted: _Wanted) -> list[IndexedFile]:
    """The files of a kind that match a pattern and are new enough, by path."""
    if wanted.pattern:
        found = queries.find_files(wanted.pattern, compile_file_pattern(wanted.pattern), wanted.folder)
        files = [file for file in found if file.modified_ns >= wanted.since_ns]
    else:
        kinds = {"any": ("",), "folder": ("",), "note": ("note",), "canvas": ("canvas",), "base": ("base",)}
        kinds["untagged"] = ("note",)
        stored = kinds.get(wanted.kind, ("attachment", "other"))
        pages = [
            queries.files_page(wanted.folder, kind=kind, modified_since_ns=wanted.since_ns) for kind in stored
        ]
        files = sorted((file for page in pages for file in page.rows), key=lambda file: file.path)
    if wanted.kind in ("any", "folder"):
        return files
    if wanted.kind in ("untagged", "unused"):
        return _choose_by_use(queries, files, wanted.kind)
    return [file for file in files if wanted.kind == name_kind(file)]


def _choose_by_use(queries: Queries, files: list[IndexedFile], kind: str) -> list[IndexedFile]:
    """Notes without a tag, or attachments that nothing links to."""
    chosen = queries.untagged() if kind == "untagged" else queries.unused_files()
    own = ("note", "canvas", "base")
    return [
        file
        for file in files
        if file.path in chosen and (file.kind == "note" if kind == "untagged" else file.kind not in own)
    ]


def name_kind(file: IndexedFile) -> str:
    """The kind as callers name it: attachments by their content."""
    if file.kind in ("note", "canvas", "base"):
        return file.kind
    return media_kind(file.path) or "other"


def _render_row(file: IndexedFile, sort: str) -> str:
    if sort == "modified":
        return f"{file.path}  {_format_time(file.modified_ns)}"
    return f"{file.path}  {file.size} bytes" if sort == "size" else file.path


def _render_rows(files: list[IndexedFile], wanted: _Wanted) -> list[str]:
    if wanted.sort == "modified":
        files = sorted(files, key=lambda file: (-file.modified_ns, file.path))
    elif wanted.sort == "size":
        files = sorted(files, key=lambda file: (-file.size, file.path))
    elif wanted.depth:
        counts: dict[str, int] = {}
        for file in files:
            shown = _truncate_path(file.path, wanted.folder, wanted.depth)
            counts[shown] = counts.get(shown, 0) + 1
        return [f"{row}  files {count}" if row.endswith("/") else row for row, count in counts.items()]
    return [_render_row(file, wanted.sort) for file in files]


def _list_levels(queries: Queries, folder: VaultPath, depth: int) -> list[str]:
    """The files of the first levels, and the folders below them with the number of their files."""
    level = depth + (folder.count("/") + 1 if folder else 0)
    closed = {
        f"{path}/": count
        for path, count in queries.folders().items()
        if path.count("/") + 1 == level and path and (not folder or path.startswith(f"{folder}/"))
    }
    rows = sorted([*queries.shallow_paths(folder, depth), *closed])
    return [f"{row}  files {closed[row]}" if row in closed else row for row in rows]


def _truncate_path(path: str, folder: str, depth: int) -> str:
    """The file itself, or the folder at the last level that contains it."""
    inner = path[len(folder) + 1 if folder else 0 :]
    parts = inner.split("/")
    if len(parts) <= depth:
        return path
    return "/".join(([folder] if folder else []) + parts[:depth]) + "/"


def _count_by_folder(files: list[IndexedFile]) -> dict[str, int]:
    """Every folder that contains one of the files at any depth, with their number."""
    counts: dict[str, int] = {}
    for file in files:
        parts = file.path.split("/")[:-1]
        for level in range(1, len(parts) + 1):
            inner = "/".join(parts[:level])
            counts[inner] = counts.get(inner, 0) + 1
    return counts


def _list_folders(counts: dict[str, int], folder: VaultPath, depth: int) -> list[str]:
    """The folders below `folder`, down to a depth."""
    start = f"{folder}/" if folder else ""
    return [
        f"{name}/  files {counts[name]}"
        for name in sorted(counts)
        if name.startswith(start) and name and not (depth and name[len(start) :].count("/") >= depth)
    ]


def _find_closest(folder: str, known: Iterable[str]) -> tuple[str, ...]:
    from difflib import get_close_matches

    names = sorted(name for name in known if name)
    by_name = {name.lower(): name for name in names}
    by_last = {name.rpartition("/")[2].lower(): name for name in names}
    close = [by_name[match] for match in get_close_matches(folder.lower(), by_name, n=3)]
    close += [by_last[match] for match in get_close_matches(folder.rpartition("/")[2].lower(), by_last, n=3)]
    return tuple(dict.fromkeys(f"{name}/" for name in close))


def _format_time(modified_ns: int) -> str:
    return datetime.fromtimestamp(modified_ns / 1e9).strftime("%Y-%m-%d %H:%M")


LIST_FILES = Tool(
    name="list_files",
    description=(
        "List files or folders: recent changes (modified_since), notes without tags, unused attachments"
    ),
    arguments=ListFilesArguments,
    run=run,
    group="find",
    core=True,
)
