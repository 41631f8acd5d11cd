"""A real vault in a temporary folder with a real index, for the tests of `index`."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from support.files import write_vault
from vaultbridge.engine.index_leader import IndexLeader
from vaultbridge.engine.scoped_index import name_scope
from vaultbridge.index.ignored import mark_ignored, read_ignore_filters
from vaultbridge.index.scope_sync import ScopeSynchronizer
from vaultbridge.index.store import schema
from vaultbridge.index.store.database import Index
from vaultbridge.index.store.rows import decode_note
from vaultbridge.index.sync import Synchronizer, SyncReport
from vaultbridge.vault.file_links import find_links_to_hidden
from vaultbridge.vault.paths import VaultFolder, VaultPath
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.settings import IgnoreFilters


@contextmanager
def another_leader(cache: Path, *, watches: bool = False) -> Iterator[None]:
    """Somebody else leads the index in this cache folder. Unless that one `watches`, it has only just begun,
    and the index may be empty; one that does has not yet reported what is saved from now on."""
    leader = IndexLeader(cache)
    assert leader.claim()
    leader.mark_watching(watching=watches)
    try:
        yield
    finally:
        leader.release()


def dump(index: Index) -> dict[str, Any]:
    """Returns everything in the index in a form that is equal for two indexes of the same vault: no ids, no
    times."""
    db = schema.connect(index.file, writer=True)
    try:
        db.execute("BEGIN")
        names = dict(db.execute("SELECT id, path FROM files"))
        content: dict[str, Any] = {
            path: {"kind": kind, "size": size, "hash": hash_, "state": state, "ignored": ignored}
            for path, kind, size, hash_, state, ignored in db.execute(
                "SELECT path, kind, size, hash, state, ignored FROM files"
            )
        }
        for statement, part in _DUMPED:
            for id_, *values in db.execute(statement):
                content[names[id_]].setdefault(part, []).append(_make_comparable(part, values, names))
        return {path: content[path] for path in sorted(content)}
    finally:
        db.close()


def _make_comparable(part: str, values: list[Any], names: dict[int, str]) -> Any:
    if part == "note":
        return decode_note(values[0])
    if part == "links":
        return (*values[:-1], None if values[-1] is None else names[values[-1]])
    return tuple(values)


_DUMPED = (
    ("SELECT id, text FROM texts", "text"),
    ("SELECT id, note FROM notes", "note"),
    (
        "SELECT source, line, flags, raw, target, subpath, key, exact_key, missing, target_id FROM links"
        " ORDER BY source, seq",
        "links",
    ),
    ("SELECT file, key, name, count FROM tags ORDER BY file, key", "tags"),
    ("SELECT file, key, name FROM aliases ORDER BY file, key", "aliases"),
    ("SELECT file, key, seq, name, type, value FROM properties ORDER BY file, key, seq", "properties"),
    ("SELECT file, line, status, text, description, fields, due FROM tasks ORDER BY file, seq", "tasks"),
    ("SELECT file, line, code, message FROM problems ORDER BY file, seq", "problems"),
    ("SELECT doc, col, offset, term FROM occurrences ORDER BY doc, col, offset", "words"),
)


class Members:
    """Which files are in a scope, as the engine decides it."""

    def __init__(self, root: VaultFolder, scope: Scope) -> None:
        self.scope = scope
        self.root = root
        self.shows = scope.visible

    def find_links_to_hidden(self, folders: Mapping[str, Collection[str]]) -> frozenset[str]:
        return find_links_to_hidden(self.root, folders, self.scope.visible, self.scope.may_contain)


class Vault:
    """A vault on disk and its index. Everything is read from the files by the real synchronizer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder / "vault"
        self.cache = folder / "cache"
        self.folder.mkdir(parents=True)
        self.cache.mkdir()
        self.root = VaultFolder(self.folder)
        self.index = Index.open(self.cache)
        self.sync = Synchronizer(self.root, self.index)
        self._rebuilt = 0
        self._scoped: dict[str, Index] = {}

    def write(self, files: dict[str, str | bytes]) -> None:
        write_vault(self.folder, files)

    def remove(self, path: str) -> None:
        (self.folder / path).unlink()

    def sync_all(self) -> SyncReport:
        return self.sync.sync_all()

    def sync_paths(self, *paths: str) -> SyncReport:
        return self.sync.sync_paths([VaultPath(path) for path in paths])

    def dump(self) -> dict[str, Any]:
        return dump(self.index)

    def rebuild(self) -> dict[str, Any]:
        """Returns the dump of a new index of the same files."""
        self._rebuilt += 1
        folder = self.cache / f"rebuilt-{self._rebuilt}"
        folder.mkdir()
        index = Index.open(folder)
        try:
            with self.index.reading() as db:
                mark_ignored(index, read_ignore_filters(db))
            Synchronizer(self.root, index).sync_all()
            return dump(index)
        finally:
            index.close()

    def limit(self, *deny: str, allow: Sequence[str] = ()) -> Index:
        """Returns the index of a scope, as far as that of the vault is."""
        scope = Scope(deny=deny, allow=tuple(allow))
        name = name_scope([scope])
        if name not in self._scoped:
            (self.cache / "scopes").mkdir(exist_ok=True)
            self._scoped[name] = Index.open(self.cache / "scopes", name)
        scoped = self._scoped[name]
        ScopeSynchronizer(self.index, scoped, Members(self.root, scope)).catch_up()
        return scoped

    def ignore(self, *filters: str) -> None:
        """The app ignores these files from now on, and no others."""
        mark_ignored(self.index, IgnoreFilters(filters))

    def close(self) -> None:
        for scoped in self._scoped.values():
            scoped.close()
        self.index.close()
