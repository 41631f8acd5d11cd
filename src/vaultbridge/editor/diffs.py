"""A diff that an assistant shows to people, its possible outcomes, and what shows, records and stores it.

`editor.pending_diffs` manages the diffs that wait for a decision; this module only defines values.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Final, Literal, Protocol

from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.markdown.edits.merge import merge_texts
from vaultbridge.review.model import ELSEWHERE_KEPT
from vaultbridge.vault.paths import VaultPath

CloseReason = Literal["accepted", "rejected", "withdrawn", "accepted-in-terminal", "note-changed"]
"""The outcome of a diff. `accepted` and `rejected`: by a person in a front end. `withdrawn`: by the client,
which it also does when a person rejects the diff in the terminal. `note-changed`: accepted in a front end but
not written, because the note had changed since the client read it."""

OUTCOMES: Final[dict[CloseReason, str]] = {
    "accepted": "accepted",
    "rejected": "rejected",
    "withdrawn": "withdrawn",
    "accepted-in-terminal": "accepted in the terminal",
    "note-changed": "accepted but not written: the note has changed, and the assistant has to read it again",
}
"""The outcomes in words for people."""

OWN_TAB: Final = "✻ [Claude Code] "
"""How Claude Code's own tabs begin. The file's name and a number follow, which say nothing to a person."""


def label_tab(tab_name: str) -> str:
    """Return what a person reads in place of a tab's name."""
    return "diff" if tab_name.startswith(OWN_TAB) else tab_name


class Diff(Struct, frozen=True):
    """`old_text` is the note as it is (empty for a new one), `new_text` what the assistant proposes.
    `software` and `pid` identify the program that asks. `conflict` says why the change no longer fits the
    note. `elsewhere` are the times and authors of changes since. `change` is the journal's number of what the
    client wrote. `by` says where a person decided, and `comment` is their comment."""

    id: str
    client: str
    tab_name: str
    path: VaultPath
    old_text: str
    new_text: str
    software: str = ""
    pid: int = 0
    at: float = 0.0
    conflict: str = ""
    rebased: int = 0
    elsewhere: tuple[tuple[float, str], ...] = ()
    change: int = 0
    decided_at: float = 0.0
    by: str = ""
    comment: str = ""
    edited: bool = False

    @property
    def is_new(self) -> bool:
        return not self.old_text


class Accepted(Struct, frozen=True):
    """`text` is the whole final text, which the person may have changed before accepting."""

    text: str


class Rejected(Struct, frozen=True):
    pass


Decision = Accepted | Rejected


class FrontEnd(Struct):
    """Something that can show diffs. Each function is called with a diff: when it opens, when it closes, when
    it was adapted to a changed note, and when its client wrote it after it was closed."""

    opened: Callable[[Diff], None]
    closed: Callable[[Diff, CloseReason], None]
    changed: Callable[[Diff], None] = lambda _: None
    recorded: Callable[[Diff, CloseReason], None] = lambda *_: None


class NoteJournal(Protocol):
    """The history of the note that a diff is about."""

    async def snapshot(self) -> bytes | None:
        """The file as it is now; None when there is none."""
        ...

    async def record(self, before: bytes | None, after: bytes) -> int:
        """Record that the client wrote the file. Returns the change's number, or 0 if the file does not
        contain `after`."""
        ...

    async def identify_writer(self, before: bytes | None, now: bytes | None) -> str:
        """Who changed the file from `before` to `now`; a change by another program is recorded."""
        ...


class DiffArchive(Protocol):
    """Stores the outcome of diffs (`editor.reviews`), in one list with every other proposal."""

    async def open_diff(self, path: VaultPath, *, is_new: bool, actor: str, pid: int, label: str) -> int:
        """The number of a diff that is shown now. Raises VaultbridgeError when it cannot be stored."""
        ...

    async def close_diff(self, diff: Diff, reason: CloseReason) -> None:
        """Store the outcome. Called again if the client writes the note later."""
        ...


def rebase_diff(original: Diff, diff: Diff, now: str, *, at: float, by: str) -> Diff:
    """The original change, adapted to the note as it is now after a change by `by`."""
    merged = merge_texts(original.old_text, original.new_text, now)
    conflict = ""
    if merged is None:
        conflict = f"{diff.path} has changed in the same lines since this was proposed."
    return replace(
        diff,
        old_text=now,
        new_text=original.new_text if merged is None else merged,
        conflict=conflict,
        rebased=diff.rebased + 1,
        elsewhere=(*diff.elsewhere, (at, by))[-ELSEWHERE_KEPT:],
    )
