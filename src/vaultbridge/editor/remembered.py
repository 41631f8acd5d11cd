"""The port and token of a vault's bridge, kept across restarts and `kill -9`.

Claude Code reconnects with the first URL and token it saw and never reads a lock file again, so a
restarted bridge must come back on the same ones. The file lies in the vault's cache folder, readable by
its owner alone. It also tells the command line where the running bridge listens; whether it really runs
is known only by connecting.
"""

from __future__ import annotations

import uuid
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec

from vaultbridge.editor.private_file import make_private_folder, read_private, write_private
from vaultbridge.errors import EngineFailure

FILE_NAME: Final = "bridge.json"


class Remembered(msgspec.Struct, frozen=True, kw_only=True):
    """`pid` is the process that listens or listened last, 0 after a clean end. `vault` is the folder's real
    path, for status pages on this machine only."""

    port: int
    token: str
    pid: int = 0
    vault: str = ""

    def __post_init__(self) -> None:
        if not 0 < self.port < 65536:
            raise ValueError("the port is out of range")
        uuid.UUID(self.token)


def new_token() -> str:
    """A UUID of version 4: 122 bits from the system's secure source."""
    return str(uuid.uuid4())


def recall(folder: Path) -> Remembered | None:
    """What is remembered in this cache folder; None when there is nothing, or nothing readable."""
    data = read_private(folder / FILE_NAME)
    if data is None:
        return None
    try:
        return msgspec.json.decode(data, type=Remembered)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        return None


def remember(folder: Path, what: Remembered) -> None:
    """Raises EngineFailure when it cannot be written."""
    try:
        make_private_folder(folder)
        write_private(folder / FILE_NAME, msgspec.json.format(msgspec.json.encode(what)) + b"\n")
    except OSError as error:
        raise EngineFailure(f"The port and token cannot be remembered: {error.strerror}.") from error


def stopped(folder: Path, pid: int) -> None:
    """The bridge of process `pid` ended: port and token stay for the next one."""
    known = recall(folder)
    if known is not None and known.pid == pid:
        remember(folder, msgspec.structs.replace(known, pid=0))


def all_remembered(base: Path) -> Iterator[tuple[Path, Remembered]]:
    """Every vault's bridge that is remembered in the folder of all caches, by name."""
    if not base.is_dir():
        return
    for folder in sorted(base.iterdir()):
        known = recall(folder)
        if known is not None:
            yield folder, known
