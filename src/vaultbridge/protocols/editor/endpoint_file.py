"""The port and token of a vault's bridge, kept across restarts and `kill -9`.

Claude Code reconnects with the first URL and token it saw and never reads a lock file again, so a
restarted bridge must come back on the same ones. The file lies in the vault's cache folder, readable by
its owner alone. It also tells the command line where the running bridge listens; whether it really runs
is known only by connecting.

A vault that is served beside another one has no port of its own then: a second file says whose guest it is,
so that its own port and token stay what they were.
"""

from __future__ import annotations

import contextlib
import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from vaultbridge.errors import JSON_ERRORS, EngineFailure
from vaultbridge.system import is_process_alive, make_private_folder, read_private, write_private

FILE_NAME: Final = "bridge.json"
GUEST_FILE_NAME: Final = "guest.json"


class Endpoint(msgspec.Struct, frozen=True, kw_only=True):
    """`pid` is the process that listens or listened last, 0 after a clean end. `vault` is the folder's real
    path, for status pages on this machine only. `host` is where this machine reaches it. `certificate` is
    the SHA-256 of the one it shows, in hexadecimal, and empty when it speaks without TLS. `name` is what
    people call the server, where that is not the address."""

    port: int
    token: str
    pid: int = 0
    vault: str = ""
    host: str = "127.0.0.1"
    certificate: str = ""
    name: str = ""

    def __post_init__(self) -> None:
        if not 0 < self.port < 65536:
            raise ValueError("the port is out of range")
        uuid.UUID(self.token)
        if len(bytes.fromhex(self.certificate)) not in (0, 32):
            raise ValueError("the certificate's fingerprint is not one of SHA-256")

    @property
    def url(self) -> str:
        """The address for programs of this machine."""
        return self._at(self.host)

    @property
    def link(self) -> str:
        """The address for people and their browsers, which compare a certificate with the name."""
        return self._at(self.name or self.host)

    def _at(self, host: str) -> str:
        scheme = "https" if self.certificate else "http"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"


def new_token() -> str:
    """A UUID of version 4: 122 bits from the system's secure source."""
    return str(uuid.uuid4())


def load_endpoint(folder: Path) -> Endpoint | None:
    """What is remembered in this cache folder; None when there is nothing, or nothing readable."""
    return _read(folder / FILE_NAME)


def save_endpoint(folder: Path, what: Endpoint) -> None:
    """Raises EngineFailure when it cannot be written."""
    _write(folder / FILE_NAME, what)


def save_guest_endpoint(folder: Path, of: Endpoint) -> None:
    """Another vault's bridge serves this one too. Raises EngineFailure when it cannot be written."""
    _write(folder / GUEST_FILE_NAME, of)


def remove_guest_endpoint(folder: Path, pid: int) -> None:
    """The bridge of process `pid` has ended."""
    known = _read(folder / GUEST_FILE_NAME)
    if known is not None and known.pid == pid:
        with contextlib.suppress(OSError):
            (folder / GUEST_FILE_NAME).unlink()


def find_running(folder: Path) -> Endpoint | None:
    """The bridge that serves this vault now: its own, or another one's. None when no such process lives."""
    both = (load_endpoint(folder), _read(folder / GUEST_FILE_NAME))
    return next((known for known in both if known is not None and is_process_alive(known.pid)), None)


def mark_stopped(folder: Path, pid: int) -> None:
    """The bridge of process `pid` ended: port and token stay for the next one."""
    known = load_endpoint(folder)
    if known is not None and known.pid == pid:
        save_endpoint(folder, msgspec.structs.replace(known, pid=0))


def list_running(base: Path) -> Iterator[Endpoint]:
    """The bridge of every vault that has one now, by the folder of all caches."""
    if not base.is_dir():
        return
    for folder in sorted(base.iterdir()):
        known = find_running(folder)
        if known is not None:
            yield known


def _read(file: Path) -> Endpoint | None:
    data = read_private(file)
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=Endpoint)
    except JSON_ERRORS:
        return None


def _write(file: Path, what: Endpoint) -> None:
    try:
        make_private_folder(file.parent)
        write_private(file, msgspec.json.format(msgspec.json.encode(what)) + b"\n")
    except OSError as error:
        raise EngineFailure(f"The port and token cannot be remembered: {error.strerror}.") from error
