"""Finds and creates the cache folder of a vault, outside the vault: it contains the index, the journal and
locks.

Deleting it loses the history and costs a new index, but never a note.
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

from vaultbridge.errors import EngineFailure
from vaultbridge.system import expand_home, find_home, find_xdg_folder
from vaultbridge.vault.beneath import real_path
from vaultbridge.vault.identity.adopt import adopt_moved

if TYPE_CHECKING:
    from tempfile import TemporaryDirectory

CACHE_VARIABLE: Final = "VAULTBRIDGE_CACHE"
ABOUT_FILE: Final = "vault.json"

ROOM_BYTES: Final = 1 << 20
"""The least free space for a vault's first cache: an empty index and journal take half of it."""

log = logging.getLogger(__name__)


class CacheUnusable(EngineFailure):
    """The folder cannot be made or written. Reading works without it; changes need its journal."""


def cache_base(environ: Mapping[str, str], *, platform: str = sys.platform) -> Path:
    """The folder of all vaults' caches: `VAULTBRIDGE_CACHE`, or the system's place for caches."""
    if chosen := environ.get(CACHE_VARIABLE):
        return expand_home(chosen).absolute()
    home = find_home(environ, platform=platform)
    if platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "vaultbridge" / "Cache"
    if platform == "darwin":
        return home / "Library" / "Caches" / "vaultbridge"
    return find_xdg_folder(environ, "XDG_CACHE_HOME", home / ".cache") / "vaultbridge"


def vault_cache(vault: Path, base: Path) -> Path:
    """This vault's folder in `base`; it is made when missing, and only its owner can read it.

    Its name is the vault's name, for people, and a hash of the real path, so that two vaults never share one.
    That of a vault that was moved is renamed first.
    Raises `CacheUnusable` when it cannot be made or written, `EngineFailure` when it would be in the vault.
    """
    real = vault.resolve()
    digest = blake2b(os.fsencode(real), digest_size=8).hexdigest()
    readable = re.sub(r"[^\w-]+", "-", real.name).strip("-")[:40] or "vault"
    folder = base / f"{readable}-{digest}"
    if Path(real_path(base)).is_relative_to(real):
        raise EngineFailure(
            "The cache folder is inside the vault.", hint=f"Set {CACHE_VARIABLE} to a folder outside it."
        )
    try:
        adopt_moved(real, folder)
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
            f"The cache folder cannot be used: {os.strerror(error.errno or 0)}.",
            hint=f"Set {CACHE_VARIABLE} to a writable folder.",
        ) from error
    return folder


def _check_room(folder: Path) -> None:
    """Raises OSError where an index could not even be begun. One that exists answers what it knows when its
    disk is full."""
    if hasattr(os, "statvfs"):
        disk = os.statvfs(folder)
        # Some network disks do not say how large they are.
        if disk.f_blocks and disk.f_bavail * disk.f_frsize < ROOM_BYTES:
            raise OSError(errno.ENOSPC, "")


class CacheFolder:
    """The cache folder of an open vault, or a temporary one if that cannot be used: an index can be built
    again at any time, so reading and searching need no permanent folder. `problem` says why it is temporary;
    "" if it is not."""

    def __init__(self, vault: Path, base: Path) -> None:
        self.problem = ""
        self._temporary: TemporaryDirectory[str] | None = None
        try:
            self.folder = vault_cache(vault, base)
        except CacheUnusable as problem:
            from tempfile import TemporaryDirectory

            try:
                self._temporary = TemporaryDirectory(prefix="vaultbridge-", ignore_cleanup_errors=True)
            except OSError:
                raise problem from None
            self.problem = problem.message
            self.folder = Path(self._temporary.name)
            log.warning("%s The index is temporary, and nothing can be changed.", problem.message)

    def make_refusal(self) -> EngineFailure:
        """The error for a change. Without a permanent journal it could neither be undone nor rolled back
        after a crash."""
        return EngineFailure(
            f"Nothing can be changed: {self.problem[:1].lower()}{self.problem[1:]} "
            "Without it there is no place for the journal, which makes changes safe and undoable.",
            hint=f"Make the cache folder writable, or set {CACHE_VARIABLE} to one that is, and start again.",
        )

    def close(self) -> None:
        if self._temporary is not None:
            self._temporary.cleanup()


def _describe(about: Path, real: Path) -> None:
    import json

    temporary = about.with_name(f"{ABOUT_FILE}.{os.getpid()}.tmp")
    temporary.write_text(json.dumps({"vault": str(real), "name": real.name}, ensure_ascii=True) + "\n")
    temporary.replace(about)
