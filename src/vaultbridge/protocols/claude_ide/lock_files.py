"""Lock files: how Claude Code finds a bridge.

A file `<port>.lock` where every client finds it, and finds it once: a client that scans two places and finds
a bridge in both lists it twice and no longer connects by itself. We write and remove our own, and sweep away
what dead processes left; other editors keep theirs in the same folders, and those are never touched. Which
release scans which place stands in docs/claude-code.md; `lock_folders` and `scanned_folders` follow it.
"""

from __future__ import annotations

import contextlib
import logging
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec

from vaultbridge.errors import JSON_ERRORS
from vaultbridge.system import is_process_alive, make_private_folder, read_private, write_private

LOCKS_PER_FOLDER: Final = 1000
"""Lock files examined per folder: hundreds of dead ones have been seen, a runaway folder must not hang us."""

log = logging.getLogger("vaultbridge.ide")

_LOCK_NAME: Final = re.compile(r"[0-9]{1,5}\.lock")


class LockFile(msgspec.Struct, frozen=True, kw_only=True, rename="camel"):
    """Seed 000's fields, a superset of seed 001's. `workspace_folders` are absolute real paths and never
    empty: the client offers the bridge only inside one of them."""

    pid: int
    workspace_folders: tuple[str, ...]
    ide_name: str
    transport: str
    running_in_windows: bool
    auth_token: str
    port: int


def make_lock(
    port: int, token: str, folders: Sequence[Path], *, ide_name: str = "Obsidian", pid: int | None = None
) -> LockFile:
    return LockFile(
        pid=os.getpid() if pid is None else pid,
        # The client compares with its own real working directory, so a symlink would hide us.
        workspace_folders=tuple(dict.fromkeys(os.path.realpath(folder) for folder in folders)),
        ide_name=ide_name,
        transport="ws",
        running_in_windows=os.name == "nt",
        auth_token=token,
        port=port,
    )


def lock_folders(environ: Mapping[str, str], home: Path) -> tuple[Path, ...]:
    """Where our lock goes, so that each client finds it exactly once.

    `$CLAUDE_CONFIG_DIR/ide` when the variable is set: every release that knows it looks there, the newest in
    `~/.claude/ide` as well. Else `~/.claude/ide`, and the XDG place besides when its `claude` folder exists:
    the only releases that look there look nowhere else.
    """
    chosen = _chosen(environ)
    return _unique([chosen] if chosen is not None else [home / ".claude" / "ide", *_xdg(environ, home)])


def scanned_folders(environ: Mapping[str, str], home: Path, *, older: bool = True) -> tuple[Path, ...]:
    """Every place where the newest release looks, and with `older` where some release did; ours first. A dead
    lock in any of them may mislead a client."""
    chosen = _chosen(environ)
    places = [home / ".claude" / "ide"] if chosen is None else [chosen, home / ".claude" / "ide"]
    return _unique([*places, *(_xdg(environ, home) if older else ())])


def _chosen(environ: Mapping[str, str]) -> Path | None:
    given = environ.get("CLAUDE_CONFIG_DIR")
    return Path(given).expanduser() / "ide" if given else None


def _xdg(environ: Mapping[str, str], home: Path) -> list[Path]:
    given = environ.get("XDG_CONFIG_HOME", "")
    claude = (Path(given) if Path(given).is_absolute() else home / ".config") / "claude"
    return [claude / "ide"] if claude.is_dir() else []


def _unique(folders: Sequence[Path]) -> tuple[Path, ...]:
    """Each real folder once, by its first name."""
    unique: dict[str, Path] = {}
    for folder in folders:
        unique.setdefault(os.path.realpath(folder), folder)
    return tuple(unique.values())


class LockFiles:
    """Our lock in each of `folders`. `write` again when something changed; `remove` at the end. Dead locks
    are swept from `swept` too."""

    def __init__(self, folders: Sequence[Path], *, swept: Sequence[Path] = ()) -> None:
        self._folders = tuple(folders)
        self._swept = tuple(dict.fromkeys((*folders, *swept)))
        self._written: LockFile | None = None

    @property
    def folders(self) -> tuple[Path, ...]:
        return self._folders

    def write(self, lock: LockFile) -> tuple[Path, ...]:
        """Write it everywhere and give the files written. A folder that cannot be written is logged and left
        out: the other places still work. A lock under an older port of ours is removed."""
        if self._written is not None and self._written.port != lock.port:
            self.remove()
        self._written = lock
        data = msgspec.json.encode(lock) + b"\n"
        written = []
        for folder in self._folders:
            file = folder / f"{lock.port}.lock"
            try:
                make_private_folder(folder)
                write_private(file, data)
            except OSError as error:
                log.warning("No lock file in %s: %s", folder, error.strerror)
            else:
                written.append(file)
        return tuple(written)

    def remove(self) -> None:
        """Take away our own files, and only if they still are ours."""
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
        """Remove the locks of processes that are dead; gives what was removed.

        A lock that cannot be read, or whose process lives in another system (Windows seen from WSL), stays.
        """
        removed = []
        for folder in self._swept:
            for file in list_lock_files(folder):
                if is_stale(file):
                    with contextlib.suppress(OSError):
                        file.unlink()
                        removed.append(file)
        return tuple(removed)


def list_lock_files(folder: Path) -> list[Path]:
    """The lock files of a folder, by name; none when it cannot be read."""
    try:
        names = sorted(entry.name for entry in folder.iterdir() if _LOCK_NAME.fullmatch(entry.name))
    except OSError:
        return []
    return [folder / name for name in names[:LOCKS_PER_FOLDER]]


def read_lock(file: Path) -> LockFile | None:
    """A lock as we write it; None for anything else, also for other editors' forms."""
    data = read_private(file)
    try:
        return None if data is None else msgspec.json.decode(data, type=LockFile)
    except JSON_ERRORS:
        return None


class _Owner(msgspec.Struct, rename="camel"):
    pid: int
    running_in_windows: bool = False


def is_stale(file: Path) -> bool:
    """Whether the process that wrote this lock is known to be dead."""
    data = read_private(file)
    try:
        owner = None if data is None else msgspec.json.decode(data, type=_Owner)
    except JSON_ERRORS:
        return False
    if owner is None or owner.running_in_windows != (os.name == "nt"):
        return False
    return not is_process_alive(owner.pid)
