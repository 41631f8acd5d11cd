"""Vault paths, and the only way from one to a place on disk.

A `VaultPath` is checked once, when it arrives: it is relative to the vault, has `/` between components, is
NFC, and no component starts with a dot. After that, nothing checks it again. `VaultFolder` turns it into a
place on disk and proves, by the real path, that no symlink leads out of the vault.

This module reads no content; `scope.py` decides who may see what.
"""

from __future__ import annotations

import errno
import os
import re
import stat
import unicodedata
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Final, NewType

from vaultbridge.errors import EngineFailure, InvalidPath, NoteNotFound, PermissionDenied, VaultNotFound
from vaultbridge.limits import PATH_CHARS
from vaultbridge.system import expand_home, read_ordinary
from vaultbridge.vault.identity.recognize import VaultIdentity
from vaultbridge.vault.identity.record import CONFIG_FOLDER
from vaultbridge.vault.no_follow import real_path
from vaultbridge.vault.no_follow import status as exact_status
from vaultbridge.vault.stored_names import StoredNames, ignores_case

VaultPath = NewType("VaultPath", str)

Visible = Callable[[str], bool]
"""Whether the file at a path exists for the caller. What a scope hides does not."""


NAME_BYTES: Final = 255
"""The longest file name in UTF-8, as in ext4, APFS and NTFS (which counts units). Only new names are
checked."""

CONFIRM: Final = "`vaultbridge index --accept`"
"""The command that takes the folder at the vault's path for the vault."""

TEXT_SUFFIXES: Final = (".md", ".canvas", ".base")
"""Files with these suffixes are text, whatever their content, because Obsidian reads and writes them as
text."""

_CONTROL: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
_DRIVE: Final = re.compile(r"[A-Za-z]:(?:[/\\]|$)")
_REFUSED_IN_NEW_NAMES: Final = re.compile(r'[*"\\<>:|?#^\[\]]')
_RESERVED: Final = re.compile(
    r"(?:con|prn|aux|nul|conin\$|conout\$|com[0-9¹²³]|lpt[0-9¹²³])(?:\..*)?", re.IGNORECASE
)


def vault_path(text: str) -> VaultPath:
    """The vault path of something that exists, from the text that a person or a program wrote.

    A leading `/`, doubled slashes, `.` and inner `..` are removed. Raises `InvalidPath` for a path that no
    vault may contain or that leads out of it. A backslash is an ordinary character, except where the system
    treats it as a separator.
    """
    path = vault_folder(text)
    if not path:
        raise InvalidPath("The path is empty.", argument="path", hint="Give a path such as 'Folder/Note.md'.")
    return path


def vault_folder(text: str) -> VaultPath:
    """Like `vault_path`, but the vault itself (an empty text, `/` or `.`) is allowed and gives `""`."""
    if len(text) > PATH_CHARS:
        raise InvalidPath(f"The path is longer than {PATH_CHARS} characters.", argument="path")
    if _CONTROL.search(text):
        raise _invalid(text, "contains a control character")
    if _DRIVE.match(text) or text.startswith("\\\\"):
        raise _invalid(text, "names a drive or a network share")
    if os.name == "nt" and ("\\" in text or ":" in text):
        raise _invalid(text, "contains '\\' or ':'", hint="Separate folders with '/'.")
    parts: list[str] = []
    for part in unicodedata.normalize("NFC", text).split("/"):
        if part in ("", "."):
            continue
        if part == "..":
            if not parts:
                raise _invalid(text, "leads out of the vault")
            parts.pop()
        elif part.startswith("."):
            raise _invalid(text, "has a component that starts with a dot; those are not part of the vault")
        else:
            parts.append(part)
    return VaultPath("/".join(parts))


def new_vault_path(text: str) -> VaultPath:
    """The vault path of something that will be created. Also refuses what Obsidian refuses in a new name and
    what another system could not store, so that the vault stays portable."""
    path = vault_path(text)
    for part in path.split("/"):
        found = _REFUSED_IN_NEW_NAMES.search(part)
        if found:
            raise _invalid(text, f"contains {found.group()!r}", hint='Leave out * " \\ < > : | ? # ^ [ ].')
        if _RESERVED.fullmatch(part):
            raise _invalid(text, f"uses {part!r}, a name that Windows reserves")
        if part[-1] in ". " or part[0] == " ":
            raise _invalid(text, "has a name that begins or ends with a space or ends with a dot")
        if len(part.encode()) > NAME_BYTES:
            raise _invalid(text, f"has a name longer than {NAME_BYTES} bytes")
    return path


def _invalid(text: str, why: str, *, hint: str = "") -> InvalidPath:
    shortened = _CONTROL.sub("\ufffd", text if len(text) <= 200 else text[:200] + "…")
    return InvalidPath(f"The path {shortened!r} {why}.", argument="path", hint=hint)


def folder_of(path: str) -> VaultPath:
    """The folder of a path; `""` at the top of the vault."""
    return VaultPath(path.rpartition("/")[0])


def join(folder: str, name: str) -> VaultPath:
    """Joins two parts that were already checked."""
    return VaultPath(f"{folder}/{name}" if folder else name)


def is_under(path: str, folder: str) -> bool:
    """Whether `path` is in `folder` at any depth (and is not the folder itself)."""
    return not folder or path.startswith(folder + "/")


def normalize_name(stored: str) -> str | None:
    """A name from the disk as the vault spells it (NFC); None for one that no vault path can contain."""
    if stored.isascii():
        return None if not stored.isprintable() and _CONTROL.search(stored) else stored
    if not stored.isprintable() and _CONTROL.search(stored):
        return None
    return unicodedata.normalize("NFC", stored)


class VaultFolder:
    """One vault's folder, and the only way to a place on disk.

    Between the check of a real path and its use, someone with write access to the vault may replace a file or
    a folder with a link. So `resolve` and `real_place` follow links once and check where they lead, and only
    `no_follow`, which follows none, opens what they return.
    """

    __slots__ = ("_ignores_case", "_prefix", "_stored_names", "allow_outside_links", "folder", "identity")

    def __init__(self, folder: Path | str, *, allow_outside_links: bool = False) -> None:
        try:
            real = expand_home(str(folder)).resolve(strict=True)
        except (OSError, RuntimeError, ValueError) as error:
            raise VaultNotFound(f"There is no vault {Path(folder).name!r}: no such folder.") from error
        if not real.is_dir():
            raise VaultNotFound(f"There is no vault {real.name!r}: that is a file, not a folder.")
        self.folder = real
        self.identity = VaultIdentity(real)
        self.allow_outside_links = allow_outside_links
        self._prefix = str(real).rstrip(os.sep) + os.sep
        self._ignores_case: bool | None = None
        self._stored_names = StoredNames()

    @property
    def name(self) -> str:
        """The vault's name: its folder's, as in Obsidian."""
        return unicodedata.normalize("NFC", self.folder.name)

    @property
    def ignores_case(self) -> bool:
        """Whether the vault's disk finds a file by any spelling of its name, so that a file that is found may
        be stored under another one."""
        if self._ignores_case is None:
            self._ignores_case = ignores_case(self.folder)
        return bool(self._ignores_case)

    def absence(self) -> str:
        """Return why the vault is missing now, or "" if it is there: see `identity`."""
        return self.identity.absence()

    def check(self) -> None:
        """Raises `VaultNotFound` while the vault is not there."""
        if why := self.absence():
            hint = "Is its disk connected?"
            if self.identity.may_be_accepted:
                hint = f"Is its disk connected? If this folder is right, its owner can confirm it: {CONFIRM}."
            raise VaultNotFound(f"The vault {self.name} is not available: {why}.", hint=hint)

    def check_disks(self, paths: Iterable[str]) -> None:
        """Raises `VaultNotFound` while one of the paths is in a folder of the vault whose own disk is
        missing."""
        absent = self.identity.list_absent_disks()
        for path in paths if absent else ():
            if disk := _find_around(path, absent):
                raise VaultNotFound(
                    f"{path} is not available: the folder {disk} is on a disk of its own, which is missing.",
                    hint=f"Is that disk connected? If it is not needed any more, confirm that: {CONFIRM}.",
                    paths=(path,),
                )

    def find_absent_disk(self, path: str) -> str:
        """The folder around a path, or the path itself, whose own disk is missing; "" if there is none."""
        return _find_around(path, self.identity.list_absent_disks())

    def locate(self, path: VaultPath) -> Path:
        """The file or folder on disk, even when it is stored as NFD or in another case.

        Each component is tried exactly, then by scanning that one folder: first for the same name in another
        normalization, then in another case (as Obsidian compares names); of several, the first in code point
        order is used. Raises `NoteNotFound`; `VaultNotFound` when the vault itself is gone; `EngineFailure`
        when the disk fails; `PermissionDenied` when a folder may not be entered or a symlink leads out of the
        vault. The last is raised for every path behind such a link, so that a caller cannot find out what is
        there. A link to a folder of the vault does not count as a folder, as in Obsidian.
        """
        if self.plain_status(path) is not None:
            return Path(self._prefix + path)
        found, rest = self._descend(path)
        self._require_inside(found, path)
        if rest or self._is_behind_loop(found):
            self.check()
            self.check_disks((path,))
            self._check_sight(path)
            raise NoteNotFound(path)
        return found

    def resolve(self, path: VaultPath) -> Path:
        """Like `locate`, with every link followed and checked. Open what this returns."""
        if self.plain_status(path) is not None:
            return Path(self._prefix + path)
        return self.real_place(self.locate(path), path)

    def real_place(self, place: Path, path: str) -> Path:
        """The place with every link followed. Raises `PermissionDenied` when that is outside the vault."""
        text = str(place)
        # The usual, cheaper case: everything above the vault was resolved when the vault was opened.
        if self.is_part(text) and self.plain_status(VaultPath(text[len(self._prefix) :])) is not None:
            return place
        return Path(self._require_inside(place, path))

    def status(self, path: VaultPath) -> os.stat_result:
        """The status of the file or folder that a path leads to. Raises as `locate` does."""
        try:
            return exact_status(self.resolve(path))
        except OSError:
            raise NoteNotFound(path) from None

    def obstacle(self, path: VaultPath) -> OSError | None:
        """The error that keeps us from knowing whether a path exists: a folder on the way that may not be
        entered, or a disk that fails. None when there is no such error."""
        try:
            os.lstat(self._prefix + path)
        except (FileNotFoundError, NotADirectoryError, ValueError):
            return None
        except OSError as error:
            return None if error.errno in (errno.ENAMETOOLONG, errno.ELOOP) else error
        return None

    def _check_sight(self, path: VaultPath) -> None:
        error = self.obstacle(path)
        if isinstance(error, PermissionError):
            raise PermissionDenied(f"{path} may not be read by this user.", paths=(path,)) from error
        if error is not None:
            raise EngineFailure(
                f"{path} could not be read: {os.strerror(error.errno or 0)}.", paths=(path,)
            ) from error

    def plain_status(self, path: VaultPath) -> os.stat_result | None:
        """The status of a file or folder that is stored in exactly this spelling with no link on the way, so
        that it is certainly part of the vault. None when that is not known."""
        if not path or os.name == "nt":
            # Windows ignores dots and spaces at the end of a name, and has other kinds of links.
            return None
        text = self._prefix + path
        end = len(self._prefix) - 1
        while end >= 0:
            end = text.find("/", end + 1)
            try:
                about = os.lstat(text if end < 0 else text[:end])
            except (OSError, ValueError):
                return None
            if stat.S_ISLNK(about.st_mode):
                return None
        if self.ignores_case and not self._stored_names.is_stored_as(str(self.folder), path):
            return None
        return about

    def place(self, path: VaultPath) -> Path:
        """The place of `path`, whether it exists or not: existing folders in their stored spelling, the rest
        as given. Raises `PermissionDenied` when that is outside the vault, or behind a link back into it."""
        if self.plain_status(path) is not None:
            return Path(self._prefix + path)
        found, rest = self._descend(path)
        self._require_inside(found, path)
        if self._is_behind_loop(found):
            raise PermissionDenied(f"{path} is behind a link that leads back into the vault.", paths=(path,))
        return found.joinpath(*rest) if rest else found

    def is_stored_as(self, path: VaultPath) -> bool:
        """Whether something is stored in exactly this spelling."""
        exact = self._prefix + path
        return os.path.lexists(exact) and (not self.ignores_case or str(self._descend(path)[0]) == exact)

    def exists(self, path: VaultPath) -> bool:
        return not self._descend(path)[1]

    def path_of(self, place: Path | str) -> VaultPath | None:
        """The vault path of an absolute place on disk; None when it is outside the vault or hidden."""
        text = os.path.normpath(place)
        if not text.startswith(self._prefix):
            parent, name = os.path.split(text)
            text = os.path.join(real_path(parent), name)  # noqa: PTH118 - text, as the prefix is
            if not text.startswith(self._prefix):
                return None
        relative = text[len(self._prefix) :].replace(os.sep, "/")
        try:
            return vault_path(relative)
        except InvalidPath:
            return None

    def contains(self, real: str) -> bool:
        """Whether a real path (symlinks resolved) is in this vault."""
        return real.startswith(self._prefix) or real == str(self.folder)

    def config(self, name: str) -> Path:
        """A file in Obsidian's settings folder. Only for our own modules, never for a name from a caller."""
        return self.folder / CONFIG_FOLDER / name

    def read_config(self, name: str, most: int) -> bytes:
        """The first bytes of such a file, at most this many. Raises OSError, even for what is not a file."""
        return read_ordinary(self.config(name), most)

    def _descend(self, path: str) -> tuple[Path, list[str]]:
        """The part of `path` that exists, and the components that do not."""
        if not path:
            return self.folder, []
        exact = self._prefix + path
        windows_alias = os.name == "nt" and path.endswith((".", " "))
        if not self.ignores_case and not windows_alias and os.path.lexists(exact):
            return Path(exact), []
        here = self.folder
        parts = path.split("/")
        for at, part in enumerate(parts):
            nearer = here / part
            if (self.ignores_case and not part.startswith(".")) or not os.path.lexists(nearer):
                stored = self._find_stored_name(here, part)
                if stored is None:
                    return here, parts[at:]
                nearer = here / stored
            here = nearer
        return here, []

    def _find_stored_name(self, folder: Path, name: str) -> str | None:
        if self.ignores_case:
            return self._stored_names.find(folder, name)
        return self._stored_names.find_other_spelling(str(folder), name)

    def match_spelling(self, path: VaultPath) -> VaultPath:
        """The path of something that will be created, with each existing folder spelled as on disk. Its own
        name stays as it is."""
        here = self.folder
        parts = path.split("/")
        for at, part in enumerate(parts[:-1]):
            exact = not self.ignores_case and os.path.lexists(here / part)
            stored = part if exact else self._find_stored_name(here, part)
            if stored is None:
                break
            parts[at] = unicodedata.normalize("NFC", stored)
            here /= stored
        return VaultPath("/".join(parts))

    def find_stored_name(self, folder: str, name: str) -> str | None:
        """How a name is stored in a folder of the vault; None if nothing there has it in any spelling."""
        return self._find_stored_name(Path(folder), name)

    def real_path(self, place: Path) -> VaultPath | None:
        """The vault path of what `place` leads to when links are followed; None when that is outside the
        vault."""
        return self.path_of(real_path(place))

    def leave_out_links(self, paths: Iterable[VaultPath]) -> list[VaultPath]:
        """Return the paths without links to another file of the vault: that file is in the list itself, and a
        text must not be written twice."""
        return [path for path in paths if not self._leads_elsewhere(path)]

    def _leads_elsewhere(self, path: VaultPath) -> bool:
        place = self._prefix + path
        try:
            if not stat.S_ISLNK(os.lstat(place).st_mode):
                return False
        except (OSError, ValueError):
            # Another system may have stored the name in another form. A file that may not be looked at is no
            # error here, but it is when it is read.
            place = str(self._descend(path)[0])
        return os.path.islink(place) and self.real_path(Path(place)) is not None  # noqa: PTH114 - text

    def _require_inside(self, place: Path, path: str) -> str:
        real = real_path(place)
        if self.is_part(real):
            return real
        if not self.allow_outside_links or self.contains(real):
            raise PermissionDenied(
                f"{path} is a link that leads out of the vault.",
                hint="Links out of the vault are followed only when the vault's owner allows it.",
                paths=(path,),
            )
        return real

    def is_part(self, real: str) -> bool:
        """Whether a real path is in the vault and in none of its hidden folders."""
        return self.contains(real) and f"{os.sep}." not in os.sep + real[len(self._prefix) :]

    def _is_behind_loop(self, place: Path) -> bool:
        """Whether a place is, or is behind, a link from the vault to a folder of the vault."""
        folder = place if place.is_dir() else place.parent
        real = real_path(folder)
        return real != str(folder) and self.contains(real)


def _find_around(path: str, folders: Iterable[str]) -> str:
    return next((folder for folder in folders if path == folder or is_under(path, folder)), "")
