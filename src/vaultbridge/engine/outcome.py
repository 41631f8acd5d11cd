"""What a change did, or a dry run would do: which files, and a diff of them.

A caller learns only of files that it may see.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Final, Literal

from msgspec import Struct

from vaultbridge.engine.draft import Draft, DraftFile
from vaultbridge.markdown.edits.unified_diff import make_diff
from vaultbridge.markdown.text import decode, replace_surrogates
from vaultbridge.vault.paths import TEXT_SUFFIXES, VaultPath
from vaultbridge.vault.read import content_hash
from vaultbridge.vault.write.steps import MoveFile, MoveFolder, Step, TrashFile

DIFF_CHARS: Final = 60_000
"""What a diff may have before it is cut: a person reviews no more, and an assistant's context takes no
more."""


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
    unified diff of every text file touched. `notices` are things the caller should know, such as older links
    that a new note would have re-pointed."""

    files: tuple[ChangedFile, ...]
    change_id: str = ""
    dry_run: bool = False
    diff: str = ""
    notices: tuple[str, ...] = ()


def describe(
    draft: Draft, steps: Sequence[Step], visible: Callable[[str], bool], *, dry_run: bool
) -> Outcome:
    """What a draft did, less what the caller may not see: links in a hidden note follow a rename silently."""
    files: list[ChangedFile] = []
    moved: dict[str, str] = {}
    for step in steps:
        if isinstance(step, MoveFile | MoveFolder):
            moved[step.target] = step.source
        elif isinstance(step, TrashFile):
            files.append(ChangedFile(step.path, "deleted"))
    read = {file.path: file for file in draft.opened()}
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
        diff=_diff([file for file in opened.values() if visible(file.path)]),
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
