"""Draws calls that name hidden files, for two vaults of which only one has these files.

The hidden files link to nothing and contain no base: a move has to rewrite the links in hidden notes too, and
that work cannot be the same with and without them.
"""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

from faults.twin_draw import Draw
from support.files import write_vault

FIXED_TIME = 1_600_000_000
DENY = ("Private/", "A/", "*.secret.md", "Pub/photo 1.png")
LINKS = {
    "Pub/leads.md": "../Private/diary.md",
    "Pub/chain.md": "../A/back.md",
    "Pub/deep": "../Private/Sub",
    "Pub/photo.png": "../Private/photo.png",
}
"""Links in visible folders to what is hidden. The target of the second one is a link out again."""

VISIBLE = {
    "Plan.md": "# Plan\n\n[[Pub/Notes]] ash\n\n- [ ] water\n",
    "Pub/Notes.md": "---\nkind: 1\n---\n# Notes\n\nash ^b1\n",
    "Pub/Sub/Deep.md": "ash [[Plan]]\n",
    "Pub/photo 0.png": b"\x89PNG\r\n\x1a\n",
    "Pub/Board.canvas": '{"nodes": [], "edges": []}',
    "All.base": "views:\n  - type: table\n    name: All\n",
    "Templates/T.md": "{{title}}\n",
    "Prompts/Ask.md": "Tell about {{topic}}.\n",
    "Mixed/Open.md": "open\n",
    ".obsidian/templates.json": '{"folder": "Templates"}',
    ".obsidian/daily-notes.json": '{"folder": "Private/Daily", "template": "Private/diary"}',
}
HIDDEN = {
    "Private/diary.md": "zebra\n",
    "Private/Sub/deep.md": "# zebra\n",
    "Private/photo.png": b"\x89PNG\r\n\x1a\n",
    "Private/Board.canvas": '{"nodes": [], "edges": []}',
    "Private/Daily/2024-01-01.md": "zebra\n",
    "Private/übung.md": "zebra\n",
    "A/plan.md": "zebra\n",
    "Mixed/one.secret.md": "zebra\n",
    "Pub/photo 1.png": b"\x89PNG\r\n\x1a\n",
}
HIDDEN_LINKS = {"A/back.md": "../Plan.md", "Private/loop.md": "loop.md"}


def write_twin(folder: Path, *, full: bool) -> Path:
    """Writes one of the two vaults. The other one has the same folders, without the hidden files."""
    write_vault(folder, VISIBLE)
    for path, content in HIDDEN.items():
        write_vault(folder, {path: content} if full else {f"{path.rpartition('/')[0]}/": ""})
    for path, target in {**LINKS, **(HIDDEN_LINKS if full else {})}.items():
        (folder / path).symlink_to(target)
    for place in (*folder.rglob("*"), folder):
        # A file that was changed just now is looked at again, sooner or later.
        os.utime(place, (FIXED_TIME, FIXED_TIME), follow_symlinks=False)
    return folder


class HiddenDraw(Draw):
    """Nearly all names are those of hidden files, of the folders around them, or of links to them."""

    def __init__(self, seed: int) -> None:
        super().__init__(seed)
        paths = [*HIDDEN, *HIDDEN_LINKS, *LINKS]
        folders = {path.rpartition("/")[0] for path in paths}
        self.hidden = [*paths, *(f"{folder}/" for folder in folders), *folders]

    def note_name(self) -> str:
        if self.chance(0.2):
            return str(
                self.pick("Plan", "Pub/Notes.md", "Pub/Sub/Deep", "All.base", "Pub/photo 0.png", "Pub")
            )
        name = str(self.rng.choice(self.hidden))
        changed = self.pick(
            name, name, name.removesuffix(".md"), name.rpartition("/")[2] or name, f"/{name}", f"./{name}",
            name.upper(), unicodedata.normalize("NFD", name), f"{name}/new.md", f"[[{name}]]", name[:-1],
            f"Pub/../{name}",
        )  # fmt: skip
        return str(changed)

    def words_for(self, name: str) -> str:
        if name in ("folder", "path", "to", "template"):
            return self.note_name()
        return super().words_for(name)
