"""Finds a Claude Code IDE server on this machine by the lock file that it wrote for its clients.

It only reads: a stale lock is skipped and left to its owner.
"""

from __future__ import annotations

import os
from collections.abc import Iterator
from pathlib import Path, PurePath

import msgspec

from vaultbridge.client.errors import ConnectFailed
from vaultbridge.protocols.claude_ide.lock_files import list_lock_files, list_scanned_folders, read_lock
from vaultbridge.system import is_process_alive


class RunningIdeServer(msgspec.Struct, frozen=True):
    port: int
    token: str
    folders: tuple[str, ...]
    name: str
    written: float
    """When the file was last written. Of two equal matches, the newer is more likely to be alive."""


def find_lock(folder: str | os.PathLike[str] | None = None, workspace: str | None = None) -> RunningIdeServer:
    """Find the lock whose folder contains `workspace` (default: the current folder), the closest one first.

    Without `workspace`, the only running server is taken even if its folder does not match. Raises
    ConnectFailed.
    """
    folders = [Path(folder)] if folder is not None else list_scanned_folders(os.environ, Path.home())
    locks = {lock.port: lock for scanned in folders for lock in _list_living(scanned)}
    if not locks:
        raise ConnectFailed(
            "No Claude Code IDE server is running: no lock file belongs to a running process."
        )
    here = Path(workspace or Path.cwd()).resolve()
    candidates = [
        (depth, lock.written, lock) for lock in locks.values() if (depth := _find_depth(lock, here)) >= 0
    ]
    if candidates:
        return max(candidates, key=lambda candidate: candidate[:2])[2]
    if workspace is None and len(locks) == 1:
        return next(iter(locks.values()))
    names = ", ".join(sorted(f"{lock.name or 'unnamed'} on port {lock.port}" for lock in locks.values()))
    raise ConnectFailed(f"No Claude Code IDE server has this folder open; running: {names}.")


def _list_living(folder: Path) -> Iterator[RunningIdeServer]:
    for file in list_lock_files(folder):
        lock, port = read_lock(file), int(file.stem)
        if lock is None or not lock.auth_token or lock.transport not in ("", "ws") or not 0 < port < 65536:
            continue
        if lock.pid is None or not is_process_alive(lock.pid):
            continue
        try:
            written = file.stat().st_mtime
        except OSError:
            continue  # It has been removed in the meantime.
        yield RunningIdeServer(port, lock.auth_token, lock.workspace_folders, lock.ide_name, written)


def _find_depth(lock: RunningIdeServer, here: PurePath) -> int:
    """How deep the closest folder of `lock` that contains `here` is; -1 when none does."""
    return max(
        (len(PurePath(folder).parts) for folder in lock.folders if here.is_relative_to(folder)), default=-1
    )
