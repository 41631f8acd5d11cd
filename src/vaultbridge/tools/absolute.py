"""Absolute paths into the vault, taken as the vault's own paths.

An assistant that also works on the files of a vault names a note as it names a file. To the tools a leading
slash is the top of the vault: without this, a note would be looked for, or made, in a folder of the vault
that is called like the machine's. Paths are compared as they are written; no link is followed.
"""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path
from typing import Any, Final

PLACES: Final = frozenset({"name", "names", "path", "to", "folder", "note", "file", "this"})
"""The arguments that name something in the vault."""


def names_absolute(arguments: dict[str, Any]) -> bool:
    """Whether `in_vault` may find something: only then the vault has to be known."""
    return any(
        # Every call pays for this, so it is quick rather than exact; the second is a drive of Windows.
        text[:1] == "/" or text[1:2] == ":"
        for one in (arguments, *_operations(arguments))
        for key in PLACES.intersection(one)
        for text in _texts(one[key])
    )


def in_vault(arguments: dict[str, Any], folder: Path) -> dict[str, Any]:
    """The same arguments, with each path below `folder` as one of the vault; others stay as they came."""
    root = _written(str(folder)).rstrip("/") + "/"
    own = {key: _shortened(value, root) if key in PLACES else value for key, value in arguments.items()}
    if operations := _operations(arguments):
        short = iter([in_vault(one, folder) for one in operations])
        own["operations"] = [next(short) if isinstance(one, dict) else one for one in arguments["operations"]]
    return own


def _operations(arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """The edits within a batch."""
    listed = arguments.get("operations")
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _texts(value: Any) -> list[str]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]


def _shortened(value: Any, root: str) -> Any:
    if isinstance(value, list):
        return [_shortened(one, root) for one in value]
    if not isinstance(value, str):
        return value
    text = _written(value)
    # The vault's folder itself, with or without its slash, is the top.
    return text[len(root) :] if (text + "/").startswith(root) else value


def _written(path: str) -> str:
    """One spelling of a path: systems and programs differ in how they compose accents."""
    text = unicodedata.normalize("NFC", path)
    return text.replace("\\", "/") if os.name == "nt" else text
