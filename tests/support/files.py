"""Writes the files of a vault. Every test that needs a vault of its own starts here.

The fixture `vault` in `tests/conftest.py` calls it with the constant `VAULT` of the test's module.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path


def write_vault(folder: Path, files: Mapping[str, str | bytes]) -> Path:
    """Writes the files by their paths, and returns the folder. A path that ends with a slash is a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    for path, content in files.items():
        place = folder / path
        if path.endswith("/"):
            place.mkdir(parents=True, exist_ok=True)
            continue
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder
