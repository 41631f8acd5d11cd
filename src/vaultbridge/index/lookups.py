"""Who may link where, for moves: asked without regard to what a caller may see."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Final

from vaultbridge.index.store import Index
from vaultbridge.vault.paths import VaultPath

_IN_LIST: Final = 500
"""Values in one SQL list, below SQLite's bound on variables."""


def sources_naming(index: Index, keys: Iterable[str]) -> list[VaultPath]:
    """The notes and canvases with a link that one of these name keys may decide, in order."""
    wanted = list(keys)
    found: set[str] = set()
    with index.reading() as db:
        for start in range(0, len(wanted), _IN_LIST):
            part = wanted[start : start + _IN_LIST]
            marks = ", ".join("?" * len(part))
            for column in ("key", "exact_key"):
                rows = db.execute(
                    "SELECT DISTINCT files.path FROM links JOIN files ON files.id = source"
                    f" WHERE links.{column} IN ({marks})",
                    part,
                )
                found.update(path for (path,) in rows)
    return [VaultPath(path) for path in sorted(found)]


def sources_of(index: Index, paths: Iterable[str]) -> list[VaultPath]:
    """The notes and canvases with a link to one of these files, in order."""
    wanted = list(paths)
    found: set[str] = set()
    with index.reading() as db:
        for start in range(0, len(wanted), _IN_LIST):
            part = wanted[start : start + _IN_LIST]
            rows = db.execute(
                "SELECT DISTINCT source.path FROM files AS target JOIN links ON links.target_id = target.id"
                " JOIN files AS source ON source.id = links.source"
                f" WHERE target.path IN ({', '.join('?' * len(part))})",
                part,
            )
            found.update(path for (path,) in rows)
    return [VaultPath(path) for path in sorted(found)]


def paths_of_kind(index: Index, kind: str) -> list[VaultPath]:
    with index.reading() as db:
        rows = db.execute("SELECT path FROM files WHERE kind = ? ORDER BY path", (kind,))
        return [VaultPath(path) for (path,) in rows]


def notes_with_bases(index: Index) -> list[VaultPath]:
    """The notes that may hold a ```base block, in order: a fence and the word stand in them."""
    with index.reading() as db:
        rows = db.execute(
            "SELECT files.path FROM words JOIN files ON files.id = words.rowid JOIN texts USING (id)"
            " WHERE words MATCH 'body : base' AND files.kind = 'note'"
            " AND (text LIKE '%```%base%' OR text LIKE '%~~~%base%') ORDER BY files.path"
        )
        return [VaultPath(path) for (path,) in rows]
