"""What we use of the operating system outside any vault: processes, private files, file stats, mounts.

A private file contains a secret. It is written so that nobody else can ever read it, and nobody reads half of
it. A `FileStat` shows that a file has changed (a configuration file, a plugin, a note) without reading it.
"""

from __future__ import annotations

import contextlib
import errno
import os
import stat
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Final

from msgspec import Struct


def expand_home(text: str) -> Path:
    """Replace a `~` at the beginning. `~nobody` stays as it is: `Path.expanduser` would raise RuntimeError,
    and such a folder may exist."""
    return Path(os.path.expanduser(text))  # noqa: PTH111 - see above


def find_xdg_folder(environ: Mapping[str, str], variable: str, default: Path) -> Path:
    """The folder that an `XDG_…` variable names, else `default`. The specification says to ignore a relative
    path there."""
    folder = Path(environ.get(variable, ""))
    return folder if folder.is_absolute() else default


def find_home(environ: Mapping[str, str], *, platform: str = sys.platform) -> Path:
    """The user's own folder. On Windows programs go by USERPROFILE; HOME may be set there for Unix tools, and
    to another folder."""
    names = ("USERPROFILE", "HOME") if platform == "win32" else ("HOME",)
    chosen = next((environ[name] for name in names if environ.get(name)), "")
    return Path(chosen) if chosen else Path.home()


FILE_URI: Final = "file://"


def read_file_uri(text: str) -> str:
    """The path in a `file://` address. Any other text stays as it is, and so does an address with NUL, which
    no path contains."""
    if not text.startswith(FILE_URI):
        return text
    if os.name == "nt":
        from urllib.request import url2pathname

        return url2pathname(text.removeprefix("file:"))
    from urllib.parse import unquote_to_bytes

    path = unquote_to_bytes(text.removeprefix(FILE_URI))
    return text if b"\0" in path else os.fsdecode(path)


MOUNTS: Final = Path("/proc/self/mountinfo")


def find_disk_kind(folder: str, mounts: str) -> str:
    """The kind of file system that contains a folder, by the lines of `MOUNTS`; "" if that is unknown. Of the
    mount points above the folder the innermost counts, and of several in the same place the last."""
    innermost, kind = "", ""
    for place, mounted in _read_mounts(mounts):
        above = place.rstrip("/") + "/"
        if len(above) >= len(innermost) and f"{folder}/".startswith(above):
            innermost, kind = above, mounted
    return kind


def list_mounts_beneath(folder: Path, *, mounts: Path = MOUNTS) -> list[str]:
    """The mount points in a folder, relative to it; none where the system does not list them."""
    try:
        text = mounts.read_text("utf-8", "surrogateescape")
    except OSError:
        return []
    prefix = f"{folder}/"
    return [place[len(prefix) :] for place, _ in _read_mounts(text) if place.startswith(prefix)]


def _read_mounts(mounts: str) -> Iterator[tuple[str, str]]:
    """Each mount point and the kind of its file system, by the lines of `MOUNTS`."""
    import re

    for line in mounts.split("\n"):
        # "36 35 98:0 /mnt1 /mnt2 rw,noatime master:1 - ext3 /dev/root rw": proc_pid_mountinfo(5).
        before, separator, after = line.partition(" - ")
        fields = before.split(" ")
        if separator and len(fields) >= 5:
            place = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), fields[4])
            yield place, after.split(" ")[0]


_BIRTH_MASK: Final = 0x800
"""`STATX_BTIME` in linux/stat.h, where the positions below are from too."""


def read_birth_time(folder: Path) -> int:
    """When a file or folder was made, in nanoseconds; 0 where the system does not know. With its number this
    tells it from a later one that got the number after it was deleted."""
    if sys.platform != "linux":
        try:
            return int(getattr(folder.stat(), "st_birthtime", 0) * 1e9)
        except OSError:
            return 0
    import ctypes
    import struct

    about = ctypes.create_string_buffer(256)
    current_folder = -100
    try:
        statx = ctypes.CDLL(None).statx
    except (OSError, AttributeError):
        return 0
    if statx(current_folder, os.fsencode(folder), 0, _BIRTH_MASK, about):
        return 0
    (mask,) = struct.unpack_from("=I", about, 0)
    seconds, nanoseconds = struct.unpack_from("=qI", about, 80)
    return seconds * 10**9 + nanoseconds if mask & _BIRTH_MASK else 0


def is_process_alive(pid: int) -> bool:
    """Whether a process with this id is running. If in doubt, because it belongs to another user, True."""
    if pid <= 0:
        return False
    if sys.platform == "win32":
        return _is_alive_on_windows(pid)
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (PermissionError, OverflowError):
        return pid < 2**31
    return True


def _is_alive_on_windows(pid: int) -> bool:
    """`os.kill(pid, 0)` would end the process on Windows."""
    if pid >= 2**32:  # no process has such a number, and ctypes refuses it
        return False
    import ctypes

    query_limited_information, still_active, access_denied = 0x1000, 259, 5
    kernel = ctypes.WinDLL("kernel32", use_last_error=True)  # type: ignore[attr-defined,unused-ignore]
    handle = kernel.OpenProcess(query_limited_information, 0, pid)
    if not handle:
        return bool(ctypes.get_last_error() == access_denied)  # type: ignore[attr-defined,unused-ignore]
    code = ctypes.c_ulong()
    known = kernel.GetExitCodeProcess(handle, ctypes.byref(code))
    kernel.CloseHandle(handle)
    return not known or code.value == still_active


PROCESS_SECONDS: Final = 1.0
"""How long `ps` may take, where only it knows about processes."""


class ProcessFacts(Struct, frozen=True):
    """A process's name and its parent; "" and 0 if the system does not say."""

    name: str = ""
    parent: int = 0


def describe_process(pid: int) -> ProcessFacts:
    """What the system says about a process of this machine. Reads a file, or starts `ps`."""
    if pid <= 0 or sys.platform == "win32":
        return ProcessFacts()
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
            # The name is in parentheses and may contain some itself.
            before, _, after = file.read(4096).rpartition(")")
            return ProcessFacts(before.partition("(")[2], int(after.split()[1]))
    except (OSError, ValueError, IndexError):
        return _ask_ps(pid) if sys.platform == "darwin" else ProcessFacts()


def _ask_ps(pid: int) -> ProcessFacts:
    parent, _, name = _run_ps("ppid=,comm=", pid).partition(" ")
    return ProcessFacts(Path(name.strip()).name, int(parent)) if parent.isdigit() else ProcessFacts()


def _run_ps(fields: str, pid: int) -> str:
    """What `ps` says about a process; "" if it says nothing."""
    import subprocess

    try:
        command = ["ps", "-o", fields, "-p", str(pid)]
        output = subprocess.run(command, capture_output=True, timeout=PROCESS_SECONDS, check=True).stdout
        return output.decode("utf-8", "replace").strip()
    except (OSError, subprocess.SubprocessError):
        return ""


class MemoryUse(Struct, frozen=True):
    """`kind` is "PSS", in which what several processes share counts once for all of them together, or "RSS",
    in which each counts all of it."""

    bytes: int
    kind: str


def measure_memory(pid: int) -> MemoryUse | None:
    """The memory that a process of this user holds; None if the system does not say."""
    import re

    for name, field, kind in (("smaps_rollup", "Pss", "PSS"), ("status", "VmRSS", "RSS")):
        try:
            with open(f"/proc/{pid}/{name}", encoding="ascii", errors="replace") as file:
                found = re.search(rf"^{field}:\s*(\d+) kB", file.read(16_384), re.MULTILINE)
        except OSError:
            continue
        if found is not None:
            return MemoryUse(int(found[1]) * 1024, kind)
    if sys.platform == "darwin" and (said := _run_ps("rss=", pid)).isdigit():
        return MemoryUse(int(said) * 1024, "RSS")
    return None


def read_ordinary(path: Path, most: int) -> bytes:
    """The first bytes of a file, at most this many. Raises OSError, even for what is not a file: a pipe or a
    device would keep us waiting, and a link may lead to our own standard input."""
    handle = os.open(path, os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_BINARY", 0))
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            raise OSError(errno.EINVAL, "it is not an ordinary file")
        with open(handle, "rb", closefd=False) as file:
            return file.read(most)
    finally:
        os.close(handle)


PRIVATE_FILE_BYTES: Final = 65_536
"""The most that is read of a private file: it has some hundred bytes, and another user may own the folder."""


def sync_file(handle: int) -> None:
    """Waits until a file or folder is on the disk. On macOS `fsync` leaves it in the disk's own cache, from
    which a power cut can write a later file before an earlier one; its manual names this call for programs
    that need the order. File systems that do not know it get `fsync`."""
    if sys.platform == "darwin":
        import fcntl

        with contextlib.suppress(OSError):
            fcntl.fcntl(handle, fcntl.F_FULLFSYNC)
            return
    os.fsync(handle)


def write_private(path: Path, data: bytes) -> None:
    """Replaces the file with `data`, mode 0600, in one step. Raises OSError and leaves nothing behind."""
    temporary = path.with_name(f".{path.name}.{os.urandom(6).hex()}.tmp")
    descriptor = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            sync_file(file.fileno())
        temporary.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise


def read_private(path: Path) -> bytes | None:
    """The file's bytes; None when it does not exist, is unreadable or far too large."""
    try:
        data = read_ordinary(path, PRIVATE_FILE_BYTES + 1)
    except OSError:
        return None
    return data if len(data) <= PRIVATE_FILE_BYTES else None


def make_private_folder(folder: Path) -> None:
    """Makes the folder when it is missing, and keeps other users out. Raises OSError when it cannot be
    made."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    # Another program may have opened it to others. If the folder is not ours, the system refuses the change.
    if os.name == "posix" and folder.stat().st_mode & 0o077:
        with contextlib.suppress(PermissionError):
            folder.chmod(0o700)


class FileStat(Struct, frozen=True, gc=False):
    """What a stat says about a file's content. Equal stats mean that the content is the same, unless the file
    was written twice within one step of its timestamp (`is_racy`)."""

    mtime_ns: int
    size: int
    ino: int

    @classmethod
    def of(cls, status: os.stat_result) -> FileStat:
        mtime_ns, ino = fit_stat(status)
        return cls(mtime_ns, status.st_size, ino if _HAS_INODES else 0)


LARGEST_STORED: Final = 2**63 - 1
"""SQLite's largest integer. As a time it is the year 2262."""


def fit_stat(status: os.stat_result) -> tuple[int, int]:
    """A file's time of change and its number, as SQLite can store them. A clock that was wrong dates a file
    anywhere, and file systems that make up their numbers (mergerfs, SMB) use all 64 bits."""
    mtime_ns, ino = status.st_mtime_ns, status.st_ino
    if -LARGEST_STORED <= mtime_ns <= LARGEST_STORED and ino <= LARGEST_STORED:
        return mtime_ns, ino
    return max(-LARGEST_STORED, min(mtime_ns, LARGEST_STORED)), ino & LARGEST_STORED


def stat_file(file: Path) -> FileStat | None:
    """None when the file does not exist or cannot be looked at."""
    try:
        return FileStat.of(file.stat())
    except OSError:
        return None


_HAS_INODES: Final = os.name != "nt"
"""A Windows directory listing gives no file number, so none is compared there."""

RACY_NS: Final = 2_000_000_000
"""Two seconds: the coarsest step in which a file system in use (FAT) counts time."""


def is_racy(mtime_ns: int, now_ns: int) -> bool:
    """Whether a file that changed at `mtime_ns` and was read at `now_ns` might since have been written again
    without a new timestamp."""
    return now_ns - mtime_ns <= RACY_NS
