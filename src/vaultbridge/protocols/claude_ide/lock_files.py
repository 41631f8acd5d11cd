"""Reads and writes lock files, by which Claude Code finds a bridge. No other module does.

Every client must find the file `<port>.lock`, and only once: a client that scans two folders and finds the
bridge in both lists it twice and no longer connects by itself. We write and remove our own locks and remove
those of dead processes; the locks of other living editors are in the same folders and are never touched.
docs/claude-code.md has the table of which release scans which folder; `list_lock_folders` and
`list_scanned_folders` follow it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
import threading
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Final

import msgspec

from vaultbridge.errors import JSON_ERRORS
from vaultbridge.system import (
    expand_home,
    find_xdg_folder,
    is_process_alive,
    make_private_folder,
    read_private,
    write_private,
)

TOKEN_HEADER: Final = "X-Claude-Code-Ide-Authorization"
"""Where a client sends the lock's token."""

LOCKS_PER_FOLDER: Final = 1000
"""Lock files read per folder. Hundreds of dead ones have been seen, and an overfull folder must not stop
us."""

log = logging.getLogger("vaultbridge.ide")

_LOCK_NAME: Final = re.compile(r"[0-9]{1,5}\.lock")


class LockFile(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Document 000's fields, a superset of document 001's. `workspace_folders` are absolute real paths; ours
    are never empty, because the client offers the bridge only inside one of them.

    Other editors write fewer fields: a missing one has its default here.
    """

    pid: int | None = None
    workspace_folders: tuple[str, ...] = ()
    ide_name: str = ""
    transport: str = ""
    running_in_windows: bool = False
    auth_token: str = ""
    port: int | None = None

    @property
    def is_stale(self) -> bool:
        """Whether the process that wrote this lock is known to be dead. A process of another system (Windows
        seen from WSL) cannot be checked."""
        if self.pid is None or self.running_in_windows != (os.name == "nt"):
            return False
        return not is_process_alive(self.pid)


def make_lock(
    port: int, token: str, folders: Sequence[Path], *, ide_name: str = "Obsidian", pid: int | None = None
) -> LockFile:
    return LockFile(
        pid=os.getpid() if pid is None else pid,
        # The client compares these with its real working directory, so a symlink would hide us.
        workspace_folders=tuple(dict.fromkeys(os.path.realpath(folder) for folder in folders)),
        ide_name=ide_name,
        transport="ws",
        running_in_windows=os.name == "nt",
        auth_token=token,
        port=port,
    )


def list_lock_folders(environ: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """Where we write our lock, so that each client finds it exactly once.

    If the variable is set, it is `$CLAUDE_CONFIG_DIR/ide`: every release that supports the variable scans
    that folder, and the newest scans `~/.claude/ide` as well. Otherwise `~/.claude/ide`, and also the XDG
    folder when its `claude` folder exists: the only releases that scan that one scan nothing else.
    """
    chosen = _read_config_folder(environ)
    return _list_unique(
        [chosen] if chosen is not None else [home / ".claude" / "ide", *_list_xdg_folders(environ, home)]
    )


def list_scanned_folders(environ: Mapping[str, str], home: Path, *, older: bool = True) -> tuple[Path, ...]:
    """Return every folder that the newest release scans and, with `older`, those that any release has
    scanned; ours first. A dead lock in any of them may mislead a client."""
    chosen = _read_config_folder(environ)
    folders = [home / ".claude" / "ide"] if chosen is None else [chosen, home / ".claude" / "ide"]
    return _list_unique([*folders, *(_list_xdg_folders(environ, home) if older else ())])


def _read_config_folder(environ: Mapping[str, str]) -> Path | None:
    folder = environ.get("CLAUDE_CONFIG_DIR")
    return expand_home(folder) / "ide" if folder else None


def _list_xdg_folders(environ: Mapping[str, str], home: Path) -> list[Path]:
    claude = find_xdg_folder(environ, "XDG_CONFIG_HOME", home / ".config") / "claude"
    return [claude / "ide"] if claude.is_dir() else []


def _list_unique(folders: Sequence[Path]) -> tuple[Path, ...]:
    """Each real folder once, by its first name."""
    unique: dict[str, Path] = {}
    for folder in folders:
        unique.setdefault(os.path.realpath(folder), folder)
    return tuple(unique.values())


class LockFiles:
    """Our lock in each of `folders`. Call `write` again when something has changed, `restore` now and then,
    and `remove` at the end. `sweep` also removes dead locks from the folders `swept`."""

    def __init__(self, folders: Sequence[Path], *, swept: Sequence[Path] = ()) -> None:
        self._folders = tuple(folders)
        self._swept = tuple(dict.fromkeys((*folders, *swept)))
        self._written: LockFile | None = None
        self._failing: set[Path] = set()
        """Folders whose failure has been logged: it is not repeated at every attempt."""
        self._turn = threading.Lock()
        """`restore` runs in a thread, and must not write a lock that `remove` has just removed."""

    @property
    def folders(self) -> tuple[Path, ...]:
        return self._folders

    def write(self, lock: LockFile) -> tuple[Path, ...]:
        """Write the lock to every folder and return the files. A folder that cannot be written is logged and
        skipped: the others still work. Our lock for an earlier port is removed."""
        with self._turn:
            if self._written is not None and self._written.port != lock.port:
                self._remove()
            self._written = lock
            return self._write_into(self._folders, lock)

    def restore(self, folders: Sequence[Path]) -> tuple[Path, ...]:
        """Write the lock again where it is missing or can no longer be read, also to folders that have
        appeared since; returns the files written. Somebody else's lock under our port stays."""
        with self._turn:
            lock = self._written
            if lock is None:
                return ()
            self._folders = tuple(dict.fromkeys((*self._folders, *folders)))
            name = f"{lock.port}.lock"
            missing = [folder for folder in folders if read_lock(folder / name) is None]
            return self._write_into(missing, lock)

    def _write_into(self, folders: Sequence[Path], lock: LockFile) -> tuple[Path, ...]:
        data = msgspec.json.encode(lock) + b"\n"
        written = []
        for folder in folders:
            file = folder / f"{lock.port}.lock"
            try:
                make_private_folder(folder)
                write_private(file, data)
            except OSError as error:
                if folder not in self._failing:
                    log.warning("Could not write a lock file in %s: %s", folder, error.strerror)
                self._failing.add(folder)
            else:
                self._failing.discard(folder)
                written.append(file)
        return tuple(written)

    def remove(self) -> None:
        """Remove our own files, but only while they are still ours."""
        with self._turn:
            self._remove()

    def _remove(self) -> None:
        lock = self._written
        if lock is None:
            return
        self._written = None
        for folder in self._folders:
            file = folder / f"{lock.port}.lock"
            if read_lock(file) == lock:
                with contextlib.suppress(OSError):
                    file.unlink()

    def sweep(self) -> tuple[Path, ...]:
        """Remove the locks of dead processes, and return their files. A lock that cannot be read stays."""
        removed = []
        for folder in self._swept:
            for file in list_lock_files(folder):
                lock = read_lock(file)
                if lock is not None and lock.is_stale:
                    with contextlib.suppress(OSError):
                        file.unlink()
                        removed.append(file)
        return tuple(removed)


def list_lock_files(folder: Path) -> list[Path]:
    """The lock files in a folder, sorted by name; none when the folder cannot be read."""
    try:
        names = sorted(entry.name for entry in folder.iterdir() if _LOCK_NAME.fullmatch(entry.name))
    except OSError:
        return []
    return [folder / name for name in names[:LOCKS_PER_FOLDER]]


def read_lock(file: Path) -> LockFile | None:
    """Read any editor's lock; None if it cannot be read or is not a JSON object. A member of the wrong type
    counts as missing."""
    data = read_private(file)
    try:
        value = None if data is None else msgspec.json.decode(data)
    except JSON_ERRORS:
        return None
    if not isinstance(value, dict):
        return None
    members: dict[str, Any] = {}
    for field in msgspec.structs.fields(LockFile):
        with contextlib.suppress(msgspec.ValidationError, KeyError):
            members[field.name] = msgspec.convert(value[field.encode_name], field.type)
    return LockFile(**members)
