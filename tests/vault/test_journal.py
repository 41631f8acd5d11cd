"""`vaultbridge.vault.write.journal`: what was done, by whom, and how it was before; bounded."""

from __future__ import annotations

import random
import sqlite3
import threading
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest

from vaultbridge.errors import EditRefused, EngineFailure, InvalidArgument
from vaultbridge.vault.paths import VaultFolder, vault_path
from vaultbridge.vault.write import journal as journal_module
from vaultbridge.vault.write.journal import Journal, make_image
from vaultbridge.vault.write.steps import (
    Act,
    MoveFile,
    MoveFolder,
    RemoveFile,
    Restored,
    Step,
    Trashed,
    TrashFile,
    WriteFile,
    Written,
)
from vaultbridge.vault.write.transaction import Transactor
from vaultbridge.vault.write.trash import Trash

P = vault_path
DAY = 86400.0


class Clock:
    def __init__(self) -> None:
        self.now = 1_700_000_000.0

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def timed(root: VaultFolder, cache: Path, trash: Trash, clock: Clock) -> Iterator[Transactor]:
    made = Transactor(root, cache, trash=trash, clock=clock)
    yield made
    made.close()


def do(transactor: Transactor, *steps: Step, label: str = "a change") -> int:
    return transactor.apply(steps, actor="mcp:test", label=label).id


def list_labels(transactor: Transactor, path: str) -> list[str]:
    return [entry.label for entry in transactor.journal.history(P(path))]


def test_an_entry_records_who_when_what_and_how_it_ended(timed: Transactor, clock: Clock) -> None:
    number = do(timed, WriteFile(P("A/n.md"), b"x"), label="Create A/n.md")
    entry = timed.journal.entry(number)
    assert (entry.at, entry.actor, entry.label, entry.state) == (
        clock.now,
        "mcp:test",
        "Create A/n.md",
        "done",
    )
    assert entry.paths == ("A", "A/n.md")
    assert (entry.undo_of, entry.undone_by) == (None, None)
    undoing = timed.undo(number, actor="cli").id
    assert timed.journal.entry(number).undone_by == undoing
    assert timed.journal.entry(undoing).undo_of == number
    assert timed.journal.entry(undoing).label == "Undo: Create A/n.md"


def test_history_is_newest_first_and_continues_from_an_id(timed: Transactor) -> None:
    for number in range(5):
        do(timed, WriteFile(P("n.md"), str(number).encode()), label=f"edit {number}")
    assert [entry.label for entry in timed.journal.history(limit=2)] == ["edit 4", "edit 3"]
    assert [entry.label for entry in timed.journal.history(limit=2, before=4)] == ["edit 2", "edit 1"]
    for limit in (0, journal_module.HISTORY_LIMIT + 1):
        with pytest.raises(InvalidArgument):
            timed.journal.history(limit=limit)


def test_a_notes_history_follows_its_renames_and_leaves_others_out(timed: Transactor) -> None:
    do(timed, WriteFile(P("a.md"), b"1"), label="make a")
    do(timed, WriteFile(P("other.md"), b"1"), label="make other")
    do(timed, MoveFile(P("a.md"), P("D/b.md")), label="rename")
    do(timed, WriteFile(P("a.md"), b"another"), label="a new a")
    do(timed, WriteFile(P("D/b.md"), b"2"), label="edit b")
    do(timed, MoveFolder(P("D"), P("E")), label="move folder")
    do(timed, WriteFile(P("E/b.md"), b"3"), label="edit again")
    do(timed, WriteFile(P("E/c.md"), b"3"), label="a neighbour")
    assert list_labels(timed, "e/B.md") == ["edit again", "move folder", "edit b", "rename", "make a"]
    assert list_labels(timed, "a.md") == ["a new a", "rename", "make a"]
    assert [entry.label for entry in timed.journal.history(P("E/b.md"), limit=3)] == [
        "edit again",
        "move folder",
        "edit b",
    ]


def test_versions_are_the_bytes_before_and_after(timed: Transactor, folder: Path) -> None:
    (folder / "n.md").write_bytes(b"\xff\xfe old \r\n")
    (folder / "t.md").write_bytes(b"trash me")
    (folder / "r.md").write_bytes(b"remove me")
    number = do(
        timed,
        WriteFile(P("n.md"), b"new"),
        WriteFile(P("new.md"), b""),
        TrashFile(P("t.md"), "local"),
        RemoveFile(P("r.md")),
        MoveFile(P("n.md"), P("m.md")),
    )
    shown = {
        item.path: (item.before, item.after) for item in timed.journal.versions(timed.journal.entry(number))
    }
    assert shown == {
        "n.md": (b"\xff\xfe old \r\n", b"new"),
        "new.md": (None, b""),
        "t.md": (b"trash me", None),
        "r.md": (b"remove me", None),
    }
    undoing = timed.undo(number, actor="cli").id
    shown = {
        item.path: (item.before, item.after) for item in timed.journal.versions(timed.journal.entry(undoing))
    }
    assert shown["t.md"] == (None, b"trash me")


def test_an_unknown_entry_is_refused(timed: Transactor) -> None:
    with pytest.raises(InvalidArgument, match="no change 7"):
        timed.journal.entry(7)


def test_content_is_stored_once_and_compressed(timed: Transactor, cache: Path) -> None:
    text = b"the same words again and again " * 1000
    for number in range(20):
        do(timed, WriteFile(P(f"{number}.md"), text))
    with closing(sqlite3.connect(cache / "journal.sqlite")) as db, db:
        [(count, stored)] = db.execute("SELECT count(*), sum(stored) FROM contents").fetchall()
    db.close()
    assert count == 1
    assert stored < len(text) / 20


def test_changes_older_than_the_limit_are_deleted(timed: Transactor, clock: Clock, cache: Path) -> None:
    do(timed, WriteFile(P("n.md"), b"old"), label="old")
    weeks = int(journal_module.JOURNAL_SECONDS // journal_module.GAP_SECONDS)
    for week in range(weeks):
        clock.now += journal_module.GAP_SECONDS
        do(timed, WriteFile(P("n.md"), f"{week}".encode()), label=f"{week}")
    timed.journal.prune(now=clock.now)
    assert timed.journal.history()[-1].label == "old"
    timed.journal.prune(now=clock.now + journal_module.GAP_SECONDS)
    assert [entry.label for entry in timed.journal.history()] == [f"{week}" for week in range(weeks)][::-1]
    assert timed.journal.versions(timed.journal.entry(2))[0].before == b"old", (
        "still needed by the later change"
    )
    with pytest.raises(InvalidArgument):
        timed.journal.entry(1)


@pytest.mark.parametrize("days", [400, 40_000, -400])
def test_a_wrong_clock_deletes_no_history(timed: Transactor, clock: Clock, days: int) -> None:
    do(timed, WriteFile(P("n.md"), b"before"), label="before")
    right = clock.now
    clock.now += days * DAY
    for number in range(journal_module.PRUNE_EVERY + 1):
        do(timed, WriteFile(P("n.md"), f"{number}".encode()), label="wrong")
    clock.now = right + DAY
    do(timed, WriteFile(P("n.md"), b"after"), label="after")
    timed.journal.prune(now=clock.now)
    found = [entry.label for entry in timed.journal.history(limit=1000)]
    assert found == ["after", *["wrong"] * (journal_module.PRUNE_EVERY + 1), "before"]


def test_the_number_of_changes_is_limited(
    timed: Transactor, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "JOURNAL_ENTRIES", 5)
    for number in range(9):
        do(timed, WriteFile(P("n.md"), str(number).encode()), label=str(number))
    timed.journal.prune(now=clock.now)
    assert [entry.label for entry in timed.journal.history()] == ["8", "7", "6", "5", "4"]


def test_changes_that_were_rolled_back_push_none_out_of_the_history(
    timed: Transactor, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A change that waits for a note which another program has open is tried, and rolled back, many times."""
    monkeypatch.setattr(journal_module, "JOURNAL_ENTRIES", 10)
    monkeypatch.setattr(journal_module, "ROLLED_BACK_ENTRIES", 5)
    image = make_image(b"x")
    for number in range(3):
        do(timed, WriteFile(P("n.md"), str(number).encode()), label=str(number))
        for _ in range(40):
            tried = timed.journal.begin(
                [Written(P("m.md"), "/v/m.md", None, image, None, "/v/.t")],
                {image.digest: b"x"},
                at=clock.now,
                actor="a",
                label="tried",
            )
            timed.journal.finish(tried, state="rolled-back", at=clock.now)
        timed.journal.prune(now=clock.now)
    assert [entry.label for entry in timed.journal.history()] == ["2", "1", "0"]
    assert timed.journal.last_finished() == tried


def test_the_size_is_limited_but_the_newest_change_always_stays(
    timed: Transactor, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "JOURNAL_BYTES", 200_000)
    noise = [random.Random(seed).randbytes(10_000) for seed in range(40)]
    for data in noise:
        do(timed, WriteFile(P("n.md"), data))
    timed.journal.prune(now=clock.now)
    kept = timed.journal.history(limit=100)
    assert 5 <= len(kept) <= 20, "no more than needed is forgotten"
    assert kept[0].id == 40
    assert timed.journal.versions(kept[0])[0].after == noise[-1]


def test_the_limits_are_enforced_automatically(
    timed: Transactor, clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(journal_module, "JOURNAL_ENTRIES", 5)
    for number in range(journal_module.PRUNE_EVERY + 10):
        do(timed, WriteFile(P("n.md"), str(number).encode()))
    assert len(timed.journal.history(limit=1000)) <= 5 + journal_module.PRUNE_EVERY


def test_a_transaction_under_way_is_never_deleted(cache: Path) -> None:
    journal = Journal(cache)
    image = make_image(b"x")
    act: Act = Written(P("n.md"), "/v/n.md", None, image, None, "/v/.t")
    journal.begin([act], {image.digest: b"x"}, at=0.0, actor="a", label="l")
    journal.prune(now=10 * journal_module.JOURNAL_SECONDS)
    [pending] = journal.pending()
    assert pending.state == "pending" and pending.acts == (act,)
    journal.start_applying(pending.id, {0: 42})
    assert journal.pending()[0].staged == {0: 42}
    journal.mark_to_undo(pending.id, 0)
    assert journal.pending()[0].to_undo == 0
    journal.finish(pending.id, state="rolled-back", kept=("a b.md", "c.md"), at=1.0)
    assert journal.pending() == ()
    assert journal.history() == (), "what was rolled back did not happen"
    journal.close()


def test_acts_of_every_kind_are_stored_exactly(cache: Path) -> None:
    journal = Journal(cache)
    trashed = Trashed(
        P("t.md"), "/v/t.md", "system", "/t/t.md", "/t/i", "info", folder=False, image=None, mode=0o644
    )
    number = journal.begin([trashed, Restored(trashed)], {}, at=0.0, actor="a", label="l")
    assert journal.entry(number).acts == (trashed, Restored(trashed))
    journal.close()


def test_damaged_content_is_an_error_and_never_returned(cache: Path) -> None:
    journal = Journal(cache)
    with pytest.raises(EngineFailure):
        journal.content(make_image(b"never held"))
    image = make_image(b"held")
    act: Act = Written(P("n.md"), "/v/n.md", None, image, None, "/v/.t")
    journal.begin([act], {image.digest: b"held"}, at=0.0, actor="a", label="l")
    assert journal.content(image) == b"held"
    with closing(sqlite3.connect(cache / "journal.sqlite")) as db, db:
        db.execute("UPDATE contents SET data = ?", (b"zrubbish",))
    db.close()
    with pytest.raises(EngineFailure):
        journal.content(image)
    journal.close()


def test_two_threads_may_write_at_once(root: VaultFolder, cache: Path, trash: Trash) -> None:
    transactor = Transactor(root, cache, trash=trash, wait=60)
    errors: list[BaseException] = []

    def write(name: str) -> None:
        try:
            for number in range(15):
                do(transactor, WriteFile(P(f"{name}.md"), str(number).encode()))
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=write, args=(name,)) for name in "ab"]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(timeout=60)
    assert errors == []
    assert len(transactor.journal.history(limit=100)) == 30
    transactor.close()


@pytest.mark.long
def test_a_journal_cut_or_spoilt_anywhere_costs_history_and_nothing_else(
    root: VaultFolder, cache: Path, trash: Trash, folder: Path
) -> None:
    """Whatever became of the file, the vault opens and can be changed, and an undoing gives the right bytes
    or is refused in words."""
    transactor = Transactor(root, cache, trash=trash)
    for number in range(3):
        do(transactor, WriteFile(P("n.md"), f"{number} ".encode() * 300), label="write")
    do(transactor, MoveFile(P("n.md"), P("m.md")), label="move")
    transactor.close()
    file = cache / "journal.sqlite"
    whole = file.read_bytes()
    moved = (folder / "m.md").read_bytes()
    # Every byte of the head, and every so many of the rest: none of the page's parts is left out.
    places = [*range(100), *range(100, len(whole), 997)]
    spoilt = [whole[:at] for at in places]
    # Two bytes say which SQLite may write the file: for a later one it is forbidden, not damaged.
    spoilt += [
        whole[:at] + bytes([whole[at] ^ 0xFF]) + whole[at + 1 :] for at in places if at not in (18, 19)
    ]
    for data in spoilt:
        for old in cache.glob("journal*"):
            old.unlink()
        file.write_bytes(data)
        (folder / "n.md").unlink(missing_ok=True)
        (folder / "m.md").write_bytes(moved)
        again = Transactor(root, cache, trash=trash)
        try:
            again.recover()
            again.journal.history()
            try:
                again.undo(4, actor="test")
            except (InvalidArgument, EditRefused, EngineFailure):
                assert (folder / "m.md").read_bytes() == moved
            else:
                assert (folder / "n.md").read_bytes() == moved
            made = do(again, WriteFile(P("m.md"), b"new", None))
            assert (folder / "m.md").read_bytes() == b"new"
            assert made
        finally:
            again.close()


@pytest.mark.parametrize("seed", range(6))
def test_what_is_too_old_does_not_depend_on_who_has_measured_before(
    timed: Transactor, clock: Clock, cache: Path, seed: int
) -> None:
    """A journal adds only the time since it last measured; a newly opened one measures everything."""
    draw = random.Random(seed)
    pruned = False
    for number in range(60):
        clock.now += draw.uniform(-2, 6) * 86400
        do(timed, WriteFile(P("n.md"), str(number).encode()))
        if draw.random() < 0.4:
            before = timed.journal.history()
            timed.journal.prune(now=clock.now)
            after = timed.journal.history()
            pruned = pruned or len(after) < len(before)
            fresh = Journal(cache)
            fresh.prune(now=clock.now)
            assert fresh.history() == after
            fresh.close()
    assert pruned


def test_a_change_stays_done_when_old_ones_cannot_be_deleted(
    timed: Transactor, clock: Clock, cache: Path, folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    weeks = int(journal_module.JOURNAL_SECONDS / journal_module.GAP_SECONDS) + 2
    for number in range(weeks):
        do(timed, WriteFile(P("n.md"), str(number).encode()))
        clock.now += journal_module.GAP_SECONDS
    with closing(sqlite3.connect(cache / "journal.sqlite")) as db:
        db.execute(
            "CREATE TRIGGER no BEFORE DELETE ON transactions BEGIN SELECT RAISE(FAIL, 'disk I/O error'); END"
        )
        db.commit()
    for number in range(journal_module.PRUNE_EVERY):
        done = do(timed, WriteFile(P("n.md"), b"later %d" % number))
        assert timed.journal.entry(done).state == "done"
    assert (folder / "n.md").read_bytes() == b"later %d" % (journal_module.PRUNE_EVERY - 1)
    assert [record.message for record in caplog.records if "could not be deleted" in record.message] == [
        "Old changes could not be deleted from the journal: The journal could not be used: disk I/O error. "
        "Nothing was changed."
    ]


def test_a_journal_of_an_older_version_learns_who_made_a_change(
    root: VaultFolder, cache: Path, trash: Trash
) -> None:
    """Its changes have no author, as a person's have none; an older version can go on using the file."""
    transactor = Transactor(root, cache, trash=trash)
    do(transactor, WriteFile(P("n.md"), b"1"))
    transactor.close()
    with closing(sqlite3.connect(cache / "journal.sqlite")) as db:
        db.execute("ALTER TABLE transactions DROP COLUMN author")
    again = Transactor(root, cache, trash=trash)
    steps = [WriteFile(P("n.md"), b"2")]
    again.apply(steps, actor="robot", label="write", author="me")
    assert [entry.author for entry in again.journal.history()] == ["me", ""]
    again.close()
