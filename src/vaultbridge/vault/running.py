"""Whether Obsidian runs on this machine now.

Asked of two things that do not outlive the app: its single-instance lock with a live process, and the
socket of its command line. The list of vaults cannot tell: it says "open" after quitting too.
"""

from __future__ import annotations

import os
import socket
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Final

from vaultbridge.vault.known import app_folders

CONNECT_SECONDS: Final = 0.2
"""How long a local socket may take to accept: a live app answers at once."""


def obsidian_runs(environ: Mapping[str, str] = os.environ, *, platform: str = sys.platform) -> bool:
    """Never raises; what cannot be asked counts as no."""
    folders = app_folders(environ, platform=platform)
    if platform == "win32":
        # There the lock is a file that the system deletes when its holder ends.
        return any((folder / "lockfile").exists() for folder in folders)
    if any(_lock_is_live(folder / "SingletonLock") for folder in folders):
        return True
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    return bool(runtime) and _accepts(Path(runtime) / ".obsidian-cli.sock")


def _lock_is_live(lock: Path) -> bool:
    """The lock is a link to nowhere whose text is `host-pid`."""
    try:
        host, _, number = str(lock.readlink()).rpartition("-")
    except OSError:
        return False
    if not number.isascii() or not number.isdigit() or host != socket.gethostname():
        return False
    return _is_alive(int(number))


def _is_alive(process: int) -> bool:
    if process <= 0 or process >= 2**31:
        return False
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def _accepts(place: Path) -> bool:
    family = getattr(socket, "AF_UNIX", None)
    if family is None:
        return False
    with socket.socket(family, socket.SOCK_STREAM) as probe:
        probe.settimeout(CONNECT_SECONDS)
        try:
            probe.connect(str(place))
        except OSError:
            return False
    return True
