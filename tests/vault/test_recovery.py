"""`vaultbridge.vault.write.recovery`: `kill -9` at any moment leaves every note wholly old or wholly new, and
the next start makes the batch whole."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import pytest

from vaultbridge.vault.paths import VaultFolder, VaultPath, vault_path
from vaultbridge.vault.write.steps import WriteFile
from vaultbridge.vault.write.transaction import Transactor
from vaultbridge.vault.write.trash import Trash

WRITER = Path(__file__).with_name("killed_writer.py")

OLD = {
    "a.md": b"a",
    "b.md": b"b",
    "t.md": b"t",
    "u.md": b"u",
    "r.md": b"r",
    "case.md": b"case",
    "Gone/g.md": b"g",
    "Gone/inner/x": b"",
    "Dir/d.md": b"d",
    "Dir/.hidden": b"h",
}


Writers = subprocess.Popen[str]


class Ran(NamedTuple):
    returncode: int
    output: str


@pytest.fixture(scope="module")
def writers() -> Iterator[Writers]:
    command = [sys.executable, str(WRITER), "serve"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as child:
        yield child
        assert child.stdin is not None
        child.stdin.close()


class World:
    """A vault that can be set up again, and child processes that change it."""

    def __init__(self, base: Path, writers: Writers) -> None:
        self.writers = writers
        self.vault, self.cache, self.home = (base / name for name in ("vault", "cache", "home"))
        for place in (self.vault, self.cache, self.home):
            place.mkdir(parents=True)
        for name, data in OLD.items():
            (self.vault / name).parent.mkdir(parents=True, exist_ok=True)
            (self.vault / name).write_bytes(data)
        (self.vault / "Gone" / "inner" / "x").unlink()

    def run(self, point: str, which: str = "batch") -> Ran:
        assert self.writers.stdin is not None and self.writers.stdout is not None
        request = [str(self.vault), str(self.cache), str(self.home), point, which]
        self.writers.stdin.write(json.dumps(request) + "\n")
        self.writers.stdin.flush()
        return Ran(*json.loads(self.writers.stdout.readline()))

    def transactor(self) -> Transactor:
        return Transactor(VaultFolder(self.vault), self.cache, trash=Trash({"HOME": str(self.home)}))

    def files(self) -> dict[str, bytes | None]:
        """Vault and trash together: nothing may be lost, nothing may be left over."""
        found: dict[str, bytes | None] = {}
        for top in (self.vault, self.home):
            for place in sorted(top.rglob("*")):
                if place.is_file():
                    data = place.read_bytes()
                    # When a file was trashed is the one thing that differs between two runs.
                    found[f"{top.name}/{place.relative_to(top)}"] = (
                        b"" if place.suffix == ".trashinfo" else data
                    )
                elif top == self.vault and place.name != ".trash":
                    found[f"vault/{place.relative_to(top)}"] = None
        return found


@pytest.fixture(scope="module", params=["batch", "folder", "swap"])
def which(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@pytest.fixture(scope="module")
def course(
    which: str, writers: Writers, tmp_path_factory: pytest.TempPathFactory
) -> tuple[list[str], dict[str, bytes | None]]:
    """The points that an undisturbed batch passes, and how it leaves the vault."""
    world = World(tmp_path_factory.mktemp("course"), writers)
    ran = world.run("tell", which)
    assert ran.returncode == 0, ran.output
    return ran.output.splitlines(), world.files()


def test_a_batch_killed_at_any_point_is_rolled_back_completely_at_the_next_start(
    which: str, course: tuple[list[str], dict[str, bytes | None]], tmp_path: Path, writers: Writers
) -> None:
    points, new = course
    assert points[0] == "recorded" and points[-1] == "finished" and len(points) == len(set(points))
    for number, point in enumerate(points):
        world = World(tmp_path / str(number), writers)
        old = world.files()
        ran = world.run(point, which)
        assert ran.returncode == -signal.SIGKILL, (point, ran.output)
        between = {
            name: data for name, data in world.files().items() if data is not None and name.endswith(".md")
        }
        assert set(between.values()) <= {*old.values(), *new.values()}, "a note is old or new"
        transactor = world.transactor()
        recovered = transactor.recover()
        if point == "finished":
            assert recovered == () and world.files() == new
        else:
            assert [(item.id, item.kept) for item in recovered] == [(1, ())], point
            assert world.files() == old, point
        assert transactor.recover() == ()
        transactor.close()


def test_a_recovery_killed_at_any_point_is_finished_by_the_next(
    which: str, course: tuple[list[str], dict[str, bytes | None]], tmp_path: Path, writers: Writers
) -> None:
    passed = World(tmp_path / "passed", writers)
    assert passed.run("durable", which).returncode == -signal.SIGKILL
    points = passed.run("tell", "recover").output.splitlines()
    assert len(points) >= 3
    for number, point in enumerate(points):
        world = World(tmp_path / str(number), writers)
        old = world.files()
        assert world.run("durable", which).returncode == -signal.SIGKILL
        assert world.run(point, "recover").returncode == -signal.SIGKILL
        transactor = world.transactor()
        assert len(transactor.recover()) == 1
        assert world.files() == old, point
        transactor.close()


def test_an_undo_killed_at_any_point_is_rolled_back_completely(tmp_path: Path, writers: Writers) -> None:
    passed = World(tmp_path / "passed", writers)
    assert passed.run("", "batch").returncode == 0
    points = passed.run("tell", "undo").output.splitlines()
    for number, point in enumerate(points):
        world = World(tmp_path / str(number), writers)
        old = world.files()
        assert world.run("", "batch").returncode == 0
        new = world.files()
        assert world.run(point, "undo").returncode == -signal.SIGKILL
        transactor = world.transactor()
        transactor.recover()
        assert world.files() == (old if point == "finished" else new), point
        if point != "finished":
            transactor.undo(1, actor="test")
            assert world.files() == old, "it can still be undone"
        transactor.close()


def test_a_writer_killed_at_random_moments_never_tears_a_batch(tmp_path: Path, writers: Writers) -> None:
    world = World(tmp_path / "world", writers)
    for _ in range(6):
        command = [
            sys.executable,
            str(WRITER),
            str(world.vault),
            str(world.cache),
            str(world.home),
            "forever",
        ]
        with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
            assert child.stdout is not None
            for _ in range(3):
                assert child.stdout.readline().strip().isdigit()
            child.kill()
        transactor = world.transactor()
        transactor.recover()
        transactor.close()
        texts = {(world.vault / f"{note}.md").read_bytes() for note in range(8)}
        assert len(texts) == 1, "all of one batch"
        assert not list(world.vault.glob(".vaultbridge-*"))


def test_the_next_transaction_recovers_first(tmp_path: Path, writers: Writers) -> None:
    world = World(tmp_path / "world", writers)
    old = world.files()
    transactor = world.transactor()
    assert world.run("done 3").returncode == -signal.SIGKILL
    transactor.apply([WriteFile(vault_path("after.md"), b"x")], actor="test", label="after")
    assert world.files() == {**old, "vault/after.md": b"x"}
    transactor.close()


def test_recovery_leaves_later_changes_alone_and_reports_them(tmp_path: Path, writers: Writers) -> None:
    world = World(tmp_path / "world", writers)
    assert world.run("durable").returncode == -signal.SIGKILL
    (world.vault / "a.md").write_bytes(b"mine now")
    (world.vault / "Else" / "b.md").write_bytes(b"edited where it was moved")
    (world.vault / "t.md").write_bytes(b"made anew")
    transactor = world.transactor()
    [recovered] = transactor.recover()
    assert set(recovered.kept) == {"a.md", "Else/b.md", "t.md"}
    assert (world.vault / "a.md").read_bytes() == b"mine now"
    assert (world.vault / "t.md").read_bytes() == b"made anew"
    kept = [(world.vault / name) for name in ("b.md", "Else/b.md") if (world.vault / name).exists()]
    assert [place.read_bytes() for place in kept] == [b"edited where it was moved"]
    assert (world.vault / "u.md").read_bytes() == b"u"
    assert (world.vault / "r.md").read_bytes() == b"r"
    assert transactor.journal.entry(1).kept == recovered.kept
    assert transactor.recover() == ()
    transactor.close()


def test_a_file_that_was_deleted_meanwhile_does_not_stop_recovery(tmp_path: Path, writers: Writers) -> None:
    world = World(tmp_path / "world", writers)
    assert world.run("durable").returncode == -signal.SIGKILL
    (world.vault / "a.md").unlink()
    (world.vault / "Else" / "b.md").unlink()
    transactor = world.transactor()
    [recovered] = transactor.recover()
    assert "a.md" in recovered.kept
    assert not (world.vault / "a.md").exists()
    assert (world.vault / "u.md").read_bytes() == b"u"
    transactor.close()


def test_recovery_reports_vault_paths_only(tmp_path: Path, writers: Writers) -> None:
    world = World(tmp_path / "world", writers)
    assert world.run("done 0").returncode == -signal.SIGKILL
    (world.vault / "a.md").write_bytes(b"mine")
    transactor = world.transactor()
    [recovered] = transactor.recover()
    assert recovered.kept == (VaultPath("a.md"),)
    assert recovered.label == "the batch"
    transactor.close()
