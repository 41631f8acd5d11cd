"""Own writes are indexed after the answer: together when they come together, and before the next query."""

from __future__ import annotations

import threading

import pytest

from support.index import another_leader
from support.waiting import BOUND
from vaultbridge.engine import DirectEngine
from vaultbridge.engine import follower as follower_module
from vaultbridge.engine.follower import Follower
from vaultbridge.engine.operations import Append, Create, Move
from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.scope import Scope

from .conftest import MakeVault


class Recorder:
    """Stands for the index: records what it is given, and waits while `gate` is closed."""

    def __init__(self) -> None:
        self.calls: list[frozenset[VaultPath]] = []
        self.gate = threading.Event()
        self.entered = threading.Event()

    def __call__(self, paths: frozenset[VaultPath]) -> None:
        self.entered.set()
        assert self.gate.wait(BOUND)
        self.calls.append(paths)


def test_what_is_written_during_indexing_is_indexed_together_afterwards() -> None:
    index = Recorder()
    follower = Follower(index)
    follower.add([VaultPath("a.md")])
    assert index.entered.wait(BOUND)
    for name in ("b.md", "c.md", "b.md"):
        follower.add([VaultPath(name)])
    assert not follower.wait(0.0)
    index.gate.set()
    assert follower.wait(BOUND)
    assert index.calls == [{"a.md"}, {"b.md", "c.md"}]
    follower.close(BOUND)


def test_edits_in_quick_succession_are_indexed_together() -> None:
    index = Recorder()
    index.gate.set()
    follower = Follower(index)
    with follower.during_edit():
        follower.add([VaultPath("a.md")])
        follower.add([VaultPath("b.md")])
    assert follower.wait(BOUND)
    assert index.calls == [{"a.md", "b.md"}]
    follower.close(BOUND)


def test_an_edit_that_does_not_end_does_not_keep_others_out_of_the_index() -> None:
    index = Recorder()
    index.gate.set()
    follower = Follower(index)
    with follower.during_edit():
        follower.add([VaultPath("a.md")])
        assert index.entered.wait(BOUND)
    follower.close(BOUND)


def test_a_query_during_an_edit_waits_only_for_the_index() -> None:
    index = Recorder()
    index.gate.set()
    follower = Follower(index)
    with follower.during_edit():
        follower.add([VaultPath("a.md")])
        assert follower.wait(BOUND)
    assert index.calls == [{"a.md"}]
    follower.close(BOUND)


class Pausing:
    """Stands for the index too: pauses once, and says when it has."""

    def __init__(self) -> None:
        self.entered, self.gate = threading.Event(), threading.Event()
        self.follower = Follower(self.index)

    def index(self, paths: frozenset[VaultPath]) -> None:
        pause = self.follower.make_pause()
        self.entered.set()
        assert self.gate.wait(BOUND)
        pause()


def test_indexing_pauses_while_an_edit_is_carried_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower_module, "PAUSE_SECONDS", BOUND)
    index = Pausing()
    index.follower.add([VaultPath("a.md")])
    assert index.entered.wait(BOUND)
    pausing = threading.Thread(target=index.follower.make_pause())
    with index.follower.during_edit():
        pausing.start()
        pausing.join(0.01)
        assert pausing.is_alive()
    pausing.join(BOUND)
    assert not pausing.is_alive()
    index.gate.set()
    index.follower.close(BOUND)


def test_indexing_does_not_pause_while_a_query_waits_for_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower_module, "PAUSE_SECONDS", 2 * BOUND)
    index = Pausing()
    index.follower.add([VaultPath("a.md")])
    assert index.entered.wait(BOUND)
    with index.follower.during_edit():
        index.gate.set()
        assert index.follower.wait(BOUND)
    index.follower.close(BOUND)


def test_indexing_pauses_for_a_limited_time_in_all(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(follower_module, "PAUSE_SECONDS", 0.0)
    follower = Follower(Recorder())
    with follower.during_edit():
        follower.make_pause()()


def test_closing_indexes_what_is_left() -> None:
    index = Recorder()
    index.gate.set()
    follower = Follower(index)
    follower.add([VaultPath("a.md")])
    follower.close(BOUND)
    assert index.calls == [{"a.md"}]
    assert "vault-follow" not in {thread.name for thread in threading.enumerate()}


def test_tidying_up_keeps_nobody_waiting() -> None:
    index = Recorder()
    index.gate.set()
    tidied: list[int] = []
    entered, gate = threading.Event(), threading.Event()

    def tidy(files: int) -> None:
        entered.set()
        assert gate.wait(BOUND)
        tidied.append(files)

    follower = Follower(index, tidy)
    follower.add([VaultPath("a.md"), VaultPath("b.md")])
    assert entered.wait(BOUND)
    assert follower.wait(0.0)
    gate.set()
    follower.close(BOUND)
    assert tidied == [2]


def test_a_vault_without_writes_starts_no_follower_thread() -> None:
    follower = Follower(Recorder())
    assert follower.wait(0.0)
    follower.close(0.0)
    assert "vault-follow" not in {thread.name for thread in threading.enumerate()}


@pytest.mark.parametrize("count", [1, 40])
def test_a_query_finds_every_edit_that_was_answered_before_it(make_vault: MakeVault, count: int) -> None:
    engine: DirectEngine = make_vault({f"N{number}.md": "text\n" for number in range(count)})
    assert engine.queries.search("text").total == count
    for number in range(count):
        engine.apply([Append(note=f"N{number}.md", content=f"marker word{number}")])
    assert engine.queries.search("marker").total == count
    assert engine.queries.search(f"word{count - 1}").total == 1


@pytest.mark.parametrize("scope", [Scope(), Scope(deny=("Private/",))], ids=["all", "limited"])
def test_another_engine_sees_every_change_that_was_answered(make_vault: MakeVault, scope: Scope) -> None:
    """Of another token in the same process, or of another process: the watch that a third one keeps reports
    nothing here, so only the journal tells."""
    writer = make_vault({"Note.md": "start", "Hub.md": ""})
    reader = make_vault(scope=scope)
    for engine in (writer, reader):
        engine.index_sync.refresh()
    with another_leader(writer.cache, watches=True):
        for number in range(30):
            word = f"word{number}"
            writer.apply([Append(note="Note", content=word), Create(note=f"New {number}", content="[[Hub]]")])
            assert reader.queries.search(word).total == 1
            assert reader.find(f"New {number}") == f"New {number}.md"
            assert len(reader.queries.backlinks(VaultPath("Hub.md"))) == number + 1
        writer.apply([Move(note="Hub", to="Moved")])
        assert len(reader.queries.backlinks(VaultPath("Moved.md"))) == 30
        writer.undo(31)
        assert len(reader.queries.backlinks(VaultPath("Hub.md"))) == 30


def test_a_new_engine_sees_the_last_changes(make_vault: MakeVault) -> None:
    writer = make_vault({"Note.md": "start"})
    writer.index_sync.refresh()
    with another_leader(writer.cache, watches=True):
        writer.apply([Append(note="Note", content="late")])
        assert make_vault().queries.search("late").total == 1
