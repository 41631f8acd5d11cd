"""Counts what is wrong in a vault: problems in single notes, duplicate names, conflict copies.

Only what the caller may see is counted. `Queries.unresolved` lists the unresolved links.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from msgspec import Struct

if TYPE_CHECKING:
    from vaultbridge.engine.engine import Engine

PROPERTY_PROBLEMS: Final = ("bad-yaml", "duplicate-key", "unclosed-properties")
"""What makes a note's properties unusable."""


class Health(Struct, frozen=True):
    """The number of each; `Queries` lists the things themselves. `problems` are counted by code, `duplicates`
    are names that several notes have, `broken` are links to no file, and `missing` the different names in
    those links."""

    problems: dict[str, int]
    broken: int
    missing: int
    duplicates: int
    conflicts: int

    def count(self, *codes: str) -> int:
        return sum(self.problems.get(code, 0) for code in codes)

    def count_others(self, *codes: str) -> int:
        return sum(self.problems.values()) - self.count(*codes)


def check_health(engine: Engine) -> Health:
    broken, missing = engine.queries.unresolved_count()
    return Health(
        problems=engine.queries.problem_counts(),
        broken=broken,
        missing=missing,
        duplicates=engine.queries.duplicates(limit=0).total,
        conflicts=engine.queries.conflicts(limit=0).total,
    )
