"""Finds and creates the two folders of a vault, outside the vault.

The *cache folder* contains what can be made again: the index, vectors, endpoint files and the index's locks.
The *state folder* contains what cannot: the journal, proposals and the policy for them, pauses, what the
vault looked like, and the writer's lock, which must be where the journal is. Systems and programs that free
space delete caches, so the state is where no cleaner looks: in the folder for state or for application data.

Deleting the cache costs a new index, deleting the state loses the history; neither ever loses a note.
"""

from __future__ import annotations

import errno
import logging
import os
import re
import sys
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from vaultbridge.errors import EngineFailure
from vaultbridge.system import expand_home, find_home, find_xdg_folder
from vaultbridge.vault.identity.adopt import adopt_moved
from vaultbridge.vault.no_follow import real_path

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

CACHE_VARIABLE: Final = "VAULTBRIDGE_CACHE"
STATE_VARIABLE: Final = "VAULTBRIDGE_STATE"
DICTIONARIES_VARIABLE: Final = "VAULTBRIDGE_DICTIONARIES"

DICTIONARIES: Final = (
    "/usr/share/dictd",
    "/usr/local/share/dictd",
    "/opt/homebrew/share/dictd",
    "/opt/local/share/dictd",
)
"""Where packages of Linux, of Homebrew and of MacPorts put dictionaries."""
ABOUT_FILE: Final = "vault.json"

ROOM_BYTES: Final = 1 << 20
"""The least free space for a vault's first folder: an empty index and journal take half of it."""

log = logging.getLogger(__name__)


class CacheUnusable(EngineFailure):
    """One of the folders cannot be made or written. Reading works without it; changes need their journal."""


class Bases(Struct, frozen=True):
    """The folders of all vaults' caches and of all vaults' state."""

    cache: Path
    state: Path


def make_bases(cache: Path) -> Bases:
    """The bases when only the cache's was chosen: the state is below it, so that one variable moves
    everything, as for a container or a test."""
    return Bases(cache, cache / "state")


def find_bases(environ: Mapping[str, str], *, platform: str = sys.platform) -> Bases:
    """`VAULTBRIDGE_CACHE` and `VAULTBRIDGE_STATE`, or the system's places for caches and for state."""
    home = find_home(environ, platform=platform)
    if platform == "win32":
        local = Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "vaultbridge"
        usual = Bases(local / "Cache", local / "State")
    elif platform == "darwin":
        library = home / "Library"
        usual = Bases(
            library / "Caches" / "vaultbridge", library / "Application Support" / "vaultbridge" / "State"
        )
    else:
        usual = Bases(
            find_xdg_folder(environ, "XDG_CACHE_HOME", home / ".cache") / "vaultbridge",
            find_xdg_folder(environ, "XDG_STATE_HOME", home / ".local" / "state") / "vaultbridge",
        )
    if chosen := environ.get(CACHE_VARIABLE):
        usual = make_bases(expand_home(chosen).absolute())
    if chosen := environ.get(STATE_VARIABLE):
        usual = Bases(usual.cache, expand_home(chosen).absolute())
    return usual


def find_dictionary_folders(environ: Mapping[str, str], *, platform: str = sys.platform) -> tuple[Path, ...]:
    """Where dictionaries for questions may be: the folder that `VAULTBRIDGE_DICTIONARIES` names, and the
    standard ones. Nothing is opened."""
    usual = () if platform == "win32" else tuple(map(Path, DICTIONARIES))
    chosen = environ.get(DICTIONARIES_VARIABLE)
    return (expand_home(chosen).absolute(), *usual) if chosen else usual


def vault_cache(vault: Path, bases: Bases) -> Path:
    """This vault's cache folder; it is made when missing, and only its owner can read it.

    Its name is the vault's name, for people, and a hash of the real path, so that two vaults never share one.
    That of a vault that was moved is renamed first, together with its state folder.
    Raises `CacheUnusable` when it cannot be made or written, `EngineFailure` when it would be in the vault.
    """
    real = vault.resolve()
    return _make_folder(real, bases.cache, bases, what="cache", variable=CACHE_VARIABLE)


def vault_state(vault: Path, bases: Bases) -> Path:
    """This vault's state folder, made like its cache folder. What an earlier version left in the cache folder
    is moved to it first. Raises as `vault_cache` does, and `TimedOut` while that version writes."""
    real = vault.resolve()
    folder = _make_folder(real, bases.state, bases, what="state", variable=STATE_VARIABLE)
    earlier = bases.cache / folder.name
    if earlier != folder:
        from vaultbridge.vault.write.state_move import move_state

        try:
            move_state(earlier, folder)
        except OSError as error:
            why = os.strerror(error.errno or 0)
            raise CacheUnusable(
                f"The history cannot be moved from the cache folder to the state folder: {why}.",
                hint=f"Make room for it, or set {STATE_VARIABLE} to a folder that has.",
            ) from error
    return folder


def _name_folder(real: Path) -> str:
    digest = blake2b(os.fsencode(real), digest_size=8).hexdigest()
    readable = re.sub(r"[^\w-]+", "-", real.name).strip("-")[:40] or "vault"
    return f"{readable}-{digest}"


def _make_folder(real: Path, base: Path, bases: Bases, *, what: str, variable: str) -> Path:
    name = _name_folder(real)
    folder = base / name
    if Path(real_path(base)).is_relative_to(real):
        raise EngineFailure(
            f"The {what} folder is inside the vault.", hint=f"Set {variable} to a folder outside it."
        )
    try:
        _adopt(real, name, bases)
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        about = folder / ABOUT_FILE
        if not about.exists():
            _check_room(folder)
            _describe(about, real)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "")
    except OSError as error:
        raise CacheUnusable(
            f"The {what} folder cannot be used: {os.strerror(error.errno or 0)}.",
            hint=f"Set {variable} to a writable folder.",
        ) from error
    return folder


def _adopt(real: Path, name: str, bases: Bases) -> None:
    """Renames both folders of a vault that was moved. What tells that it is the same one is in the state
    folder, and of a vault that only earlier versions have opened in the cache folder."""
    if (bases.state / name).exists():
        return
    moved = adopt_moved(real, bases.state / name)
    if moved is None:
        adopt_moved(real, bases.cache / name)
    elif not (bases.cache / name).exists() and (bases.cache / moved.name).is_dir():
        try:
            (bases.cache / moved.name).rename(bases.cache / name)
        except OSError as error:
            log.warning("The index is built again: %s", os.strerror(error.errno or 0))


def _check_room(folder: Path) -> None:
    """Raises OSError where an index could not even be begun. One that exists answers what it knows when its
    disk is full."""
    if hasattr(os, "statvfs"):
        disk = os.statvfs(folder)
        # Some network disks do not say how large they are.
        if disk.f_blocks and disk.f_bavail * disk.f_frsize < ROOM_BYTES:
            raise OSError(errno.ENOSPC, "")


class StorageFolders:
    """The folders of an open vault, or temporary ones if they cannot be used: an index can be built again at
    any time, so reading and searching need no permanent folder. `problem` says what is temporary; "" if
    nothing is."""

    def __init__(self, vault: Path, bases: Bases) -> None:
        self._temporary: list[TemporaryDirectory[str]] = []
        self._without_state = ""
        self._without_cache = ""
        try:
            try:
                self.state = vault_state(vault, bases)
            except CacheUnusable as problem:
                self._without_state = problem.message
                self.state = self._make_temporary(problem)
            try:
                self.cache = vault_cache(vault, bases)
            except CacheUnusable as problem:
                self._without_cache = problem.message
                self.cache = self._make_temporary(problem)
        except BaseException:
            self.close()
            raise
        if self.problem:
            log.warning("%s", self.problem)

    def _make_temporary(self, problem: CacheUnusable) -> Path:
        from tempfile import TemporaryDirectory

        try:
            self._temporary.append(TemporaryDirectory(prefix="vaultbridge-", ignore_cleanup_errors=True))
        except OSError:
            raise problem from None
        return Path(self._temporary[-1].name)

    @property
    def can_change(self) -> bool:
        """Whether there is a permanent place for the journal."""
        return not self._without_state

    @property
    def problem(self) -> str:
        found = []
        if self._without_cache:
            found.append(f"{self._without_cache} The index is temporary.")
        if self._without_state:
            found.append(f"{self._without_state} Nothing can be changed.")
        return " ".join(found)

    def make_refusal(self) -> EngineFailure:
        """The error for a change. Without a permanent journal it could neither be undone nor rolled back
        after a crash."""
        why = self._without_state
        return EngineFailure(
            f"Nothing can be changed: {why[:1].lower()}{why[1:]} "
            "Without it there is no place for the journal, which makes changes safe and undoable.",
            hint=f"Make the state folder writable, or set {STATE_VARIABLE} to one that is (or "
            f"{CACHE_VARIABLE}, to move the cache too), and start again.",
        )

    def close(self) -> None:
        for folder in self._temporary:
            folder.cleanup()


def _describe(about: Path, real: Path) -> None:
    import json

    temporary = about.with_name(f"{ABOUT_FILE}.{os.getpid()}.tmp")
    temporary.write_text(json.dumps({"vault": str(real), "name": real.name}, ensure_ascii=True) + "\n")
    temporary.replace(about)
