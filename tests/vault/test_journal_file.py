"""`vaultbridge.vault.write.journal_database`: a database that opens whatever state it is in."""

from __future__ import annotations

import logging
import shutil
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from vaultbridge.errors import EngineFailure
from vaultbridge.vault.write.journal_database import JournalFile
from vaultbridge.vault.write.journal_schema import transaction


def read_pragma(file: JournalFile, name: str) -> object:
    return file.ask(lambda db: db.execute(f"PRAGMA {name}").fetchone()[0])


def test_a_new_journal_is_private_durable_and_opens_again(tmp_path: Path) -> None:
    place = tmp_path / "journal.sqlite"
    for _ in range(2):
        file = JournalFile(place)
        assert read_pragma(file, "journal_mode") == "wal"
        assert read_pragma(file, "synchronous") == 2
        file.close()
    assert place.stat().st_mode & 0o777 == 0o600


def test_two_may_open_at_once(tmp_path: Path) -> None:
    first, second = JournalFile(tmp_path / "j.sqlite"), JournalFile(tmp_path / "j.sqlite")
    assert list_labels(first) == []
    assert list_labels(second) == []
    first.close()
    second.close()


def write_foreign(file: Path) -> None:
    with closing(sqlite3.connect(file)) as db, db:
        db.execute("CREATE TABLE somebody_elses (x)")
    db.close()


@pytest.mark.parametrize(
    "spoil",
    [lambda file: file.write_bytes(b"this is no database at all" * 100), write_foreign],
    ids=["damaged", "foreign"],
)
def test_a_file_that_is_no_journal_is_kept_and_reported(
    tmp_path: Path, spoil: object, caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "journal.sqlite"
    for number in (1, 2):
        spoil(place)  # type: ignore[operator]
        held = place.read_bytes()
        file = JournalFile(place)
        with caplog.at_level(logging.WARNING):
            assert list_labels(file) == []
        aside = tmp_path / f"journal.damaged-{number}.sqlite"
        assert f"kept as {aside.name}" in caplog.text and str(tmp_path) not in caplog.text
        assert aside.read_bytes() == held, "not a byte of it is touched"
        assert [loss.kept for loss in file.notes.list_losses()][-1] == aside.name
        file.close()
        place.unlink()


def test_the_error_for_an_unusable_journal_names_no_machine_path(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    with pytest.raises(EngineFailure) as caught:
        list_labels(JournalFile(tmp_path / "file" / "journal.sqlite"))
    assert str(tmp_path) not in str(caught.value)


def test_a_folder_in_the_journals_place_is_an_error_until_it_is_moved_away(tmp_path: Path) -> None:
    place = tmp_path / "journal.sqlite"
    place.mkdir()
    file = JournalFile(place)
    for _ in range(2):
        with pytest.raises(EngineFailure, match=r"journal\.sqlite in the state folder is a folder") as caught:
            list_labels(file)
        assert "Move that folder away" in caught.value.hint
    with pytest.raises(EngineFailure, match="is a folder"):
        note_down(file, "one")
    place.rmdir()
    note_down(file, "one")
    assert list_labels(file) == ["one"]
    file.close()


def list_labels(file: JournalFile) -> list[str]:
    return file.ask(lambda db: [label for (label,) in db.execute("SELECT label FROM transactions")])


def note_down(file: JournalFile, label: str) -> None:
    with file.changing() as db:
        db.execute(
            "INSERT INTO transactions (state, at, actor, label, acts) VALUES ('done', 0, 'x', ?, x'90')",
            (label,),
        )


def test_a_journal_that_is_deleted_while_it_is_open_is_created_again(tmp_path: Path) -> None:
    """What is written to a file that has lost its name is seen by nobody, and gone with the process."""
    file = JournalFile(tmp_path / "cache" / "journal.sqlite")
    note_down(file, "one")
    shutil.rmtree(tmp_path / "cache")
    assert list_labels(file) == []
    note_down(file, "two")
    other = JournalFile(tmp_path / "cache" / "journal.sqlite")
    assert list_labels(other) == ["two"]
    other.close()
    file.close()


def test_only_one_process_puts_a_damaged_journal_aside(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    place = tmp_path / "journal.sqlite"
    first, second = JournalFile(place), JournalFile(place)
    note_down(first, "one")
    with first.changing() as db:
        db.execute("PRAGMA writable_schema = ON")
        db.execute("UPDATE sqlite_master SET rootpage = 9999 WHERE name = 'transactions'")
    second.close()
    second = JournalFile(place)
    assert list_labels(second) == []
    note_down(second, "new")
    assert "kept as journal.damaged-1.sqlite" in caplog.text
    assert list_labels(first) == ["new"]
    assert not (tmp_path / "journal.damaged-2.sqlite").exists()
    first.close()
    second.close()


def test_a_journal_that_is_closed_locked_or_full_is_not_taken_for_damaged(tmp_path: Path) -> None:
    file = JournalFile(tmp_path / "journal.sqlite")
    note_down(file, "one")
    with pytest.raises(EngineFailure):
        file.ask(lambda db: db.execute("PRAGMA max_page_count = 1") and fill(db))
    file.close()
    with pytest.raises(EngineFailure):
        list_labels(file)
    assert [place.name for place in tmp_path.glob("*damaged*")] == []
    again = JournalFile(tmp_path / "journal.sqlite")
    assert list_labels(again) == ["one"]
    again.close()


def fill(db: sqlite3.Connection) -> None:
    with transaction(db):
        db.execute("INSERT INTO contents VALUES (x'00', 1, zeroblob(1000000))")
