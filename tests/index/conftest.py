"""Vaults for the tests of `index`."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.index import Vault


@pytest.fixture
def empty_vault(tmp_path: Path) -> Iterator[Vault]:
    vault = Vault(tmp_path)
    yield vault
    vault.close()


@pytest.fixture
def make_vault(empty_vault: Vault) -> Callable[[dict[str, str | bytes]], Vault]:
    """Give files, get their vault, indexed."""

    def make(files: dict[str, str | bytes]) -> Vault:
        empty_vault.write(files)
        empty_vault.sync_all()
        return empty_vault

    return make
