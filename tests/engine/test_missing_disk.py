"""A vault whose disk is not mounted, and one whose folder was moved, after a crash and without one: nothing
is undone, forgotten or written in the wrong place, and everything is whole when the vault is back."""

from __future__ import annotations

import json
import os
import shlex
import shutil
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.files import BoundDisk, write_vault
from support.waiting import wait_until
from vaultbridge.cli.commands import GROUPS
from vaultbridge.engine import DirectEngine
from vaultbridge.engine.operations import Append, Create, Delete, Move
from vaultbridge.errors import EngineFailure, VaultNotFound
from vaultbridge.review.store import store_of
from vaultbridge.vault.write.trash import Trash

WRITER = Path(__file__).with_name("crashing_writer.py")

NOTES = {
    "Plan.md": "[[Garden]] and [[Home/Roof]]\n",
    "Garden.md": "beds, see [[Plan]]\n",
    "Home/Roof.md": "tiles [[Garden|the garden]]\n",
    "Home/Cellar.md": "dry\n",
    **{f"Log/{day}.md": f"day {day} [[Garden]]\n" for day in range(6)},
}

MOVE = [{"op": "move", "note": "Garden", "to": "Places/Yard.md"}]


class Place:
    """A vault's path, with the folders that belong to it, and processes and engines on it."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self.vault, self.cache, self.home = base / "vault", base / "cache", base / "home"
        self.home.mkdir(parents=True)
        self.environ = {
            "PATH": os.environ["PATH"],
            "HOME": str(self.home),
            "VAULTBRIDGE_CACHE": str(self.cache),
        }
        self.opened: list[DirectEngine] = []

    def open(self, vault: Path | None = None, *, accept: bool = False) -> DirectEngine:
        engine = DirectEngine(
            vault or self.vault,
            cache=self.cache,
            trash=Trash({"HOME": str(self.home)}),
            actor="test",
            accept=accept,
        )
        self.opened.append(engine)
        return engine

    def crash(self, point: str, operations: list[dict[str, str]] = MOVE) -> str:
        command = [sys.executable, str(WRITER), *map(str, (self.vault, self.cache, self.home)), point]
        ran = subprocess.run([*command, json.dumps(operations)], capture_output=True, text=True)
        assert ran.returncode == (0 if point == "tell" else -signal.SIGKILL), ran.stderr
        return ran.stdout

    def run(self, *command: str) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            [sys.executable, "-m", "vaultbridge", *command],
            capture_output=True,
            text=True,
            env=self.environ,
            stdin=subprocess.DEVNULL,
            timeout=60,
        )

    def close(self) -> None:
        for engine in self.opened:
            engine.close()


@pytest.fixture
def place(tmp_path: Path) -> Iterator[Place]:
    made = Place(tmp_path)
    write_vault(made.vault, NOTES)
    yield made
    made.close()


@pytest.fixture
def disk(tmp_path: Path) -> Iterator[tuple[Place, BoundDisk]]:
    """A vault that is a disk of its own, mounted."""
    made = Place(tmp_path)
    bound = BoundDisk(write_vault(tmp_path / "disk", NOTES), made.vault)
    bound.mount()
    yield made, bound
    made.close()
    bound.detach()


def read(folder: Path) -> dict[str, str]:
    return {
        file.relative_to(folder).as_posix(): file.read_text()
        for file in folder.rglob("*")
        if file.is_file() and not file.name.startswith(".trash")
    }


def list_points(base: Path, operations: list[dict[str, str]] = MOVE) -> list[str]:
    passed = Place(base)
    write_vault(passed.vault, NOTES)
    points = passed.crash("tell", operations).splitlines()
    return points[points.index("recorded") : points.index("finished")]


# A disk that is not mounted.


def test_a_crash_then_a_start_on_the_empty_mount_point_then_the_mount_leaves_the_vault_whole(
    disk: tuple[Place, BoundDisk],
) -> None:
    place, bound = disk
    place.crash("done 2")
    assert read(bound.content) != NOTES
    bound.unmount()
    for _ in range(2):
        with pytest.raises(VaultNotFound, match=r"empty folder is in its place, where 10 files were\. A ch"):
            place.open()
    assert list(place.vault.iterdir()) == []
    bound.mount()
    engine = place.open()
    assert len(engine.recovered) == 1
    assert read(bound.content) == NOTES
    engine.apply([Move(note="Garden", to="Yard")])
    assert len(engine.history.changes()) == 1
    assert "[[Yard]]" in engine.view("Plan").text


COMMANDS = {
    **{name: [name] for name in ("tasks", "tags", "properties", "context", "export", "index")},
    "search": ["search", "beds"],
    "context": ["context", "beds"],
    "read": ["read", "Plan"],
    "links": ["links", "Plan"],
    "related": ["related", "Plan"],
    "base": ["base", "Books.base"],
    "new": ["new", "New", "x"],
    "append": ["append", "Plan", "x"],
    "daily": ["daily", "x"],
    "set": ["set", "Plan", "a=b"],
    "rename": ["rename", "Garden", "Yard"],
    "edit": ["edit", '{"op":"append","note":"Plan","content":"x"}'],
    "undo": ["undo", "1"],
}


@pytest.mark.parametrize(
    "name", [name for group in ("Find and read", "Change notes") for name in GROUPS[group]]
)
def test_no_command_writes_or_answers_on_an_empty_mount_point(
    disk: tuple[Place, BoundDisk], name: str
) -> None:
    place, bound = disk
    place.open().close()
    bound.unmount()
    command = COMMANDS.get(name, [name])
    ran = place.run(*command[:1], "--vault", str(place.vault), *command[1:])
    assert list(place.vault.iterdir()) == []
    if name == "open":
        return  # It asks Obsidian, which says itself what it finds.
    assert ran.returncode == 1, ran
    assert "an empty folder is in its place, where 10 files were" in ran.stderr, ran.stderr


class Stdio:
    """`vaultbridge stdio` as a client uses it."""

    def __init__(self, place: Place) -> None:
        command = [sys.executable, "-m", "vaultbridge", "stdio", str(place.vault)]
        self.process = subprocess.Popen(
            command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, env=place.environ
        )
        self.number = 0
        client = {"name": "test", "version": "1"}
        self.ask("initialize", protocolVersion="2025-06-18", capabilities={}, clientInfo=client)

    def ask(self, method: str, **params: object) -> dict[str, Any]:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.number += 1
        message = {"jsonrpc": "2.0", "id": self.number, "method": method, "params": params}
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()
        for line in self.process.stdout:
            answer: dict[str, Any] = json.loads(line)
            if answer.get("id") == self.number:
                return answer
        raise AssertionError("the server ended")

    def call(self, tool: str, **arguments: object) -> str:
        return json.dumps(self.ask("tools/call", name=tool, arguments=arguments))

    def close(self) -> None:
        assert self.process.stdin is not None and self.process.stdout is not None
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


def test_a_client_over_stdio_is_told_that_the_disk_is_missing_and_served_when_it_is_there(
    disk: tuple[Place, BoundDisk],
) -> None:
    place, bound = disk
    place.crash("done 2")
    bound.unmount()
    stdio = Stdio(place)
    calls: list[tuple[str, dict[str, object]]] = [
        ("obsidian_create_note", {"path": "New", "content": "x"}),
        ("obsidian_read_note", {"name": "Plan"}),
        ("obsidian_search", {"query": "beds"}),
        ("obsidian_history", {}),
    ]
    for tool, arguments in calls:
        answer = stdio.call(tool, **arguments)
        assert "an empty folder is in its place, where 10 files were" in answer, answer
        assert "interrupted waits for it" in answer and str(place.base) not in answer
    assert list(place.vault.iterdir()) == []
    bound.mount()
    assert "Garden" in stdio.call("obsidian_read_note", name="Plan")
    assert read(bound.content) == NOTES
    stdio.close()


def test_a_server_does_not_start_on_an_empty_mount_point_and_doctor_says_why(
    disk: tuple[Place, BoundDisk],
) -> None:
    place, bound = disk
    place.crash("done 2")
    bound.unmount()
    served = place.run("serve", str(place.vault), "--port", "0")
    assert served.returncode == 1 and "an empty folder is in its place" in served.stderr
    found = place.run("doctor", str(place.vault), "--json").stdout
    rows = [json.loads(line) for line in found.splitlines()]
    bad = {row["name"]: row["found"] for row in rows if row["status"] == "bad"}
    assert "an empty folder is in its place, where 10 files were" in bad["folder"]
    assert "A change that was interrupted waits for it" in bad["index"]
    assert not any("--rebuild" in row["advice"] for row in rows)
    (place.vault / ".obsidian").mkdir()
    installed = place.run("companion", "install", str(place.vault))
    assert installed.returncode == 1 and "a folder with other files is in its place" in installed.stderr
    assert list((place.vault / ".obsidian").iterdir()) == []


def test_a_vault_that_was_never_recorded_is_not_rolled_back_on_an_empty_mount_point(
    disk: tuple[Place, BoundDisk],
) -> None:
    """As with the folder of an older version, which knows nothing about the vault."""
    place, bound = disk
    place.crash("done 2")
    for record in place.cache.glob("state/*/identity.json"):
        record.unlink()
    bound.unmount()
    engine = place.open()
    assert engine.recovered == ()
    with pytest.raises(EngineFailure, match="was interrupted and waits for the vault: its folder is empty"):
        engine.apply([Create(note="New", content="x")])
    assert list(place.vault.iterdir()) == []
    bound.mount()
    assert len(place.open().recovered) == 1
    assert read(bound.content) == NOTES


def test_a_vault_that_is_mounted_later_is_recovered_while_the_process_runs(
    disk: tuple[Place, BoundDisk],
) -> None:
    place, bound = disk
    engine = place.open()
    engine.index_sync.refresh()
    place.crash("done 2")
    bound.unmount()
    for ask in (
        lambda: engine.view("Plan"),
        lambda: engine.queries.counts(),
        lambda: engine.queries.search("beds"),
        lambda: engine.apply([Create(note="New", content="x")]),
        lambda: engine.undo(1),
    ):
        with pytest.raises(VaultNotFound, match="an empty folder is in its place, where 10 files were"):
            ask()
    assert list(place.vault.iterdir()) == []
    assert engine.index_sync.index.status().total == len(NOTES)
    bound.mount()
    engine.apply([Create(note="New", content="x")])
    assert read(bound.content) == {**NOTES, "New.md": "x"}


def test_a_server_that_runs_undoes_an_interrupted_change_as_soon_as_the_disk_is_back(
    disk: tuple[Place, BoundDisk],
) -> None:
    place, bound = disk
    engine = place.open()
    engine.index_sync.start()
    wait_until(lambda: engine.index_sync.watching)
    place.crash("done 2")
    bound.unmount()
    wait_until(lambda: engine.index_sync.problem)
    assert "an empty folder is in its place" in engine.transactor.find_problem()
    assert "interrupted waits for it" in engine.transactor.find_problem()
    bound.mount()
    wait_until(lambda: not engine.transactor.is_interrupted)
    assert read(bound.content) == NOTES
    assert engine.transactor.find_problem() == ""


def test_another_disk_that_is_mounted_over_the_vault_is_not_the_vault(
    disk: tuple[Place, BoundDisk], tmp_path: Path
) -> None:
    place, _ = disk
    engine = place.open()
    engine.index_sync.refresh()
    other = BoundDisk(write_vault(tmp_path / "other", {"Plan.md": "not mine", "X.md": "x"}), place.vault)
    other.mount()
    for ask in (
        lambda: engine.view("Plan"),
        lambda: engine.queries.search("beds"),
        lambda: engine.apply([Append(note="Plan", content="x")]),
        place.open,
    ):
        with pytest.raises(VaultNotFound, match="a folder with other files is in its place, where 10 files"):
            ask()
    engine.index_sync.index_written({"X.md"})
    other.unmount()
    assert engine.queries.counts()["notes"] == len(NOTES)
    assert read(other.content) == {"Plan.md": "not mine", "X.md": "x"}
    assert engine.view("Plan").text == NOTES["Plan.md"]


def test_a_folder_of_the_vault_whose_own_disk_is_missing_has_lost_no_notes(
    place: Place, tmp_path: Path
) -> None:
    inner = BoundDisk(write_vault(tmp_path / "inner", {"Deep.md": "[[Garden]]\n"}), place.vault / "Work")
    inner.mount()
    try:
        place.open().index_sync.refresh()
        place.crash("done 2")
        inner.unmount()
        engine = place.open()
        # The link in Work was part of the change.
        assert engine.recovered == ()
        for operation in (Create(note="Work/New", content="x"), Create(note="New", content="x")):
            with pytest.raises(VaultNotFound, match="the folder Work is on a disk of its own"):
                engine.apply([operation])
        engine.index_sync.refresh()
        assert "Work/Deep.md" in {file.path for file in engine.queries.files("Work")}
        with pytest.raises(VaultNotFound, match="the folder Work is on a disk of its own"):
            engine.view("Work/Deep")
        assert list((place.vault / "Work").iterdir()) == []
        inner.mount()
        engine.apply([Create(note="New", content="x")])
        assert read(place.vault) == {**NOTES, "Work/Deep.md": "[[Garden]]\n", "New.md": "x"}
        inner.unmount()
        with pytest.raises(VaultNotFound, match="the folder Work is on a disk of its own"):
            engine.apply([Move(note="Garden", to="Yard")])
        engine.apply([Append(note="New", content="y")])
        accepted = place.open(accept=True)
        accepted.apply([Create(note="Work/New", content="x")])
        assert (place.vault / "Work" / "New.md").read_text() == "x"
    finally:
        inner.detach()


# Folders that are right although they look odd.


def test_a_new_vault_may_be_empty(place: Place) -> None:
    shutil.rmtree(place.vault)
    place.vault.mkdir()
    for _ in range(2):
        engine = place.open()
        engine.close()
    engine = place.open()
    engine.apply([Create(note="First", content="x")])
    assert read(place.vault) == {"First.md": "x"}


def test_a_vault_may_be_emptied_by_anybody(place: Place) -> None:
    engine = place.open()
    engine.index_sync.refresh()
    for name in ("Log", "Home"):
        engine.apply([Delete(note=f"{name}/")])
    engine.apply([Delete(note="Plan")])
    (place.vault / "Garden.md").unlink()
    engine.close()
    again = place.open()
    assert again.queries.counts()["notes"] == 0
    again.apply([Create(note="Anew", content="x")])


def test_a_vault_that_was_emptied_while_we_watched_may_be_put_in_another_folder(place: Place) -> None:
    engine = place.open()
    engine.index_sync.refresh()
    for name in list(NOTES):
        (place.vault / name).unlink()
    engine.index_sync.refresh()
    engine.close()
    place.vault.rename(place.base / "away")
    place.vault.mkdir()
    place.open().apply([Create(note="Anew", content="x")])


@pytest.mark.parametrize("keep", [len(NOTES), len(NOTES) // 2])
def test_a_vault_that_was_restored_from_a_copy_is_the_vault(place: Place, keep: int) -> None:
    engine = place.open()
    engine.apply([Append(note="Plan", content="more")])
    engine.close()
    place.vault.rename(place.base / "away")
    write_vault(place.vault, dict(list(NOTES.items())[:keep]))
    again = place.open()
    assert len(again.history.changes()) == 1
    again.apply([Append(note="Plan", content="x")])


def test_its_owner_can_say_that_an_emptied_folder_is_right(place: Place) -> None:
    place.open().close()
    place.vault.rename(place.base / "away")
    place.vault.mkdir()
    refused = place.run("new", str(place.vault), "New", "x")
    assert refused.returncode == 1
    # The command names the vault, so that it can be pasted in any folder.
    confirm = refused.stderr.partition("its owner can confirm it: `vaultbridge ")[2].partition("`")[0]
    assert shlex.split(confirm) == ["index", "--accept", "-v", str(place.vault)]
    assert "notes" in place.run(*shlex.split(confirm)).stdout
    assert place.run("new", "--vault", str(place.vault), "New", "x").returncode == 0
    assert read(place.vault) == {"New.md": "x"}


def test_an_accepted_empty_folder_ends_an_interrupted_change(place: Place) -> None:
    place.crash("done 2")
    shutil.rmtree(place.vault)
    place.vault.mkdir()
    with pytest.raises(VaultNotFound, match="A change that was interrupted waits for it"):
        place.open()
    engine = place.open(accept=True)
    engine.apply([Create(note="New", content="x")])
    assert engine.transactor.journal.pending() == ()


# A vault whose folder was moved.


@pytest.mark.long
def test_a_change_interrupted_at_any_point_is_undone_after_the_vault_was_renamed(tmp_path: Path) -> None:
    points = list_points(tmp_path / "told")
    assert len(points) >= 6
    for number, point in enumerate(points):
        place = Place(tmp_path / str(number))
        write_vault(place.vault, NOTES)
        place.crash(point)
        renamed = place.base / "Renamed"
        place.vault.rename(renamed)
        engine = place.open(renamed)
        assert len(engine.recovered) == 1 and engine.recovered[0].kept == (), point
        assert read(renamed) == NOTES, point
        assert engine.queries.counts()["notes"] == len(NOTES)
        place.close()
        assert len(list(place.cache.glob("state/*/journal.sqlite"))) == 1


def test_a_change_is_undone_after_the_vault_was_moved_and_a_link_left_in_its_place(place: Place) -> None:
    place.crash("done 2")
    moved = place.vault.rename(place.base / "Elsewhere")
    place.vault.symlink_to(moved)
    engine = place.open()
    assert len(engine.recovered) == 1 and engine.recovered[0].kept == ()
    assert read(moved) == NOTES


def test_a_running_engine_refuses_everything_when_a_link_is_put_in_the_place_of_its_vault(
    place: Place,
) -> None:
    engine = place.open()
    engine.apply([Append(note="Plan", content="x")])
    moved = place.vault.rename(place.base / "Elsewhere")
    place.vault.symlink_to(moved)
    again = place.open()
    before = read(moved)
    with pytest.raises(VaultNotFound, match="a link is in its place"):
        engine.apply([Append(note="Plan", content="y")])
    assert read(moved) == before
    assert [change.id for change in again.history.changes()] == [1]
    again.undo(1)
    assert read(moved) == NOTES


def test_a_running_engine_makes_no_state_folder_in_the_way_of_one_that_moved_with_its_vault(
    place: Place,
) -> None:
    engine = place.open()
    engine.apply([Append(note="Plan", content="x")])
    moved = place.vault.rename(place.base / "Elsewhere")
    place.open(moved).close()
    assert not engine.state.exists()
    for ask in (
        lambda: engine.undo(1),
        lambda: engine.history.changes(),
        lambda: store_of(engine).set_policy("all"),
        lambda: engine.apply([Append(note="Plan", content="y")]),
    ):
        with pytest.raises(VaultNotFound):
            ask()
    assert not engine.state.exists()
    moved.rename(place.vault)
    assert [change.id for change in engine.history.changes()] == [1]
    engine.undo(1)
    assert read(place.vault) == NOTES
    engine.close()
    assert [change.id for change in place.open().history.changes()] == [2, 1]


def test_a_folder_move_is_undone_after_the_vault_was_renamed_although_most_paths_changed(
    place: Place,
) -> None:
    """Most of the sampled paths lead nowhere then: the folder itself is recognized."""
    for name in ("Plan.md", "Garden.md"):
        (place.vault / name).unlink()
    before = read(place.vault)
    place.open().index_sync.refresh()
    place.close()
    place.crash(
        "durable",
        [{"op": "move", "note": "Log/", "to": "Days/"}, {"op": "move", "note": "Home/", "to": "House/"}],
    )
    assert not set(read(place.vault)) & set(before)
    renamed = place.base / "Renamed"
    place.vault.rename(renamed)
    assert len(place.open(renamed).recovered) == 1
    assert read(renamed) == before


def test_the_history_and_the_trash_of_a_renamed_vault_come_with_it(place: Place) -> None:
    settings = place.vault / ".obsidian"
    settings.mkdir()
    (settings / "app.json").write_text('{"trashOption": "local"}')
    engine = place.open()
    engine.apply([Delete(note="Garden")])
    engine.apply([Move(note="Home/Roof", to="Places/Roof")])
    engine.close()
    renamed = place.base / "Renamed"
    place.vault.rename(renamed)
    again = place.open(renamed)
    assert [change.id for change in again.history.changes()] == [2, 1]
    for number in (2, 1):
        again.undo(number)
    assert {name: text for name, text in read(renamed).items() if not name.startswith(".")} == NOTES
    assert not list((renamed / ".trash").iterdir())


def test_a_vault_that_was_renamed_twice_and_back_keeps_its_history(place: Place) -> None:
    engine = place.open()
    engine.apply([Append(note="Plan", content="x")])
    engine.close()
    here = place.vault
    for name in ("One", "vault/inner", "Two", "vault"):
        there = place.base / name
        there.parent.mkdir(exist_ok=True)
        there = here.rename(there)
        if name != "vault/inner" and (place.base / "vault").is_dir() and there.name != "vault":
            (place.base / "vault").rmdir()
        here = there
        opened = place.open(here)
        assert len(opened.history.changes()) == 1, name
        opened.close()
    opened = place.open(here)
    opened.undo(1)
    assert read(here) == NOTES


def test_a_copy_gets_a_history_of_its_own_and_the_first_vault_keeps_its(place: Place) -> None:
    place.crash("done 2")
    half = read(place.vault)
    copy = place.base / "Copy"
    shutil.copytree(place.vault, copy)
    copied = place.open(copy)
    assert copied.recovered == () and not copied.history.changes()
    assert set(read(copy)) >= {name for name in half if not name.startswith(".")}
    assert len(place.open().recovered) == 1
    assert read(place.vault) == NOTES


def test_a_vault_that_was_copied_to_another_disk_and_deleted_here_keeps_its_history(place: Place) -> None:
    engine = place.open()
    engine.apply([Append(note="Plan", content="x")])
    engine.close()
    copy = place.base / "elsewhere" / "vault"
    shutil.copytree(place.vault, copy)
    shutil.rmtree(place.vault)
    again = place.open(copy)
    again.undo(1)
    assert read(copy) == NOTES


@pytest.mark.parametrize("point", ["staged", "done 0", "done 2", "durable", "displaced files removed"])
def test_a_change_is_undone_although_every_file_has_another_number(place: Place, point: str) -> None:
    """As on a stick that was pulled out and mounted again, or after a restore."""
    place.crash(point)
    away = place.base / "away"
    place.vault.rename(away)
    shutil.copytree(away, place.vault)
    assert len(place.open().recovered) == 1
    assert read(place.vault) == NOTES


def test_a_change_on_a_stick_is_undone_after_it_was_mounted_under_another_name(tmp_path: Path) -> None:
    image, first, second = tmp_path / "image", tmp_path / "STICK", tmp_path / "STICK1"
    first.mkdir()
    second.mkdir()

    def run(*command: str | Path) -> None:
        try:
            subprocess.run(list(map(str, command)), check=True, capture_output=True)
        except (OSError, subprocess.CalledProcessError):
            pytest.skip("a disk image can only be mounted by the administrator")

    with image.open("wb") as file:
        file.truncate(8 << 20)
    run("mkfs.ext4", "-q", image)
    run("mount", "-o", "loop", image, first)
    place = Place(tmp_path / "place")
    place.vault = write_vault(first / "Notes", NOTES)
    try:
        place.crash("done 2", [*MOVE, {"op": "delete", "note": "Home/Cellar"}])
        run("umount", first)
        with pytest.raises(VaultNotFound):
            place.open()
        run("mount", "-o", "loop", image, second)
        engine = place.open(second / "Notes")
        assert len(engine.recovered) == 1
        assert read(second / "Notes") == NOTES
        engine.apply([Delete(note="Home/Cellar")])
        engine.close()
        run("umount", second)
        run("mount", "-o", "loop", image, first)
        place.open(first / "Notes").undo(2)
        assert read(first / "Notes") == NOTES
    finally:
        place.close()
        for folder in (first, second):
            subprocess.run(["umount", "-l", str(folder)], check=False, capture_output=True)
