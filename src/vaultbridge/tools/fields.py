"""Arguments that several tools share, each described once and in few words."""

from __future__ import annotations

from typing import Annotated, Any, ClassVar, Final

from msgspec import Meta, Struct

LIMIT: Final = 500
"""The most rows of one answer that a caller may ask for; the size in characters is bounded besides."""


class Arguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The base of every tool's arguments: a word that a tool does not know is refused, not ignored.

    `UNLISTED` are arguments that a call may give and `docs/tools.md` explains, but that the schema leaves
    out: nearly no call needs them, and every conversation would pay for them. `ITEMS` are the Structs that
    the objects in a list follow, by the list's name: those are converted one by one, so that an error names
    the item."""

    UNLISTED: ClassVar[frozenset[str]] = frozenset()
    ITEMS: ClassVar[dict[str, type[Struct]]] = {}


NoteName = Annotated[str, Meta(description="Note name or path")]
FileName = Annotated[str, Meta(description="Note, file or folder/")]
Heading = Annotated[str, Meta(description="Heading, or A#B")]
Create = Annotated[bool, Meta(description="Make a missing heading")]
Block = Annotated[str, Meta(description="Block id")]
Expected = Annotated[str, Meta(description="Refuse if hash differs")]
DryRun = Annotated[bool, Meta(description="Diff only")]
Limit = Annotated[int, Meta(ge=1, le=LIMIT, description="Most rows")]
Offset = Annotated[int, Meta(ge=0, description="Rows to skip")]
Start = Annotated[int, Meta(ge=0, description="Go on from here")]
MaxChars = Annotated[int, Meta(ge=1, le=90_000, description="Most characters")]
Values = Annotated[
    dict[str, Any],
    Meta(
        description="Properties by name",
        # One that every vault knows: Gemini refuses an object of which no member is named.
        extra_json_schema={
            "properties": {
                "tags": {"type": "array", "items": {"type": "string"}, "description": "Tags"},
            }
        },
    ),
]
