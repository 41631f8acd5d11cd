"""`list_files`: what lies in a folder, by pattern, kind, time; deep folders as counts."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from vaultbridge.errors import NoteNotFound
from vaultbridge.tools.answer import Answer, read
from vaultbridge.tools.fields import Arguments, Limit, Offset
from vaultbridge.tools.pages import building, page, sliced
from vaultbridge.tools.tool import Tool
from vaultbridge.tools.workshop import Bench

if TYPE_CHECKING:
    from vaultbridge.index.files import IndexedFile
    from vaultbridge.vault.paths import VaultPath

FileKind = Literal["any", "note", "canvas", "base", "image", "pdf", "audio", "video", "other", "folder"]


class ListFiles(Arguments, frozen=True, kw_only=True):
    folder: str = ""
    pattern: Annotated[str, Meta(description="Glob: *.png, Projects/**/Plan*")] = ""
    kind: FileKind = "any"
    depth: Annotated[int, Meta(ge=0, description="Folder levels to open; 0: all")] = 0
    sort: Literal["path", "modified", "size"] = "path"
    limit: Limit = 200
    offset: Offset = 0


def run(bench: Bench, arguments: ListFiles) -> Answer:
    from vaultbridge.vault.paths import vault_folder

    engine = bench.engine
    notes = building(bench)
    folder = vault_folder(arguments.folder)
    files = engine.ask.files(folder or None)
    if folder and not files and not (engine.scope.visible(folder) and engine.is_folder(folder)):
        raise NoteNotFound(arguments.folder, what="folder", closest=_closest(folder, engine.ask.files()))
    if arguments.pattern:
        fits = _fits(arguments.pattern)
        files = [file for file in files if fits(file.path)]
    if arguments.kind == "folder":
        rows = _folders(files, folder, arguments.depth)
        what = "folders"
    else:
        files = [file for file in files if arguments.kind in ("any", kind_of(file))]
        rows = _rows(files, folder, arguments)
        what = "entries" if arguments.depth else "files"
    shown = sliced(rows, offset=arguments.offset, limit=arguments.limit)
    return read(page(shown, total=len(rows), offset=arguments.offset, what=what, notes=notes))


def kind_of(file: IndexedFile) -> str:
    """As a caller names it: attachments by what they hold."""
    if file.kind in ("note", "canvas", "base"):
        return file.kind
    from vaultbridge.tools.media import media_type

    main, _, sub = media_type(file.path).partition("/")
    if sub == "pdf":
        return "pdf"
    return main if main in ("image", "audio", "video") else "other"


def _fits(pattern: str) -> Callable[[str], bool]:
    from vaultbridge.vault.file_pattern import file_filter

    return file_filter(pattern)


def _rows(files: list[IndexedFile], folder: VaultPath, arguments: ListFiles) -> list[str]:
    if arguments.sort == "modified":
        files = sorted(files, key=lambda file: (-file.modified_ns, file.path))
        return [f"{file.path}  {_day(file.modified_ns)}" for file in files]
    if arguments.sort == "size":
        files = sorted(files, key=lambda file: (-file.size, file.path))
        return [f"{file.path}  {file.size} bytes" for file in files]
    if not arguments.depth:
        return [file.path for file in files]
    rows: dict[str, int] = {}
    for file in files:
        rows[_opened(file.path, folder, arguments.depth)] = (
            rows.get(_opened(file.path, folder, arguments.depth), 0) + 1
        )
    return [f"{row}  files {count}" if row.endswith("/") else row for row, count in rows.items()]


def _opened(path: str, folder: str, depth: int) -> str:
    """The file itself, or the closed folder that it lies in."""
    inner = path[len(folder) + 1 if folder else 0 :]
    parts = inner.split("/")
    if len(parts) <= depth:
        return path
    return "/".join(([folder] if folder else []) + parts[:depth]) + "/"


def _folders(files: list[IndexedFile], folder: VaultPath, depth: int) -> list[str]:
    """Every folder with a file beneath it, with how many."""
    counts: dict[str, int] = {}
    base = folder.count("/") + 1 if folder else 0
    for file in files:
        parts = file.path.split("/")[:-1]
        for level in range(base + 1, len(parts) + 1):
            if not depth or level - base <= depth:
                inner = "/".join(parts[:level])
                counts[inner] = counts.get(inner, 0) + 1
    return [f"{name}/  files {counts[name]}" for name in sorted(counts)]


def _closest(folder: str, files: list[IndexedFile]) -> tuple[str, ...]:
    from difflib import get_close_matches

    known = {
        "/".join(file.path.split("/")[:level])
        for file in files
        for level in range(1, file.path.count("/") + 1)
    }
    by_name = {name.lower(): name for name in sorted(known)}
    by_last = {name.rpartition("/")[2].lower(): name for name in sorted(known)}
    close = [by_name[one] for one in get_close_matches(folder.lower(), by_name, n=3)]
    close += [by_last[one] for one in get_close_matches(folder.rpartition("/")[2].lower(), by_last, n=3)]
    return tuple(dict.fromkeys(f"{name}/" for name in close))


def _day(modified_ns: int) -> str:
    return datetime.fromtimestamp(modified_ns / 1e9).strftime("%Y-%m-%d %H:%M")


LIST_FILES = Tool(
    name="list_files",
    title="List files",
    description="List files or folders; sort modified gives the most recent first",
    arguments=ListFiles,
    run=run,
    group="find",
    core=True,
)
