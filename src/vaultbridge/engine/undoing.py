"""Undoes one change of the journal: an undo is a change like any other, with a plan like any other.

It is planned from the journal and not drafted, because it restores files and folders as they were.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import cached_property
from typing import TYPE_CHECKING

from msgspec.structs import replace

from vaultbridge.engine.drafting.move import list_paths
from vaultbridge.engine.history import list_changed_files
from vaultbridge.engine.operations.base import Undo
from vaultbridge.engine.outcome import FileChange
from vaultbridge.engine.plan import Plan, PlannedFile, Request, list_folders
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
    from vaultbridge.engine.direct import DirectEngine


class UndoPlan(Plan):
    """Raises EditRefused when a file has changed since, unless `undo.force` is set. `hidden` are the files
    that its caller may not see. A plan carries nothing out itself: tools get plans, too."""

    def __init__(self, engine: DirectEngine, request: Request, undo: Undo) -> None:
        self._engine = engine
        self.undo = undo
        self.hidden = engine.history.check_undo(undo.change)
        with redact(self.hidden):
            self.planned = engine.transactor.plan_undo(
                undo.change, author=request.author, force=undo.force, hidden=self.hidden
            )
        newer = _find_newer_links(engine, undo.change)
        files = list_changed_files(self.planned.acts, engine.scope.visible)
        super().__init__(request, files, (*self.planned.notices, *newer))

    @property
    def is_empty(self) -> bool:
        return not self.planned.acts

    @cached_property
    def diff(self) -> str:
        return self._engine.history.diff(self.undo.change, backwards=True)

    def _describe_files(self) -> tuple[list[PlannedFile], bool]:
        contents, journal = self.planned.plan.contents, self._engine.journal

        def read(image: ContentImage | None) -> bytes | None:
            if image is None:
                return None
            try:
                known = contents.get(image.digest)
                return journal.content(image) if known is None else known
            except EngineFailure:
                return None

        files = describe_acts(self.planned.acts, read, self._engine.scope.visible)
        return files, any(isinstance(act, Moved) and act.folder for act in self.planned.acts)


def _find_newer_links(engine: DirectEngine, change: int) -> tuple[str, ...]:
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


def describe_acts(
    acts: Iterable[Act], read: Callable[[ContentImage | None], bytes | None], visible: Visible
) -> list[PlannedFile]:
    """One row per visible file that the acts change, with its content before and after. `read` returns the
    content of an image, None if it is not stored."""
    # What stays, by where it will be, and what goes, by where it is now.
    files: dict[str, PlannedFile] = {}
    gone: dict[str, PlannedFile] = {}
    for act in acts:
        match act:
            case Written():
                earlier = files.get(act.path)
                if earlier is None:
                    now = act.path if act.before is None else _take_row(files, act.path)
                    was = now if now != act.path else ""
                    change: FileChange = "created" if act.before is None else "moved" if was else "changed"
                    earlier = PlannedFile(act.path, change, was, before=read(act.before))
                elif not earlier.content:
                    earlier = replace(earlier, before=read(act.before), content=True)
                files[act.path] = replace(earlier, after=read(act.after))
            case Moved():
                _move_row(files, act)
            case Removed():
                earlier = files.get(act.path)
                now = _take_row(files, act.path)
                before = earlier.before if earlier is not None and earlier.content else read(act.before)
                gone[now] = PlannedFile(now, "deleted", before=before)
            case Trashed(folder=True):
                now = _take_row(files, act.path)
                gone[f"{now}/"] = PlannedFile(f"{now}/", "deleted", content=False)
            case Trashed():
                now, known = _take_row(files, act.path), act.image is not None
                gone[now] = PlannedFile(now, "deleted", before=read(act.image), content=known)
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
        for row in (*gone.values(), *files.values())
        if (row.content or row.was != row.path)  # It has moved away and back.
        and visible(VaultPath(row.path.rstrip("/")))
        and visible(VaultPath(row.was or row.path.rstrip("/")))
    ]


def _take_row(files: dict[str, PlannedFile], path: str) -> str:
    """Where that which is at a path is now: it may have moved there, or its folder may have."""
    earlier = files.pop(path, None)
    if earlier is not None:
        return earlier.was or path
    moved = (files[folder] for folder in list_folders(VaultPath(path)) if folder in files)
    return next((row.was + path[len(row.path) :] for row in moved if row.change == "moved"), path)


def _move_row(files: dict[str, PlannedFile], act: Moved) -> None:
    """The rows after a file or folder has moved."""
    if act.folder:
        now = _take_row(files, act.path)
        for path in [path for path in files if path.startswith(f"{act.path}/")]:
            row, target = files.pop(path), act.target + path[len(act.path) :]
            if row.change == "changed":
                row = replace(row, change="moved", was=path)
            files[target] = replace(row, path=target)
        files[act.target] = PlannedFile(act.target, "moved", now, content=False)
        return
    earlier = files.get(act.path)
    now = _take_row(files, act.path)
    if earlier is None:
        files[act.target] = PlannedFile(act.target, "moved", now, content=False)
    elif earlier.change == "created":
        files[act.target] = replace(earlier, path=act.target)
    else:
        files[act.target] = replace(earlier, path=act.target, change="moved", was=now)
