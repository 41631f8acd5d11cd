"""Arguments that several tools share, each described once and in few words."""

from __future__ import annotations

from typing import Annotated, Any, Final

from msgspec import Meta, Struct

LIMIT: Final = 500
"""The most rows of one answer that a caller may ask for; the size in characters is bounded besides."""


class Arguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The base of every tool's arguments: a word that a tool does not know is refused, not ignored."""


NoteName = Annotated[str, Meta(description="Note name, as in [[links]], or path")]
FileName = Annotated[str, Meta(description="Note, file or folder/")]
Heading = Annotated[str, Meta(description="Heading, or A#B")]
Block = Annotated[str, Meta(description="Block id, without ^")]
Expected = Annotated[str, Meta(description="Hash you read, to refuse if it changed")]
DryRun = Annotated[bool, Meta(description="Diff only")]
Limit = Annotated[int, Meta(ge=1, le=LIMIT)]
Offset = Annotated[int, Meta(ge=0)]
Start = Annotated[int, Meta(ge=0)]
MaxChars = Annotated[int, Meta(ge=1, le=90_000)]
AnyValue = Annotated[Any, Meta(description="Any JSON")]
