"""The index follows the disk: who updates it and when, and that it always equals a rebuilt one."""

from __future__ import annotations

import contextlib
import os
import queue
import random
import shutil
import signal
import sqlite3
import subprocess
import sys
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from support.files import delete_folder
from support.index import dump
from support.waiting import BOUND, wait_until
from vaultbridge.engine import DirectEngine, index_sync
from vaultbridge.engine.index_leader import STALLED_SECONDS, IndexLeader
from vaultbridge.engine.index_sync import IndexSync
from vaultbridge.engine.operations import Append, Create, Delete, Move, RenameTag
from vaultbridge.engine.operations.base import Operation
from vaultbridge.engine.queries import Queries
from vaultbridge.errors import VaultbridgeError, VaultNotFound
from vaultbridge.index.store import schema
from vaultbridge.vault.paths import VaultFolder, VaultPath
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.watch import Rescan, VaultLost, WatchEvent
from vaultbridge.vault.write.replace import LEFTOVER_SECONDS, temporary_name
from vaultbridge.vault.write.transaction import ignore_checkpoint
from vaultbridge.vault.write.trash import Trash

from .conftest import MakeVault, rebuild_index


def change_and_wait(engine: DirectEngine, change: Callable[[], object], holds: Callable[[], bool]) -> None:
    """Make a change outside and wait until `holds`, checking each time the engine announces a change."""
    announced = threading.Event()
    stop = engine.index_sync.listen(lambda _: announced.set())
    try:
        change()
        for _ in range(200):
            if holds():
                return
            if not announced.wait(BOUND):
                break
            announced.clear()
        assert holds()
    finally:
        stop()


@contextlib.contextmanager
def watched_by_hand(
    engine: DirectEngine, checkpoint: Callable[[str], None] = ignore_checkpoint
) -> Iterator[tuple[IndexSync, Callable[[WatchEvent], None]]]:
    """Another leader of the engine's vault, and a function that reports to it what a watch would."""
    started: queue.SimpleQueue[Callable[[WatchEvent], None]] = queue.SimpleQueue()

    class ByHand:
        def __init__(self, root: VaultFolder, deliver: Callable[[WatchEvent], None]) -> None:
            self._deliver = deliver

        def start(self) -> None:
            started.put(self._deliver)

        def stop(self) -> None:
            pass

    sync = IndexSync(
        engine.root, engine.cache, engine.transactor.journal, checkpoint=checkpoint, watch=ByHand
    )
    try:
        sync.start()
        yield sync, started.get(timeout=BOUND)
    finally:
        sync.close()


def lead(engine: DirectEngine) -> DirectEngine:
    """The engine as leader, after its first comparison, with a watch that is trusted."""
    ready = threading.Event()
    stop = engine.index_sync.listen(lambda _: ready.set())
    engine.index_sync.start()
    wait_until(lambda: engine.index_sync.watching)
    while not engine.queries.status.complete:
        assert ready.wait(BOUND)
        ready.clear()
    stop()
    return engine


def test_an_outside_edit_is_found_without_asking_for_a_refresh(make_vault: MakeVault) -> None:
    engine = lead(make_vault({"A.md": "alpha"}))
    note = engine.root.folder / "A.md"
    change_and_wait(engine, lambda: note.write_text("beta"), lambda: engine.queries.search("beta").total == 1)
    assert engine.queries.search("alpha").total == 0


def test_an_outside_rename_and_a_deleted_folder_are_followed(make_vault: MakeVault) -> None:
    engine = lead(make_vault({"F/A.md": "alpha [[B]]", "F/B.md": "beta", "C.md": "[[A]]"}))
    folder = engine.root.folder
    change_and_wait(
        engine, lambda: (folder / "F").rename(folder / "G"), lambda: bool(_is_listed(engine, "G/A.md"))
    )
    assert engine.queries.outgoing(VaultPath("C.md"))[0].resolved == "G/A.md"
    change_and_wait(engine, lambda: shutil.rmtree(folder / "G"), lambda: len(engine.queries.files()) == 1)
    assert engine.queries.outgoing(VaultPath("C.md"))[0].resolved is None


def _is_listed(engine: DirectEngine, path: str) -> bool:
    return any(file.path == path for file in engine.queries.files())


def test_an_own_write_is_in_the_index_before_the_next_query(make_vault: MakeVault) -> None:
    engine = make_vault({"A.md": "alpha", "B.md": "[[A]]"})
    engine.queries.search("alpha")
    engine.apply([Append(note="A", content="gamma")])
    assert engine.index_sync.index.status().generation
    assert engine.queries.search("gamma").total == 1
    engine.apply([Move(note="A", to="Z")])
    assert engine.queries.backlinks(VaultPath("Z.md"))[0].source == "B.md"


def test_a_second_process_neither_watches_nor_walks_and_takes_over_when_the_first_goes(
    make_vault: MakeVault, tmp_path: Path
) -> None:
    first = lead(make_vault({"A.md": "alpha"}))
    second = make_vault()
    second.index_sync.start()
    assert first.index_sync.is_leader and not second.index_sync.is_leader
    assert second.queries.search("alpha").total == 1
    first.close()
    note = second.root.folder / "A.md"
    change_and_wait(second, lambda: note.write_text("delta"), lambda: _leads_and_finds(second, "delta"))


def _leads_and_finds(engine: DirectEngine, word: str) -> bool:
    """Not queried before it leads: a query would make it claim the lock."""
    return engine.index_sync.is_leader and engine.queries.search(word).total == 1


@contextlib.contextmanager
def leader_process(engine: DirectEngine) -> Iterator[subprocess.Popen[str]]:
    """Another process that leads the index of the engine's vault and watches it."""
    program = (
        "import sys, pathlib, time\n"
        "from vaultbridge.engine import DirectEngine\n"
        "from vaultbridge.vault.write.trash import Trash\n"
        "vault, cache = map(pathlib.Path, sys.argv[1:])\n"
        "engine = DirectEngine(vault, cache=cache, trash=Trash({}))\n"
        "engine.index_sync.start()\n"
        "while not engine.index_sync.watching: time.sleep(0.002)\n"
        "print('leading', engine.index_sync.is_leader, flush=True)\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, engine.root.folder, engine.cache.parent],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "leading True\n"
        try:
            yield child
        finally:
            child.kill()
            child.wait(BOUND)


def test_a_killed_leader_is_replaced(make_vault: MakeVault) -> None:
    engine = make_vault({"A.md": "alpha"})
    with leader_process(engine):
        engine.index_sync.start()
        assert not engine.index_sync.is_leader
    note = engine.root.folder / "B.md"
    change_and_wait(engine, lambda: note.write_text("epsilon"), lambda: _leads_and_finds(engine, "epsilon"))


@pytest.mark.parametrize("seed", range(4))
def test_after_any_outside_changes_the_index_equals_a_rebuilt_one(
    make_vault: MakeVault, tmp_path: Path, seed: int
) -> None:
    engine = make_vault({f"{n}.md": f"# {n}\n[[{(n * 7) % 11}]] #t{n % 3}\n" for n in range(11)})
    engine.index_sync.refresh()
    folder = engine.root.folder
    chance = random.Random(seed)
    for _ in range(12):
        for _ in range(chance.randrange(1, 6)):
            _change_outside(folder, chance)
        if chance.random() < 0.5:
            engine.index_sync.refresh()
    engine.index_sync.refresh()
    assert dump(engine.index_sync.index) == rebuild_index(engine, tmp_path / "rebuilt")


@pytest.mark.parametrize("seed", range(3))
def test_after_own_and_outside_changes_mixed_the_index_equals_a_rebuilt_one(
    make_vault: MakeVault, tmp_path: Path, seed: int
) -> None:
    """Own writes go into the index by path at once, the rest by comparing: together they must not differ from
    a rebuild. Two engines stand for two processes."""
    files = {f"{n}.md": f"# {n}\n[[{(n * 7) % 11}]] #t{n % 3}\n" for n in range(11)}
    engines = [make_vault(files), make_vault()]
    folder = engines[0].root.folder
    chance = random.Random(seed)
    for _ in range(40):
        engine = chance.choice(engines)
        notes = [place.relative_to(folder).as_posix() for place in folder.rglob("*.md")]
        note = chance.choice(notes)
        operation: Operation = chance.choice(
            (
                Append(note=note, content=f"[[{chance.randrange(11)}]] word{chance.randrange(9)}"),
                Move(note=note, to=f"/{chance.choice(('', 'sub/', 'x/'))}{chance.randrange(14)}.md"),
                RenameTag(tag="t1", to=f"t{chance.randrange(4)}"),
                Delete(note=note),
                Create(note=f"sub/{chance.randrange(14)}", content="#t1 [[3]]"),
            )
        )
        with contextlib.suppress(VaultbridgeError):
            engine.apply([operation])
        if chance.random() < 0.2:
            with contextlib.suppress(VaultbridgeError):
                engine.undo(engine.history.newest_to_undo())
        if chance.random() < 0.3:
            _change_outside(folder, chance)
    for engine in engines:
        engine.index_sync.refresh()
        assert dump(engine.index_sync.index) == rebuild_index(engine, tmp_path / f"rebuilt {id(engine)}")


def _change_outside(folder: Path, chance: random.Random) -> None:
    files = [place for place in folder.rglob("*.md") if place.is_file()]
    name = chance.choice(["1", "2", "new", "Ünï", unicodedata.normalize("NFD", "é"), "sub/1", "sub/deep/x"])
    target = folder / f"{name}.md"
    roll = chance.random()
    if roll < 0.4 or not files:
        target.parent.mkdir(parents=True, exist_ok=True)
        target.write_text(f"[[{chance.randrange(11)}]] #t word{chance.randrange(99)} 中文\n")
    elif roll < 0.6:
        chance.choice(files).unlink()
    elif roll < 0.8 and not target.exists():
        target.parent.mkdir(parents=True, exist_ok=True)
        chance.choice(files).rename(target)
    elif (folder / "sub").is_dir():
        shutil.rmtree(folder / "sub")
    else:
        os.utime(chance.choice(files))


def test_indexing_writes_nothing_into_the_vault(make_vault: MakeVault) -> None:
    engine = make_vault({"A.md": b"\xef\xbb\xbfalpha\r\n", "bad.md": b"\xff\xfe", "y.md": "---\na: [\n---\n"})
    before = {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in engine.root.folder.rglob("*")}
    engine.index_sync.refresh()
    engine.queries.search("alpha")
    assert {p: (p.stat().st_mtime_ns, p.read_bytes()) for p in engine.root.folder.rglob("*")} == before


def test_a_new_leaders_first_query_knows_what_changed_while_nobody_watched(
    make_vault: MakeVault,
) -> None:
    engine = make_vault({"A.md": "old"})
    assert engine.queries.search("old").total == 1
    engine.close()
    (engine.root.folder / "A.md").write_text("entirely new")
    again = make_vault()
    again.index_sync.start()
    assert again.queries.search("entirely").total == 1


def test_a_query_waits_for_another_process_that_compares(make_vault: MakeVault, tmp_path: Path) -> None:
    """Two commands at once: the second must not answer from before the first one's comparison."""
    engine = make_vault({"A.md": "old"})
    assert engine.queries.search("old").total == 1
    other = IndexLeader(engine.cache)
    assert other.claim()
    (engine.root.folder / "A.md").write_text("entirely new")
    second = make_vault()
    asked = threading.Event()
    answers: list[int] = []

    def ask() -> None:
        asked.set()
        answers.append(second.queries.search("entirely").total)

    thread = threading.Thread(target=ask)
    thread.start()
    assert asked.wait(BOUND)
    other.release()
    thread.join(BOUND)
    assert answers == [1]


def test_while_the_watch_fails_questions_compare_with_the_disk(make_vault: MakeVault) -> None:
    engine = make_vault({"A.md": "old"})
    with watched_by_hand(engine) as (sync, report):
        report(Rescan("started"))
        assert sync.watching
        report(VaultLost("the system allows no more watches"))
        (engine.root.folder / "B.md").write_text("entirely new")
        assert Queries(engine.root, sync, Scope(), lambda: engine.settings).search("entirely").total == 1


def test_the_leader_rebuilds_an_index_that_was_found_damaged_and_deleted(make_vault: MakeVault) -> None:
    engine = lead(make_vault({"A.md": "alpha"}))
    change_and_wait(
        engine, engine.index_sync.index.rebuild, lambda: engine.queries.search("alpha").total == 1
    )


def test_an_old_temporary_file_of_ours_is_removed_and_a_recent_one_is_not(
    make_vault: MakeVault, tmp_path: Path
) -> None:
    """A young one may belong to a writer at work, also on another machine that shares the folder. What counts
    is when the name was given to it, not when its content was saved: a swap puts an old note there."""
    folder = make_vault({"A.md": "alpha", "sub/B.md": "beta"}).root.folder
    later = time.time() + 2 * LEFTOVER_SECONDS
    trash = Trash({"HOME": str(tmp_path)})
    engine = DirectEngine(folder, cache=tmp_path / "later", trash=trash, clock=lambda: later)
    old, young = folder / "sub" / temporary_name(), folder / temporary_name()
    notes = folder / ".vaultbridge-notes.md"
    for place in (old, young, notes):
        place.write_text("half a note")
    os.utime(young, (later, later))
    displaced = folder / temporary_name()
    displaced.write_text("half a note")
    os.utime(displaced, (0, 0))
    make_vault().index_sync.refresh()
    assert old.exists() and young.exists() and displaced.exists()
    with engine:
        with engine.transactor.exclusive():
            # By a wrong clock the file of a writer at work looks old.
            engine.index_sync.refresh()
            assert old.exists()
        engine.index_sync.refresh()
        assert (old.exists(), young.exists(), notes.exists()) == (False, True, True)
        assert engine.queries.search("half").total == 0


def test_a_vault_that_disappears_and_returns_keeps_its_rows_and_reports_it(
    make_vault: MakeVault, tmp_path: Path
) -> None:
    """A disk that is unplugged leaves its mount point, an empty folder."""
    engine = lead(make_vault({"A.md": "[[B]] alpha", "F/B.md": "beta"}))
    change = engine.apply([Append(note="A", content="more")])
    assert engine.queries.search("more").total == 1  # Waits until the change is in the index.
    rows = dump(engine.index_sync.index)
    folder, away = engine.root.folder, tmp_path / "away"
    folder.rename(away)
    folder.mkdir()
    wait_until(lambda: not engine.index_sync.watching)
    for ask in (
        lambda: engine.queries.search("alpha"),
        lambda: engine.view("A"),
        lambda: engine.find("B"),
        lambda: engine.apply([Append(note="A", content="lost?")]),
        lambda: engine.apply([Create(note="New", content="x")], dry_run=True),
        lambda: engine.apply([Create(note="F/New", content="x")]),
        lambda: engine.undo(int(change.change_id), force=True),
    ):
        with pytest.raises(VaultNotFound, match="an empty folder is in its place"):
            ask()
    assert list(folder.iterdir()) == []
    assert dump(engine.index_sync.index) == rows
    folder.rmdir()
    away.rename(folder)
    wait_until(lambda: engine.index_sync.watching)
    assert engine.queries.search("alpha").total == 1
    engine.apply([Append(note="A", content="found")])
    assert (folder / "A.md").read_text().endswith("more\nfound")


@pytest.mark.parametrize("leads", [True, False])
@pytest.mark.parametrize("deleted", ["cache", "state"])
def test_a_folder_deleted_while_serving_costs_history_at_most(
    make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch, deleted: str, leads: bool
) -> None:
    """The index is in the cache folder and is made again, the journal is in the state folder."""
    monkeypatch.setattr(index_sync, "DAMAGE_SECONDS", 0.01)
    engine = make_vault({"A.md": "[[B]] alpha", "F/B.md": "beta"})
    if leads:
        lead(engine)
    engine.apply([Append(note="A", content="more")])
    delete_folder(engine.cache if deleted == "cache" else engine.state)
    kept = ["append"] if deleted == "cache" else []
    assert [change.label for change in engine.history.changes()] == kept
    engine.apply([Append(note="A", content="again")])
    if leads:
        lead(engine)
    assert engine.queries.search("again").total == 1
    engine.apply([Move(note="B", to="C")])
    assert (engine.root.folder / "A.md").read_text() == "[[C]] alpha\nmore\nagain"
    # What was done since is seen by others, and can be undone.
    other = make_vault()
    assert [change.label for change in other.history.changes()] == ["move", "append", *kept]
    other.undo(other.history.newest_to_undo())
    assert (engine.root.folder / "F/B.md").exists()
    if leads:
        wait_until(lambda: engine.index_sync.is_leader)
        change = engine.root.folder / "New.md"
        change_and_wait(
            engine, lambda: change.write_text("gamma"), lambda: engine.queries.search("gamma").total == 1
        )


@contextlib.contextmanager
def index_in_use(engine: DirectEngine) -> Iterator[None]:
    """Another program writes to the index, for longer than anybody waits."""
    other = sqlite3.connect(engine.cache / schema.INDEX_FILE, isolation_level=None)
    try:
        other.execute("BEGIN IMMEDIATE")
        yield
    finally:
        other.close()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """An index that gives up quickly when its file is in use."""
    monkeypatch.setattr(schema, "BUSY_MILLISECONDS", 20)


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize("ours", [False, True])
def test_a_change_that_could_not_be_followed_is_in_the_next_answer(
    make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch, ours: bool
) -> None:
    """The index's disk was full for a moment, or another process held its file for too long."""
    monkeypatch.setattr(index_sync, "DAMAGE_SECONDS", 0.01)
    engine = lead(make_vault({"A.md": "alpha"}))
    with index_in_use(engine):
        if ours:
            engine.apply([Create(note="B", content="beta")])
        else:
            (engine.root.folder / "B.md").write_text("beta")
        wait_until(lambda: not engine.index_sync.watching)
    assert engine.queries.search("beta").total == 1
    # The leader catches up, and then its watch is trusted again.
    wait_until(lambda: engine.index_sync.watching)


def test_an_unforeseen_failure_does_not_end_the_watch(make_vault: MakeVault) -> None:
    engine = lead(make_vault({"A.md": "alpha"}))

    def fail(_: object) -> None:
        raise RuntimeError("nobody foresaw this")

    stop = engine.index_sync.listen(fail)
    (engine.root.folder / "B.md").write_text("beta")
    wait_until(lambda: not engine.index_sync.watching)
    stop()
    assert engine.queries.search("beta").total == 1
    change = engine.root.folder / "New.md"
    change_and_wait(
        engine, lambda: change.write_text("gamma"), lambda: engine.queries.search("gamma").total == 1
    )


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="the system cannot stop a process")
def test_queries_do_not_trust_a_stopped_leader(make_vault: MakeVault) -> None:
    """For example with Ctrl-Z in its terminal: it still holds the lock, but follows nothing."""
    engine = make_vault({"A.md": "alpha"})
    with leader_process(engine) as child:
        assert engine.queries.search("alpha").total == 1
        child.send_signal(signal.SIGSTOP)
        try:
            (engine.root.folder / "B.md").write_text("beta")
            old = time.time() - STALLED_SECONDS
            os.utime(engine.cache / "keeper.watches", (old, old))
            assert not engine.index_sync.is_leader
            assert engine.queries.search("beta").total == 1
            engine.apply([Move(note="B", to="C")])
        finally:
            child.send_signal(signal.SIGCONT)


def test_an_index_replaced_right_after_a_comparison_is_filled_before_it_is_queried(
    make_vault: MakeVault,
) -> None:
    engine = make_vault({"A.md": "[[B]]", "B.md": "beta"})
    assert engine.queries.search("beta").total == 1
    engine.index_sync.index.rebuild()
    assert engine.queries.search("beta").total == 1
    engine.index_sync.index.rebuild()
    engine.apply([Move(note="B", to="C")])
    assert (engine.root.folder / "A.md").read_text() == "[[C]]"


@pytest.mark.usefixtures("impatient")
def test_a_change_that_is_missed_while_everything_is_compared_is_not_taken_for_known(
    make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(index_sync, "DAMAGE_SECONDS", BOUND)
    engine = make_vault({"A.md": "alpha"})
    missed: list[str] = []

    def miss_a_change(point: str) -> None:
        """A change of our own, right after its folder was compared, that could not be indexed."""
        if point == "compared" and not missed:
            missed.append(point)
            indexed = threading.Event()
            stop = sync.listen(lambda _: indexed.set())
            with index_in_use(engine):
                (engine.root.folder / "A.md").write_text("beta")
                sync.index_written([VaultPath("A.md")])
                assert indexed.wait(BOUND)
            stop()

    with watched_by_hand(engine, miss_a_change) as (sync, report):
        report(Rescan("started"))
        assert missed and not sync.watching
        report(Rescan("lost-events"))
        assert sync.watching
