"""What a change would do, as a value: `Engine.plan` makes it, and `DirectEngine.carry_out` makes it so.

A dry run, a review and a decision read the same plan that is then carried out. It was drafted from the vault
as it was at one moment: carrying it out is refused (`PlanOutdated`) if it would not do the same any more. A
caller learns only of files that it may see: links in a hidden note follow a move silently. What costs time (a
diff, the content of each file) is made when it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from itertools import islice
from typing import Final

from msgspec import Struct

from vaultbridge.engine.drafting.draft import Draft, DraftFile
from vaultbridge.engine.operations.base import Operation
from vaultbridge.engine.outcome import ChangedFile, FileChange, Outcome
from vaultbridge.errors import EditRefused, VaultbridgeError
from vaultbridge.limits import MIB
from vaultbridge.links.resolve import FileTable
from vaultbridge.markdown.edits.unified_diff import make_diff
from vaultbridge.markdown.text import decode, replace_surrogates
from vaultbridge.vault.paths import TEXT_SUFFIXES, VaultPath, Visible, folder_of
from vaultbridge.vault.read import content_hash
from vaultbridge.vault.scope import HiddenNoteInUse
from vaultbridge.vault.write.steps import MoveFile, MoveFolder, Step, TrashFile

DIFF_CHARS: Final = 60_000
"""The longest diff; the rest is cut: nobody reviews more, and no assistant's context has room for more."""

FILES_PLANNED: Final = 500
"""The most files that a plan names: nobody reads a longer list, and each has its content in memory."""

CONTENT_BYTES: Final = 32 * MIB
"""The most content in a plan, before and after together; files beyond it are named without content."""


class PlanOutdated(EditRefused):
    """A plan was not carried out, because the vault has changed since it was made; nothing was written.
    `error` says how."""

    def __init__(self, error: EditRefused | HiddenNoteInUse) -> None:
        super().__init__(error.message, hint=error.hint, paths=error.paths)
        self.error = error


class Request(Struct, frozen=True):
    """What somebody asks for. `label` names a change that is one thing to its caller. `author` identifies an
    assistant (see `JournalEntry`). `by_person` says that a person wrote the text or has decided on it:
    properties in it need not be readable."""

    operations: tuple[Operation, ...]
    label: str = ""
    author: str = ""
    by_person: bool = False


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


class PlannedFiles(Struct, frozen=True):
    """The files that a plan changes, with their content. `more` counts those beyond FILES_PLANNED;
    `moves_folder` says that a folder moves; `replaces_whole` that a file gets a whole new text."""

    files: tuple[PlannedFile, ...] = ()
    more: int = 0
    moves_folder: bool = False
    replaces_whole: bool = False


class Plan:
    """What a request would do now. `changed` are its files in short, `files` with their content."""

    def __init__(self, request: Request, changed: tuple[ChangedFile, ...], notices: Sequence[str]) -> None:
        self.request = request
        self.changed = changed
        self.notices = tuple(notices)

    @property
    def is_empty(self) -> bool:
        """Whether everything is already as requested, in files that the caller may not see too."""
        raise NotImplementedError

    @cached_property
    def diff(self) -> str:
        """A unified diff of every text file."""
        raise NotImplementedError

    @cached_property
    def files(self) -> PlannedFiles:
        if self.is_empty:
            return PlannedFiles()
        files, moves_folder = self._describe_files()
        return PlannedFiles(
            files=tuple(_limit_content(files[:FILES_PLANNED])),
            more=max(0, len(files) - FILES_PLANNED),
            moves_folder=moves_folder,
            replaces_whole=any(operation.replaces_whole for operation in self.request.operations),
        )

    @property
    def outcome(self) -> Outcome:
        """What a dry run says."""
        return Outcome(self.changed, dry_run=True, diff=self.diff, notices=self.notices)

    def _describe_files(self) -> tuple[list[PlannedFile], bool]:
        """The visible files, and whether a folder moves."""
        raise NotImplementedError


class DraftedPlan(Plan):
    """A plan whose operations were carried out on a draft. `table` has the files as they are now, and `read`
    returns the content of one. `drafted_after` is the journal's last change when it was drafted, None if
    changes to other files make no difference."""

    def __init__(
        self,
        request: Request,
        draft: Draft,
        *,
        visible: Visible,
        table: Callable[[], FileTable],
        read: Callable[[VaultPath], bytes],
        drafted_after: int | None,
    ) -> None:
        self.steps: tuple[Step, ...] = tuple(draft.steps())
        self.drafted_after = drafted_after
        self.hidden = [file.path for file in draft.opened_files() if not visible(file.path)]
        """The files it reads that the caller may not see."""
        self._draft = draft
        self._visible = visible
        self._table = table
        self._read = read
        super().__init__(request, _list_changed(draft, self.steps, visible), draft.notices)

    @property
    def is_empty(self) -> bool:
        return not self.steps

    @cached_property
    def diff(self) -> str:
        files = [file for file in self._draft.opened_files() if file.changed and self._visible(file.path)]
        return _make_diff(files)

    def _describe_files(self) -> tuple[list[PlannedFile], bool]:
        table, files = self._table(), list[PlannedFile]()
        moved, trashed = _find_whereabouts(self.steps)
        gone = {*trashed, *moved.values()}
        for path in trashed:
            if path in table:
                files.append(PlannedFile(path, "deleted", before=self._try_read(path)))
                continue
            files.append(PlannedFile(f"{path}/", "deleted", content=False))
            inside = (VaultPath(name) for name in table if name.startswith(f"{path}/") and name not in gone)
            for name in islice(inside, FILES_PLANNED):
                files.append(PlannedFile(name, "deleted", before=self._try_read(name)))
        opened = {file.path: file for file in self._draft.opened_files()}
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
                files.append(
                    PlannedFile(path, change, was, file.before, file.data, links=file.links_rewritten)
                )
        visible = self._visible
        seen = [file for file in files if visible(file.path.rstrip("/")) and visible(file.was or file.path)]
        return seen, any(isinstance(step, MoveFolder) for step in self.steps)

    def _try_read(self, path: VaultPath) -> bytes | None:
        try:
            return self._read(path)
        except VaultbridgeError:
            return None  # Too large, or being saved: it is named without its content.


def _find_whereabouts(steps: Sequence[Step]) -> tuple[dict[VaultPath, VaultPath], list[VaultPath]]:
    """Where the files and folders that move are in the end, each with where it is now; and where those are
    now that end in the trash. What moves within a batch twice, or before it is deleted, is named once."""
    moved: dict[VaultPath, VaultPath] = {}
    trashed: list[VaultPath] = []

    def take(path: VaultPath) -> tuple[VaultPath, dict[str, VaultPath]]:
        """Where this is now, and what else has moved into it, by the path within it."""
        folder = next((part for part in list_folders(path) if part in moved), None)
        now = moved.pop(path, None)
        if now is None:
            now = path if folder is None else VaultPath(moved[folder] + path[len(folder) :])
        inside = [target for target in moved if target.startswith(f"{path}/")]
        return now, {target[len(path) :]: moved.pop(target) for target in inside}

    for step in steps:
        if isinstance(step, MoveFile | MoveFolder):
            now, inside = take(step.source)
            moved[step.target] = now
            moved |= {VaultPath(step.target + rest): path for rest, path in inside.items()}
        elif isinstance(step, TrashFile):
            now, inside = take(step.path)
            trashed += (now, *inside.values())
    return {target: now for target, now in moved.items() if target != now}, trashed


def list_folders(path: VaultPath) -> list[VaultPath]:
    """The folders that a path is in, the innermost first."""
    folders = []
    while path := folder_of(path):
        folders.append(path)
    return folders


def _list_changed(draft: Draft, steps: Sequence[Step], visible: Visible) -> tuple[ChangedFile, ...]:
    """The files of a draft, without those that the caller may not see."""
    moved, trashed = _find_whereabouts(steps)
    files = [ChangedFile(path, "deleted") for path in trashed]
    opened = {file.path: file for file in draft.opened_files()}
    for target, source in moved.items():
        file = opened.get(VaultPath(target))
        files.append(ChangedFile(target, "moved", source, _hash(file), file.links_rewritten if file else 0))
    for path, file in sorted(opened.items()):
        if not file.changed or path in moved:
            continue
        change: FileChange = "created" if file.before is None else "changed"
        was = file.origin or "" if file.origin != path else ""
        files.append(ChangedFile(path, change, was, _hash(file), file.links_rewritten))
    return tuple(entry for entry in files if visible(entry.path))


def _hash(file: DraftFile | None) -> str:
    return content_hash(file.data) if file is not None else ""


def _make_diff(files: Sequence[DraftFile]) -> str:
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


def _limit_content(files: list[PlannedFile]) -> list[PlannedFile]:
    """The files, without the content of those beyond CONTENT_BYTES."""
    left = CONTENT_BYTES
    limited = []
    for file in files:
        left -= len(file.before or b"") + len(file.after or b"")
        limited.append(file if left >= 0 else PlannedFile(file.path, file.change, file.was, content=False))
    return limited
