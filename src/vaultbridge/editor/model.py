"""The values that editors report, and `VaultView`, which is all that this package needs of a vault. No state,
no I/O.

Lines are counted from 1. Columns are UTF-16 units from 0, unlike in the other packages: both sides (editors
written in JavaScript, and Claude Code) count that way, and converting them to code points would need the text
of an unsaved buffer, which only the editor has.

Every answer of a `VaultView` is already limited to what assistants may see: a private note does not exist.
`vault_view.EngineView` implements it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Literal, Protocol

from msgspec import Struct

from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.write.journal_rows import Acceptance


class Point(Struct, frozen=True, order=True, gc=False):
    line: int = 1
    column: int = 0


class Selection(Struct, frozen=True, gc=False):
    """From `start` up to `end`, with the text in between as the editor has it. An empty one is a cursor."""

    start: Point = Point()
    end: Point = Point()
    text: str = ""

    @property
    def is_empty(self) -> bool:
        return self.start == self.end


TOP_OF_NOTE = Selection()


class Focus(Struct, frozen=True, gc=False):
    """The note that a person is in, what is selected there, and which source reported it."""

    path: VaultPath
    selection: Selection
    source: str


class OpenTab(Struct, frozen=True, gc=False):
    """One tab. `lines` is 0 when the editor did not say."""

    path: VaultPath
    dirty: bool = False
    pinned: bool = False
    preview: bool = False
    lines: int = 0


class Mention(Struct, frozen=True, gc=False):
    """A note that a person mentions to an assistant: whole, or from `first_line` to `last_line` inclusive."""

    path: VaultPath
    first_line: int | None = None
    last_line: int | None = None


Severity = Literal["error", "warning", "information", "hint"]


class Diagnostic(Struct, frozen=True, gc=False):
    """A problem in a note. `start` and `end` are offsets into its text, in code points."""

    message: str
    severity: Severity
    code: str
    start: int
    end: int


class NoteDiagnostics(Struct, frozen=True):
    """A note's findings, and the text that their offsets refer to: both come from one read, so they match."""

    path: VaultPath
    text: str
    findings: tuple[Diagnostic, ...]


class VaultView(Protocol):
    @property
    def name(self) -> str: ...

    @property
    def folder(self) -> Path:
        """The vault's real folder, symlinks resolved."""
        ...

    def find_problem(self) -> str:
        """Why the vault cannot be used or changed now, in a sentence; "" if it can. Looks at the disk."""
        ...

    def list_notices(self) -> list[str]:
        """What was lost of the vault's journal, until its owner has confirmed it."""
        ...

    def visible(self, path: VaultPath) -> bool:
        """Whether assistants may know that this note exists. Called often: must not read a file."""
        ...

    def make_vault_relative(self, text: str) -> str:
        """Make a path that a caller wrote, absolute or not, relative to the vault. Raises InvalidPath for an
        absolute path outside the vault."""
        ...

    def check_spelling(self, text: str) -> None:
        """Raises InvalidPath for a path that spells, to the letter, a file which is not part of the vault
        because another one beside it has the same name in another Unicode form."""
        ...

    def locate(self, path: VaultPath) -> Path:
        """The file on disk, as it is stored there (even for a note that does not exist yet)."""
        ...

    async def find(self, name: str) -> VaultPath:
        """The note with this name or path. Raises NoteNotFound, AmbiguousName, InvalidPath."""
        ...

    async def read_text(self, path: VaultPath, *, exact: bool = False) -> str:
        """The text of a file, with U+FFFD for what is not UTF-8, or with `exact` refused then: the reader may
        write it back. Raises NoteNotFound, PermissionDenied, InvalidPath, EngineFailure."""
        ...

    async def write_text(
        self,
        path: VaultPath,
        text: str,
        *,
        actor: str,
        force: bool = False,
        on_wait: Callable[[], object] = ...,
    ) -> VaultPath:
        """Create or replace a whole file, through the journal; returns its path as stored. A file that is not
        UTF-8 is replaced only with `force`. `on_wait` is called when the file has to wait for a person.
        Raises PermissionDenied, EditRefused, …, and ChangePending when nobody has decided on it yet."""
        ...

    async def snapshot(self, path: VaultPath) -> bytes | None:
        """The file's bytes as they are now; None when there is none. Raises PermissionDenied, …"""
        ...

    async def record_write(
        self,
        path: VaultPath,
        before: bytes | None,
        after: bytes,
        *,
        actor: str,
        label: str,
        acceptance: Acceptance,
    ) -> int:
        """Record in the history that `actor` wrote a file itself. Returns the change's number, or 0 if the
        file does not contain `after`."""
        ...

    async def identify_writer(
        self, path: VaultPath, before: bytes | None, now: bytes | None, *, since: float
    ) -> str:
        """Who changed the file from `before`, at the time `since`, to `now`. A change by another program is
        recorded."""
        ...

    async def list_files(self, pattern: str) -> Sequence[VaultPath]:
        """Visible files whose path matches a glob (`""`: all), sorted."""
        ...

    async def file_count(self) -> int: ...

    async def findings(self, path: VaultPath | None) -> Sequence[NoteDiagnostics]:
        """The problems of one note, or of the vault (only notes with findings, a limited number of them)."""
        ...
