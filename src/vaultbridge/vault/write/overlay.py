"""The vault as it will be while a plan is carried out: the disk, with the planned steps laid over it.

A plan asks what lies at a path when a step's turn comes; earlier steps may have moved, made or removed it.
Reads names from the disk, no content, and changes nothing.
"""

from __future__ import annotations

import os
from pathlib import Path
from typing import Literal

from vaultbridge.links.resolve import name_key
from vaultbridge.system import FileStat
from vaultbridge.vault.paths import Root, VaultPath, folder_of, is_under, join, normalize_name


class OverlayEntry:
    """What a path will hold. `place` is where it will be then; `disk` where its content lies now, None when
    there is none or an earlier step is going to write it (then `data` holds it, and `writer` is the position
    of that act). `real` is where `disk` leads, known once its content was read."""

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
    __slots__ = ("_root", "_spelled", "_spots")

    def __init__(self, root: Root) -> None:
        self._root = root
        self._spots: dict[str, OverlayEntry] = {}
        self._spelled: dict[str, VaultPath] = {}

    def _key(self, path: VaultPath) -> str:
        """Spellings that differ in case are one path, as for the app; but a disk may hold a file for each,
        and then each is its own."""
        key = name_key(path)
        first = self._spelled.setdefault(key, path)
        if first == path or not (self._root.is_stored_as(first) and self._root.is_stored_as(path)):
            return key
        one, other = (self._root.folder / spelled for spelled in (first, path))
        return key if os.path.samestat(one.lstat(), other.lstat()) else f"{key}\0{path}"

    def at(self, path: VaultPath) -> OverlayEntry:
        """Raises `PermissionDenied` when the path leads out of the vault."""
        known = self._spots.get(self._key(path))
        if known is not None:
            return known
        above, rest = self._known_above(path)
        if above is None:
            return _on_disk(self._root.place(path))
        if above.kind != "folder" or above.disk is None:
            # Beneath something that is gone by then, or a folder that is still to be made: nothing is there.
            return OverlayEntry(above.place / rest, "none")
        # Beneath a folder that will have been moved: look where it lies now.
        origin = self._root.path_of(above.disk)
        assert origin is not None
        found = _on_disk(self._root.place(VaultPath(f"{origin}/{rest}")))
        found.place = above.place / found.place.relative_to(above.disk)
        return found

    def _known_above(self, path: VaultPath) -> tuple[OverlayEntry | None, str]:
        folder = folder_of(path)
        while folder:
            known = self._spots.get(self._key(folder))
            if known is not None:
                return known, path[len(folder) + 1 :]
            folder = folder_of(folder)
        return None, path

    def is_empty_folder(self, path: VaultPath) -> bool:
        """Whether a folder will hold nothing at all, hidden files counted."""
        spot = self.at(path)
        if spot.kind != "folder":
            return False
        key = self._key(path)
        if any(is_under(other, key) and inner.kind != "none" for other, inner in self._spots.items()):
            return False
        if spot.disk is None:
            return True
        with os.scandir(spot.disk) as listing:
            names = [normalize_name(item.name) for item in listing]
        return not any(
            name is None or name.startswith(".") or self.at(join(path, name)).kind != "none" for name in names
        )

    def put(self, path: VaultPath, spot: OverlayEntry) -> None:
        self._spots[self._key(path)] = spot

    def vacate(self, path: VaultPath) -> None:
        """Nothing is at the path from now on, nor beneath it."""
        place = self.at(path).place
        key = self._key(path)
        for inner in [other for other in self._spots if is_under(other, key)]:
            del self._spots[inner]
        self._spots[key] = OverlayEntry(place, "none")

    def move(self, source: VaultPath, target: VaultPath, place: Path) -> None:
        """What is at `source`, with all beneath it, is at `target` from now on, on disk at `place`."""
        spot = self.at(source)
        old, old_key, new_key = spot.place, self._key(source), self._key(target)
        carried = {key: inner for key, inner in self._spots.items() if is_under(key, old_key)}
        self.vacate(source)
        for key, inner in carried.items():
            if inner.place.is_relative_to(old):
                inner.place = place / inner.place.relative_to(old)
            self._spots[new_key + key[len(old_key) :]] = inner
        spot.place = place
        self._spots[new_key] = spot


def _on_disk(place: Path) -> OverlayEntry:
    if not os.path.lexists(place):
        return OverlayEntry(place, "none")
    return OverlayEntry(place, "folder" if place.is_dir() else "file", place)
