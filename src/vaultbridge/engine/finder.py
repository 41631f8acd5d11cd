"""Finds the file that a person or an assistant names, and its place on disk.

An exact path is looked up on disk; any other name is looked up in the index. While the index is incomplete (a
first build of a large vault takes seconds, and an assistant's first call names a note) the vault is walked
instead, which is slow and knows no aliases. A file that the scope hides does not exist here, nor does a link
to one.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from vaultbridge.errors import AmbiguousName, EngineFailure, InvalidArgument, InvalidPath, NoteNotFound
from vaultbridge.limits import PATH_CHARS
from vaultbridge.links.resolve import FileTable, Resolved, file_name, name_key, resolve
from vaultbridge.markdown.text import replace_surrogates
from vaultbridge.vault import no_follow
from vaultbridge.vault.cloud import icloud_placeholder
from vaultbridge.vault.paths import VaultFolder, VaultPath, Visible, vault_path
from vaultbridge.vault.read import not_downloaded_error
from vaultbridge.vault.scope import LinkedScope
from vaultbridge.vault.walk import FileEntry, walk

if TYPE_CHECKING:
    from vaultbridge.engine.queries import Queries


def find_unindexed(root: VaultFolder, name: str, visible: Visible) -> VaultPath | None:
    """Returns the file that a wikilink with this text would lead to, None when there is none. Raises
    AmbiguousName when several folders have one."""
    target = name.strip().removeprefix("[[").removesuffix("]]").partition("|")[0].partition("#")[0].strip()
    found = walk(root)
    table = FileTable(entry.path for entry in found if isinstance(entry, FileEntry) and visible(entry.path))
    match resolve(target, "", table):
        case Resolved(path=path):
            wanted = name_key(target).removesuffix(".md")
            same = table.paths_named(name_key(file_name(path)))
            fitting = sorted(p for p in same if name_key(p).removesuffix(".md").endswith(wanted)) or [path]
            if len(fitting) > 1:
                raise AmbiguousName(name, tuple(fitting))
            return VaultPath(fitting[0])
        case _:
            return None


class Finder:
    def __init__(self, root: VaultFolder, scope: LinkedScope, queries: Callable[[], Queries]) -> None:
        self._root = root
        self._scope = scope
        self._queries = queries

    def find(self, name: str) -> VaultPath:
        """See `Engine.find`."""
        if not name.strip():
            raise InvalidArgument("Which note? Give its name or path.", argument="name")
        if len(name) > PATH_CHARS:
            raise InvalidArgument(
                f"The name has {len(name)} characters; the longest path has {PATH_CHARS}.", argument="name"
            )
        if replace_surrogates(name) != name:
            raise InvalidArgument(
                f"The name {replace_surrogates(name)!r} contains half of a character.",
                argument="name",
                hint="Give it in valid Unicode.",
            )
        found = self.find_exact(name)
        if found is not None:
            return found
        index = self._queries().index()
        complete = index.status().complete
        try:
            return self._queries().find(name, index=index)
        except NoteNotFound:
            # The index may not know it yet. Tried last: finding another spelling means reading whole folders.
            if (found := self.find_on_disk(name)) is not None:
                return found
            # It was incomplete before the lookup, or was rebuilt during it.
            if not complete or not self._queries().status.complete:
                if (
                    found := find_unindexed(self._root, name, self._queries().existence_filter())
                ) is not None:
                    return found
                if self._queries().status.complete:
                    # Perhaps by an alias.
                    return self._queries().find(name)
            raise

    def find_exact(self, name: str) -> VaultPath | None:
        """Finds a file with exactly this spelling on disk, with or without `.md`: the cheapest lookup, and
        the most common one."""
        for path in self.list_spellings(name):
            status = self._root.plain_status(path)
            if status is not None:
                if stat.S_ISREG(status.st_mode):
                    return path
            elif self._root.is_stored_as(path) and self._is_file(path):
                return path
        return None

    def _is_file(self, path: VaultPath) -> bool:
        try:
            return self.place(path).is_file()
        except NoteNotFound:
            return False

    def find_on_disk(self, name: str) -> VaultPath | None:
        """Finds an existing path, whether the index knows it yet or not."""
        return next(filter(None, map(self.find_stored_path, self.list_spellings(name))), None)

    def find_stored_path(self, path: VaultPath) -> VaultPath | None:
        """Returns how the path of a visible file is spelled on disk, whether the index knows it yet or
        not."""
        try:
            place = self.place(path)
        except NoteNotFound:
            return None
        except EngineFailure:
            # It exists but is not downloaded; reading it says so.
            return path
        return self._root.path_of(place) if place.is_file() else None

    def list_spellings(self, name: str) -> Iterator[VaultPath]:
        """The visible paths that a name may mean: as given, and with `.md`."""
        for spelled in (name, f"{name}.md"):
            try:
                path = vault_path(spelled)
            except InvalidPath:
                continue
            if self._scope.visible(path):
                yield path

    def place(self, path: VaultPath) -> Path:
        """Where a visible file is; a link to a hidden file is hidden too. Raises NoteNotFound, or
        EngineFailure for a file that is not downloaded."""
        # In this order: what the disk says about a hidden file, and how long that takes, tells whether it is
        # there.
        self._scope.check_read(path)
        return self.locate(path)

    def locate(self, path: VaultPath) -> Path:
        return self._require_downloaded(self._root.locate, path)

    def _require_downloaded(self, find: Callable[[VaultPath], Path], path: VaultPath) -> Path:
        try:
            return find(path)
        except NoteNotFound:
            # Unlike a Path's own method, it raises no error for a name that is too long for any file.
            if os.path.lexists(icloud_placeholder(self._root.place(path))):
                raise not_downloaded_error(path) from None
            raise

    def resolve(self, path: VaultPath) -> Path:
        """Where to open a file, every link followed once. A visible path that leads to a hidden file counts
        as missing; a hidden one is opened for the links in it. Raises as `place` does."""
        place = self._require_downloaded(self._root.resolve, path)
        self.check_leads(path, place)
        return place

    def check_leads(self, path: VaultPath, real: Path) -> None:
        """Raises NoteNotFound when a visible path leads to a hidden file. `real` has no link in it."""
        # Compares names only: both are known, and asking the disk again could give a different answer.
        names = self._scope.names
        if names.unrestricted or not names.visible(path):
            return
        leads = self._root.path_of(real)
        if leads is not None and not names.visible(leads):
            raise NoteNotFound(path)

    def check_named(self, path: VaultPath, *, unread: bool = False) -> None:
        """Raises NoteNotFound for a file that is on disk and leads to a hidden one or became a folder,
        PermissionDenied for one that is larger than may be read, unless it stays `unread`."""
        if self._root.exists(path):
            try:
                status = no_follow.status(self.resolve(path))
            except OSError:
                # Deleted since, or replaced by a link.
                raise NoteNotFound(path) from None
            if stat.S_ISDIR(status.st_mode):
                raise NoteNotFound(path)
            if not unread:
                self._scope.check_size(path, status.st_size)
