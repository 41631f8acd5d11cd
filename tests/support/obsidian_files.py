"""The files in which Obsidian says which vaults it knows and which notes are open."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import msgspec


def register_in_obsidian(home: Path, *vaults: tuple[Path, int, bool]) -> dict[str, str]:
    """Vaults that the app knows: the folder, when it was last opened, and whether it is open. Gives the
    environment in which they are found."""
    entries: dict[str, Any] = {
        f"id{number}": {"path": str(folder), "ts": opened, **({"open": True} if is_open else {})}
        for number, (folder, opened, is_open) in enumerate(vaults)
    }
    config = home / ".config" / "obsidian"
    config.mkdir(parents=True)
    (config / "obsidian.json").write_text(json.dumps({"vaults": entries}))
    for folder, _, _ in vaults:
        folder.mkdir(parents=True, exist_ok=True)
    return {"HOME": str(home)}


def make_workspace(*paths: str) -> str:
    """The text of `workspace.json` with these notes open, the first one in front."""
    tabs = [
        {"id": f"t{n}", "type": "leaf", "state": {"type": "markdown", "state": {"file": path}}}
        for n, path in enumerate(paths)
    ]
    tree = {
        "main": {"id": "m", "type": "split", "children": [{"id": "g", "type": "tabs", "children": tabs}]},
        "active": "t0",
    }
    return msgspec.json.encode(tree).decode()
