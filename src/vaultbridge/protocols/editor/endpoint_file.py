"""Reads and writes the file with the port and token of a vault's bridge, which survives restarts and `kill
-9`.

Claude Code reconnects with the first URL and token it saw and never reads a lock file again, so a restarted
bridge must use the same ones. The file is in the vault's cache folder, readable only by its owner. It tells
the command line where the bridge listens; only connecting shows whether it is really running.

A vault that another vault's bridge serves too is its guest. A second file then names that bridge, so that the
vault's own port and token stay unchanged.
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
    path, for status pages on this machine only. `host` is the address for programs of this machine.
    `certificate` is the SHA-256 of the server's certificate in hexadecimal, empty without TLS. `name` is the
    server's name for people, if it is not the address. `locks` is the first folder to which it writes its
    lock file, empty if it is not known. `temporary`: the bridge ends when nobody uses it, and gives way to
    one that somebody starts to stay. `announced`: Claude Code finds it by a lock file."""

    port: int
    token: str
    pid: int = 0
    vault: str = ""
    host: str = "127.0.0.1"
    certificate: str = ""
    name: str = ""
    locks: str = ""
    temporary: bool = False
    announced: bool = True

    def __post_init__(self) -> None:
        if not 0 < self.port < 65536:
            raise ValueError("the port is out of range")
        uuid.UUID(self.token)
        if len(bytes.fromhex(self.certificate)) not in (0, 32):
            raise ValueError("the certificate's fingerprint is not a SHA-256 hash")

    @property
    def url(self) -> str:
        """The address for programs of this machine."""
        return self._make_url(self.host)

    @property
    def link(self) -> str:
        """The address for people and their browsers, which compare a certificate with the name."""
        return self._make_url(self.name or self.host)

    def _make_url(self, host: str) -> str:
        scheme = "https" if self.certificate else "http"
        return f"{scheme}://{f'[{host}]' if ':' in host else host}:{self.port}"


def make_token() -> str:
    """A version 4 UUID: 122 bits from the system's secure source."""
    return str(uuid.uuid4())


def load_endpoint(folder: Path) -> Endpoint | None:
    """The endpoint saved in this cache folder; None when there is none, or none that can be read."""
    return _read(folder / FILE_NAME)


def save_endpoint(folder: Path, endpoint: Endpoint) -> None:
    """Save the endpoint. Raises EngineFailure when it cannot be written."""
    _write(folder / FILE_NAME, endpoint)


def save_guest_endpoint(folder: Path, endpoint: Endpoint) -> None:
    """Save that another vault's bridge serves this vault too. Raises EngineFailure when it cannot be
    written."""
    _write(folder / GUEST_FILE_NAME, endpoint)


def remove_guest_endpoint(folder: Path, pid: int) -> None:
    """Record that the bridge of process `pid` has ended and no longer serves this vault."""
    endpoint = _read(folder / GUEST_FILE_NAME)
    if endpoint is not None and endpoint.pid == pid:
        with contextlib.suppress(OSError):
            (folder / GUEST_FILE_NAME).unlink()


def find_running(folder: Path) -> Endpoint | None:
    """The bridge that serves this vault now: its own or another vault's. None when neither process is
    alive."""
    endpoints = (load_endpoint(folder), _read(folder / GUEST_FILE_NAME))
    return next(
        (endpoint for endpoint in endpoints if endpoint is not None and is_process_alive(endpoint.pid)), None
    )


def mark_stopped(folder: Path, pid: int) -> None:
    """Record that the bridge of process `pid` has ended. Port and token stay for the next one."""
    endpoint = load_endpoint(folder)
    if endpoint is not None and endpoint.pid == pid:
        save_endpoint(folder, msgspec.structs.replace(endpoint, pid=0))


def list_running(base: Path) -> Iterator[Endpoint]:
    """The bridge of every vault that has one now. `base` is the folder of all caches."""
    if not base.is_dir():
        return
    for folder in sorted(base.iterdir()):
        endpoint = find_running(folder)
        if endpoint is not None:
            yield endpoint


def _read(file: Path) -> Endpoint | None:
    data = read_private(file)
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=Endpoint)
    except JSON_ERRORS:
        return None


def _write(file: Path, endpoint: Endpoint) -> None:
    try:
        make_private_folder(file.parent)
        write_private(file, msgspec.json.format(msgspec.json.encode(endpoint)) + b"\n")
    except OSError as error:
        raise EngineFailure(f"The port and token cannot be saved: {error.strerror}.") from error
