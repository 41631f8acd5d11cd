"""What the current call touches in a vault: the notes it reads, the changes it makes or proposes.

A connection puts a `Touched` into `CURRENT` before it runs a call. The engine, deep below, reports to it what
it reads and writes; neither knows the other. If nobody is watching, `CURRENT` is empty and reporting costs
nothing. Threads that work for a call run in a copy of its context, so what they do counts as the call's.

Only names are recorded, never text. Vaults are given by their real folder: two may have the same name.
"""

from __future__ import annotations

from contextvars import ContextVar
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

PATHS_RECORDED: Final = 50
"""Paths recorded of one call, of each kind: as many notes as one call may read. Further ones are counted."""

ChangedPath = tuple[str, str, str]
"""A path, what happened to it (created, changed, moved, deleted), and its path before a move or ""."""


class Touched(Struct, gc=False, eq=False):
    """`reads` are (folder, path); `changes` are (folder, number in the journal, files); `proposals` are
    (folder, path, id). `more_reads` counts what `reads` has no room for. Every call makes one of these, and
    most fill one list."""

    reads: Sequence[tuple[str, str]] = ()
    more_reads: int = 0
    changes: Sequence[tuple[str, int, tuple[ChangedPath, ...]]] = ()
    proposals: Sequence[tuple[str, str, str]] = ()


CURRENT: Final[ContextVar[Touched | None]] = ContextVar("vaultbridge_touched", default=None)


class ChangedFile(Protocol):
    """A file of a change (`engine.outcome.ChangedFile`)."""

    @property
    def path(self) -> str: ...

    @property
    def change(self) -> str: ...

    @property
    def was(self) -> str: ...


def record_read(folder: Path, path: str) -> None:
    touched = CURRENT.get()
    if touched is None or (place := (str(folder), path)) in touched.reads:
        return
    if len(touched.reads) < PATHS_RECORDED:
        touched.reads = (*touched.reads, place)
    else:
        touched.more_reads += 1


def record_change(folder: Path, number: int | None, files: Sequence[ChangedFile]) -> None:
    """`number` is the change's id in the journal, None or 0 if nothing was written."""
    touched = CURRENT.get()
    if touched is not None and number and len(touched.changes) < PATHS_RECORDED:
        listed = tuple((file.path, file.change, file.was) for file in files[:PATHS_RECORDED])
        touched.changes = (*touched.changes, (str(folder), number, listed))


def record_proposal(folder: Path, path: str, proposal: str) -> None:
    """`proposal` is the id under which a person decides on it."""
    touched = CURRENT.get()
    if touched is not None and len(touched.proposals) < PATHS_RECORDED:
        touched.proposals = (*touched.proposals, (str(folder), path, proposal))
