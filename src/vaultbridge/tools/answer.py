"""What a tool gives back: text, pictures, files, and for tools that change something the same as data.

A dialect turns these into its own wire form. A payload stands here once: `data` accompanies the text only
where the text is that very JSON, because one version of a protocol shows the text and another the data.
"""

from __future__ import annotations

from typing import Any, TypeAlias

import msgspec
from msgspec import Struct


class Text(Struct, frozen=True):
    text: str


class Image(Struct, frozen=True):
    """A picture to look at. `path` is where it lies in its vault."""

    data: bytes
    mime_type: str
    vault: str
    path: str


class Blob(Struct, frozen=True):
    """Any other file, as bytes. A dialect gives it the address under which it also offers the file."""

    data: bytes
    mime_type: str
    vault: str
    path: str


Content: TypeAlias = Text | Image | Blob


class Answer(Struct, frozen=True):
    """`data` is the structured form, None for tools that answer in plain text. `changed`: the vault is not
    what it was before."""

    content: tuple[Content, ...]
    data: dict[str, Any] | None = None
    changed: bool = False

    @property
    def text(self) -> str:
        """All texts, for dialects and people that have no use for the rest."""
        return "\n".join(part.text for part in self.content if isinstance(part, Text))


def read(text: str) -> Answer:
    """The answer of a tool that only looked."""
    return Answer((Text(text),))


def done(data: dict[str, Any], *, changed: bool = True) -> Answer:
    """The answer of a tool that changed something: seed 004's envelope, as text and as data."""
    envelope = {"success": True, "data": data}
    return Answer((Text(msgspec.json.encode(envelope).decode()),), envelope, changed)
