"""Vaults that are opened when they are needed."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from support.vault import make_small_vault, open_engines
from vaultbridge.engine import DirectEngine
from vaultbridge.errors import VaultNotFound


def test_nothing_is_opened_before_it_is_asked_for(tmp_path: Path) -> None:
    engines = open_engines(tmp_path, make_small_vault(tmp_path, {"A.md": "a"}), tmp_path / "missing")
    assert list(engines) == ["Notes", "missing"]
    assert "missing" in engines
    assert engines.opened() == {}
    assert engines["Notes"].name == "Notes"
    assert list(engines.opened()) == ["Notes"]
    engines.close()


def test_a_vault_used_by_many_threads_is_opened_and_announced_once(tmp_path: Path) -> None:
    engines = open_engines(tmp_path, make_small_vault(tmp_path, {"A.md": "a"}))
    answer: list[DirectEngine] = []
    engines.on_open = lambda name, engine: answer.append(engine)
    with ThreadPoolExecutor(8) as threads:
        found = set(threads.map(lambda _: engines["Notes"], range(32)))
    assert len(found) == 1
    assert answer == list(found)
    engines.close()


def test_a_vault_that_appears_later_is_found_then(tmp_path: Path) -> None:
    engines = open_engines(tmp_path, tmp_path / "Notes")
    with pytest.raises(VaultNotFound):
        engines["Notes"]
    make_small_vault(tmp_path, {"A.md": "a"})
    assert engines["Notes"].find("A") == "A.md"
    engines.close()


def test_after_the_end_no_vault_is_opened(tmp_path: Path) -> None:
    engines = open_engines(tmp_path, make_small_vault(tmp_path, {"A.md": "a"}))
    engines.close()
    with pytest.raises(RuntimeError):
        engines["Notes"]
