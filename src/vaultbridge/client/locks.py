"""Finds a Claude Code IDE server of this machine by the lock file that it left for its clients.

Reads only: a stale lock is skipped and left to its owner.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePath
from typing import Final

import msgspec

from vaultbridge.client.errors import ConnectFailed
from vaultbridge.errors import JSON_ERRORS
from vaultbridge.limits import KIB

TOKEN_HEADER: Final = "X-Claude-Code-Ide-Authorization"

LOCK_BYTES: Final = 64 * KIB
"""A lock holds some hundred bytes; a larger file is none."""


class IdeServer(msgspec.Struct, frozen=True):
    port: int
    token: str
    folders: tuple[str, ...]
    name: str
    written: float
    """When the lock was last written: of two equal ones, the newer is the likelier to live."""


class _Content(msgspec.Struct, rename="camel"):
    pid: int
    auth_token: str
    workspace_folders: tuple[str, ...] = ()
    transport: str = "ws"
    ide_name: str = ""


def lock_folders() -> list[Path]:
    """Where clients look: see the design's table of lock folders."""
    folders = [Path.home() / ".claude" / "ide"]
    configured = os.environ.get("CLAUDE_CONFIG_DIR")
    if configured:
        folders.insert(0, Path(configured) / "ide")
    folders.append(Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config") / "claude" / "ide")
    return folders


def find_lock(folder: str | os.PathLike[str] | None = None, workspace: str | None = None) -> IdeServer:
    """The lock whose folder holds `workspace` (default: the current folder), the closest one first.

    Without a `workspace` a single living lock is taken wherever it belongs. Raises ConnectFailed.
    """
    folders = [Path(folder)] if folder is not None else lock_folders()
    locks = {lock.port: lock for place in folders for lock in _locks(place)}
    if not locks:
        raise ConnectFailed(
            "No Claude Code IDE server is running: there is no lock file of a living process."
        )
    here = Path(workspace or Path.cwd()).resolve()
    fitting = [(depth, lock.written, lock) for lock in locks.values() if (depth := _depth(lock, here)) >= 0]
    if fitting:
        return max(fitting, key=lambda found: found[:2])[2]
    if workspace is None and len(locks) == 1:
        return next(iter(locks.values()))
    names = ", ".join(sorted(f"{lock.name or 'unnamed'} on port {lock.port}" for lock in locks.values()))
    raise ConnectFailed(f"No Claude Code IDE server has this folder open; running: {names}.")


def _locks(folder: Path) -> Iterator[IdeServer]:
    try:
        files = sorted(folder.glob("*.lock"))
    except OSError:
        return
    for file in files:
        try:
            stat = file.stat()
            if not file.stem.isdigit() or stat.st_size > LOCK_BYTES:
                continue
            content = msgspec.json.decode(file.read_bytes(), type=_Content)
        except (OSError, *JSON_ERRORS):
            continue  # gone, being written, or somebody else's file
        port = int(file.stem)
        if content.transport == "ws" and 0 < port < 65536 and _is_alive(content.pid):
            folders = content.workspace_folders
            yield IdeServer(port, content.auth_token, folders, content.ide_name, stat.st_mtime)


def _depth(lock: IdeServer, here: PurePath) -> int:
    """How deep the closest folder of `lock` that holds `here` lies; -1 when none does."""
    return max((len(PurePath(f).parts) for f in lock.folders if here.is_relative_to(f)), default=-1)


def _is_alive(pid: int) -> bool:
    if pid <= 0:
        return False
    if os.name == "nt":  # os.kill(pid, 0) would end the process there
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return True
    return True
