"""Bridges that `vaultbridge page` starts in the background: they outlive the command, so tests end them."""

from __future__ import annotations

import os
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from support.waiting import wait_until
from vaultbridge.protocols.editor.endpoint_file import list_running


def list_bridges(cache: Path) -> list[int]:
    """The process ids of the bridges with this folder of caches."""
    return sorted({endpoint.pid for endpoint in list_running(cache)})


def is_running(pid: int) -> bool:
    """Whether a process runs: one that has ended may wait to be reaped by a parent that does not."""
    try:
        state = Path(f"/proc/{pid}/stat").read_text("latin-1").rpartition(")")[2].split()[0]
    except OSError:
        return False
    return state != "Z"


@contextmanager
def ending_bridges(cache: Path) -> Iterator[None]:
    try:
        yield
    finally:
        for pid in list_bridges(cache):
            if is_running(pid):
                os.kill(pid, signal.SIGKILL)
                wait_until(lambda pid=pid: not is_running(pid))  # type: ignore[misc]
