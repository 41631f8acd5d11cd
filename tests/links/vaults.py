"""A vault in memory: paths and texts, with its references as the engine would give them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from vaultbridge.links.rename import Reference
from vaultbridge.links.resolve import FileTable, Resolved, resolve
from vaultbridge.note.canvas import parse_canvas
from vaultbridge.note.change import Change, apply_changes
from vaultbridge.note.model import Note
from vaultbridge.note.parse import parse


class MemoryVault:
    def __init__(self, texts: Mapping[str, str]) -> None:
        self.texts = dict(texts)

    @property
    def table(self) -> FileTable:
        return FileTable(self.texts)

    def note(self, path: str) -> Note:
        if path.endswith(".md"):
            return parse(self.texts[path])
        return parse_canvas(self.texts[path]) if path.endswith(".canvas") else Note()

    def references(self) -> list[Reference]:
        table = self.table
        return [
            Reference(path, link, _path(link.target, path, table))
            for path in self.texts
            for link in self.note(path).links
        ]

    @property
    def bases(self) -> dict[str, str]:
        return {path: text for path, text in self.texts.items() if path.endswith(".base")}

    def read(self, path: str) -> str:
        return self.texts[path]

    def after(
        self, edits: Mapping[str, Iterable[Change]], moves: Mapping[str, str] | None = None
    ) -> MemoryVault:
        moved = moves or {}
        return MemoryVault(
            {
                moved.get(path, path): apply_changes(text, edits.get(path, ()))
                for path, text in self.texts.items()
            }
        )


def _path(target: str, source: str, table: FileTable) -> str | None:
    found = resolve(target, source, table)
    return found.path if isinstance(found, Resolved) else None


def card(kind: str, name: str, **more: object) -> dict[str, object]:
    """A card of a canvas, as its JSON."""
    return {"id": name, "type": kind, "x": 0, "y": 0, "width": 9, "height": 9, **more}
