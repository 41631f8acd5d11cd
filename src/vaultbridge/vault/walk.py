"""Lists every file of a vault with its stat: the cheapest complete scan of the disk.

No file is read. Hidden names are left out, names are NFC, and symlinks are followed unless they lead out of
the vault or back into it. What could not be examined is reported (`Unreadable`, `Skipped`): a folder that
cannot be opened must not look like a folder whose notes were deleted.
"""

from __future__ import annotations

import contextlib
import os
import stat
import sys
from collections.abc import Iterator
from typing import Final, Literal, TypeAlias

from msgspec import Struct

from vaultbridge.system import fit_stat
from vaultbridge.vault import no_follow
from vaultbridge.vault.cloud import icloud_original_name, is_placeholder
from vaultbridge.vault.file_types import KINDS, FileKind, kind_of
from vaultbridge.vault.no_follow import real_path
from vaultbridge.vault.paths import VaultFolder, VaultPath, normalize_name

WALK_DEPTH: Final = 64
"""The deepest nesting that is followed: far beyond any vault, and below PATH_MAX with one-letter names."""

TEMPORARY_PREFIX: Final = ".vaultbridge-"
TEMPORARY_SUFFIX: Final = ".tmp"


class FileEntry(Struct, frozen=True, gc=False):
    """One file. A `placeholder` is not downloaded: never read it. Its size may be 0."""

    path: VaultPath
    size: int
    mtime_ns: int
    ino: int
    kind: FileKind
    placeholder: bool = False


class Unreadable(Struct, frozen=True, gc=False):
    """A folder (`""` is the vault itself) or file that could not be examined: it is unknown whether it, and
    what is in it, still exist."""

    path: VaultPath
    why: str


class Skipped(Struct, frozen=True, gc=False):
    """Something on disk that is not a file of the vault. `path` is for display: characters that no path may
    contain are escaped. A folder for one of the `LEFT_OUT` reasons ends with `/`.

    `leftover`: a temporary file of ours, which `replace.remove_leftover` removes when its writer has died.
    """

    path: str
    why: Literal["outside", "loop", "broken-link", "too-deep", "bad-name", "same-name", "special", "leftover"]


LEFT_OUT: Final[dict[str, str]] = {
    "bad-name": "its name is not UTF-8 or contains control characters",
    "same-name": "another one beside it has the same name in another Unicode form",
    "too-deep": f"it is more than {WALK_DEPTH} folders deep",
}
"""The reasons (`Skipped.why`) for which files are left out that a person may take for a part of the vault,
each with its text."""


DISK_MISSING: Final = "its disk is missing"
"""Why a folder that had a disk of its own is unreadable: its notes are not gone."""


Found = FileEntry | Unreadable | Skipped


KnownStats: TypeAlias = dict[str, tuple[int, int, int]]
"""Size, time and number of files by path, in the order of `FileEntry`."""


def walk(
    root: VaultFolder, folder: VaultPath | None = None, *, known: KnownStats | None = None
) -> Iterator[Found]:
    """Everything in the vault, or in one folder of it at any depth, in no particular order. Files that are as
    `known` are left out, and removed from `known` instead: usually that is nearly all of them."""
    return _Walk(root, {} if known is None else known).run(folder or VaultPath(""))


def list_folders(root: VaultFolder) -> list[str]:
    """Every folder below the vault's own that can be opened, also one without files, in no particular
    order."""
    walked = _Walk(root, {})
    for _ in walked.run(VaultPath("")):
        pass
    return [folder for folder in walked.listed if folder]


class _Walk:
    """The state of one walk: the folders still to list, those that are listed, the folders that links have
    led to, and the known files that were not found yet."""

    __slots__ = ("known", "linked", "listed", "root", "waiting")

    def __init__(self, root: VaultFolder, known: KnownStats) -> None:
        self.root = root
        self.known = known
        self.waiting: list[tuple[str, str, int]] = []
        self.linked: list[str] = []
        self.listed: list[str] = []

    def run(self, folder: VaultPath) -> Iterator[Found]:
        place = str(self.root.resolve(folder)) if folder else str(self.root.folder)
        self.waiting.append((folder, place, folder.count("/") + 1 if folder else 0))
        while self.waiting:
            yield from self.list_folder(*self.waiting.pop())
        # This is checked last, because folders that vanished during the walk may have vanished with the
        # vault.
        if why := self.root.absence():
            yield Unreadable(VaultPath(""), why)
        for disk in self.root.identity.list_absent_disks():
            yield Unreadable(VaultPath(disk), DISK_MISSING)

    def list_folder(self, shown: str, place: str, depth: int) -> list[Found]:
        try:
            with open_listing(place) as items:
                self.listed.append(shown)
                return self.sort_out(items, shown, place, depth)
        except FileNotFoundError:
            # It vanished after its parent was listed. Whether the vault itself is there is checked at the
            # end.
            return []
        except OSError as error:
            return [Unreadable(VaultPath(shown), _describe_error(error))]

    def sort_out(self, items: list[os.DirEntry[str]], shown: str, place: str, depth: int) -> list[Found]:
        prefix = shown + "/" if shown else ""
        found: list[Found] = []
        odd: list[tuple[str, os.DirEntry[str]]] = []
        for item in items:
            name = item.name
            if name[0] == ".":
                self.visit_hidden(item, items, prefix, found)
                continue
            if not name.isascii() or not name.isprintable():
                as_shown = normalize_name(name)
                if as_shown is None:
                    found.append(Skipped(prefix + _escape_name(name) + _slash(item), "bad-name"))
                    continue
                if as_shown != name:
                    odd.append((as_shown, item))
                    continue
            self.visit(item, prefix + name, place, depth, found)
        if odd:
            self.visit_once_each(odd, {item.name for item in items}, prefix, place, depth, found)
        return found

    def visit(self, item: os.DirEntry[str], path: str, folder: str, depth: int, found: list[Found]) -> None:
        try:
            if item.is_file(follow_symlinks=False):
                status = item.stat(follow_symlinks=False)
                if path in self.known and self.known[path] == (status.st_size, *fit_stat(status)):
                    del self.known[path]
                else:
                    found.append(_make_entry(path, status, folder, item.name))
            elif item.is_dir(follow_symlinks=False):
                self.enter(path, f"{folder}{os.sep}{item.name}", depth, found)
            elif item.is_symlink():
                self.follow(f"{folder}{os.sep}{item.name}", path, depth, found)
            else:
                found.append(Skipped(path, "special"))
        except FileNotFoundError:
            return
        except OSError as error:
            found.append(Unreadable(VaultPath(path), _describe_error(error)))

    def enter(self, path: str, place: str, depth: int, found: list[Found]) -> None:
        if depth >= WALK_DEPTH:
            found.append(Skipped(f"{path}/", "too-deep"))
        else:
            self.waiting.append((path, place, depth + 1))

    def follow(self, link: str, path: str, depth: int, found: list[Found]) -> None:
        """A link to a file counts as that file. A link to a folder is followed only if no other path of the
        vault leads to that folder, as in Obsidian."""
        real = real_path(link)
        try:
            status = no_follow.status(real)
        except OSError:
            found.append(Skipped(path, "broken-link"))
            return
        inside = self.root.contains(real)
        # A hidden folder of the vault, such as Obsidian's settings, counts as outside whatever the owner
        # allows.
        if not self.root.is_part(real) and (inside or not self.root.allow_outside_links):
            found.append(Skipped(path, "outside"))
        elif stat.S_ISREG(status.st_mode):
            found.append(_make_entry(path, status, *os.path.split(real)))
        elif not stat.S_ISDIR(status.st_mode):
            found.append(Skipped(path, "special"))
        elif inside or any(_overlap(real, other) for other in (str(self.root.folder), *self.linked)):
            found.append(Skipped(path, "loop"))
        else:
            self.linked.append(real)
            self.enter(path, real, depth, found)

    def visit_once_each(
        self,
        odd: list[tuple[str, os.DirEntry[str]]],
        taken: set[str],
        prefix: str,
        folder: str,
        depth: int,
        found: list[Found],
    ) -> None:
        """Visits names that are not stored as NFC. Of several equal ones, the one stored as NFC wins, else
        the first in code point order, as in `VaultFolder.locate`."""
        for as_shown, item in sorted(odd, key=lambda pair: pair[1].name):
            if as_shown in taken:
                found.append(Skipped(prefix + as_shown + _slash(item), "same-name"))
            else:
                taken.add(as_shown)
                self.visit(item, prefix + as_shown, folder, depth, found)

    def visit_hidden(
        self, item: os.DirEntry[str], items: list[os.DirEntry[str]], prefix: str, found: list[Found]
    ) -> None:
        name = item.name
        if name.startswith(TEMPORARY_PREFIX) and name.endswith(TEMPORARY_SUFFIX):
            found.append(Skipped(prefix + name, "leftover"))
            return
        original = icloud_original_name(name)
        if original is None or any(other.name == original for other in items):
            return
        as_shown = normalize_name(original)
        if as_shown is None or as_shown.startswith("."):
            return
        with contextlib.suppress(OSError):
            status = item.stat(follow_symlinks=False)
            path = VaultPath(prefix + as_shown)
            kind = kind_of(as_shown)
            found.append(FileEntry(path, 0, *fit_stat(status), kind, placeholder=True))


@contextlib.contextmanager
def open_listing(place: str) -> Iterator[list[os.DirEntry[str]]]:
    """The content of a folder; the entries can be stat'ed inside the block. A link that has taken the
    folder's place is not followed."""
    if os.name == "nt":
        with os.scandir(place) as listing:
            yield list(listing)
        return
    handle = no_follow.open_folder(place, os.O_RDONLY)
    try:
        with os.scandir(handle) as listing:
            items = list(listing)
        yield items
    finally:
        os.close(handle)


def _make_entry(path: str, status: os.stat_result, folder: str, name: str) -> FileEntry:
    placeholder = False
    if sys.platform == "win32" or (not status.st_blocks and status.st_size):
        placeholder = is_placeholder(status, f"{folder}{os.sep}{name}")
    dot = path.rfind(".")
    kind: FileKind = KINDS.get(path[dot + 1 :].lower(), "other") if dot >= 0 else "other"
    return FileEntry(VaultPath(path), status.st_size, *fit_stat(status), kind, placeholder)


def _overlap(one: str, other: str) -> bool:
    return one == other or one.startswith(other + os.sep) or other.startswith(one + os.sep)


def _describe_error(error: OSError) -> str:
    return os.strerror(error.errno) if error.errno else "cannot be read"


def _slash(item: os.DirEntry[str]) -> str:
    return "/" if item.is_dir(follow_symlinks=False) else ""


def _escape_name(name: str) -> str:
    """Escapes what cannot be displayed in a name: bytes that are not UTF-8, and control characters."""
    return "".join(char if char.isprintable() else _escape(ord(char)) for char in name)


def _escape(code: int) -> str:
    if 0xDC80 <= code <= 0xDCFF:
        # Python puts bytes that it could not decode here.
        code -= 0xDC00
    return f"\\x{code:02x}" if code < 0x100 else f"\\u{code:04x}"
