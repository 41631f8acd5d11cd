"""A proposal as a value: who proposed which change, what it looks like now, and its outcome. No I/O.

A proposal has versions. The first is what the assistant asked for. When one of its notes changes, the next
version is the same change, applied to the note as it is then. A version's `hash` identifies what a person
saw. Its `shape` identifies the changed lines alone: two versions with the same shape differ only in lines
that the change does not touch.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from hashlib import blake2b
from typing import Final, Literal

import msgspec
from msgspec import Struct

from vaultbridge.engine.outcome import FileChange
from vaultbridge.engine.plan import Plan, PlannedFile
from vaultbridge.markdown.edits.merge import Hunk, find_hunks, list_changed_lines
from vaultbridge.markdown.text import decode, is_text, replace_surrogates
from vaultbridge.review.policy import Reason, ReviewRules
from vaultbridge.vault.paths import Visible
from vaultbridge.vault.read import content_hash

ProposalStatus = Literal[
    "waiting", "deciding", "accepted", "edited", "rejected", "expired", "withdrawn", "accepted-in-terminal",
    "note-changed",
]  # fmt: skip
"""`deciding`: somebody has decided, and the change is being written. `edited`: accepted with changes by the
person. Only Claude Code's diffs have the last three: `withdrawn` by the client, which it also does when a
person rejects the diff in the terminal; `note-changed`: accepted at a front end but not written, because the
note had changed since the client read it."""

NEXT: Final[Mapping[ProposalStatus, tuple[ProposalStatus, ...]]] = {
    "waiting": ("deciding", "expired"),
    "deciding": ("waiting", "accepted", "edited", "rejected"),
}
"""The life of a tool's proposal: what may become of each status. docs/review.md says when, and by whom. What
is not here is never stored: decided once, it stays so."""

NEXT_OF_DIFF: Final[Mapping[ProposalStatus, tuple[ProposalStatus, ...]]] = {
    "waiting": ("accepted", "edited", "rejected", "withdrawn", "accepted-in-terminal", "note-changed"),
    "withdrawn": ("accepted", "edited", "rejected", "accepted-in-terminal", "note-changed"),
    "accepted": ("accepted",),
    "edited": ("edited",),
    "accepted-in-terminal": ("accepted-in-terminal",),
}
"""The life of a diff. It has no `deciding`, because only the process that shows it can decide on it. One that
was accepted is stored again with the number of the change when its client has written it. One that is
withdrawn becomes what its process says: another container's may have taken that process for dead."""

ProposalEvent = Literal["opened", "changed", "closed"]

VERSIONS_KEPT: Final = 4
"""How many older versions a proposal keeps: a person may decide on what was shown a moment ago."""

ELSEWHERE_KEPT: Final = 20
"""The most changes by others that a proposal or a diff lists; the newest are kept."""


class ScopePart(Struct, frozen=True):
    """One of the scopes under which the change was requested; all of them apply."""

    allow: tuple[str, ...]
    deny: tuple[str, ...]
    max_note_bytes: int


class ProposalVersion(Struct, frozen=True):
    """`conflict` says, for a person, why it cannot be written; `conflicts` says it for each path."""

    files: tuple[PlannedFile, ...]
    more: int = 0
    notices: tuple[str, ...] = ()
    conflict: str = ""
    conflicts: dict[str, str] = {}

    @property
    def hash(self) -> str:
        digest = blake2b(digest_size=12)
        for file in self.files:
            digest.update(msgspec.msgpack.encode((file.key, hash_of(file.before))))
        digest.update(msgspec.msgpack.encode((self.more, self.conflict)))
        return digest.hexdigest()

    @property
    def shape(self) -> str:
        digest = blake2b(digest_size=12)
        for file in self.files:
            lines = list_changed_lines(*texts_of(file)) if has_text(file) else (hash_of(file.after),)
            digest.update(msgspec.msgpack.encode((file.path, file.was, file.change, lines)))
        digest.update(msgspec.msgpack.encode(self.more))
        return digest.hexdigest()

    def file(self, path: str) -> PlannedFile | None:
        return next((file for file in self.files if file.path == path), None)


class Elsewhere(Struct, frozen=True):
    """A change to a note of the proposal since it was made. `by` is the journal's actor."""

    path: str
    at: float
    by: str


class ProposalBody(Struct, frozen=True):
    """What a decision needs. It is dropped once the proposal is decided: then the journal has the content."""

    operations: bytes
    """The operations, encoded by `rebase.encode_operations`."""
    scope: tuple[ScopePart, ...]
    original: ProposalVersion
    """What was asked for; every later version is made from it."""
    version: ProposalVersion
    older: tuple[ProposalVersion, ...] = ()
    rebased: int = 0
    elsewhere: tuple[Elsewhere, ...] = ()
    author: str = ""
    """The assistant that asked for it, as the journal records it (`make_author`)."""

    def seen(self, hash_: str) -> ProposalVersion | None:
        """The version that a person saw; the current one for an empty hash."""
        return next((version for version in (self.version, *self.older) if hash_ in ("", version.hash)), None)


class ProposedFile(Struct, frozen=True):
    """A file of a proposal without its content."""

    path: str
    change: FileChange
    was: str = ""


class Decided(Struct, frozen=True):
    """`by` says where the person decided. `change` is the number in the journal, 0 if nothing was written."""

    at: float
    by: str
    reason: str = ""
    change: int = 0


class Proposal(Struct, frozen=True, kw_only=True):
    """`body` is None once it is decided. `actor` is the assistant, `label` the change's name in the
    history."""

    number: int
    status: ProposalStatus
    at: float
    expires: float
    """0 for a diff: it ends with its client."""
    actor: str
    token: str
    pid: int
    tool: str
    label: str
    why: Reason
    rows: tuple[ProposedFile, ...]
    more: int = 0
    body: ProposalBody | None = None
    decided: Decided | None = None
    holder: int = 0
    """The process that is deciding, or that shows the diff."""

    @property
    def is_diff(self) -> bool:
        """Whether it is a diff from Claude Code: its body is never stored."""
        return self.why == "diff"

    @property
    def id(self) -> str:
        return f"{'d' if self.is_diff else 'p'}{self.number}"

    def may_be_shown(self, visible: Visible) -> bool:
        """Whether all its files are visible."""
        return all(visible(row.path.rstrip("/")) and visible(row.was or "x") for row in self.rows)

    @property
    def waits(self) -> bool:
        return self.status in ("waiting", "deciding")


Notify = Callable[[ProposalEvent, Proposal], None]
"""Called when a proposal opens, when it was adapted to changed notes, and when it is decided; for a diff
again, when its client has written it."""


def make_author(rules: ReviewRules, actor: str) -> str:
    """What identifies an assistant in the journal: its token, and the name that its client gives itself. A
    client may call itself anything, also what a person's change is called (`cli`), so a person's changes have
    no author."""
    return msgspec.json.encode((rules.token_id, actor)).decode()


def make_version(plan: Plan) -> ProposalVersion:
    return ProposalVersion(plan.files.files, plan.files.more, plan.notices)


def make_rows(files: Iterable[PlannedFile]) -> tuple[ProposedFile, ...]:
    return tuple(ProposedFile(file.path, file.change, file.was) for file in files)


def hash_of(data: bytes | None) -> str:
    return "" if data is None else content_hash(data)


def has_text(file: PlannedFile) -> bool:
    """Whether both sides can be shown as text."""
    return file.content and all(data is None or is_text(data) for data in (file.before, file.after))


def raw_texts_of(file: PlannedFile) -> tuple[str, str]:
    """The text before and after, with its own line ends."""
    before, after = (decode(data).text if data is not None else "" for data in (file.before, file.after))
    return before, after


def texts_of(file: PlannedFile) -> tuple[str, str]:
    """The text before and after as people see it, with LF."""
    before, after = (show_text(text) for text in raw_texts_of(file))
    return before, after


def show_text(text: str) -> str:
    return replace_surrogates(text).replace("\r\n", "\n").replace("\r", "\n")


def hunks_of(file: PlannedFile) -> tuple[Hunk, ...]:
    return find_hunks(*texts_of(file)) if has_text(file) else ()
