"""What is kept of the files equals what a reader without a cache reads, whatever happened in between."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from support.index import Vault
from vaultbridge.index.store import schema
from vaultbridge.index.store.database import Index, write_meta
from vaultbridge.index.store.file_cache import FileCache
from vaultbridge.index.store.write import remove_file

NAMES = ("a.md", "b.md", "Sub/a.md", "Sub/deep/c.md", "Zz/a.md", "Zz/d.canvas", "i.png", "Zz/i.png", "é.md")

MakeVault = Callable[[dict[str, str | bytes]], Vault]


IGNORED = ("Zz/", "Sub/deep/", "/a/")


def read_everything(index: Index) -> list[object]:
    with index.reading() as db:
        sizes, average = index.sizes(db)
        times, paths = index.times(db), index.paths(db)
        return [
            paths,
            index.searchable(db),
            sorted(index.table(db)),
            index.folders(db),
            {id_: (sizes[id_], times[id_]) for id_ in paths},
            average,
            index.ignored(db),
            index.view_paths(db),
        ]


def change(draw: random.Random, vault: Vault) -> None:
    for path in draw.sample(NAMES, draw.randint(1, 3)):
        if draw.random() < 0.4 and (vault.folder / path).exists():
            vault.remove(path)
        else:
            vault.write({path: "x" * draw.randint(0, 50)})
        vault.sync_paths(path)


@pytest.mark.parametrize("seed", range(8))
def test_it_equals_what_a_new_reader_reads(make_vault: MakeVault, seed: int) -> None:
    draw = random.Random(seed)
    vault = make_vault({"a.md": "text", "Zz/a.md": "hidden"})
    # The second is as another process: it learns of the changes from the log alone.
    other = Index.open(vault.index.folder)
    for _ in range(25):
        change(draw, vault)
        if draw.random() < 0.3:
            vault.ignore(*draw.sample(IGNORED, draw.randint(0, 2)))
        fresh = Index.open(vault.index.folder)
        expected = read_everything(fresh)
        fresh.close()
        for index in (vault.index, other):
            if draw.random() < 0.7:
                assert read_everything(index) == expected
    other.close()


def test_a_reader_that_was_away_too_long_reads_everything(
    make_vault: MakeVault, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "LOGGED_CHANGES", 3)
    vault = make_vault({"a.md": ""})
    other = Index.open(vault.index.folder)
    with other.reading() as db:
        assert list(other.paths(db).values()) == ["a.md"]
    for number in range(9):
        vault.write({f"{number}.md": ""})
        vault.sync_paths(f"{number}.md")
    with other.reading() as db:
        assert len(other.paths(db)) == 10
        assert db.execute("SELECT count(*) FROM changed").fetchone() == (3,)
    other.close()


def test_logging_a_change_does_not_make_the_full_text_table_write_early(make_vault: MakeVault) -> None:
    """A trigger would: before each row SQLite opens a savepoint, and the full-text table then writes what it
    has collected as a segment of its own."""
    names = [f"{number}.md" for number in range(40)]
    vault = make_vault({name: f"word{name}" for name in names})

    def count_segments() -> int:
        with vault.index.reading() as db:
            (count,) = db.execute("SELECT count(DISTINCT segid) FROM words_idx").fetchone()
        return int(count)

    before = count_segments()
    vault.write({name: f"other{name}" for name in names})
    vault.sync_paths(*names)
    assert count_segments() == before + 1


def test_a_writer_adds_only_its_own_changes_to_what_is_known(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": ""})
    asked: list[str] = []
    with vault.index.writing() as db:
        db.set_trace_callback(asked.append)
        assert list(vault.index.table_while_writing(db)) == ["a.md"]
        db.set_trace_callback(None)
    assert asked
    assert "SELECT id, path FROM files" not in asked


def test_what_was_rolled_back_is_not_remembered(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": "", "b.md": ""})
    assert len(vault.index.table()) == 2
    with pytest.raises(ZeroDivisionError), vault.index.writing() as db:
        (id_,) = db.execute("SELECT id FROM files WHERE path = 'b.md'").fetchone()
        remove_file(db, id_, "b.md")
        assert list(vault.index.table_while_writing(db)) == ["a.md"]
        raise ZeroDivisionError
    vault.write({"c.md": ""})
    vault.sync_paths("c.md")
    assert sorted(vault.index.table()) == ["a.md", "b.md", "c.md"]


def test_a_reader_of_an_earlier_state_does_not_get_a_later_one(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": ""})
    with vault.index.reading() as before:
        before.execute("SELECT 1 FROM files").fetchall()
        vault.write({"b.md": ""})
        vault.sync_paths("b.md")
        with vault.index.reading() as after:
            assert len(vault.index.paths(after)) == 2
        assert len(vault.index.paths(before)) == 1
    with vault.index.reading() as after:
        assert len(vault.index.paths(after)) == 2


def test_a_cache_of_a_file_that_was_replaced_is_not_used(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": "", "b.md": ""})
    cache = FileCache()
    with vault.index.reading() as db:
        assert len(cache.paths(db)) == 2
    vault.remove("b.md")
    vault.index.rebuild()
    vault.sync_all()
    with vault.index.reading() as db:
        assert list(cache.paths(db).values()) == ["a.md"]


def test_what_was_read_during_a_first_build_is_read_again_after_it(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": "", "Zz/a.md": "#one"})
    with vault.index.writing() as db:
        write_meta(db, state="building")
    with vault.index.reading() as db:
        building = vault.index.paths(db)
    with vault.index.writing() as db:
        write_meta(db, state="ready")
    with vault.index.reading() as db:
        ready = vault.index.paths(db)
        assert ready is not building
        assert vault.index.paths(db) is ready


def test_what_is_ignored_during_a_first_build_is_not_searched(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": "", "Zz/a.md": "#one"})
    with vault.index.writing() as db:
        write_meta(db, state="building")
    with vault.index.reading() as db:
        assert len(vault.index.searchable(db)) == 2
    vault.ignore("Zz/")
    with vault.index.reading() as db:
        assert [*vault.index.view_paths(db).values()] == ["a.md"]
        assert len(vault.index.searchable(db)) == 1
