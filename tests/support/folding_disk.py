"""A disk that ignores case, as macOS and Windows have: a FUSE file system over an ordinary folder.

    python folding_disk.py FOLDER MOUNTPOINT

Names keep their spelling, and a name finds a file of any spelling in case and Unicode form. It speaks the
kernel's protocol itself (`/dev/fuse`), so it needs root and Linux, and no library. It caches nothing. A
second spelling of a name is a second inode to the kernel, with the same `st_ino`: for one and the same inode
the kernel would answer a rename that changes only the case without asking us.
"""

# It works on descriptors, not on paths.
# ruff: noqa: PTH101, PTH115, PTH116, PTH208

from __future__ import annotations

import contextlib
import ctypes
import errno
import os
import stat
import struct
import sys
import unicodedata
from typing import Any

ROOT = 1
DIRECT_IO = 1
NO_REPLY = (2, 36, 42)
"""FORGET, INTERRUPT and BATCH_FORGET."""

_libc = ctypes.CDLL(None, use_errno=True)


def fold(name: bytes) -> str:
    return unicodedata.normalize("NFC", name.decode("utf-8", "surrogateescape")).casefold()


class FoldingDisk:
    def __init__(self, folder: str) -> None:
        self._nodes: dict[int, int] = {ROOT: os.open(folder, os.O_PATH)}
        self._spelled: dict[tuple[int, bytes], int] = {}
        self._lists: dict[int, list[tuple[bytes, int, int]]] = {}
        self._next = ROOT

    def _place(self, node: int) -> str:
        return f"/proc/self/fd/{self._nodes[node]}"

    def _find(self, node: int, name: bytes) -> bytes | None:
        """The name as it is stored, however it is spelled here."""
        names = os.listdir(os.fsencode(self._place(node)))
        if name in names:
            return name
        wanted = fold(name)
        return next((stored for stored in names if fold(stored) == wanted), None)

    def _get(self, node: int, name: bytes) -> bytes:
        stored = self._find(node, name)
        if stored is None:
            raise OSError(errno.ENOENT, "")
        return stored

    def _enter(self, node: int, name: bytes) -> bytes:
        """The node of a name, as FUSE wants it."""
        stored = self._get(node, name)
        descriptor = os.open(stored, os.O_PATH | os.O_NOFOLLOW, dir_fd=self._nodes[node])
        info = os.fstat(descriptor)
        key = (info.st_ino, b"" if stored == name else name)
        number = self._spelled.get(key)
        if number is None or os.fstat(self._nodes[number]).st_nlink == 0:
            self._next += 1
            number = self._spelled[key] = self._next
        if number in self._nodes:
            os.close(self._nodes[number])
        self._nodes[number] = descriptor
        return struct.pack("<QQQQII", number, 0, 0, 0, 0, 0) + self._pack(info)

    def _pack(self, info: os.stat_result) -> bytes:
        times = [divmod(ns, 10**9) for ns in (info.st_atime_ns, info.st_mtime_ns, info.st_ctime_ns)]
        return struct.pack(
            "<6Q10I",
            info.st_ino,
            info.st_size,
            info.st_blocks,
            *(second for second, _ in times),
            *(ns for _, ns in times),
            info.st_mode,
            info.st_nlink,
            info.st_uid,
            info.st_gid,
            info.st_rdev,
            4096,
            0,
        )

    def _attributes(self, node: int) -> bytes:
        return struct.pack("<QII", 0, 0, 0) + self._pack(os.stat(self._nodes[node]))

    def _open(self, node: int, flags: int) -> bytes:
        flags &= ~(os.O_NOFOLLOW | os.O_CREAT | os.O_EXCL)
        descriptor = os.open(self._place(node), flags)
        # SQLite maps its files into memory, which goes only through the kernel's cache.
        is_database = os.readlink(self._place(node)).endswith((".db", ".sqlite", "-shm", "-wal"))
        return struct.pack("<QII", descriptor, 0 if is_database else DIRECT_IO, 0)

    def answer(self, opcode: int, node: int, data: bytes) -> bytes:
        """The answer to one request. Raises OSError; ENOSYS for what this disk does not have."""
        handler = getattr(self, f"_{OPERATIONS.get(opcode, 'unknown')}", None)
        if handler is None:
            raise OSError(errno.ENOSYS, "")
        result: bytes = handler(node, data)
        return result

    def _init(self, node: int, data: bytes) -> bytes:
        major, minor, readahead = struct.unpack_from("<III", data)
        return struct.pack("<IIIIHHII", major, min(minor, 31), readahead, 0, 12, 9, 1 << 17, 1) + bytes(36)

    def _lookup(self, node: int, data: bytes) -> bytes:
        return self._enter(node, data.rstrip(b"\0"))

    def _getattr(self, node: int, data: bytes) -> bytes:
        return self._attributes(node)

    def _setattr(self, node: int, data: bytes) -> bytes:
        valid, _, _, size, _, atime, mtime, _, ans, mns, _, mode, _, uid, gid, _ = struct.unpack_from(
            "<IIQQQQQQIIIIIIII", data
        )
        place = self._place(node)
        if valid & 1:
            os.chmod(place, stat.S_IMODE(mode))
        if valid & 6:
            os.chown(place, uid if valid & 2 else -1, gid if valid & 4 else -1)
        if valid & 8:
            os.truncate(place, size)
        if valid & 0x30:
            now = os.stat(self._nodes[node])
            os.utime(
                place,
                ns=(
                    atime * 10**9 + ans if valid & 0x10 and not valid & 0x80 else now.st_atime_ns,
                    mtime * 10**9 + mns if valid & 0x20 and not valid & 0x100 else now.st_mtime_ns,
                ),
            )
            if valid & 0x180:
                os.utime(place)
        return self._attributes(node)

    def _readlink(self, node: int, data: bytes) -> bytes:
        return os.readlink(b"", dir_fd=self._nodes[node])

    def _symlink(self, node: int, data: bytes) -> bytes:
        name, target = data.split(b"\0")[:2]
        self._refuse_existing(node, name)
        os.symlink(target, name, dir_fd=self._nodes[node])
        return self._enter(node, name)

    def _refuse_existing(self, node: int, name: bytes) -> None:
        if self._find(node, name) is not None:
            raise OSError(errno.EEXIST, "")

    def _mknod(self, node: int, data: bytes) -> bytes:
        mode, rdev = struct.unpack_from("<II", data)
        name = data[16:].rstrip(b"\0")
        self._refuse_existing(node, name)
        os.mknod(name, mode, rdev, dir_fd=self._nodes[node])
        return self._enter(node, name)

    def _mkdir(self, node: int, data: bytes) -> bytes:
        (mode,) = struct.unpack_from("<I", data)
        name = data[8:].rstrip(b"\0")
        self._refuse_existing(node, name)
        os.mkdir(name, stat.S_IMODE(mode), dir_fd=self._nodes[node])
        return self._enter(node, name)

    def _unlink(self, node: int, data: bytes) -> bytes:
        os.unlink(self._get(node, data.rstrip(b"\0")), dir_fd=self._nodes[node])
        return b""

    def _rmdir(self, node: int, data: bytes) -> bytes:
        os.rmdir(self._get(node, data.rstrip(b"\0")), dir_fd=self._nodes[node])
        return b""

    def _rename(self, node: int, data: bytes) -> bytes:
        (target,) = struct.unpack_from("<Q", data)
        return self._move(node, target, data[8:], 0)

    def _rename2(self, node: int, data: bytes) -> bytes:
        target, flags = struct.unpack_from("<QI", data)
        return self._move(node, target, data[16:], flags)

    def _move(self, node: int, target: int, names: bytes, flags: int) -> bytes:
        old, new = names.split(b"\0")[:2]
        old = self._get(node, old)
        stored = self._find(target, new)
        source, folder = self._nodes[node], self._nodes[target]
        same = stored is not None and os.fstat(source).st_ino == os.fstat(folder).st_ino and stored == old
        if flags & 1 and stored is not None and not same:
            raise OSError(errno.EEXIST, "")
        if flags & 2:
            new = self._get(target, new)
        elif stored is not None and not same and stored != new:
            # The file takes the new spelling, as on macOS.
            os.rename(old, stored, src_dir_fd=source, dst_dir_fd=folder)
            os.rename(stored, new, src_dir_fd=folder, dst_dir_fd=folder)
            return b""
        if _libc.renameat2(source, old, folder, new, 0 if same else flags) != 0:
            raise OSError(ctypes.get_errno(), "")
        return b""

    def _link(self, node: int, data: bytes) -> bytes:
        (old,) = struct.unpack_from("<Q", data)
        name = data[8:].rstrip(b"\0")
        self._refuse_existing(node, name)
        os.link(self._place(old), name, dst_dir_fd=self._nodes[node], follow_symlinks=True)
        return self._enter(node, name)

    def _openfile(self, node: int, data: bytes) -> bytes:
        return self._open(node, struct.unpack_from("<I", data)[0])

    def _create(self, node: int, data: bytes) -> bytes:
        flags, mode = struct.unpack_from("<II", data)
        name = data[16:].rstrip(b"\0")
        stored = self._find(node, name)
        if stored is not None and flags & os.O_EXCL:
            raise OSError(errno.EEXIST, "")
        made = os.open(stored or name, os.O_CREAT | os.O_WRONLY, stat.S_IMODE(mode), dir_fd=self._nodes[node])
        os.close(made)
        entry = self._enter(node, name)
        (number,) = struct.unpack_from("<Q", entry)
        return entry + self._open(number, flags)

    def _read(self, node: int, data: bytes) -> bytes:
        handle, offset, size = struct.unpack_from("<QQI", data)
        return os.pread(handle, size, offset)

    def _write(self, node: int, data: bytes) -> bytes:
        handle, offset, size = struct.unpack_from("<QQI", data)
        written = os.pwrite(handle, data[40 : 40 + size], offset)
        return struct.pack("<II", written, 0)

    def _statfs(self, node: int, data: bytes) -> bytes:
        info = os.statvfs(self._place(node))
        counts = (info.f_blocks, info.f_bfree, info.f_bavail, info.f_files, info.f_ffree)
        return struct.pack("<5Q4I", *counts, info.f_bsize, 255, info.f_frsize, 0) + bytes(24)

    def _release(self, node: int, data: bytes) -> bytes:
        os.close(struct.unpack_from("<Q", data)[0])
        return b""

    def _fsync(self, node: int, data: bytes) -> bytes:
        return b""

    def _opendir(self, node: int, data: bytes) -> bytes:
        self._next += 1
        entries = [(b".", 0, 4), (b"..", 0, 4)]
        with os.scandir(os.fsencode(self._place(node))) as found:
            for entry in found:
                kind = 4 if entry.is_dir(follow_symlinks=False) else 10 if entry.is_symlink() else 8
                entries.append((entry.name, entry.inode(), kind))
        self._lists[self._next] = entries
        return struct.pack("<QII", self._next, 0, 0)

    def _readdir(self, node: int, data: bytes) -> bytes:
        handle, offset, size = struct.unpack_from("<QQI", data)
        out = b""
        for index, (name, inode, kind) in enumerate(self._lists[handle][offset:], offset + 1):
            entry = struct.pack("<QQII", inode, index, len(name), kind) + name
            entry += bytes(-len(entry) % 8)
            if len(out) + len(entry) > size:
                break
            out += entry
        return out

    def _releasedir(self, node: int, data: bytes) -> bytes:
        del self._lists[struct.unpack_from("<Q", data)[0]]
        return b""


OPERATIONS = {
    1: "lookup",
    3: "getattr",
    4: "setattr",
    5: "readlink",
    6: "symlink",
    8: "mknod",
    9: "mkdir",
    10: "unlink",
    11: "rmdir",
    12: "rename",
    13: "link",
    14: "openfile",
    15: "read",
    16: "write",
    17: "statfs",
    18: "release",
    20: "fsync",
    25: "fsync",
    26: "init",
    27: "opendir",
    28: "readdir",
    29: "releasedir",
    30: "fsync",
    35: "create",
    45: "rename2",
}


def serve(folder: str, mountpoint: str) -> None:
    """Mount, and answer until the disk is unmounted."""
    device = os.open("/dev/fuse", os.O_RDWR)
    options = f"fd={device},rootmode=40000,user_id=0,group_id=0,allow_other,default_permissions"
    if _libc.mount(b"folding", os.fsencode(mountpoint), b"fuse.folding", 0, options.encode()) != 0:
        raise OSError(ctypes.get_errno(), "cannot mount")
    disk = FoldingDisk(folder)
    sys.stdout.write("mounted\n")
    sys.stdout.flush()
    while True:
        try:
            request = os.read(device, 1 << 18)
        except OSError as error:
            if error.errno in (errno.EINTR, errno.ENOENT, errno.EAGAIN):
                continue
            return
        _, opcode, unique, node = struct.unpack_from("<IIQQ", request)
        if opcode in NO_REPLY:
            continue
        reply, failure = b"", 0
        try:
            reply = disk.answer(opcode, node, request[40:])
        except OSError as error:
            failure = error.errno or errno.EIO
        with contextlib.suppress(OSError):
            os.write(device, struct.pack("<IiQ", 16 + len(reply), -failure, unique) + reply)


def unmount(mountpoint: Any) -> None:
    _libc.umount2(os.fsencode(mountpoint), 2)


if __name__ == "__main__":
    serve(sys.argv[1], sys.argv[2])
