"""The cache folder of a vault, outside the vault: it contains the index, the journal and locks.

Deleting it loses the history and costs a new index, but never a note.
"""

from __future__ import annotations

import errno
import os
import re
import sys
from collections.abc import Mapping
from hashlib import blake2b
from pathlib import Path
from typing import Final

from vaultbridge.errors import EngineFailure

CACHE_VARIABLE: Final = "VAULTBRIDGE_CACHE"
_ABOUT: Final = "vault.json"


class CacheUnusable(EngineFailure):
    """The folder cannot be made or written. Reading works without it; changes need its journal."""


def cache_base(environ: Mapping[str, str], *, platform: str = sys.platform) -> Path:
    """The folder of all vaults' caches: `VAULTBRIDGE_CACHE`, or the system's place for caches."""
    if chosen := environ.get(CACHE_VARIABLE):
        return Path(chosen).expanduser().absolute()
    home = Path(environ["HOME"]) if environ.get("HOME") else Path.home()
    if platform == "win32":
        return Path(environ.get("LOCALAPPDATA") or home / "AppData" / "Local") / "vaultbridge" / "Cache"
    if platform == "darwin":
        return home / "Library" / "Caches" / "vaultbridge"
    given = environ.get("XDG_CACHE_HOME", "")
    # The specification: a relative path here is invalid and must be ignored.
    return (Path(given) if Path(given).is_absolute() else home / ".cache") / "vaultbridge"


def vault_cache(vault: Path, base: Path) -> Path:
    """This vault's folder in `base`; it is made when missing, and only its owner can read it.

    Its name is the vault's name, for people, and a hash of the real path, so that two vaults never share one.
    Raises `CacheUnusable` when it cannot be made or written, `EngineFailure` when it would be in the vault.
    """
    real = vault.resolve()
    digest = blake2b(os.fsencode(real), digest_size=8).hexdigest()
    readable = re.sub(r"[^\w-]+", "-", real.name).strip("-")[:40] or "vault"
    folder = base / f"{readable}-{digest}"
    if base.resolve().is_relative_to(real):
        raise EngineFailure(
            "The cache folder is inside the vault.", hint=f"Set {CACHE_VARIABLE} to a folder outside it."
        )
    try:
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder.chmod(0o700)
        about = folder / _ABOUT
        if not about.exists():
            _describe(about, real)
        if not os.access(folder, os.W_OK | os.X_OK):
            raise PermissionError(errno.EACCES, "")
    except OSError as error:
        raise CacheUnusable(
            f"The cache folder cannot be used: {os.strerror(error.errno or 0)}.",
            hint=f"Set {CACHE_VARIABLE} to a writable folder.",
        ) from error
    return folder


def _describe(about: Path, real: Path) -> None:
    import json

    temporary = about.with_name(f"{_ABOUT}.{os.getpid()}.tmp")
    temporary.write_text(json.dumps({"vault": str(real), "name": real.name}, ensure_ascii=True) + "\n")
    temporary.replace(about)
