"""What stands between a caller and the changes of an engine: a gate, and the engine that asks it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Final, Protocol

from msgspec.structs import replace

from vaultbridge.engine.engine import Engine
from vaultbridge.engine.operations.base import Operation
from vaultbridge.engine.outcome import Outcome
from vaultbridge.engine.plan import Plan, Request
from vaultbridge.errors import PermissionDenied

if TYPE_CHECKING:
    from vaultbridge.engine.direct import DirectEngine


class ChangeGate(Protocol):
    """Decides on the changes of a gated engine, undoing included. `engine` is the one behind it, and the gate
    has it carry out what may be carried out."""

    def __call__(
        self, engine: DirectEngine, operations: Sequence[Operation], *, label: str, actor: str
    ) -> Outcome: ...

    def author(self, engine: Engine, actor: str) -> str:
        """Who the caller is, as the journal records it (`JournalEntry.author`)."""
        ...


class GatedEngine(Engine):
    """An open vault as tools get it. It reads, and plans, and passes every change to the gate: it has no
    writer of its own."""

    def __init__(self, engine: DirectEngine, gate: ChangeGate) -> None:
        super().__init__(engine.vault)
        self.__engine = engine
        self.__gate = gate

    def _plan(self, request: Request, actor: str) -> Plan:
        """As whoever asks the gate: an assistant may not undo what a person may."""
        author = self.__gate.author(self.__engine, actor)
        request = replace(request, author=author, by_person=False)
        return self.__engine.with_plan(request, lambda plan: plan)

    def _change(self, request: Request, actor: str) -> Outcome:
        """Whether a person wrote the text is for the gate to say."""
        return self.__gate(self.__engine, request.operations, label=request.label, actor=actor)

    def newest_to_undo(self, actor: str = "") -> int:
        return self.history.newest_to_undo(self.__gate.author(self.__engine, actor))

    def with_gate(self, gate: ChangeGate) -> Engine:
        return self

    @property
    def for_reading(self) -> Engine:
        return self.__engine.for_reading


class _NoChanges:
    """Lets nothing through: for engines that are meant only to read."""

    def __call__(
        self, engine: DirectEngine, operations: Sequence[Operation], *, label: str, actor: str
    ) -> Outcome:
        raise PermissionDenied("This only reads: it changes nothing.")

    def author(self, engine: Engine, actor: str) -> str:
        return ""


NO_CHANGES: Final = _NoChanges()
