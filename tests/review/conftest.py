"""Vaults whose changes are reviewed."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.review import Reviewed
from vaultbridge.vault.scope import Scope


@pytest.fixture
def reviewed(tmp_path: Path) -> Iterator[Callable[..., Reviewed]]:
    made: list[Reviewed] = []

    def make(files: dict[str, str | bytes], *, scope: Scope | None = None) -> Reviewed:
        made.append(Reviewed(tmp_path, files, scope or Scope()))
        return made[-1]

    yield make
    for item in made:
        item.close()
