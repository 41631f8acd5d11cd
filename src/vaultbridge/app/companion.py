"""The Obsidian plugin that comes with us, as the files that are installed.

Obsidian loads one script, so it is put together from its parts here. What differs between two texts is the
same for the page and for the plugin; the page has it as a module.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Final

import vaultbridge

PARTS: Final = (
    "head",
    "differences",
    "places",
    "connection",
    "reports",
    "errands",
    "proposals",
    "review",
    "status",
    "plugin",
)
"""In the order in which they need each other."""

_EXPORTS: Final = re.compile(r"^export \{[^}]*\};\n", re.MULTILINE)


def plugin_files() -> dict[str, bytes]:
    """By name, in the order of writing: the app takes a folder for a plugin once it has a manifest."""
    folder = Path(vaultbridge.__file__).parent
    shared = _EXPORTS.sub("", (folder / "web" / "static" / "diff.js").read_text("utf-8"))
    head, *rest = ((folder / "companion" / f"{part}.js").read_text("utf-8") for part in PARTS)
    return {
        "main.js": "\n".join([head, shared, *rest]).encode(),
        "styles.css": (folder / "companion" / "styles.css").read_bytes(),
        "manifest.json": (folder / "companion" / "manifest.json").read_bytes(),
    }
