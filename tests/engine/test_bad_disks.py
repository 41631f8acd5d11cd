"""The engine on disks that are full, read-only, gone or forbidden: what it says is true, nothing is lost, and
the rest of the vault keeps working."""

from __future__ import annotations

import contextlib
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.files import DiskCommand, mounted
from support.process import drop_privileges
from vaultbridge.engine import DirectEngine
from vaultbridge.engine.operations import Append, Create, Delete, Move
from vaultbridge.errors import EngineFailure, NoteNotFound, PermissionDenied, VaultNotFound
from vaultbridge.vault.write.trash import Trash

from .conftest import MakeVault, read_contents


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[DiskCommand]:
    """A small disk of its own for the vault: `disk("mount", "-o", …)`. Only where the system lets us."""
    with mounted(tmp_path / "vault", "512k") as run:
        yield run


@pytest.fixture
def cache_disk(tmp_path: Path) -> Iterator[Path]:
    """One for the cache."""
    with mounted(tmp_path / "cache", "2m"):
        yield tmp_path / "cache"


@pytest.mark.usefixtures("disk")
def test_a_full_disk_is_reported_and_nothing_of_a_batch_remains(make_vault: MakeVault) -> None:
    engine = make_vault({"A.md": "[[B]]", "B.md": "b"})
    before = read_contents(engine)
    with pytest.raises(EngineFailure, match=r"could not be written: the disk is full\. Nothing was changed"):
        engine.apply(
            [Append(note="A", content="x"), *(Create(note=f"{n}", content="y" * 99_000) for n in range(9))]
        )
    assert read_contents(engine) == before
    assert not list(engine.root.folder.glob(".vaultbridge*"))
    for number in range(64):
        try:
            (engine.root.folder / f"{number}.png").touch()
        except OSError:
            break
    with pytest.raises(EngineFailure, match="the disk is full"):
        engine.apply([Append(note="A", content="x")])
    assert (engine.root.folder / "A.md").read_text() == "[[B]]"


def test_a_cache_without_room_refuses_changes_and_answers_what_it_knows(
    make_vault: MakeVault, cache_disk: Path
) -> None:
    engine = make_vault({"A.md": "alpha", "B.md": "beta"})
    for name in ("A.md", "B.md"):
        # Old enough to be trusted: what was saved a moment ago is read again at every comparison.
        os.utime(engine.root.folder / name, (10**9, 10**9))
    assert engine.queries.search("alpha").total == 1
    engine.apply([Append(note="B", content="x")])
    os.utime(engine.root.folder / "B.md", (10**9, 10**9))
    engine.index_sync.refresh()
    before = read_contents(engine)
    with contextlib.suppress(OSError), (cache_disk / "filling").open("wb", 0) as filling:
        while True:
            filling.write(bytes(4096))
    for operation in (Append(note="A", content="y"), Create(note="C", content="z")):
        with pytest.raises(EngineFailure, match=r"full\. Nothing was changed"):
            engine.apply([operation])
    assert read_contents(engine) == before
    engine.index_sync.refresh()
    assert engine.queries.search("alpha").total == 1
    assert engine.view("B").text == "beta\nx"
    (cache_disk / "filling").unlink()
    engine.apply([Append(note="A", content="y")])
    assert engine.queries.search("alpha y").total == 1


def test_a_read_only_disk_is_reported_and_blocks_nothing_once_it_is_writable(
    make_vault: MakeVault, disk: DiskCommand
) -> None:
    engine = make_vault({"A.md": "[[B]]", "F/B.md": "b"})
    change = int(engine.apply([Append(note="A", content="x")]).change_id)
    disk("mount", "-o", "remount,ro")
    for operation, message in (
        (Append(note="A", content="y"), "A.md is read-only."),
        (Create(note="New", content="x"), "New.md is on a read-only disk."),
        (Create(note="G/H/New", content="x"), "G/H/New.md is on a read-only disk."),
        (Move(note="F/B", to="C"), "A.md is read-only."),
        (Delete(note="F/B"), "F/B.md is on a read-only disk."),
        (Delete(note="F/"), "F is on a read-only disk."),
    ):
        with pytest.raises(PermissionDenied) as refused:
            engine.apply([operation])
        assert str(refused.value) == f"{message} Nothing was changed."
    with pytest.raises(PermissionDenied, match="read-only"):
        engine.undo(change)
    assert engine.transactor.journal.pending() == ()
    disk("mount", "-o", "remount,rw")
    engine.apply([Create(note="New", content="x")])


def test_a_vault_can_be_read_while_an_interrupted_change_cannot_be_rolled_back(
    make_vault: MakeVault, disk: DiskCommand, caplog: pytest.LogCaptureFixture
) -> None:
    def stop(point: str) -> None:
        if point == "done 0":
            disk("mount", "-o", "remount,ro")

    engine = make_vault({"A.md": "alpha", "B.md": "beta"}, checkpoint=stop)
    with pytest.raises(
        EngineFailure, match="interrupted and cannot be rolled back yet: Read-only file system"
    ):
        engine.apply([Append(note="A", content="x"), Append(note="B", content="x")])
    engine.close()
    again = make_vault()
    assert "could not be rolled back" in caplog.text
    assert again.view("B").text == "beta"
    with pytest.raises(EngineFailure, match="cannot be rolled back yet"):
        again.apply([Create(note="C", content="x")])
    disk("mount", "-o", "remount,rw")
    again.apply([Create(note="C", content="x")])
    assert read_contents(again) == {"A.md": b"alpha", "B.md": b"beta", "C.md": b"x"}


def test_nothing_is_written_where_an_unmounted_disk_was(make_vault: MakeVault, disk: DiskCommand) -> None:
    engine = make_vault({"A.md": "alpha", "F/B.md": "beta"})
    assert engine.queries.counts()["notes"] == 2
    disk("umount", "-l")
    for ask in (
        lambda: engine.view("A"),
        lambda: engine.apply([Create(note="New", content="x")]),
        lambda: engine.apply([Delete(note="F/")]),
    ):
        with pytest.raises(VaultNotFound, match="an empty folder is in its place"):
            ask()
    assert list(engine.root.folder.iterdir()) == []
    with pytest.raises(VaultNotFound):
        engine.index_sync.refresh()
    assert engine.index_sync.index.status().total == 2


FORBIDDEN = """
import sys, pathlib
from vaultbridge.engine import DirectEngine
from vaultbridge.engine.operations import *
from vaultbridge.errors import VaultbridgeError
from vaultbridge.index.sync import Synchronizer
from vaultbridge.vault.write.trash import Trash
base = pathlib.Path(sys.argv[1])
engine = DirectEngine(base / "vault", cache=base / "cache", trash=Trash({"HOME": str(base)}))
engine.index_sync.refresh()
closed = engine.root.folder / "Closed"
closed.chmod(0)
def describe(what):
    try:
        return type(what()).__name__
    except VaultbridgeError as error:
        return f"{type(error).__name__}: {error}"
try:
    for what in (
        lambda: engine.view("Closed/C"),
        lambda: engine.view("C"),
        lambda: engine.apply([Append(note="Closed/C", content="x")]),
        lambda: engine.apply([Create(note="Closed/New", content="x")]),
        lambda: engine.apply([Move(note="B", to="B2")]),
        lambda: engine.apply([RenameTag(tag="t", to="u")]),
        lambda: Synchronizer(engine.root, engine.index_sync.index).sync_paths(["Closed/C.md", "Closed"]),
        lambda: engine.apply([Append(note="A", content="x")]),
    ):
        print(describe(what))
    print(engine.queries.search("secret").total, len(engine.transactor.journal.pending()))
finally:
    closed.chmod(0o700)
"""


def test_a_folder_that_may_not_be_entered_is_reported_and_stops_nothing_else(tmp_path: Path) -> None:
    """Its notes are neither missing nor gone from the index, and a refused change does not block others."""
    (tmp_path / "vault/Closed").mkdir(parents=True)
    for path, text in {"A.md": "a", "B.md": "b", "Closed/C.md": "secret #t [[B]]"}.items():
        (tmp_path / "vault" / path).write_text(text)
    command = [*drop_privileges(), sys.executable, "-c", FORBIDDEN, str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=60, check=False)
    refused = "PermissionDenied: Closed/C.md may not be read by this user."
    assert done.stdout.splitlines() == [
        *(refused, refused, refused),
        "PermissionDenied: Closed/New.md may not be read by this user.",
        *(refused, refused, "SyncReport", "Outcome"),
        "1 0",
    ], done.stderr


def test_the_longest_name_of_a_file_system_can_be_created_found_and_deleted(
    tmp_path: Path,
) -> None:
    """255 bytes, so half as many letters of two bytes. What we add to a name must not make it too long."""
    (tmp_path / "vault").mkdir()
    with DirectEngine(
        tmp_path / "vault",
        cache=tmp_path / "cache",
        trash=Trash({"HOME": str(tmp_path / "home")}, platform="linux"),
    ) as engine:
        name = "é" * 126
        for missing in (name, "é" * 200, "x" * 250, f"{'x' * 300}/{'y' * 300}"):
            with pytest.raises(NoteNotFound):
                engine.view(missing)
        for _ in range(3):
            engine.apply([Create(note=name, content="x")])
            engine.apply([Append(note=name, content="y")])
            engine.apply([Delete(note=name)])
        trashed = sorted(place.name for place in (tmp_path / "home/.local/share/Trash/files").iterdir())
        assert len(trashed) == 3 and all(
            shown.startswith("ééé") and shown.endswith(".md") for shown in trashed
        )
        engine.undo(engine.history.newest_to_undo())
        assert engine.view(name).text == "x\ny"
