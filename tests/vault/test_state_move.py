"""What earlier versions kept in the cache folder is moved to the state folder once, and nothing is lost."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
import textwrap
from contextlib import closing
from pathlib import Path

import pytest

from support.files import mounted
from vaultbridge.errors import TimedOut
from vaultbridge.vault.folders import Bases, StorageFolders, vault_state
from vaultbridge.vault.locking import WRITER_LOCK, FileLock
from vaultbridge.vault.paths import VaultFolder, vault_path
from vaultbridge.vault.write import state_move
from vaultbridge.vault.write.journal import Journal
from vaultbridge.vault.write.state_move import move_state
from vaultbridge.vault.write.steps import WriteFile
from vaultbridge.vault.write.transaction import Transactor
from vaultbridge.vault.write.trash import Trash

P = vault_path
STEPS = (
    "copied journal.sqlite",
    "placed journal.sqlite",
    "renamed journal.sqlite",
    "closed off journal.sqlite",
)


class Stopped(BaseException):
    """As if the process had been killed."""


class Place:
    """A vault, with the folders that an earlier version used and that this one uses."""

    def __init__(self, base: Path) -> None:
        self.vault, self.earlier, self.state = (base / name for name in ("vault", "earlier", "state"))
        for folder in (self.vault, self.earlier, self.state):
            folder.mkdir()
        self.trash = Trash({"HOME": str(base)}, platform="linux")

    def write(self, folder: Path, *texts: str, name: str = "n.md") -> list[int]:
        transactor = Transactor(VaultFolder(self.vault), folder, trash=self.trash)
        numbers = [
            transactor.apply([WriteFile(P(name), text.encode())], actor="a", label=text).id for text in texts
        ]
        transactor.close()
        return numbers

    def write_earlier(self, *texts: str, name: str = "n.md") -> None:
        """As an earlier version, which knew no seals and kept nothing beside its journal."""
        self.write(self.earlier, *texts, name=name)
        with closing(sqlite3.connect(self.earlier / "journal.sqlite", isolation_level=None)) as db:
            for column in ("seal", "incomplete"):
                db.execute(f"ALTER TABLE transactions DROP COLUMN {column}")
        (self.earlier / "journal.last").unlink()

    def list_labels(self) -> list[str]:
        journal = Journal(self.state)
        try:
            return [entry.label for entry in reversed(journal.history(limit=500))]
        finally:
            journal.close()


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def test_everything_that_cannot_be_made_again_is_moved_and_works(place: Place) -> None:
    place.write_earlier("one", "two")
    (place.earlier / "identity.json").write_text("{}")
    (place.earlier / "paused.json").write_text('{"everyone": true}')
    (place.earlier / "journal.damaged-1.sqlite").write_text("kept")
    (place.earlier / "index.sqlite3").write_text("stays")
    with closing(sqlite3.connect(place.earlier / "review.sqlite")) as db, db:
        db.execute("CREATE TABLE proposals (x)")
    move_state(place.earlier, place.state)
    assert place.list_labels() == ["one", "two"]
    assert (place.state / "paused.json").read_text() == '{"everyone": true}'
    assert (place.state / "identity.json").read_text() == "{}"
    assert (place.state / "journal.damaged-1.sqlite").read_text() == "kept"
    assert (place.state / "review.sqlite").stat().st_mode & 0o777 == 0o600
    left = sorted(file.name for file in place.earlier.iterdir() if file.is_file())
    assert left == ["index.sqlite3", WRITER_LOCK]
    transactor = Transactor(VaultFolder(place.vault), place.state, trash=place.trash)
    transactor.undo(2, actor="cli")
    assert (place.vault / "n.md").read_bytes() == b"one"
    transactor.close()
    assert Journal(place.state).list_notices() == []


def test_changes_that_are_only_beside_the_database_are_moved_too(place: Place) -> None:
    """A process that was killed leaves them in the `-wal` file."""
    program = textwrap.dedent(
        """
        import os, sys
        from pathlib import Path
        from vaultbridge.vault.paths import VaultFolder, vault_path
        from vaultbridge.vault.write.steps import WriteFile
        from vaultbridge.vault.write.transaction import Transactor
        from vaultbridge.vault.write.trash import Trash
        vault, folder = map(Path, sys.argv[1:])
        transactor = Transactor(VaultFolder(vault), folder, trash=Trash({"HOME": str(folder)}))
        transactor.apply([WriteFile(vault_path("n.md"), b"one")], actor="a", label="one")
        os._exit(0)
        """
    )
    subprocess.run([sys.executable, "-c", program, place.vault, place.earlier], check=True, timeout=60)
    assert (place.earlier / "journal.sqlite-wal").stat().st_size > 0
    move_state(place.earlier, place.state)
    assert place.list_labels() == ["one"]


@pytest.mark.parametrize("step", STEPS)
def test_a_move_that_is_interrupted_anywhere_is_completed_at_the_next_start(place: Place, step: str) -> None:
    place.write_earlier("one", "two")

    def stop(reached: str) -> None:
        if reached == step:
            raise Stopped

    with pytest.raises(Stopped):
        move_state(place.earlier, place.state, checkpoint=stop)
    move_state(place.earlier, place.state)
    assert place.list_labels() == ["one", "two"]
    assert not (place.earlier / "journal.sqlite").is_file()
    assert Journal(place.state).list_notices() == [], "the same changes are not added again"
    assert place.write(place.state, "three") == [3]
    assert list(place.earlier.glob("journal*.moved*")) == []


def test_an_earlier_version_that_still_runs_cannot_write_to_what_nobody_reads(place: Place) -> None:
    place.write_earlier("one")
    program = textwrap.dedent(
        """
        import sqlite3, sys
        db = sqlite3.connect(sys.argv[1])
        db.execute("SELECT count(*) FROM transactions").fetchone()
        print("open", flush=True)
        sys.stdin.readline()
        # What an earlier version does before each change: the file with the name must be the open one.
        try:
            sqlite3.connect(sys.argv[1]).execute("SELECT 1 FROM sqlite_master")
        except sqlite3.OperationalError as error:
            print(error, flush=True)
        """
    )
    earlier = subprocess.Popen(
        [sys.executable, "-c", program, place.earlier / "journal.sqlite"],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with earlier:
        assert earlier.stdout is not None and earlier.stdin is not None
        assert earlier.stdout.readline() == "open\n"
        move_state(place.earlier, place.state)
        earlier.stdin.write("\n")
        earlier.stdin.flush()
        assert "unable to open" in earlier.stdout.readline()
    assert place.list_labels() == ["one"]


def test_a_move_waits_for_an_earlier_versions_writer(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    place.write_earlier("one")
    monkeypatch.setattr(state_move, "WRITER_SECONDS", 0.0)
    with FileLock(place.earlier / WRITER_LOCK).hold(1, what="x"), pytest.raises(TimedOut):
        move_state(place.earlier, place.state)
    assert (place.earlier / "journal.sqlite").is_file() and not (place.state / "journal.sqlite").exists()


def test_two_processes_that_start_at_once_move_it_once(place: Place, tmp_path: Path) -> None:
    place.write_earlier("one", "two")
    program = (
        "import sys; from pathlib import Path; from vaultbridge.vault.write.state_move import move_state;"
        "sys.stdin.readline(); move_state(Path(sys.argv[1]), Path(sys.argv[2]))"
    )
    started = [
        subprocess.Popen(
            [sys.executable, "-c", program, place.earlier, place.state], stdin=subprocess.PIPE, text=True
        )
        for _ in range(2)
    ]
    for process in started:
        assert process.stdin is not None
        process.stdin.write("\n")
        process.stdin.flush()
    for process in started:
        process.communicate(timeout=60)
        assert process.returncode == 0
    assert place.list_labels() == ["one", "two"]


def test_a_second_journal_is_added_with_numbers_of_its_own(place: Place) -> None:
    """A cleaner deleted what closed off the old place, and an earlier version began again there."""
    place.write_earlier("one", "two")
    move_state(place.earlier, place.state)
    place.write(place.state, "three")
    shutil.rmtree(place.earlier)
    place.earlier.mkdir()
    place.write_earlier("other", "last", name="m.md")
    move_state(place.earlier, place.state)
    assert place.list_labels() == ["one", "two", "three", "other", "last"]
    transactor = Transactor(VaultFolder(place.vault), place.state, trash=place.trash)
    transactor.undo(1 + 2 + 2, actor="cli")
    assert (place.vault / "m.md").read_bytes() == b"other"
    assert (place.vault / "n.md").read_bytes() == b"three"
    (notice,) = transactor.journal.list_notices()
    assert "added, as 4 to 5" in notice
    transactor.close()


def test_what_an_earlier_version_undid_stays_undone(place: Place) -> None:
    place.write_earlier("one", "two")

    def stop(reached: str) -> None:
        if reached == "placed journal.sqlite":
            raise Stopped

    with pytest.raises(Stopped):
        move_state(place.earlier, place.state, checkpoint=stop)
    transactor = Transactor(VaultFolder(place.vault), place.earlier, trash=place.trash)
    transactor.undo(2, actor="cli")
    transactor.close()
    move_state(place.earlier, place.state)
    journal = Journal(place.state)
    assert [(entry.id, entry.undone_by, entry.undo_of) for entry in journal.history()] == [
        (3, None, 2),
        (2, 3, None),
        (1, None, None),
    ]
    journal.close()


@pytest.mark.parametrize("present", [False, True])
def test_a_damaged_journal_is_moved_and_then_reported(place: Place, present: bool) -> None:
    if present:
        place.write(place.state, "new")
    place.write_earlier("one", "two")
    (place.earlier / "journal.sqlite").write_bytes(b"rubbish " * 1000)
    move_state(place.earlier, place.state)
    journal = Journal(place.state)
    assert [entry.label for entry in journal.history()] == (["new"] if present else [])
    (notice,) = journal.list_notices()
    kept = place.state / ("journal.other-1.sqlite" if present else "journal.damaged-1.sqlite")
    assert kept.name in notice
    assert kept.read_bytes() == b"rubbish " * 1000
    journal.close()


def test_without_room_the_history_stays_where_it_was_and_the_vault_can_be_read(
    place: Place, tmp_path: Path
) -> None:
    bases = Bases(tmp_path / "cache", tmp_path / "small")
    name = vault_state(place.vault, Bases(tmp_path / "cache", tmp_path / "spare")).name
    earlier = tmp_path / "cache" / name
    earlier.mkdir(parents=True)
    place.earlier = earlier
    place.write_earlier("one")
    with closing(sqlite3.connect(earlier / "journal.sqlite")) as db, db:
        db.execute("CREATE TABLE filler AS SELECT randomblob(4000000) AS x")
    with mounted(tmp_path / "small", "2m"):
        folders = StorageFolders(place.vault, bases)
        assert not folders.can_change
        assert "cannot be moved" in folders.problem and "No space left" in folders.problem
        folders.close()
    assert (earlier / "journal.sqlite").is_file()


def test_across_two_disks_it_is_copied(place: Place, tmp_path: Path) -> None:
    place.write_earlier("one")
    place.state.rmdir()
    with mounted(place.state, "4m"):
        assert place.state.stat().st_dev != place.earlier.stat().st_dev
        move_state(place.earlier, place.state)
        assert place.list_labels() == ["one"]


def test_finding_the_state_folder_moves_what_is_left(place: Place, tmp_path: Path) -> None:
    bases = Bases(tmp_path / "c", tmp_path / "s")
    state = vault_state(place.vault, bases)
    place.earlier = tmp_path / "c" / state.name
    place.earlier.mkdir(parents=True)
    place.write_earlier("one")
    assert vault_state(place.vault, bases) == state
    place.state = state
    assert place.list_labels() == ["one"]
    assert state.stat().st_mode & 0o777 == 0o700
