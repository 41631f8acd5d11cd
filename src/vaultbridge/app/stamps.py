"""Telling that a file which a person edits is another than before, without reading it."""

from __future__ import annotations

from pathlib import Path

Stamp = tuple[int, int, int]


def stamp_of(file: Path) -> Stamp | None:
    """None when the file is not there, or cannot be looked at."""
    try:
        status = file.stat()
    except OSError:
        return None
    return status.st_mtime_ns, status.st_size, status.st_ino
