"""From operations to a committed change: draft, transaction, index, and what to tell the caller.

How far an operation reaches: what has to be known of the vault before it can be carried out.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Sequence
from typing import Final

from vaultbridge.engine.draft import Draft, DraftFile
from vaultbridge.engine.naming import NamingContext, new_note_path
from vaultbridge.engine.operate import operate
from vaultbridge.engine.operations import (
    ChangedFile,
    Create,
    Delete,
    FileChange,
    Move,
    NoteEdit,
    Operation,
    Outcome,
    RenameBlock,
    RenameHeading,
    RenameTag,
    Write,
)
from vaultbridge.errors import InvalidArgument, VaultbridgeError
from vaultbridge.links.resolve import FileTable
from vaultbridge.markdown.edits.unified_diff import make_diff
from vaultbridge.markdown.text import decode, replace_surrogates
from vaultbridge.vault.paths import TEXT_SUFFIXES, VaultPath, vault_path
from vaultbridge.vault.read import content_hash
from vaultbridge.vault.write.steps import MoveFile, MoveFolder, Step, TrashFile


def concerns_others(operation: Operation, around: NamingContext) -> bool:
    """Whether it can only be carried out when every file of the vault is known, with its links: all but a new
    text for one note that is there."""
    match operation:
        case Create():
            try:
                return around.stored(new_note_path(operation.note, around.settings)) is None
            except VaultbridgeError:
                return False  # It will be refused, and the refusal names its place in the batch.
        case RenameTag():
            return not operation.note
        case _:
            return not isinstance(operation, NoteEdit | Write)


def takes_others_along(operation: Operation, around: NamingContext) -> bool:
    """Whether files that it does not name are changed with it: then none may be overlooked."""
    match operation:
        case Move() | RenameHeading() | RenameBlock():
            return True
        case RenameTag():
            return not operation.note
        case Delete():
            with contextlib.suppress(InvalidArgument):
                return around.is_folder(vault_path(operation.note))
    return False


BATCH_OPERATIONS: Final = 500
"""The most operations in one batch: more is a program's work, and would hold the writer's lock too long."""

DIFF_CHARS: Final = 60_000
"""What a diff may have before it is cut: a person reviews no more, and an assistant's context takes no
more."""


def draft_of(
    operations: Sequence[Operation],
    read: Callable[[VaultPath], bytes],
    table: FileTable,
    around: NamingContext,
    *,
    existing: Callable[[], Callable[[str], bool]] | None = None,
    numbered: bool = True,
) -> Draft:
    """All operations carried out on a draft. Raises what the first failing one raises; when `numbered`, it is
    told which. `existing` is the draft's."""
    if len(operations) > BATCH_OPERATIONS:
        raise InvalidArgument(
            f"{len(operations)} operations; at most {BATCH_OPERATIONS} go into one batch.",
            argument="operations",
        )
    draft = Draft(read, table, existing)
    for number, operation in enumerate(operations, 1):
        try:
            operate(draft, operation, around)
        except VaultbridgeError as error:
            if numbered and len(operations) > 1:
                error.message = f"Operation {number} of {len(operations)}: {error.message}"
            raise
    return draft


def described(
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
