"""What the editor side needs of a vault, and nothing more. The engine fills it; tests may fill it otherwise.

Every answer is already limited to what assistants may see: a private note does not exist here.

What an editor can tell, as values. No state, no I/O.

Lines are counted from 1. Columns are UTF-16 units from 0, unlike the rest of the package: both ends of
this state (editors written in JavaScript, and Claude Code) count so, and turning them into code points
would need the text of an unsaved buffer, which only the editor has.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

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


TOP_OF_NOTE = Selection()


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


Severity = Literal["error", "warning", "information", "hint"]


class Finding(Struct, frozen=True, gc=False):
    """Something wrong in a note. `start` and `end` are offsets into its text, in code points."""

    message: str
    severity: Severity
    code: str
    start: int
    end: int


class NoteFindings(Struct, frozen=True):
    """A note's findings and the text they are counted in: both from one reading, so that they fit."""

    path: VaultPath
    text: str
    findings: tuple[Finding, ...]


class VaultView(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def folder(self) -> Path:
        """The vault's real folder, symlinks resolved."""
        ...

    def visible(self, path: VaultPath) -> bool:
        """Whether assistants may know that this note exists. Called often: must not read a file."""
        ...

    def make_vault_relative(self, text: str) -> str:
        """A path as a caller wrote it, absolute or not, from the vault's top. Raises InvalidPath for one of
        the machine that lies outside."""
        ...

    def locate(self, path: VaultPath) -> Path:
        """The file on disk, as it is stored there (also for a note that does not exist yet)."""
        ...

    async def find(self, name: str) -> VaultPath:
        """The note a person means by a name or path. Raises NoteNotFound, AmbiguousName, InvalidPath."""
        ...

    async def read_text(self, path: VaultPath) -> str:
        """Raises NoteNotFound, PermissionDenied, InvalidPath."""
        ...

    async def write_text(self, path: VaultPath, text: str, *, actor: str) -> VaultPath:
        """Make or replace a whole file, through the journal; gives its path as it is stored. Raises
        PermissionDenied, EditRefused, …"""
        ...

    async def list_files(self, pattern: str) -> Sequence[VaultPath]:
        """Visible files whose path fits a glob (`""`: all), sorted."""
        ...

    async def file_count(self) -> int: ...

    async def findings(self, path: VaultPath | None) -> Sequence[NoteFindings]:
        """What is wrong in one note, or in the vault (only notes with findings, a bounded number)."""
        ...
