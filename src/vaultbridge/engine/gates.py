"""What stands between a caller and the changes of an engine: `Engine.with_gate` passes every change to it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Protocol

from vaultbridge.errors import PermissionDenied

if TYPE_CHECKING:
    from vaultbridge.engine.engine import Engine
    from vaultbridge.engine.operation_base import Operation
    from vaultbridge.engine.outcome import Outcome


class ChangeGate(Protocol):
    """Decides on the changes of a gated engine, undoing included. `engine` is the one that was gated, and the
    gate applies to it what may be applied."""

    def __call__(
        self, engine: Engine, operations: Sequence[Operation], *, label: str, actor: str
    ) -> Outcome: ...

    def author(self, engine: Engine, actor: str) -> str:
        """Who the caller is, as the journal records it (`JournalEntry.author`)."""
        ...


class NoChanges:
    """Lets nothing through: for engines that are meant only to read."""

    def __call__(self, engine: Engine, operations: Sequence[Operation], *, label: str, actor: str) -> Outcome:
        raise PermissionDenied("This only reads: it changes nothing.")

    def author(self, engine: Engine, actor: str) -> str:
        return ""


def refuse_unreviewed() -> PermissionDenied:
    """The refusal of a gated engine's own writer: every change must go through the gate."""
    return PermissionDenied(
        "This change did not ask whether a person has to see it first, so it was not made."
    )
