"""Undoes one change of the journal, for `Engine.apply`: an undo is a change like any other.

It is planned from the journal and not drafted, because it restores files and folders as they were. What it is
about to do is shown to its caller's `check` in the same form as a drafted change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING

from msgspec.structs import replace

from vaultbridge.activity.records import record_change
from vaultbridge.engine.drafting.move import list_paths
from vaultbridge.engine.history import list_changed_files
from vaultbridge.engine.operation_base import Operation, Undo
from vaultbridge.engine.outcome import FILES_PLANNED, FileChange, Outcome, Planned, PlannedFile, limit_content
from vaultbridge.errors import EngineFailure
from vaultbridge.vault.paths import VaultPath, Visible
from vaultbridge.vault.scope import redact
from vaultbridge.vault.write.steps import (
    Act,
    ContentImage,
    FolderMade,
    FolderRemoved,
    Moved,
    Removed,
    Restored,
    Trashed,
    Written,
)

if TYPE_CHECKING:
    from vaultbridge.engine.engine import Engine
    from vaultbridge.vault.write.plan import Plan
    from vaultbridge.vault.write.transaction import Applied


def find_undo(operations: Sequence[Operation]) -> Undo | None:
    """The undo, if this change is one: an undo is always a change of its own."""
    first = operations[0] if len(operations) == 1 else None
    return first if isinstance(first, Undo) else None


def undo_change(
    engine: Engine,
    undo: Undo,
    *,
    actor: str,
    author: str,
    dry_run: bool,
    check: Callable[[Planned], None] | None,
    index_written: Callable[[Applied], None],
) -> Outcome:
    """Raises EditRefused when a file has changed since, unless `undo.force` is set."""
    hidden = engine.history.check_undo(undo.change)
    newer = _find_newer_links(engine, undo.change)

    def check_plan(plan: Plan) -> None:
        if check is not None:
            files = list_changed_files(plan.acts, engine.scope.visible)
            check(_describe_plan(engine, plan, Outcome(files, notices=(*plan.notices, *newer))))

    with redact(hidden):
        applied = engine.transactor.undo(
            undo.change,
            actor=actor or engine.actor,
            author=author,
            force=undo.force,
            dry_run=dry_run,
            hidden=hidden,
            check=check_plan,
        )
    files = list_changed_files(applied.acts, engine.scope.visible)
    notices = (*applied.notices, *newer)
    if dry_run:
        diff = engine.history.diff(undo.change, backwards=True)
        return Outcome(files=files, dry_run=True, diff=diff, notices=notices)
    index_written(applied)
    record_change(engine.root.folder, applied.id, files)
    return Outcome(files=files, change_id=str(applied.id) if applied.id else "", notices=notices)


def _find_newer_links(engine: Engine, change: int) -> tuple[str, ...]:
    """Notices for an undo, about newer links to a name that the undo removes. They stay as they are: undoing
    touches no other text."""
    moves = engine.history.list_moves(change)
    if not moves:
        return ()
    engine.index_sync.ensure_fresh()
    return tuple(
        f"Links to {path} that were written since do not follow, in: {list_paths(sources)}."
        for path, rewritten in moves.items()
        if (sources := {link.source for link in engine.queries.backlinks(path)} - rewritten - {path})
    )


def _describe_plan(engine: Engine, plan: Plan, outcome: Outcome) -> Planned:
    def read(image: ContentImage | None) -> bytes | None:
        if image is None:
            return None
        try:
            known = plan.contents.get(image.digest)
            return engine.transactor.journal.content(image) if known is None else known
        except EngineFailure:
            return None

    files = describe_acts(plan.acts, read, engine.scope.visible)
    return Planned(
        files=tuple(limit_content(files[:FILES_PLANNED])),
        outcome=outcome,
        more=max(0, len(files) - FILES_PLANNED),
        folders=any(isinstance(act, Moved) and act.folder for act in plan.acts),
    )


def describe_acts(
    acts: Iterable[Act], read: Callable[[ContentImage | None], bytes | None], visible: Visible
) -> list[PlannedFile]:
    """One row per visible file that the acts change, with its content before and after. `read` returns the
    content of an image, None if it is not stored."""
    files: dict[str, PlannedFile] = {}
    for act in acts:
        match act:
            case Written():
                earlier = files.get(act.path)
                if earlier is None:
                    change: FileChange = "created" if act.before is None else "changed"
                    earlier = PlannedFile(act.path, change, before=read(act.before))
                elif not earlier.content:
                    earlier = replace(earlier, before=read(act.before), content=True)
                files[act.path] = replace(earlier, after=read(act.after))
            case Moved():
                _move_row(files, act)
            case Removed():
                earlier = files.pop(act.path, None)
                before = earlier.before if earlier is not None and earlier.content else read(act.before)
                files[act.path] = PlannedFile(act.path, "deleted", before=before)
            case Trashed(folder=True):
                files[f"{act.path}/"] = PlannedFile(f"{act.path}/", "deleted", content=False)
            case Trashed():
                known = act.image is not None
                files[act.path] = PlannedFile(act.path, "deleted", before=read(act.image), content=known)
            case Restored(trashed=trashed) if trashed.folder:
                files[f"{trashed.path}/"] = PlannedFile(f"{trashed.path}/", "created", content=False)
            case Restored(trashed=trashed):
                data = read(trashed.image)
                files[trashed.path] = PlannedFile(
                    trashed.path, "created", after=data, content=data is not None
                )
            case FolderMade() | FolderRemoved():
                pass
    return [
        row
        for row in files.values()
        if visible(VaultPath(row.path.rstrip("/"))) and visible(VaultPath(row.was or row.path.rstrip("/")))
    ]


def _move_row(files: dict[str, PlannedFile], act: Moved) -> None:
    """The rows after a file or folder has moved."""
    if act.folder:
        within = [path for path in files if path.startswith(f"{act.path}/")]
        for path in within:
            row = files.pop(path)
            target = act.target + path[len(act.path) :]
            change: FileChange = "moved" if row.change == "changed" else row.change
            files[target] = replace(row, path=target, change=change, was=row.was or path)
        files[act.target] = PlannedFile(act.target, "moved", act.path, content=False)
        return
    earlier = files.pop(act.path, None)
    if earlier is None:
        files[act.target] = PlannedFile(act.target, "moved", act.path, content=False)
    elif earlier.change == "created":
        files[act.target] = replace(earlier, path=act.target)
    else:
        files[act.target] = replace(earlier, path=act.target, change="moved", was=earlier.was or act.path)
