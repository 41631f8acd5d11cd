"""Records what a program asks the disk about a folder, call by call, so that two runs can be compared.

Python reports opened and listed files to audit hooks, but not `stat` and its kin, so those are wrapped. What
SQLite does in its own files is not seen.
"""

from __future__ import annotations

import contextlib
import os
import re
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

_WRAPPED = ("stat", "lstat", "access", "readlink", "statvfs", "getxattr", "listxattr")
_AUDITED = ("open", "os.")
_SWEEPS = (
    str(Path("vaultbridge", "index")),
    str(Path("vault", "walk.py")),
    str(Path("mcp", "vault", "changes.py")),
)
_SWEEPING = ("find_links_to_hidden",)
_RANDOM = re.compile(r"\.vaultbridge-[^/]*\.tmp|/proc/self/fd/\d+")

_traces: list[DiskTrace] = []


class DiskTrace:
    """The calls that named something in `folder`, in order. What compares the whole vault with the index,
    or with what a client was told of it, is left out: it meets every file, whichever was named."""

    def __init__(self, folder: Path) -> None:
        self._prefix = str(folder.resolve())
        self.calls: list[str] = []

    def add(self, call: str, target: Any, *, within: int | None = None) -> None:
        if isinstance(target, int):
            return
        try:
            text = os.fsdecode(target)
        except TypeError:
            return
        if within is not None and not text.startswith(os.sep):
            with contextlib.suppress(OSError):
                text = f"{_readlink(f'/proc/self/fd/{within}')}{os.sep}{text}"
        if text.startswith(self._prefix) and not _is_sweeping():
            self.calls.append(f"{call} {_RANDOM.sub('~', text[len(self._prefix) :])}")


_readlink = os.readlink


def _is_sweeping() -> bool:
    frame = sys._getframe(2)
    while frame is not None:
        code = frame.f_code
        if code.co_qualname in _SWEEPING or any(part in code.co_filename for part in _SWEEPS):
            return True
        frame = frame.f_back  # type: ignore[assignment]
    return False


def _audit(event: str, arguments: tuple[Any, ...]) -> None:
    if _traces and event.startswith(_AUDITED) and arguments:
        for trace in _traces:
            trace.add(event, arguments[0])


_hooked: list[Callable[..., None]] = []


@contextlib.contextmanager
def trace_disk(monkeypatch: pytest.MonkeyPatch, folder: Path) -> Iterator[DiskTrace]:
    """Records the calls of all threads inside the block."""
    if not _hooked:
        # A hook cannot be removed; it does nothing while no trace is recorded.
        sys.addaudithook(_audit)
        _hooked.append(_audit)
    trace = DiskTrace(folder)
    with monkeypatch.context() as patch:
        for name in _WRAPPED:
            if hasattr(os, name):
                patch.setattr(os, name, _wrap(name, getattr(os, name), trace))
        _traces.append(trace)
        try:
            yield trace
        finally:
            _traces.remove(trace)


def _wrap(name: str, call: Callable[..., Any], trace: DiskTrace) -> Callable[..., Any]:
    def record(target: Any, *arguments: Any, **options: Any) -> Any:
        trace.add(name, target, within=options.get("dir_fd"))
        return call(target, *arguments, **options)

    return record
