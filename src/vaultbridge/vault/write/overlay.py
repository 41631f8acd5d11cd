"""The vault as it will be while a plan is executed: the disk, with the planned steps on top of it.

A plan looks up what will be at a path when a step runs; earlier steps may have moved, made or removed it. The
overlay reads names from the disk but no content, and changes nothing.

`engine.drafting.draft` simulates the vault too, but the texts of notes and the targets of links, from the
index and before the writer's lock is taken. ARCHITECTURE.md says why there are two.
"""

from __future__ import annotations

import os
import stat
from pathlib import Path
from typing import Literal

from vaultbridge.links.resolve import name_key
from vaultbridge.system import FileStat
from vaultbridge.vault.paths import VaultFolder, VaultPath, folder_of, is_under, join, normalize_name


class OverlayEntry:
    """What will be at a path. `place` is where it will be on disk. `disk` is where its content is now; it is
    None when there is none, or when an earlier step will write it (then `data` is the content and `writer`
    the position of that act). `real` is where `disk` leads when links are followed, known once the content
    was read."""

    __slots__ = ("data", "disk", "kind", "mode", "place", "real", "signature", "writer")

    def __init__(
        self, place: Path, kind: Literal["file", "folder", "none"], disk: Path | None = None
    ) -> None:
        self.place = place
        self.kind = kind
        self.disk = disk
        self.real: Path | None = None
        self.data: bytes | None = None
        self.mode: int | None = None
        self.signature: FileStat | None = None
        self.writer = -1


class Overlay:
    __slots__ = ("_entries", "_root", "_spelled")

    def __init__(self, root: VaultFolder) -> None:
        self._root = root
        self._entries: dict[str, OverlayEntry] = {}
        self._spelled: dict[str, VaultPath] = {}

    def _key(self, path: VaultPath) -> str:
        """Spellings that differ only in case are one path, as in Obsidian; but if the disk has a file for
        each spelling, each is a separate path."""
        key = name_key(path)
        first = self._spelled.setdefault(key, path)
        if first == path or not (self._root.is_stored_as(first) and self._root.is_stored_as(path)):
            return key
        first_place, second_place = (self._root.folder / spelled for spelled in (first, path))
        return key if os.path.samestat(first_place.lstat(), second_place.lstat()) else f"{key}\0{path}"

    def at(self, path: VaultPath) -> OverlayEntry:
        """Raises `PermissionDenied` when the path leads out of the vault."""
        known = self._entries.get(self._key(path))
        if known is not None:
            return known
        above, rest = self._find_known_above(path)
        if above is None:
            return _on_disk(self._root.place(path))
        if above.kind != "folder" or above.disk is None:
            # Nothing is under something that will be gone, or in a folder that does not exist yet.
            return OverlayEntry(above.place / rest, "none")
        # It is in a folder that will have been moved or restored, so look where that is now.
        origin = self._root.path_of(above.disk)
        if origin is None:
            # It is still in the trash, which is no part of the vault, like the restored folder itself.
            found = _on_disk(above.disk / rest)
            found.real = found.disk
        else:
            found = _on_disk(self._root.place(VaultPath(f"{origin}/{rest}")))
        found.place = above.place / found.place.relative_to(above.disk)
        return found

    def _find_known_above(self, path: VaultPath) -> tuple[OverlayEntry | None, str]:
        folder = folder_of(path)
        while folder:
            known = self._entries.get(self._key(folder))
            if known is not None:
                return known, path[len(folder) + 1 :]
            folder = folder_of(folder)
        return None, path

    def is_empty_folder(self, path: VaultPath) -> bool:
        """Whether a folder will contain nothing at all, not even a hidden file."""
        entry = self.at(path)
        if entry.kind != "folder":
            return False
        key = self._key(path)
        if any(is_under(other, key) and inner.kind != "none" for other, inner in self._entries.items()):
            return False
        if entry.disk is None:
            return True
        with os.scandir(entry.disk) as listing:
            names = [normalize_name(item.name) for item in listing]
        return not any(
            name is None or name.startswith(".") or self.at(join(path, name)).kind != "none" for name in names
        )

    def put(self, path: VaultPath, entry: OverlayEntry) -> None:
        self._entries[self._key(path)] = entry

    def vacate(self, path: VaultPath) -> None:
        """Nothing is at the path, or under it, from now on."""
        place = self.at(path).place
        key = self._key(path)
        for inner in [other for other in self._entries if is_under(other, key)]:
            del self._entries[inner]
        self._entries[key] = OverlayEntry(place, "none")

    def move(self, source: VaultPath, target: VaultPath, place: Path) -> None:
        """What is at `source`, with everything under it, is at `target` from now on, on disk at `place`."""
        entry = self.at(source)
        old, old_key, new_key = entry.place, self._key(source), self._key(target)
        carried = {key: inner for key, inner in self._entries.items() if is_under(key, old_key)}
        self.vacate(source)
        for key, inner in carried.items():
            if inner.place.is_relative_to(old):
                inner.place = place / inner.place.relative_to(old)
            self._entries[new_key + key[len(old_key) :]] = inner
        entry.place = place
        self._entries[new_key] = entry


def _on_disk(place: Path) -> OverlayEntry:
    try:
        status = os.lstat(place)
    except (OSError, ValueError):
        return OverlayEntry(place, "none")
    folder = place.is_dir() if stat.S_ISLNK(status.st_mode) else stat.S_ISDIR(status.st_mode)
    return OverlayEntry(place, "folder" if folder else "file", place)
