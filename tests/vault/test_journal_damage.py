"""A journal that is damaged, gone, old or newer: what can be read of it stays, and the rest is reported."""

from __future__ import annotations

import random
import shutil
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from vaultbridge.errors import EngineFailure, InvalidArgument, TimedOut
from vaultbridge.vault.locking import WRITER_LOCK, FileLock
from vaultbridge.vault.paths import VaultFolder, vault_path
from vaultbridge.vault.write.journal import Journal, make_image
from vaultbridge.vault.write.journal_rows import JournalEntry
from vaultbridge.vault.write.journal_schema import NEWER_VERSIONS
from vaultbridge.vault.write.steps import MoveFile, WriteFile, Written
from vaultbridge.vault.write.transaction import Transactor
from vaultbridge.vault.write.trash import Trash

P = vault_path
CHANGES = 60
FLIPS = 150
"""How many bytes of each part of the file are flipped: with those of all parts, some seconds."""


class Made:
    """A journal of many changes, and the vault that they made, to be damaged again and again."""

    def __init__(self, place: Path) -> None:
        self.base = place / "made"
        self.trash = Trash({"HOME": str(place)}, platform="linux")
        self.place = place
        (self.base / "vault").mkdir(parents=True)
        (self.base / "state").mkdir()
        transactor = self.open(self.base)
        # Every note has its own text, so that a wrong one would be seen.
        for number in range(CHANGES):
            name = P(f"N{number % 20}.md")
            transactor.apply(
                [WriteFile(name, f"{number} of {name}\n".encode() * (1 + number * 9 % 200))],
                actor="mcp:test",
                label=f"change {number}",
            )
        transactor.apply([MoveFile(P("N7.md"), P("Moved.md"))], actor="mcp:test", label="move")
        self.entries = {entry.id: entry for entry in transactor.journal.history(limit=500)}
        transactor.close()
        self.last = max(self.entries)
        self.rounds = 0

    def open(self, base: Path) -> Transactor:
        return Transactor(VaultFolder(base / "vault"), base / "state", trash=self.trash)

    @property
    def file(self) -> Path:
        return self.base / "state" / "journal.sqlite"

    def copy(self) -> Path:
        """Where it was, because the journal knows exact places."""
        self.rounds += 1
        kept = self.place / "kept"
        if not kept.exists():
            shutil.copytree(self.base, kept)
        shutil.rmtree(self.base)
        shutil.copytree(kept, self.base)
        return self.base


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("journal"))


def same(entry: JournalEntry, known: JournalEntry) -> bool:
    """Whether it is the same change, whether or not its content was lost."""
    return (entry.id, entry.at, entry.label, entry.acts) == (known.id, known.at, known.label, known.acts)


def check_promises(made: Made, base: Path) -> str:
    """Whatever happened to the journal: what is missing is reported, no number is given twice, and undoing
    gives the text that was there, or an error."""
    transactor = made.open(base)
    journal = transactor.journal
    try:
        shown = {entry.id: entry for entry in journal.history(limit=500)}
        for number, entry in shown.items():
            assert number in made.entries and same(entry, made.entries[number])
        missing = sorted(set(made.entries) - set(shown))
        if missing:
            assert journal.list_notices(), f"{missing} are missing, and nobody says so"
        for number in missing:
            with pytest.raises(InvalidArgument, match="was lost"):
                journal.entry(number)
        for number in (made.last, 55, 41):
            if number not in shown:
                continue
            try:
                transactor.undo(number, actor="cli")
            except EngineFailure:
                continue
            # Only what that change did is undone.
            act = made.entries[number].acts[0]
            if isinstance(act, Written):
                assert act.before is not None
                assert make_image((base / "vault" / act.path).read_bytes()) == act.before
            else:
                assert (base / "vault" / "N7.md").exists()
        new = transactor.apply([WriteFile(P("new.md"), b"new")], actor="cli", label="new").id
        assert new > made.last
        assert journal.history(limit=1)[0].id == new
        return " ".join(journal.list_notices())
    finally:
        transactor.close()


def draw_places(size: int) -> Iterator[int]:
    """All of the header, and places in all pages."""
    drawn = random.Random(23)
    yield from sorted({*range(0, 100, 3), 19})
    yield from sorted(drawn.sample(range(100, size), FLIPS))


@pytest.mark.long
def test_one_flipped_byte_never_loses_the_history_silently(made: Made) -> None:
    reported = 0
    for at in draw_places(made.file.stat().st_size):
        base = made.copy()
        data = bytearray(made.file.read_bytes())
        data[at] ^= 1 << at % 8
        made.file.write_bytes(data)
        transactor = made.open(base)
        newer = "newer" in transactor.journal.find_problem()
        transactor.close()
        if newer:
            # One byte makes it a later version's, which only refusing is safe for.
            assert 60 <= at < 64
            continue
        reported += bool(check_promises(made, base))
    assert reported > 10, "the draw has met what SQLite and the hashes notice"


@pytest.mark.parametrize("part", [0, 1, 50, 1000, 4096, 5000, 0.3, 0.5, 0.9, 0.999])
def test_a_truncated_journal_is_reported_and_no_number_is_given_again(made: Made, part: float) -> None:
    base = made.copy()
    data = made.file.read_bytes()
    made.file.write_bytes(data[: int(part) if part >= 1 else int(len(data) * part)])
    assert check_promises(made, base)


@pytest.mark.parametrize(
    "spoil",
    [
        lambda file: file.write_bytes(random.Random(1).randbytes(50_000)),
        lambda file: file.unlink(),
        lambda file: shutil.copyfile(file.parent.parent / "foreign", file),
    ],
    ids=["random", "deleted", "foreign"],
)
def test_a_journal_that_is_gone_or_another_file_is_reported(made: Made, spoil: object) -> None:
    base = made.copy()
    with closing(sqlite3.connect(base / "foreign")) as db, db:
        db.execute("CREATE TABLE somebody_elses (x)")
    spoil(made.file)  # type: ignore[operator]
    assert "1 to 61" in check_promises(made, base).replace("changes up to", "1 to")


def test_an_older_copy_gives_no_number_again_and_rolls_nothing_back(made: Made) -> None:
    base = made.copy()
    transactor = made.open(base)
    name, older = P("N3.md"), base / "older.sqlite"
    begun = transactor.journal.begin(
        [Written(name, str(base / "vault" / name), None, make_image(b"x"), None, "")],
        {make_image(b"x").digest: b"x"},
        at=1.0,
        actor="a",
        label="l",
    )
    transactor.journal.start_applying(begun, {})
    with closing(sqlite3.connect(made.file)) as db, closing(sqlite3.connect(older)) as copy:
        db.backup(copy)
    # It ends, and others follow, and then a backup of that moment is put back.
    transactor.journal.finish(begun, state="done", at=1.0)
    later = [
        transactor.apply([WriteFile(P("L.md"), f"{n}".encode())], actor="a", label="later").id for n in (1, 2)
    ]
    transactor.close()
    for tail in ("", "-wal", "-shm"):
        Path(f"{made.file}{tail}").unlink(missing_ok=True)
    older.rename(made.file)
    before = (base / "vault" / name).read_bytes()
    again = made.open(base)
    assert again.recover() == ()
    assert (base / "vault" / name).read_bytes() == before, "what had ended is not taken for interrupted"
    new = again.apply([WriteFile(P("new.md"), b"new")], actor="cli", label="new").id
    assert new > max(later)
    for number in later:
        with pytest.raises(InvalidArgument, match="was lost"):
            again.undo(number, actor="cli")
    assert "older copy" in " ".join(again.journal.list_notices())
    again.close()


def test_what_a_loss_says_lasts_until_it_is_confirmed(made: Made) -> None:
    base = made.copy()
    made.file.unlink()
    for _ in range(2):
        transactor = made.open(base)
        assert transactor.journal.history() == ()
        (notice,) = transactor.journal.list_notices()
        assert f"up to {made.last}" in notice and str(base) not in notice
        transactor.close()
    transactor = made.open(base)
    transactor.journal.confirm_losses()
    assert transactor.journal.list_notices() == []
    with pytest.raises(InvalidArgument, match="was lost"):
        transactor.journal.entry(3)
    with pytest.raises(InvalidArgument, match="no change 99999"):
        transactor.journal.entry(99_999)
    transactor.close()


def test_a_change_that_was_under_way_is_still_rolled_back_after_salvaging(made: Made) -> None:
    base = made.copy()

    before = (base / "vault" / "N2.md").read_bytes()
    _begin_and_die(made, base)
    assert (base / "vault" / "N2.md").read_bytes() == b"half"
    _damage_row(made.file, 5)
    again = made.open(base)
    # The reader finds the damage, and the interrupted change is salvaged with the others.
    assert len(again.journal.history(limit=500)) == CHANGES
    (recovered,) = again.recover()
    assert recovered.label == "interrupted"
    assert (base / "vault" / "N2.md").read_bytes() == before
    assert "61 of 62" in " ".join(again.journal.list_notices())
    again.close()


def test_two_processes_that_find_it_damaged_salvage_it_once(made: Made) -> None:
    base = made.copy()
    first, second = made.open(base), made.open(base)
    assert len(first.journal.history(limit=500)) == len(second.journal.history(limit=500)) == CHANGES + 1
    _damage_row(made.file, 5)
    shown: list[int] = []
    threads = [
        threading.Thread(target=lambda one=one: shown.append(len(one.journal.history(limit=500))))  # type: ignore[misc]
        for one in (first, second)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert shown == [CHANGES, CHANGES]
    assert [file.name for file in made.file.parent.glob("*damaged*.sqlite")] == ["journal.damaged-1.sqlite"]
    assert len(first.journal.list_notices()) == 1
    first.close()
    second.close()


def test_nobody_replaces_a_damaged_journal_under_a_writer(made: Made) -> None:
    """The writer records in the file that it has open how its change ends."""
    base = made.copy()
    _damage_row(made.file, 5)
    reader = Journal(base / "state", hold=lambda: FileLock(base / "state" / WRITER_LOCK).hold(0, what="It"))
    with FileLock(base / "state" / WRITER_LOCK).hold(1, what="x"):
        with pytest.raises(TimedOut, match="busy"):
            reader.history(limit=500)
        assert list(made.file.parent.glob("*damaged*")) == []
    assert len(reader.history(limit=500)) == CHANGES
    reader.close()


@pytest.mark.parametrize("stop", ["salvaged", "kept"])
def test_salvaging_that_was_interrupted_is_completed(made: Made, stop: str) -> None:
    base = made.copy()
    _damage_row(made.file, 5)
    transactor = made.open(base)
    transactor.journal.history(limit=500)
    transactor.close()
    ready = made.file.with_name("journal.salvaged.sqlite")
    kept = made.file.with_name("journal.damaged-1.sqlite")
    # As it is when the new one has not got its name, or the old one still has it.
    made.file.rename(ready)
    if stop == "salvaged":
        kept.rename(made.file)
    again = made.open(base)
    assert len(again.journal.history(limit=500)) == CHANGES
    assert kept.exists() and not ready.exists()
    assert len(again.journal.list_notices()) == 1
    again.close()


@pytest.mark.parametrize("version", [2, 1 + NEWER_VERSIONS])
def test_a_newer_versions_journal_is_read_and_never_changed(made: Made, version: int) -> None:
    base = made.copy()
    with closing(sqlite3.connect(made.file, isolation_level=None)) as db:
        db.execute(f"PRAGMA user_version = {version}")
        db.execute("ALTER TABLE transactions ADD COLUMN later TEXT")
        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    held = made.file.read_bytes()
    text = (base / "vault" / "N3.md").read_bytes()
    transactor = made.open(base)
    assert len(transactor.journal.history(limit=500)) == CHANGES + 1
    assert transactor.recover() == ()
    for change in (
        lambda: transactor.apply([WriteFile(P("new.md"), b"new")], actor="cli", label="new"),
        lambda: transactor.undo(5, actor="cli"),
        lambda: transactor.record(P("N3.md"), None, text, actor="cli", label="outside"),
    ):
        with pytest.raises(EngineFailure, match="a newer one wrote") as caught:
            change()
        assert "Update vaultbridge" in caught.value.hint
    assert "newer" in transactor.find_problem() and "Update" in transactor.find_problem()
    transactor.close()
    assert made.file.read_bytes() == held
    assert list(made.file.parent.glob("*damaged*")) == []


def test_a_newer_versions_journal_without_our_columns_is_neither_read_nor_put_aside(made: Made) -> None:
    base = made.copy()
    with closing(sqlite3.connect(made.file, isolation_level=None)) as db:
        db.execute("PRAGMA user_version = 3")
        db.execute("ALTER TABLE transactions RENAME COLUMN label TO named")
    transactor = made.open(base)
    with pytest.raises(EngineFailure, match="history cannot be shown by this version"):
        transactor.journal.history()
    with pytest.raises(EngineFailure, match="a newer one wrote"):
        transactor.apply([WriteFile(P("new.md"), b"new")], actor="cli", label="new")
    assert "newer" in transactor.find_problem()
    transactor.close()
    assert list(made.file.parent.glob("*damaged*")) == []


def test_an_interrupted_change_of_a_newer_version_waits_for_it(made: Made) -> None:
    base = made.copy()
    _begin_and_die(made, base)
    with closing(sqlite3.connect(made.file, isolation_level=None)) as db:
        db.execute("PRAGMA user_version = 2")
    transactor = made.open(base)
    with pytest.raises(EngineFailure, match="a newer one wrote"):
        transactor.recover()
    assert (base / "vault" / "N2.md").read_bytes() == b"half", "only that version knows how"
    transactor.close()


def test_content_that_was_lost_is_shown_as_lost(made: Made) -> None:
    base = made.copy()
    image = made.entries[41].acts[0]
    assert isinstance(image, Written) and image.before is not None
    with closing(sqlite3.connect(made.file, isolation_level=None)) as db:
        db.execute("UPDATE contents SET data = x'72' WHERE digest = ?", (image.before.digest,))
    _damage_row(made.file, 5)
    transactor = made.open(base)
    shown = {entry.id: entry.incomplete for entry in transactor.journal.history(limit=500)}
    assert [number for number, incomplete in shown.items() if incomplete] == [41, 21]
    assert "2 of them without their content" in " ".join(transactor.journal.list_notices())
    with pytest.raises(EngineFailure, match="no longer holds the content"):
        transactor.undo(41, actor="cli")
    transactor.close()


def _damage_row(file: Path, number: int) -> None:
    with closing(sqlite3.connect(file, isolation_level=None)) as db:
        db.execute("UPDATE transactions SET label = 'another' WHERE id = ?", (number,))


def _begin_and_die(made: Made, base: Path) -> None:
    """Leaves what a process leaves that is killed after it has swapped its file."""
    journal = Journal(base / "state")
    place = base / "vault" / "N2.md"
    before, after = place.read_bytes(), b"half"
    images = {make_image(data).digest: data for data in (before, after)}
    act = Written(P("N2.md"), str(place), make_image(before), make_image(after), None, str(place) + ".tmp")
    number = journal.begin([act], images, at=1.0, actor="a", label="interrupted")
    new = place.with_name("staged")
    new.write_bytes(after)
    journal.start_applying(number, {0: new.stat().st_ino})
    new.replace(place)
    journal.close()
