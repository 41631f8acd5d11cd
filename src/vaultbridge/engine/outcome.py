"""What a change did, or what a dry run would do, for its caller. `engine.plan` makes both."""

from __future__ import annotations

from typing import Literal

from msgspec import Struct

FileChange = Literal["created", "changed", "moved", "deleted"]


class ChangedFile(Struct, frozen=True):
    """What became of one file. `path` is where it is now; `was` where it was, for a move. `hash` is the
    content hash after the change, empty for a deleted file. `links` counts the references rewritten in it."""

    path: str
    change: FileChange
    was: str = ""
    hash: str = ""
    links: int = 0


class Outcome(Struct, frozen=True):
    """What a batch of operations did, or with `dry_run` would do.

    `change_id` is the journal entry to undo it by (empty for a dry run, or when nothing changed). `diff` is a
    unified diff of every text file that a dry run would touch; for a change, the history has it. `notices`
    tell the caller about side effects, such as older links that a new note would have captured."""

    files: tuple[ChangedFile, ...]
    change_id: str = ""
    dry_run: bool = False
    diff: str = ""
    notices: tuple[str, ...] = ()
