"""A real vault with all tools, called as a protocol calls them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest
from msgspec.structs import replace

from vaultbridge.engine import DirectEngine
from vaultbridge.errors import VaultbridgeError
from vaultbridge.tools.base.answer import Answer
from vaultbridge.tools.base.catalog import Catalog
from vaultbridge.tools.base.tool import ToolContext
from vaultbridge.tools.standard import standard_catalog
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.write.transaction import ignore_checkpoint
from vaultbridge.vault.write.trash import Trash

NOW = datetime(2026, 3, 15, 21, 15)
"""A Sunday: the sample vault's own days are just over."""


class ToolHarness:
    def __init__(self, engine: DirectEngine, catalog: Catalog, context: ToolContext) -> None:
        self.engine = engine
        self.catalog = catalog
        self.context = context

    @property
    def folder(self) -> Path:
        return self.engine.root.folder

    def call(self, tool: str, /, **arguments: Any) -> Answer:
        return self.catalog.call(tool, arguments, self.context)

    def text(self, tool: str, /, **arguments: Any) -> str:
        """The text of a call that only reads."""
        answer = self.call(tool, **arguments)
        assert answer.data is None, "a reading tool sends its payload once, as text"
        assert not answer.changed
        return answer.text

    def rows(self, tool: str, /, **arguments: Any) -> list[str]:
        return self.text(tool, **arguments).splitlines()

    def data(self, tool: str, /, **arguments: Any) -> dict[str, Any]:
        """The data of a call that changes something, from inside the envelope."""
        import msgspec

        answer = self.call(tool, **arguments)
        assert answer.data is not None
        assert msgspec.json.decode(answer.text) == answer.data
        assert answer.data["success"] is True
        inner: dict[str, Any] = answer.data["data"]
        return inner

    def catch_refusal(self, kind: type[VaultbridgeError], tool: str, /, **arguments: Any) -> Any:
        """The error of a call that must fail and leave the vault unchanged."""
        before = self.files()
        with pytest.raises(kind) as caught:
            self.call(tool, **arguments)
        assert self.files() == before
        return caught.value

    def read(self, path: str) -> str:
        return (self.folder / path).read_text("utf-8")

    def files(self) -> dict[str, bytes]:
        return {
            place.relative_to(self.folder).as_posix(): place.read_bytes()
            for place in sorted(self.folder.rglob("*"))
            if place.is_file()
        }

    def with_context(self, **changes: Any) -> ToolHarness:
        return ToolHarness(self.engine, self.catalog, replace(self.context, **changes))


Small = Callable[..., ToolHarness]
"""What the fixture `small` of `tests/tools` gives: `small({"A.md": "text"}, scope=…)` opens such a vault."""


def open_harness(
    base: Path,
    folder: Path,
    *,
    scope: Scope | None = None,
    clock: Callable[[], float] = NOW.timestamp,
    checkpoint: Callable[[str], None] = ignore_checkpoint,
) -> ToolHarness:
    engine = DirectEngine(
        folder,
        cache=base / "cache",
        trash=Trash({"HOME": str(base / "home")}),
        scope=scope or Scope(),
        clock=clock,
        checkpoint=checkpoint,
    )
    return ToolHarness(engine, standard_catalog(), ToolContext(engines={engine.name: engine}, actor="test"))


def ungroup(rows: list[str]) -> list[str]:
    """The rows of an answer with the path in each: `path:12: text`."""
    whole: list[str] = []
    path = ""
    for number, row in enumerate(rows, 1):
        if row.startswith(" "):
            whole.append(f"{path}:{row[1:]}")
        elif rows[number : number + 1] and rows[number].startswith(" "):
            path = row
        else:
            whole.append(row)
    return whole
