"""Each scope has an index of its own, which a caller's queries never have to wait long for."""

from __future__ import annotations

import os
import shutil
import threading
import time
from pathlib import Path

import pytest

from support.index import another_leader
from support.waiting import BOUND
from vaultbridge.engine import Engine, scoped_index
from vaultbridge.engine.operations import Append, Create, Delete, Move
from vaultbridge.engine.scoped_index import list_scoped_indexes, name_scope
from vaultbridge.errors import EngineFailure
from vaultbridge.index.store import schema
from vaultbridge.vault.scope import LiveScope, Scope

from .conftest import MakeVault

FILES: dict[str, str | bytes] = {
    "Open.md": "needle [[Plan]]",
    "Private/Plan.md": "needle secret",
    "B/Plan.md": "needle",
}


def find(engine: Engine, query: str = "needle") -> list[str]:
    return sorted(hit.path for hit in engine.queries.search(query).hits)


def scoped_file(engine: Engine) -> Path:
    (name,) = list_scoped_indexes(engine.cache)
    return engine.cache / scoped_index.FOLDER / name


def test_patterns_in_another_order_are_the_same_scope() -> None:
    first = name_scope([Scope(deny=("A", "B"), allow=("C",)), Scope(deny=("D",))])
    second = name_scope([Scope(deny=("D",), read_only=True), Scope(), Scope(deny=("B", "A"), allow=("C",))])
    assert first == second
    assert name_scope([Scope(deny=("A",))]) != name_scope([Scope(allow=("A",))])


def test_two_callers_with_one_scope_share_a_file_and_others_do_not(make_vault: MakeVault) -> None:
    private = make_vault(FILES, scope=Scope(deny=("Private/",)))
    same = make_vault(scope=Scope(deny=("Private/",), read_only=True))
    other = make_vault(scope=Scope(allow=("B/",)))
    for engine, expected in ((private, ["B/Plan.md", "Open.md"]), (same, ["B/Plan.md", "Open.md"])):
        assert find(engine) == expected
    assert find(other) == ["B/Plan.md"]
    assert len(list_scoped_indexes(private.cache)) == 2
    make_vault().queries.search("needle")
    assert len(list_scoped_indexes(private.cache)) == 2, "a caller without limits has none"


def test_no_hidden_word_is_in_its_file(make_vault: MakeVault) -> None:
    engine = make_vault(FILES, scope=Scope(deny=("Private/",)))
    assert find(engine, "secret") == []
    written = b"".join(place.read_bytes() for place in scoped_file(engine).parent.iterdir())
    assert b"needle" in written
    assert b"secret" not in written and b"Private" not in written


def test_a_scope_that_changes_at_run_time_changes_the_answers_at_once(make_vault: MakeVault) -> None:
    scope = LiveScope(Scope(deny=("Private/",)))
    engine = make_vault(FILES, scope=scope)
    everything = ["B/Plan.md", "Open.md", "Private/Plan.md"]
    for _ in range(3):
        assert find(engine) == ["B/Plan.md", "Open.md"]
        assert engine.find("Plan") == "B/Plan.md"
        scope.update(Scope(allow=("B/",)))
        assert find(engine) == ["B/Plan.md"]
        scope.update(Scope())
        assert find(engine) == everything
        scope.update(Scope(deny=("Private/",)))


def test_many_scopes_in_turn_keep_few_files(make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(scoped_index, "KEPT_FILES", 3)
    monkeypatch.setattr(scoped_index, "KEPT_OPEN", 2)
    scope = LiveScope(Scope(deny=("Private/",)))
    engine = make_vault(FILES, scope=scope)
    for number in range(6):
        scope.update(Scope(deny=("Private/", f"{number}/")))
        assert find(engine) == ["B/Plan.md", "Open.md"]
        for place in (engine.cache / scoped_index.FOLDER).glob("*.sqlite3"):
            os.utime(place, ns=(place.stat().st_mtime_ns - 10**9,) * 2)
    names = [name_scope([Scope(deny=("Private/", f"{number}/"))]) for number in (5, 4, 3)]
    assert list_scoped_indexes(engine.cache) == names
    scope.update(Scope(deny=("Private/", "0/")))
    assert find(engine) == ["B/Plan.md", "Open.md"], "one that was deleted is filled again"


def test_every_change_is_in_the_next_answer(make_vault: MakeVault) -> None:
    owner = make_vault(FILES)
    limited = make_vault(scope=Scope(deny=("Private/",)))
    assert find(limited) == ["B/Plan.md", "Open.md"]
    limited.apply([Create(note="New", content="needle [[Open]]")])
    assert find(limited) == ["B/Plan.md", "New.md", "Open.md"]
    owner.apply([Move(note="/Private/Plan", to="/C/Seen"), Delete(note="/New")])
    assert find(limited) == ["B/Plan.md", "C/Seen.md", "Open.md"]
    owner.apply([Move(note="/B/Plan", to="/Private/Gone"), Append(note="/Open", content="more [[Seen]]")])
    assert find(limited) == ["C/Seen.md", "Open.md"]
    assert [link.source for link in limited.queries.backlinks(limited.find("Seen"))] == ["Open.md"]


@pytest.mark.parametrize("lost", ["scoped", "full", "both"])
def test_a_lost_index_is_made_again_while_callers_ask(make_vault: MakeVault, lost: str) -> None:
    engine = make_vault(FILES, scope=Scope(deny=("Private/",)))
    assert find(engine) == ["B/Plan.md", "Open.md"]
    if lost != "full":
        schema.remove(scoped_file(engine))
    if lost != "scoped":
        schema.remove(engine.index_sync.index.file)
    assert find(engine) == ["B/Plan.md", "Open.md"]


def test_a_damaged_index_of_a_scope_is_filled_again_and_the_full_one_stays(make_vault: MakeVault) -> None:
    engine = make_vault(
        {f"n{number}.md": "needle " * 200 for number in range(200)}, scope=Scope(deny=("P/",))
    )
    assert len(engine.queries.files()) == 200
    generation = engine.index_sync.index.status().generation
    with engine.queries.snapshot() as at:
        at.db.execute("SELECT 1")
    engine.index_sync.scoped.close()
    place = scoped_file(engine)
    data = place.read_bytes()
    place.write_bytes(data[:8192] + bytes(len(data) - 8192))
    again = make_vault(scope=Scope(deny=("P/",)))
    assert len(again.queries.files()) == 200
    assert again.queries.search("needle").total == 200
    assert again.index_sync.index.status().generation == generation


def test_ignored_files_are_those_of_the_settings_now(make_vault: MakeVault) -> None:
    engine = make_vault(FILES, scope=Scope(deny=("Private/",)))
    settings = engine.root.folder / ".obsidian" / "app.json"
    settings.parent.mkdir()
    for filters, expected in (
        ('["B/"]', ["Open.md"]),
        ("[]", ["B/Plan.md", "Open.md"]),
        ('["/pen/"]', ["B/Plan.md"]),
    ):
        settings.write_text(f'{{"userIgnoreFilters": {filters}}}')
        assert find(engine) == expected
        assert len(engine.queries.files()) == 2
        assert engine.queries.outgoing(engine.find("Open"))[0].resolved == "B/Plan.md"


def test_a_server_answers_while_a_large_scope_is_being_filled(
    make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(scoped_index, "SMALL_SECONDS", 0.0)
    engine = make_vault(
        {f"n{number}.md": "needle" for number in range(300)} | FILES, scope=Scope(deny=("Private/",))
    )
    make_vault().queries.search("needle")
    filled = threading.Event()
    opened = engine.index_sync.scoped._open(engine.index_sync.index, engine.queries._scope.parts)
    with opened.one_at_a_time:
        engine.queries.prepare()
        page = engine.queries.search("needle")
        assert (page.complete, page.total) == (False, 0)
        stop = engine.index_sync.listen(lambda paths: filled.set())
    assert filled.wait(BOUND), "whoever listens learns that it is complete"
    stop()
    page = engine.queries.search("needle")
    assert (page.complete, page.total, page.notes) == (True, 302, 302)


@pytest.mark.parametrize("replaced", ["by a link", "by a note", "by a chain of links"])
def test_a_link_away_from_a_hidden_note_does_not_show_what_was_read_through_it(
    make_vault: MakeVault, replaced: str
) -> None:
    """Until the watcher reports the new link, the full index has it as it was. It has no text of links."""
    engine = make_vault(FILES, scope=Scope(deny=("Private/",)))
    link, between = engine.root.folder / "Link.md", engine.root.folder / "B" / "Between.md"
    link.symlink_to("Private/Plan.md")
    if replaced == "by a chain of links":
        link.unlink()
        between.symlink_to("../Private/Plan.md")
        link.symlink_to("B/Between.md")
    assert find(engine, "needle") == ["B/Plan.md", "Open.md"]
    with another_leader(engine.cache, watches=True):
        changed = between if replaced == "by a chain of links" else link
        changed.unlink()
        if replaced == "by a note":
            link.write_text("something else")
        else:
            changed.symlink_to("Open.md" if changed is link else "../Open.md")
        engine.apply([Append(note="Open", content="new words")])
        assert find(engine, "new words") == ["Open.md"]
        assert find(engine, "secret") == []
    engine.index_sync.compare_since(time.monotonic())
    assert find(engine, "secret") == []
    assert "Link.md" in [file.path for file in engine.queries.files()]


@pytest.mark.parametrize("instead", ["a file", "a link to itself"])
def test_a_folder_that_cannot_be_used_is_an_error_until_it_can(make_vault: MakeVault, instead: str) -> None:
    engine = make_vault(FILES, scope=Scope(deny=("Private/",)))
    assert find(engine) == ["B/Plan.md", "Open.md"]
    folder = scoped_file(engine).parent
    shutil.rmtree(folder)
    if instead == "a file":
        folder.write_text("not ours")
    else:
        folder.symlink_to(folder)
    for limited in (engine, make_vault(scope=Scope(deny=("Private/",)))):
        for _ in range(2):
            with pytest.raises(EngineFailure) as caught:
                find(limited)
            assert str(engine.cache) not in str(caught.value)
    folder.unlink()
    engine.apply([Create(note="New", content="needle")])
    assert find(engine) == ["B/Plan.md", "New.md", "Open.md"]


def test_a_file_that_was_deleted_during_a_query_answers_no_later_one(make_vault: MakeVault) -> None:
    owner = make_vault(FILES)
    engine = make_vault(scope=Scope(deny=("Private/",)))
    with engine.queries.snapshot() as at:
        schema.remove(scoped_file(engine))
        assert find(engine) == ["B/Plan.md", "Open.md"]
        assert at.db.execute("SELECT count(*) FROM files").fetchone() == (2,)
    owner.apply([Move(note="/B/Plan", to="/Private/Gone")])
    for _ in range(3):
        assert find(engine) == ["Open.md"]
