"""A diff of Claude Code as a proposal: its versions, its client's side, and how its outcome is recognized.

Its texts have LF line ends and no bytes of their own, as the client reads and sends them.
"""

from __future__ import annotations

import time
from collections.abc import Awaitable, Callable
from typing import Final, Protocol

from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.engine.outcome import FileChange
from vaultbridge.engine.plan import PlannedFile
from vaultbridge.markdown.edits.merge import merge_texts
from vaultbridge.review.model import (
    ELSEWHERE_KEPT,
    VERSIONS_KEPT,
    Elsewhere,
    Proposal,
    ProposalBody,
    ProposalStatus,
    ProposalVersion,
    make_rows,
)
from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.write.journal_rows import Acceptance

NAME_CHARS: Final = 200
"""The most characters that are kept of a client's names for itself and its tabs."""

OWN_TAB: Final = "✻ [Claude Code] "
"""How Claude Code's own tabs begin. The file's name and a number follow, which say nothing to a person."""

LINE_ENDS_NOTICE: Final = "The new text has Windows line endings (CR LF)."
"""The texts are shown with LF, so a person would not see this."""

ReadPendingNote = Callable[[], Awaitable[str]]


class NoteJournal(Protocol):
    """The history of the note that a diff is about."""

    async def snapshot(self) -> bytes | None:
        """The file as it is now; None when there is none."""
        ...

    async def record(self, before: bytes | None, after: bytes, acceptance: Acceptance) -> int:
        """Record that the client wrote the file, and which diff that was. Returns the change's number, or 0
        if the file does not contain `after`."""
        ...

    async def identify_writer(self, before: bytes | None, now: bytes | None) -> str:
        """Who changed the file from `before` to `now`; a change by another program is recorded."""
        ...


class Accepted(Struct, frozen=True):
    """`text` is the whole final text, which the person may have changed before accepting."""

    text: str


class Rejected(Struct, frozen=True):
    pass


Decision = Accepted | Rejected


class OutcomeCheck(Struct, frozen=True):
    """How to tell from the note that the outcome is `found` and not `otherwise`: the note is `text`, or it is
    no longer `before`. A client may merge an accepted change into a note that has changed, which is then
    neither of the two."""

    text: str
    found: ProposalStatus
    otherwise: ProposalStatus
    before: str | None = None

    def matches(self, note: str) -> bool:
        # The client leaves out the last line end of a new file.
        is_written = note.rstrip("\n") == self.text.replace("\r\n", "\n").rstrip("\n")
        return is_written or (self.before is not None and note != self.before)


def make_version(path: VaultPath, old_text: str, new_text: str, conflict: str = "") -> ProposalVersion:
    """`old_text` is the note as it is, empty for a new one."""
    change: FileChange = "changed" if old_text else "created"
    before = old_text.encode("utf-8", "surrogatepass") if old_text else None
    file = PlannedFile(path, change, before=before, after=new_text.encode("utf-8", "surrogatepass"))
    notices = (LINE_ENDS_NOTICE,) if "\r" in new_text else ()
    return ProposalVersion(
        (file,), notices=notices, conflict=conflict, conflicts={path: conflict} if conflict else {}
    )


def read_texts(version: ProposalVersion) -> tuple[str, str]:
    """The old and the new text, exactly: those that are shown have lost their line ends."""
    (file,) = version.files
    old, new = ((data or b"").decode("utf-8", "surrogatepass") for data in (file.before, file.after))
    return old, new


def make_diff(
    path: VaultPath, old_text: str, new_text: str, *, actor: str, pid: int, tab_name: str
) -> Proposal:
    """A new diff, without its number."""
    version = make_version(path, old_text, new_text)
    return Proposal(
        number=0,
        status="waiting",
        at=time.time(),
        expires=0.0,
        actor=actor[:NAME_CHARS],
        token="",
        pid=pid,
        tool="openDiff",
        label="diff" if tab_name.startswith(OWN_TAB) else tab_name[:NAME_CHARS],
        why="diff",
        rows=make_rows(version.files),
        body=ProposalBody(b"", (), version, version),
    )


def rebase_diff(body: ProposalBody, now: str, other: Elsewhere) -> ProposalBody:
    """The change that the client asked for, adapted to the note as it is now."""
    merged = merge_texts(*read_texts(body.original), now)
    conflict = ""
    if merged is None:
        conflict = f"{other.path} has changed in the same lines since this was proposed."
        _, merged = read_texts(body.original)
    return replace(
        body,
        version=make_version(VaultPath(other.path), now, merged, conflict),
        older=(body.version, *body.older)[:VERSIONS_KEPT],
        rebased=body.rebased + 1,
        elsewhere=(*body.elsewhere, other)[-ELSEWHERE_KEPT:],
    )
