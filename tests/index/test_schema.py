"""Creating, checking and removing the index file."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from vaultbridge.index.store import schema


def test_a_new_file_passes_its_own_check(tmp_path: Path) -> None:
    schema.create(tmp_path / "x")
    schema.check(tmp_path / "x")


def test_the_file_has_our_application_id(tmp_path: Path) -> None:
    schema.create(tmp_path / "x")
    db = sqlite3.connect(tmp_path / "x")
    assert db.execute("PRAGMA application_id").fetchone() == (schema.APPLICATION_ID,)
    assert db.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    db.close()


def test_an_index_without_its_meta_values_is_unusable(tmp_path: Path) -> None:
    schema.create(tmp_path / "x")
    db = sqlite3.connect(tmp_path / "x")
    db.execute("DELETE FROM meta WHERE name = 'state'")
    db.commit()
    db.close()
    with pytest.raises(schema.UnusableIndex, match="state"):
        schema.check(tmp_path / "x")


def test_removing_deletes_the_files_beside_it_too(tmp_path: Path) -> None:
    for suffix in ("", "-wal", "-shm", "-journal"):
        (tmp_path / f"x{suffix}").touch()
    schema.remove(tmp_path / "x")
    schema.remove(tmp_path / "x")
    assert list(tmp_path.iterdir()) == []
