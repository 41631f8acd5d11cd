"""What a change did, or what a dry run would do: the files and their diff.

A caller learns only of files that it may see: links in a hidden note follow a move silently. `Engine.apply`
passes what it is about to write, `Planned`, to its caller's `check` at the last moment.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import Final, Literal

from msgspec import Struct

from vaultbridge.engine.drafting.draft import Draft, DraftFile
from vaultbridge.errors import VaultbridgeError
from vaultbridge.limits import MIB
from vaultbridge.links.resolve import FileTable
from vaultbridge.markdown.edits.unified_diff import make_diff
from vaultbridge.markdown.text import decode, replace_surrogates
from vaultbridge.vault.paths import TEXT_SUFFIXES, VaultPath, Visible
from vaultbridge.vault.read import content_hash
from vaultbridge.vault.write.steps import MoveFile, MoveFolder, Step, TrashFile

DIFF_CHARS: Final = 60_000
"""The longest diff; the rest is cut: nobody reviews more, and no assistant's context has room for more."""


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


def describe(draft: Draft, steps: Sequence[Step], visible: Visible, *, dry_run: bool) -> Outcome:
    """What a draft did, without what the caller may not see."""
    files: list[ChangedFile] = []
    moved: dict[str, str] = {}
    for step in steps:
        if isinstance(step, MoveFile | MoveFolder):
            moved[step.target] = step.source
        elif isinstance(step, TrashFile):
            files.append(ChangedFile(step.path, "deleted"))
    read = {file.path: file for file in draft.opened_files()}
    opened = {path: file for path, file in read.items() if file.changed}
    for target, source in moved.items():
        file = read.get(VaultPath(target))
        files.append(ChangedFile(target, "moved", source, _hash(file), file.links_rewritten if file else 0))
    for path, file in sorted(opened.items()):
        if path in moved:
            continue
        change: FileChange = "created" if file.before is None else "changed"
        files.append(
            ChangedFile(
                path,
                change,
                file.origin or "" if file.origin != path else "",
                _hash(file),
                file.links_rewritten,
            )
        )
    seen = tuple(entry for entry in files if visible(entry.path))
    return Outcome(
        files=seen,
        dry_run=dry_run,
        diff=_diff([file for file in opened.values() if visible(file.path)]) if dry_run else "",
        notices=tuple(draft.notices),
    )


def _hash(file: DraftFile | None) -> str:
    return content_hash(file.data) if file is not None else ""


def _diff(files: Sequence[DraftFile]) -> str:
    pieces: list[str] = []
    length = 0
    for file in sorted(files, key=lambda file: file.path):
        if not file.path.lower().endswith(TEXT_SUFFIXES):
            continue
        before = decode(file.before).text if file.before is not None else ""
        piece = replace_surrogates(make_diff(before, file.text, file.path))
        length += len(piece)
        if length > DIFF_CHARS:
            pieces.append(
                f"… longer than {DIFF_CHARS} characters; {file.path} and what follows is left out\n"
            )
            break
        pieces.append(piece)
    return "".join(pieces)


FILES_PLANNED: Final = 500
"""The most files that a plan names: nobody reads a longer list, and each has its content in memory."""

CONTENT_BYTES: Final = 32 * MIB
"""The most content in a plan, before and after together; files beyond it are named without content."""


class PlannedFile(Struct, frozen=True):
    """What becomes of one file. `was` is where it is now, for a move. `before` and `after` are None where
    there is no file; with `content` False they are not known, because the content does not matter (a file
    that only moves) or is too long."""

    path: str
    change: FileChange
    was: str = ""
    before: bytes | None = None
    after: bytes | None = None
    content: bool = True
    links: int = 0
    """How many references were rewritten in it."""

    @property
    def key(self) -> tuple[str, str, str, str]:
        """Two plans with the same keys write the same."""
        after = content_hash(self.after) if self.content and self.after is not None else ""
        return self.path, self.was, self.change, after


class Planned(Struct, frozen=True):
    """`more` counts files beyond FILES_PLANNED; `folders` says that a folder moves."""

    files: tuple[PlannedFile, ...]
    outcome: Outcome
    more: int = 0
    folders: bool = False


def describe_plan(
    draft: Draft,
    steps: Sequence[Step],
    outcome: Outcome,
    *,
    table: FileTable,
    visible: Visible,
    read: Callable[[VaultPath], bytes],
) -> Planned:
    """`table` has the files as they are now, and `read` returns the content of one."""
    files: list[PlannedFile] = []
    moved: dict[str, str] = {}
    for step in steps:
        if isinstance(step, TrashFile):
            if step.path in table:
                files.append(PlannedFile(step.path, "deleted", before=_try_read(read, step.path)))
                continue
            files.append(PlannedFile(f"{step.path}/", "deleted", content=False))
            inside = (VaultPath(path) for path in table if path.startswith(f"{step.path}/"))
            for path in islice(inside, FILES_PLANNED):
                files.append(PlannedFile(path, "deleted", before=_try_read(read, path)))
        elif isinstance(step, MoveFile | MoveFolder):
            moved[step.target] = step.source
    opened = {file.path: file for file in draft.opened_files()}
    for target, source in moved.items():
        file = opened.get(VaultPath(target))
        if file is not None and file.changed:
            files.append(
                PlannedFile(target, "moved", source, file.before, file.data, links=file.links_rewritten)
            )
        else:
            files.append(PlannedFile(target, "moved", source, content=False))
    for path, file in sorted(opened.items()):
        if file.changed and path not in moved:
            was = file.origin or "" if file.origin != path else ""
            change: FileChange = "created" if file.before is None else "moved" if was else "changed"
            files.append(PlannedFile(path, change, was, file.before, file.data, links=file.links_rewritten))
    seen = [file for file in files if visible(file.path.rstrip("/")) and visible(file.was or file.path)]
    return Planned(
        files=tuple(limit_content(seen[:FILES_PLANNED])),
        outcome=outcome,
        more=max(0, len(seen) - FILES_PLANNED),
        folders=any(isinstance(step, MoveFolder) for step in steps),
    )


def _try_read(read: Callable[[VaultPath], bytes], path: VaultPath) -> bytes | None:
    try:
        return read(path)
    except VaultbridgeError:
        return None  # Too large, or being saved: it is named without its content.


def limit_content(files: list[PlannedFile]) -> list[PlannedFile]:
    """The files, without the content of those beyond CONTENT_BYTES."""
    left = CONTENT_BYTES
    limited = []
    for file in files:
        left -= len(file.before or b"") + len(file.after or b"")
        limited.append(file if left >= 0 else PlannedFile(file.path, file.change, file.was, content=False))
    return limited
