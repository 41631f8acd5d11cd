"""A real vault in a temporary folder, with an engine on it."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.files import write_vault
from support.index import dump
from vaultbridge.engine import DirectEngine
from vaultbridge.index.store.database import Index
from vaultbridge.index.sync import Synchronizer
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.write.transaction import ignore_checkpoint
from vaultbridge.vault.write.trash import Trash

MakeVault = Callable[..., DirectEngine]


@pytest.fixture
def make_vault(tmp_path: Path) -> Iterator[MakeVault]:
    """`make_vault({"A.md": "text"}, scope=…)`: further calls without files open the same vault again."""
    opened: list[DirectEngine] = []

    def make(
        files: dict[str, str | bytes] | None = None,
        *,
        scope: Scope | None = None,
        checkpoint: Callable[[str], None] = ignore_checkpoint,
    ) -> DirectEngine:
        folder = write_vault(tmp_path / "vault", files or {})
        engine = DirectEngine(
            folder,
            cache=tmp_path / "cache",
            trash=Trash({"HOME": str(tmp_path / "home")}),
            scope=scope or Scope(),
            actor="test",
            checkpoint=checkpoint,
        )
        opened.append(engine)
        return engine

    yield make
    for engine in opened:
        engine.close()


def read_contents(engine: DirectEngine) -> dict[str, bytes]:
    """Every file of the vault, hidden ones left out, as bytes."""
    folder = engine.root.folder
    return {
        place.relative_to(folder).as_posix(): place.read_bytes()
        for place in sorted(folder.rglob("*"))
        if place.is_file() and not any(part.startswith(".") for part in place.relative_to(folder).parts)
    }


def rebuild_index(engine: DirectEngine, folder: Path) -> dict[str, object]:
    """The content of an index that is built from scratch in this empty folder."""
    folder.mkdir()
    index = Index.open(folder)
    try:
        Synchronizer(engine.root, index).sync_all()
        return dump(index)
    finally:
        index.close()
