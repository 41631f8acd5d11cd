"""What is wrong in a vault: problems of single notes, names that stand twice, copies made by conflicts.

Only what the caller may see is looked at and counted. Unresolved links are `Queries.unresolved`.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from msgspec import Struct

from vaultbridge.links.resolve import name_key
from vaultbridge.note.text import displayable
from vaultbridge.vault.cloud import Conflict, conflict_of
from vaultbridge.vault.paths import VaultPath, name_of

if TYPE_CHECKING:
    from vaultbridge.engine.engine import Engine

PROGRESS_EVERY: Final = 500
"""After how many notes a watcher is told how far the work has come."""

PROPERTY_PROBLEMS: Final = frozenset({"bad-yaml", "duplicate-key", "unclosed-properties"})
"""What makes a note's properties unusable."""

Told = Callable[[int, int], None]


class FoundProblem(Struct, frozen=True):
    path: VaultPath
    code: str
    message: str
    line: int


class Health(Struct, frozen=True):
    """`duplicates` are notes that share a name, so that a bare link to it is ambiguous; each group sorted."""

    problems: tuple[FoundProblem, ...]
    duplicates: tuple[tuple[VaultPath, ...], ...]
    conflicts: tuple[tuple[VaultPath, Conflict], ...]

    def count(self, *codes: str) -> int:
        return sum(problem.code in codes for problem in self.problems)


def health(engine: Engine, told: Told = lambda done, total: None) -> Health:
    files = engine.ask.files()
    problems: list[FoundProblem] = []
    for number, indexed in enumerate(engine.ask.notes(), 1):
        problems.extend(
            FoundProblem(indexed.file.path, problem.code, displayable(problem.message), problem.line)
            for problem in indexed.note.problems
        )
        if not number % PROGRESS_EVERY:
            told(number, len(files))
    paths = [file.path for file in files]
    named: dict[str, list[VaultPath]] = {}
    for file in files:
        if file.kind == "note":
            named.setdefault(name_key(name_of(file.path)), []).append(file.path)
    beside = frozenset(paths)
    conflicts = ((path, found) for path in paths if (found := conflict_of(path, beside)) is not None)
    return Health(
        problems=tuple(problems),
        duplicates=tuple(tuple(group) for _, group in sorted(named.items()) if len(group) > 1),
        conflicts=tuple(conflicts),
    )
