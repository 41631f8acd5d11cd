"""A note named as a link names it, with the part it points to: `[[Note#Heading|shown]]`, `Note#^block`.

Takes the text apart and knows no vault: whether there is such a note is the engine's to say. A name without
brackets may hold a `#` of its own, because a file made outside of Obsidian may; who has a vault at hand asks
for that one first.
"""

from __future__ import annotations

from msgspec import Struct

from vaultbridge.errors import InvalidArgument


class Named(Struct, frozen=True):
    """`heading` and `block` are empty when the whole note is meant; at most one of them is not."""

    name: str
    heading: str = ""
    block: str = ""

    @property
    def whole(self) -> bool:
        return not self.heading and not self.block


def is_link(text: str) -> bool:
    bare = text.strip()
    return bare.startswith(("[[", "![[")) and bare.endswith("]]")


def taken_apart(text: str) -> Named:
    bare = text.strip()
    if is_link(text):
        bare = bare.removeprefix("!")[2:-2].partition("|")[0]
    name, _, part = (piece.strip() for piece in bare.partition("#"))
    return Named(name, block=part[1:]) if part.startswith("^") else Named(name, heading=part)


def must_be_whole(text: str, argument: str = "name") -> None:
    """Raises InvalidArgument for a link to a part of a note, where only a whole one can be meant."""
    if is_link(text) and not taken_apart(text).whole:
        raise InvalidArgument(
            f"{argument} is a link to a part of a note, and this concerns the whole note.",
            argument=argument,
            hint="Name the note alone.",
        )
