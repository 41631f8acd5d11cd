"""A vault, a cache folder and a home of its own for each test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from vaultbridge.vault.paths import VaultFolder
from vaultbridge.vault.write.transaction import Transactor
from vaultbridge.vault.write.trash import Trash


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "vault"
    made.mkdir()
    return made


@pytest.fixture
def root(folder: Path) -> VaultFolder:
    return VaultFolder(folder)


@pytest.fixture
def home(tmp_path: Path) -> Path:
    made = tmp_path / "home"
    made.mkdir()
    return made


@pytest.fixture
def cache(tmp_path: Path) -> Path:
    made = tmp_path / "cache"
    made.mkdir()
    return made


@pytest.fixture
def trash(home: Path) -> Trash:
    return Trash({"HOME": str(home)}, platform="linux")


@pytest.fixture
def transactor(root: VaultFolder, cache: Path, trash: Trash) -> Iterator[Transactor]:
    made = Transactor(root, cache, trash=trash)
    yield made
    made.close()


@pytest.fixture
def snapshot(folder: Path) -> Callable[[], dict[str, bytes | None]]:
    """Everything in the vault, hidden files too: bytes of files, None for folders."""

    def take() -> dict[str, bytes | None]:
        return {
            str(place.relative_to(folder)): place.read_bytes() if place.is_file() else None
            for place in sorted(folder.rglob("*"))
        }

    return take
