"""Which parser reads which file."""

from __future__ import annotations

from vaultbridge.note.model import Note


def parse_file(path: str, text: str) -> Note:
    """What a file of text says; a file that is neither a note nor a canvas says nothing."""
    kind = path.rpartition(".")[2].lower()
    if kind == "md":
        from vaultbridge.note.parse import parse

        return parse(text)
    if kind == "canvas":
        from vaultbridge.note.canvas import parse_canvas

        return parse_canvas(text)
    return Note()
