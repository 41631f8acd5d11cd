"""Vaults for the tools: a copy of the sample vault, or a small one written for a test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.files import write_vault
from support.tools import Small, ToolHarness, open_harness
from support.vault import copy_sample_vault
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.write.transaction import ignore_checkpoint


@pytest.fixture
def sample(tmp_path: Path) -> Iterator[ToolHarness]:
    harness = open_harness(tmp_path, copy_sample_vault(tmp_path, "sample-vault"))
    yield harness
    harness.engine.close()


@pytest.fixture
def small(tmp_path: Path) -> Iterator[Small]:
    """`small({"A.md": "text"}, scope=…)` opens a vault of these files."""
    opened: list[ToolHarness] = []

    def make(
        files: dict[str, str | bytes],
        *,
        scope: Scope | None = None,
        name: str = "vault",
        checkpoint: Callable[[str], None] = ignore_checkpoint,
    ) -> ToolHarness:
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        write_vault(folder, files)
        opened.append(open_harness(tmp_path, folder, scope=scope, checkpoint=checkpoint))
        return opened[-1]

    yield make
    for harness in opened:
        harness.engine.close()
