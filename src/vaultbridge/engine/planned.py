"""What a change is about to write, file by file and with the content: for whoever decides whether it may.

`Engine.apply` shows it to its caller's `check` at the last moment, when nothing is written yet. Files that
the caller may not see are not in it: their links follow a move silently.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Final, Protocol

from msgspec import Struct

from vaultbridge.engine.draft import Draft
from vaultbridge.engine.outcome import FileChange, Outcome
from vaultbridge.errors import VaultbridgeError
from vaultbridge.limits import MIB
from vaultbridge.links.resolve import FileTable
from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.read import content_hash
from vaultbridge.vault.write.steps import MoveFile, MoveFolder, Step, TrashFile

if TYPE_CHECKING:
    from vaultbridge.engine.engine import Engine
    from vaultbridge.engine.operations import Operation

FILES_PLANNED: Final = 500
"""The most files that a plan names: nobody reads a longer list, and each has its content in memory."""

CONTENT_BYTES: Final = 32 * MIB
"""The most content that a plan holds in all, before and after; files beyond it are named without content."""


class Gate(Protocol):
    """Decides on the changes of a gated engine. `engine` has no gate, and the gate applies to it what may be
    applied."""

    def __call__(
        self, engine: Engine, operations: Sequence[Operation], *, label: str, actor: str
    ) -> Outcome: ...


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
    visible: Callable[[str], bool],
    read: Callable[[VaultPath], bytes],
) -> Planned:
    """`table` holds the files as they are now, and `read` returns the content of one."""
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
    opened = {file.path: file for file in draft.opened()}
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
        files=tuple(_limit_content(seen[:FILES_PLANNED])),
        outcome=outcome,
        more=max(0, len(seen) - FILES_PLANNED),
        folders=any(isinstance(step, MoveFolder) for step in steps),
    )


def _try_read(read: Callable[[VaultPath], bytes], path: VaultPath) -> bytes | None:
    try:
        return read(path)
    except VaultbridgeError:
        return None  # Too large, or being saved: it is named without its content.


def _limit_content(files: list[PlannedFile]) -> list[PlannedFile]:
    left = CONTENT_BYTES
    limited = []
    for file in files:
        left -= len(file.before or b"") + len(file.after or b"")
        limited.append(file if left >= 0 else PlannedFile(file.path, file.change, file.was, content=False))
    return limited
