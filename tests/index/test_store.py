"""The index file: opened, replaced, shared."""

from __future__ import annotations

import shutil
import sqlite3
import subprocess
import sys
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest

from support.index import Vault
from vaultbridge.errors import EngineFailure
from vaultbridge.index.query.search import search
from vaultbridge.index.store import schema
from vaultbridge.index.store.database import Index

MakeVault = Callable[[dict[str, str | bytes]], Vault]


def _write_foreign(file: Path) -> None:
    db = sqlite3.connect(file)
    db.execute("CREATE TABLE somebody_elses (x)")
    db.commit()
    db.close()


def _write_garbage(file: Path) -> None:
    file.write_bytes(b"not a database at all" * 100)


def _truncate(file: Path) -> None:
    Index.open(file.parent).close()
    file.write_bytes(file.read_bytes()[:5000])


def _change_version(file: Path) -> None:
    Index.open(file.parent).close()
    db = sqlite3.connect(file)
    db.execute(f"PRAGMA user_version = {schema.SCHEMA_VERSION + 1}")
    db.close()


def _drop_table(file: Path) -> None:
    Index.open(file.parent).close()
    db = sqlite3.connect(file)
    db.execute("DROP TABLE aliases")
    db.commit()
    db.close()


def _write_empty(file: Path) -> None:
    file.touch()


@pytest.mark.parametrize(
    "spoil", [_write_foreign, _write_garbage, _truncate, _change_version, _drop_table, _write_empty]
)
def test_an_unusable_file_is_replaced_with_a_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, spoil: Callable[[Path], None]
) -> None:
    spoil(tmp_path / schema.INDEX_FILE)
    index = Index.open(tmp_path)
    assert index.status().state == "empty"
    assert "rebuilt" in caplog.text
    index.close()


def test_a_good_file_is_opened_without_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    first = Index.open(tmp_path)
    begun = first.status().generation
    with first.writing():
        pass
    first.close()
    second = Index.open(tmp_path)
    assert second.status().generation == begun + 1
    assert not caplog.records
    second.close()


def test_an_index_deleted_while_open_is_empty_and_usable(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": "word"})
    for file in vault.cache.glob("index.sqlite3*"):
        file.unlink()
    assert search(vault.index, "word").total == 0
    assert vault.index.status().state == "empty"
    vault.sync_all()
    assert search(vault.index, "word").total == 1


def test_a_query_under_way_when_the_file_is_replaced_leaves_nothing_of_it(make_vault: MakeVault) -> None:
    """Neither its connection nor the words that it loads are used for later queries."""
    vault = make_vault({"a.md": "bridging", "b.md": "oldest"})
    with vault.index.reading() as before:
        schema.remove(vault.index.file)
        assert vault.index.status().state == "empty"
        vault.index.terms.refresh(before)
        assert vault.index.terms.find_containing("old") == ["oldest"]
    vault.write({"b.md": "newest"})
    vault.sync_all()
    for _ in range(3):
        assert [hit.path for hit in search(vault.index, "ewes").hits] == ["b.md"]
        assert search(vault.index, "oldest").total == 0
    vault.remove("b.md")
    vault.sync_all()
    for _ in range(3):
        assert search(vault.index, "newest").total == 0


def test_a_failed_write_leaves_everything_as_it_was(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": "word"})
    before = vault.dump(), vault.index.status()
    with pytest.raises(ZeroDivisionError), vault.index.writing() as db:
        db.execute("DELETE FROM files")
        raise ZeroDivisionError
    assert (vault.dump(), vault.index.status()) == before


def test_a_reader_sees_one_consistent_state(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": "word"})
    with vault.index.reading() as db:
        before = db.execute("SELECT count(*) FROM files").fetchone()
        vault.write({"b.md": "word"})
        vault.sync_all()
        assert db.execute("SELECT count(*) FROM files").fetchone() == before
    assert search(vault.index, "word").total == 2


def test_a_checkpoint_copies_changes_beside_a_writer(make_vault: MakeVault, tmp_path: Path) -> None:
    vault = make_vault({"a.md": "word"})
    copy = tmp_path / "copy.sqlite3"

    def count_copied() -> int:
        """How many files the index alone has, without what is in the write-ahead file."""
        shutil.copy(vault.cache / schema.INDEX_FILE, copy)
        db = sqlite3.connect(copy)
        try:
            return int(db.execute("SELECT count(*) FROM files").fetchone()[0])
        finally:
            db.close()

    vault.write({f"n{number}.md": "word" for number in range(20)})
    vault.sync_all()
    before = count_copied()
    with vault.index.writing() as db:
        db.execute("DELETE FROM files")
        vault.index.checkpoint()
        db.execute("ROLLBACK")
        db.execute("BEGIN")
    assert (before, count_copied()) == (1, 21)
    vault.index.close()
    vault.index.checkpoint()


def test_readers_cannot_write(make_vault: MakeVault) -> None:
    vault = make_vault({})
    with pytest.raises(EngineFailure), vault.index.reading() as db:
        db.execute("DELETE FROM meta")


def test_the_table_and_paths_follow_changes_of_another_process(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": ""})
    assert "b.md" not in vault.index.table()
    vault.write({"b.md": "fresh"})
    program = (
        "import sys; from pathlib import Path\n"
        "from vaultbridge.index.store.database import Index\n"
        "from vaultbridge.index.sync import Synchronizer\n"
        "from vaultbridge.vault.paths import VaultFolder\n"
        "Synchronizer(VaultFolder(Path(sys.argv[1])), Index.open(Path(sys.argv[2]))).sync_all()\n"
    )
    subprocess.run([sys.executable, "-c", program, vault.folder, vault.cache], check=True, timeout=60)
    assert "b.md" in vault.index.table()
    assert [hit.path for hit in search(vault.index, "resh").hits] == ["b.md"]


def test_a_closed_index_says_so(tmp_path: Path) -> None:
    index = Index.open(tmp_path)
    index.close()
    with pytest.raises(EngineFailure), index.reading():
        pass


def test_an_index_that_fails_in_an_unknown_way_is_checked_and_rebuilt(make_vault: MakeVault) -> None:
    """SQLite has many errors for a damaged file, and not all of them say so."""
    vault = make_vault({"A.md": "alpha"})
    vault.index.close()
    vault.index = Index.open(vault.cache)
    with closing(sqlite3.connect(vault.index.file)) as db:
        db.execute("DELETE FROM words_config WHERE k = 'version'")
        db.commit()
    with pytest.raises(EngineFailure, match="failed"):
        search(vault.index, "alpha")
    assert vault.index.status().state == "empty"


def test_an_index_whose_folder_is_deleted_while_it_is_open_is_empty_and_usable(make_vault: MakeVault) -> None:
    vault = make_vault({"A.md": "alpha"})
    shutil.rmtree(vault.cache)
    assert vault.index.status().state == "empty"
    vault.sync_all()
    assert search(vault.index, "alpha").total == 1
