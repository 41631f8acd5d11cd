"""One page at a time of what a vault holds: files and folders in order, problems, doubles, conflict copies.

What `visible` hides is left out before it is counted. Where everything may be seen the stored totals and the
order of an index give a page without a look at the rest; where not, all paths are looked at.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any, Final, Literal

from msgspec import Struct

from vaultbridge.index import totals
from vaultbridge.index.files import FILE_COLUMNS, IndexedFile, file_from_row
from vaultbridge.index.listing import NO_LIMIT, ListPage, has_non_ascii, read_counts, take_page
from vaultbridge.index.store.database import Index
from vaultbridge.index.totals import FILE, FOLDER, PROBLEM, count_files, count_problems
from vaultbridge.vault.cloud import Conflict, detect_conflict
from vaultbridge.vault.paths import VaultPath

Visible = Callable[[str], bool]
Order = Literal["path", "modified", "size"]

_ORDERS: Final = {"path": "path", "modified": "mtime_ns DESC, path", "size": "size DESC, path"}

_LITERAL: Final = re.compile(r"[A-Za-z0-9 ]+")
_SETS: Final = re.compile(r"\[[^\]]*\]?|\{[^}]*\}?")


class FoundProblem(Struct, frozen=True):
    path: VaultPath
    code: str
    message: str
    line: int


def count_by_kind(index: Index, *, visible: Visible | None = None) -> dict[str, int]:
    """How many files there are of each kind."""
    with index.reading() as db:
        counts = read_counts(index, db, (FILE,), count_files, visible)
    return {name: count for (what, _, name), (count, _) in counts.items() if what == FILE}


def count_by_folder(index: Index, *, visible: Visible | None = None) -> dict[str, int]:
    """Every folder with a file beneath it, "" for the top, with how many, by path."""
    with index.reading() as db:
        counts = read_counts(index, db, (FOLDER,), count_files, visible)
    return {key: places for (what, key, _), (_, places) in sorted(counts.items()) if what == FOLDER}


def list_files(
    index: Index,
    folder: str = "",
    *,
    kind: str = "",
    order: Order = "path",
    after: str = "",
    limit: int = NO_LIMIT,
    offset: int = 0,
    visible: Visible | None = None,
) -> ListPage[IndexedFile]:
    """Files, or those beneath a folder, of one kind, and with a path beyond `after`, in order."""
    conditions, values = [], list[Any]()
    if folder:
        conditions.append("path > ? AND path < ?")
        values += [folder + "/", folder + "0"]
    if kind:
        # Most files are notes: sorting all of them takes longer than leaving some others out on the way.
        conditions.append("+kind = ?" if kind == "note" and order != "path" else "kind = ?")
        values.append(kind)
    if after:
        conditions.append("path > ?")
        values.append(after)
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    statement = f"SELECT {FILE_COLUMNS} FROM files{where} ORDER BY {_ORDERS[order]}"
    with index.reading() as db:
        if visible is None:
            rows = db.execute(f"{statement} LIMIT ? OFFSET ?", (*values, limit, offset)).fetchall()
            (total,) = db.execute(f"SELECT count(*) FROM files{where}", values).fetchone()
        else:
            seen = [row for row in db.execute(statement, values) if visible(row[0])]
            rows, total = take_page(seen, limit=limit, offset=offset), len(seen)
    return ListPage(tuple(map(file_from_row, rows)), total)


def find_files(
    index: Index, pattern: str, fits: Visible, folder: str = "", *, visible: Visible | None = None
) -> list[IndexedFile]:
    """The files that `fits` accepts, by path. `pattern` is the glob it was made of: what each fitting path
    must contain is looked for first, by SQLite."""
    conditions, values = ["path > ? AND path < ?"] if folder else [], list[Any]()
    if folder:
        values += [folder + "/", folder + "0"]
    literal = max(_LITERAL.findall(_SETS.sub("/", pattern)), key=len, default="")
    if literal:
        conditions.append(f"(path LIKE ? OR {has_non_ascii('path')})")
        values.append(f"%{literal}%")
    where = f" WHERE {' AND '.join(conditions)}" if conditions else ""
    with index.reading() as db:
        rows = db.execute(f"SELECT {FILE_COLUMNS} FROM files{where} ORDER BY path", values).fetchall()
    return [file_from_row(row) for row in rows if fits(row[0]) and (visible is None or visible(row[0]))]


def list_shallow_paths(index: Index, folder: str, depth: int, *, visible: Visible | None = None) -> list[str]:
    """The files at most `depth` levels below a folder, by path; `depth` becomes a pattern of that length."""
    levels = depth + (folder.count("/") + 1 if folder else 0)
    condition = "path NOT GLOB ?"
    values: list[Any] = ["*" + "/*" * levels]
    if folder:
        condition += " AND path > ? AND path < ?"
        values += [folder + "/", folder + "0"]
    with index.reading() as db:
        rows = db.execute(f"SELECT path FROM files WHERE {condition} ORDER BY path", values).fetchall()
    return [path for (path,) in rows if visible is None or visible(path)]


def count_problems_by_code(index: Index, *, visible: Visible | None = None) -> dict[str, int]:
    """How many problems there are of each code."""
    with index.reading() as db:
        counts = read_counts(index, db, (PROBLEM,), count_problems, visible)
    return {key: count for (_, key, _), (count, _) in counts.items()}


def list_problems(
    index: Index, *, limit: int = NO_LIMIT, offset: int = 0, visible: Visible | None = None
) -> ListPage[FoundProblem]:
    """What the parser complained about, by path and in each note's own order."""
    statement = (
        "SELECT path, code, message, line FROM problems JOIN files ON files.id = file ORDER BY path, seq"
    )
    with index.reading() as db:
        if visible is None:
            rows = db.execute(f"{statement} LIMIT ? OFFSET ?", (limit, offset)).fetchall()
            (total,) = db.execute("SELECT count(*) FROM problems").fetchone()
        else:
            seen = [row for row in db.execute(statement) if visible(row[0])]
            rows, total = take_page(seen, limit=limit, offset=offset), len(seen)
    return ListPage(tuple(FoundProblem(VaultPath(path), *about) for path, *about in rows), total)


def find_duplicates(
    index: Index, *, limit: int = NO_LIMIT, offset: int = 0, visible: Visible | None = None
) -> ListPage[tuple[VaultPath, ...]]:
    """Notes that share a name, so that a bare link to it is ambiguous; each group sorted."""
    with index.reading() as db:
        if visible is None and totals.are_current(db):
            marked = totals.list_marked(db, totals.DUPLICATE, limit, offset)
            groups = [_named(db, key) for key, _ in marked]
            return ListPage(tuple(groups), totals.count_marked(db, totals.DUPLICATE))
        named: dict[str, list[VaultPath]] = {}
        for key, path in db.execute("SELECT key, path FROM files WHERE kind = 'note' ORDER BY key, path"):
            if visible is None or visible(path):
                named.setdefault(key, []).append(VaultPath(path))
    found = [tuple(group) for group in named.values() if len(group) > 1]
    return ListPage(tuple(take_page(found, limit=limit, offset=offset)), len(found))


def _named(db: Any, key: str) -> tuple[VaultPath, ...]:
    rows = db.execute("SELECT path FROM files WHERE key = ? AND kind = 'note' ORDER BY path", (key,))
    return tuple(VaultPath(path) for (path,) in rows)


def find_conflicts(
    index: Index, *, limit: int = NO_LIMIT, offset: int = 0, visible: Visible | None = None
) -> ListPage[tuple[VaultPath, Conflict]]:
    """Copies that a cloud service made, by path."""
    with index.reading() as db:
        if visible is None and totals.are_current(db):
            marked = totals.list_marked(db, totals.CONFLICT, limit, offset)
            rows = tuple((VaultPath(path), totals.decode_conflict(about)) for path, about in marked)
            return ListPage(rows, totals.count_marked(db, totals.CONFLICT))
        paths = [path for path in sorted(index.paths(db).values()) if visible is None or visible(path)]
    beside = frozenset(paths)
    looked = ((VaultPath(path), detect_conflict(VaultPath(path), beside)) for path in paths)
    found = [(path, conflict) for path, conflict in looked if conflict is not None]
    return ListPage(tuple(take_page(found, limit=limit, offset=offset)), len(found))
