"""What the editor side needs of a vault, and nothing more. The engine fills it; tests may fill it otherwise.

Every answer is already limited to what assistants may see: a private note does not exist here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

from vaultbridge.vault.paths import VaultPath

Severity = Literal["error", "warning", "information", "hint"]


class Finding(Struct, frozen=True, gc=False):
    """Something wrong in a note. `start` and `end` are offsets into its text, in code points."""

    message: str
    severity: Severity
    code: str
    start: int
    end: int


class FindingsOf(Struct, frozen=True):
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

    def from_top(self, text: str) -> str:
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

    async def findings(self, path: VaultPath | None) -> Sequence[FindingsOf]:
        """What is wrong in one note, or in the vault (only notes with findings, a bounded number)."""
        ...
