"""`vaultbridge.vault.journal_file`: a database that opens whatever state it is in."""

from __future__ import annotations

import logging
import sqlite3
from pathlib import Path

import pytest

from vaultbridge.errors import EngineFailure
from vaultbridge.vault.journal_file import open_journal


def test_a_new_journal_is_private_durable_and_opens_again(tmp_path: Path) -> None:
    file = tmp_path / "journal.sqlite"
    for _ in range(2):
        db = open_journal(file)
        assert db.execute("PRAGMA journal_mode").fetchone()[0] == "wal"
        assert db.execute("PRAGMA synchronous").fetchone()[0] == 2
        db.close()
    assert file.stat().st_mode & 0o777 == 0o600


def test_two_may_open_at_once(tmp_path: Path) -> None:
    one, two = open_journal(tmp_path / "j.sqlite"), open_journal(tmp_path / "j.sqlite")
    assert one.execute("SELECT count(*) FROM transactions").fetchone() == (0,)
    assert two.execute("SELECT count(*) FROM transactions").fetchone() == (0,)
    one.close()
    two.close()


def foreign(file: Path) -> None:
    with sqlite3.connect(file) as db:
        db.execute("CREATE TABLE somebody_elses (x)")
    db.close()


@pytest.mark.parametrize(
    "spoil",
    [lambda file: file.write_bytes(b"this is no database at all" * 100), foreign],
    ids=["damaged", "foreign"],
)
def test_a_file_that_is_no_journal_is_put_aside_with_a_warning(
    tmp_path: Path, spoil: object, caplog: pytest.LogCaptureFixture
) -> None:
    file = tmp_path / "journal.sqlite"
    spoil(file)  # type: ignore[operator]
    held = file.read_bytes()
    with caplog.at_level(logging.WARNING):
        db = open_journal(file)
    assert db.execute("SELECT count(*) FROM transactions").fetchone() == (0,)
    db.close()
    assert "put aside" in caplog.text
    aside = tmp_path / "journal.damaged-1.sqlite"
    assert aside.read_bytes() == held, "not a byte of it is touched"
    file.unlink()
    spoil(file)  # type: ignore[operator]
    open_journal(file).close()
    assert (tmp_path / "journal.damaged-2.sqlite").exists()


def test_a_journal_that_cannot_be_opened_is_told_without_a_machine_path(tmp_path: Path) -> None:
    with pytest.raises(EngineFailure) as caught:
        open_journal(tmp_path / "none" / "journal.sqlite")
    assert str(tmp_path) not in str(caught.value)
