"""A real vault whose changes are reviewed, and a caller that nobody can ask unless a test says so."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from support.files import write_vault
from vaultbridge.engine import DirectEngine, Engine
from vaultbridge.engine.operations.base import Operation
from vaultbridge.engine.outcome import Outcome
from vaultbridge.review.decide import Decider
from vaultbridge.review.gate import Choice, ReviewGate
from vaultbridge.review.policy import ChangePending, Review, ReviewRules
from vaultbridge.review.store import ReviewStore, store_of
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.write.trash import Trash


class QuietCaller:
    """A client that can neither ask its user nor show them the change.

    `choices` are what the user of one that can answers, in turn."""

    def __init__(
        self, choices: list[Choice] | None = None, *, before: Callable[[], None] | None = None
    ) -> None:
        self.choices = choices
        self.before = before
        self.messages: list[str] = []
        self.asked = ""

    can_show = False

    @property
    def can_ask(self) -> bool:
        return self.choices is not None

    def ask(self, proposal: str, version: str, message: str, seconds: float) -> Choice:
        assert self.choices is not None
        self.messages.append(message)
        if self.before is not None:
            self.before()
        return self.choices.pop(0)

    def begin_waiting(self, seconds: float) -> float:
        return seconds


class Reviewed:
    """A vault in a folder of its own. `ask` proposes and returns the id; `decider` is the person."""

    def __init__(self, base: Path, files: dict[str, str | bytes], scope: Scope) -> None:
        self.base = base
        self.folder = write_vault(base / "vault", files)
        self.engine = self.open(scope)
        self.store: ReviewStore = store_of(self.engine)
        self.owner = self.open(Scope())
        self.decider = Decider(self.owner, self.store, self.open)

    def open(self, scope: Scope) -> DirectEngine:
        return DirectEngine(
            self.folder,
            cache=self.base / "cache",
            trash=Trash({"HOME": str(self.base / "home")}),
            scope=scope,
            actor="test",
        )

    def with_gate(
        self,
        review: Review = "all",
        caller: QuietCaller | None = None,
        wait: float = 0.05,
        *,
        token: str = "",
    ) -> Engine:
        """The engine as the tools of one assistant get it: another `token` is another assistant."""
        rules = ReviewRules(least=review, wait_seconds=wait, token=token, token_id=token)
        gate = ReviewGate(lambda _: rules, "edit_note", caller or QuietCaller(), lambda *_: None)
        return self.engine.with_gate(gate)

    def apply(
        self, *operations: Operation, review: Review = "all", caller: QuietCaller | None = None
    ) -> Outcome:
        return self.with_gate(review, caller).apply(operations, actor="robot")

    def ask(self, *operations: Operation, review: Review = "all") -> int:
        """Propose a change with nobody to ask: it stays. Returns its number."""
        with pytest.raises(ChangePending) as pending:
            self.apply(*operations, review=review)
        return int(pending.value.facts["id"][1:])

    def read_hash(self, number: int) -> str:
        body = self.decider.show(number).body
        assert body is not None
        return body.version.hash

    def read(self, path: str) -> str:
        return (self.folder / path).read_bytes().decode()

    def write(self, path: str, text: str) -> None:
        """As another program would."""
        (self.folder / path).write_bytes(text.encode())

    def close(self) -> None:
        self.engine.close()
        self.owner.close()
        self.store.close()
