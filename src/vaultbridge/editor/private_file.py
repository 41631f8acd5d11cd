"""Small files with a secret inside, written so that no one else ever reads them and no one reads half."""

from __future__ import annotations

import contextlib
import os
import secrets
from pathlib import Path
from typing import Final

PRIVATE_FILE_BYTES: Final = 65_536
"""The most that is read of such a file: they hold some hundred bytes, and the folder may be another's."""


def write_private(path: Path, data: bytes) -> None:
    """Replace `path` by `data`, mode 0600, in one step; raises OSError and leaves nothing behind."""
    passing = path.with_name(f".{path.name}.{secrets.token_hex(6)}.tmp")
    descriptor = os.open(passing, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        passing.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            passing.unlink()
        raise


def read_private(path: Path) -> bytes | None:
    """The file's bytes, or None when it is not there, not readable or far too large."""
    try:
        with path.open("rb") as file:
            data = file.read(PRIVATE_FILE_BYTES + 1)
    except OSError:
        return None
    return data if len(data) <= PRIVATE_FILE_BYTES else None


def make_private_folder(folder: Path) -> None:
    """Make it when missing, and let nobody else in; raises OSError when it cannot be made."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Another program may have made it wider; where it is not ours, the system refuses and that is that.
    if os.name == "posix" and folder.stat().st_mode & 0o077:
        with contextlib.suppress(PermissionError):
            folder.chmod(0o700)
