"""What an editor can tell, as values. No state, no I/O.

Lines are counted from 1. Columns are UTF-16 units from 0, unlike the rest of the package: both ends of
this state (editors written in JavaScript, and Claude Code) count so, and turning them into code points
would need the text of an unsaved buffer, which only the editor has.
"""

from __future__ import annotations

from msgspec import Struct

from vaultbridge.vault.paths import VaultPath


class Point(Struct, frozen=True, order=True, gc=False):
    line: int = 1
    column: int = 0


class Selection(Struct, frozen=True, gc=False):
    """From `start` up to `end`, with the text between as the editor has it. Empty is a cursor."""

    start: Point = Point()
    end: Point = Point()
    text: str = ""

    @property
    def is_empty(self) -> bool:
        return self.start == self.end


CURSOR_AT_TOP = Selection()


class Focus(Struct, frozen=True, gc=False):
    """The note a person is in, what is selected there, and who said so."""

    path: VaultPath
    selection: Selection
    source: str


class OpenFile(Struct, frozen=True, gc=False):
    """One tab. `lines` is 0 when the editor did not say."""

    path: VaultPath
    dirty: bool = False
    pinned: bool = False
    preview: bool = False
    lines: int = 0


class Mention(Struct, frozen=True, gc=False):
    """A note a person points an assistant to: whole, or from `first_line` to `last_line` inclusive."""

    path: VaultPath
    first_line: int | None = None
    last_line: int | None = None
