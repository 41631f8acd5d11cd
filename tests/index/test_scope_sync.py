"""A scoped index equals the index of a vault in which the hidden files never were."""

from __future__ import annotations

import os
import random
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.index import Members, Vault, dump
from vaultbridge.index.ignored import mark_ignored, read_ignore_filters
from vaultbridge.index.scope_sync import ScopeSynchronizer, Step, read_followed
from vaultbridge.index.store import schema
from vaultbridge.index.store.database import Index
from vaultbridge.index.store.schema import LOGGED_CHANGES
from vaultbridge.index.sync import Synchronizer
from vaultbridge.limits import NOTE_PARSE_BYTES
from vaultbridge.vault.paths import VaultFolder
from vaultbridge.vault.scope import Scope

FOLDERS = ("", "A/", "A/B/", "Private/", "Private/Sub/", "Zz/")
NAMES = ("one", "Two", "two", "three", "four 1", "four 2")
IGNORED = ("A/B/", "Zz/", "/four/", "Private/", "/pn/")
SCOPES = {
    "a folder denied": Scope(deny=("Private/",)),
    "names denied": Scope(deny=("two", "four*", "A/")),
    "little allowed": Scope(allow=("A/B/",)),
    "nothing allowed": Scope(allow=("Nowhere/",)),
}


class Scoped:
    """A vault with the index of a scope of it."""

    def __init__(self, vault: Vault, scope: Scope, **options: Any) -> None:
        self.vault = vault
        self.scope = scope
        self.options = options
        self.folder = vault.cache / "scopes"
        self.folder.mkdir(exist_ok=True)
        self.index = Index.open(self.folder, "scope.sqlite3")
        self.sync = self.make_sync()

    def make_sync(self) -> ScopeSynchronizer:
        """As another process would have."""
        return ScopeSynchronizer(
            self.vault.index, self.index, Members(self.vault.root, self.scope), **self.options
        )

    def dump(self) -> dict[str, Any]:
        return dump(self.index)

    def dump_of_visible_files(self, folder: Path) -> dict[str, Any]:
        """Everything in the index of a vault that has only the files that the scope shows."""
        copy = folder / "vault"
        for place in sorted(self.vault.folder.rglob("*")):
            path = place.relative_to(self.vault.folder).as_posix()
            hidden = place.is_symlink() and not self.scope.visible(
                place.resolve().relative_to(self.vault.folder).as_posix()
            )
            if place.is_file() and self.scope.visible(path) and not hidden:
                (copy / path).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy2(place, copy / path, follow_symlinks=False)
        copy.mkdir(parents=True, exist_ok=True)
        index = Index.open(folder)
        try:
            with self.vault.index.reading() as db:
                mark_ignored(index, read_ignore_filters(db))
            Synchronizer(VaultFolder(copy), index).sync_all()
            return dump(index)
        finally:
            index.close()


@pytest.fixture
def empty_scoped(empty_vault: Vault) -> Iterator[Scoped]:
    scoped = Scoped(empty_vault, SCOPES["a folder denied"])
    yield scoped
    scoped.index.close()


def draw_text(draw: random.Random) -> str:
    parts = [
        f"[[{draw.choice(FOLDERS)}{draw.choice(NAMES)}]] [[{draw.choice(NAMES)}#Part|x]]",
        f"[[missing {draw.randint(1, 3)}]] ![[picture.png]]",
        f"#{draw.choice(['tag', 'Tag', 'tag/sub', 'other'])} wörd{draw.randint(1, 9)} 密码",
        f"- [{draw.choice(' x/')}] do it {draw.choice(['', '📅 2024-01-0' + str(draw.randint(1, 4))])}",
        "# Part\n\n^same\n\ntext ^same",
    ]
    properties = f"---\nstatus: {draw.choice('xyz')}\naliases: [{draw.choice(NAMES)} alias]\n---\n"
    chosen = draw.sample(parts, draw.randint(0, len(parts)))
    return (properties if draw.random() < 0.4 else "") + "\n".join(chosen) + "\n"


def draw_path(draw: random.Random) -> str:
    suffix = draw.choice([".md"] * 8 + [".canvas", ".png"])
    return f"{draw.choice(FOLDERS)}{draw.choice(NAMES)}{suffix}"


def change(vault: Vault, draw: random.Random) -> None:
    """One change by another program."""
    files = [place for place in vault.folder.rglob("*") if place.is_file() or place.is_symlink()]
    path = vault.folder / draw_path(draw)
    path.parent.mkdir(parents=True, exist_ok=True)
    match draw.random():
        case chance if chance < 0.2 and files:
            draw.choice(files).unlink()
        case chance if chance < 0.4 and files:
            # A relative link would lead elsewhere from there.
            if not (moved := draw.choice(files)).is_symlink():
                moved.replace(path)
        case chance if chance < 0.5 and files:
            path.unlink(missing_ok=True)
            target = draw.choice([place for place in files if place != path] or [vault.folder / "none.md"])
            path.symlink_to(os.path.relpath(target, path.parent))
        case _:
            path.unlink(missing_ok=True)
            path.write_bytes(b"\xff broken" if draw.random() < 0.05 else draw_text(draw).encode())


@pytest.mark.parametrize("batch", [2, 1000], ids=["small steps", "usual steps"])
@pytest.mark.parametrize("name", SCOPES)
def test_it_equals_the_index_of_the_visible_files_whatever_happens(
    empty_vault: Vault, tmp_path: Path, name: str, batch: int
) -> None:
    draw = random.Random(f"{name} {batch}")
    for _ in range(25):
        change(empty_vault, draw)
    empty_vault.sync_all()
    scoped = Scoped(empty_vault, SCOPES[name], batch_files=batch)
    for turn in range(25):
        for _ in range(draw.randint(0, 5)):
            change(empty_vault, draw)
            if draw.random() < 0.5:
                empty_vault.sync_all()
        if draw.random() < 0.3:
            empty_vault.ignore(*draw.sample(IGNORED, draw.randint(0, 2)))
        empty_vault.sync_all()
        if draw.random() < 0.3:
            # Left in the middle, and taken up by another process.
            for _ in range(draw.randint(1, 4)):
                scoped.sync.step()
            scoped.sync = scoped.make_sync()
        if draw.random() < 0.7:
            assert scoped.sync.catch_up()
            assert scoped.dump() == scoped.dump_of_visible_files(tmp_path / f"bare {turn}"), turn
    scoped.index.close()


def test_the_names_come_first_and_the_contents_in_batches(make_vault: Any) -> None:
    vault = make_vault({f"n{number}.md": "text" for number in range(5)})
    scoped = Scoped(vault, SCOPES["a folder denied"], batch_files=2)
    seen: list[tuple[str, int, int]] = []
    while scoped.sync.step() != "current":
        status = scoped.index.status()
        seen.append((status.state, status.done, status.total))
    building = [("building", 0, 0), ("building", 0, 5), *(("building", done, 5) for done in (2, 4, 5))]
    assert seen == [*building, ("ready", 5, 5)]
    scoped.index.close()


def test_a_change_of_hidden_files_only_is_no_change_for_it(empty_scoped: Scoped) -> None:
    vault = empty_scoped.vault
    vault.write({"Open.md": "text", "Private/one.md": "secret"})
    vault.sync_all()
    assert empty_scoped.sync.catch_up()
    before, whole = empty_scoped.index.status(), vault.index.status()
    vault.write({"Private/one.md": "other words [[Open]]", "Private/two.md": "more"})
    vault.sync_all()
    assert vault.index.status().generation > whole.generation
    assert empty_scoped.sync.catch_up()
    assert empty_scoped.index.status() == before


def test_a_link_whose_target_changes_comes_and_goes(empty_scoped: Scoped, tmp_path: Path) -> None:
    vault = empty_scoped.vault
    vault.write({"Open.md": "[[Link]]", "Private/one.md": "secret"})
    link = vault.folder / "Link.md"
    for turn, target in enumerate(("Open.md", "Private/one.md", "Open.md", "Private/one.md")):
        link.unlink(missing_ok=True)
        link.symlink_to(target)
        # Another change lets it look.
        vault.write({"Private/one.md": f"secret {turn}"})
        vault.sync_all()
        assert empty_scoped.sync.catch_up()
        assert ("Link.md" in empty_scoped.dump()) is (target == "Open.md"), turn
        assert empty_scoped.dump() == empty_scoped.dump_of_visible_files(tmp_path / str(turn))


def test_an_id_that_another_file_has_now(empty_scoped: Scoped, tmp_path: Path) -> None:
    """The number of the last file is given again when it is gone."""
    vault = empty_scoped.vault
    vault.write({"a.md": "[[z]]", "z.md": "last"})
    vault.sync_all()
    assert empty_scoped.sync.catch_up()
    vault.remove("z.md")
    vault.sync_all()
    vault.write({"Private/new.md": "secret"})
    vault.sync_all()
    assert empty_scoped.sync.catch_up()
    assert empty_scoped.dump() == empty_scoped.dump_of_visible_files(tmp_path / "bare")
    assert "Private/new.md" not in empty_scoped.dump()


def test_a_log_that_does_not_reach_back_is_replaced_by_a_comparison(
    empty_scoped: Scoped, tmp_path: Path
) -> None:
    vault = empty_scoped.vault
    vault.write({f"n{number}.md": f"text {number} [[n1]]" for number in range(40)})
    vault.sync_all()
    assert empty_scoped.sync.catch_up()
    vault.write({"n3.md": "changed", "Private/n4.md": "secret", "new.md": "[[n3]]"})
    vault.remove("n5.md")
    vault.sync_all()
    with vault.index.writing() as db:
        schema.log_changes(db, [1] * (LOGGED_CHANGES + 1))
    assert empty_scoped.sync.catch_up()
    assert empty_scoped.dump() == empty_scoped.dump_of_visible_files(tmp_path / "bare")


def test_files_without_content_do_not_keep_a_comparison_from_ending(make_vault: Any) -> None:
    """Equal rows of such files do not mean equal problems, but they count as equal here."""
    vault = make_vault({"a.md": "text"})
    for number in range(5):
        with (vault.folder / f"large {number}.md").open("wb") as file:
            file.truncate(NOTE_PARSE_BYTES + 1)
    vault.sync_all()
    scoped = Scoped(vault, SCOPES["a folder denied"], batch_files=2)
    assert scoped.sync.catch_up()
    vault.write({"b.md": "more"})
    vault.sync_all()
    with vault.index.writing() as db:
        hashes = db.execute("SELECT count(*) FROM files WHERE state = 1 AND hash = ''").fetchone()
        schema.log_changes(db, [1] * (LOGGED_CHANGES + 1))
    assert hashes == (5,)
    steps = 0
    while scoped.sync.step() != "current":
        steps += 1
        assert steps < 20
    assert scoped.dump() == vault.dump()
    scoped.index.close()


def test_a_rebuilt_full_index_is_followed_from_the_start(empty_scoped: Scoped, tmp_path: Path) -> None:
    vault = empty_scoped.vault
    vault.write({"b.md": "text", "Private/one.md": "secret"})
    vault.sync_all()
    assert empty_scoped.sync.catch_up()
    vault.index.rebuild()
    vault.write({"a.md": "comes before it, so that every id differs"})
    vault.sync_all()
    assert empty_scoped.sync.catch_up()
    assert empty_scoped.dump() == empty_scoped.dump_of_visible_files(tmp_path / "bare")


def test_what_a_reader_remembers_is_right_after_a_second_filling(empty_scoped: Scoped) -> None:
    """It is filled again in the same file, so a position of the log before must not be one after."""
    vault, index = empty_scoped.vault, empty_scoped.index
    vault.write({f"n{number}.md": "text" for number in range(30)})
    vault.sync_all()
    assert empty_scoped.sync.catch_up()
    for number in range(30):
        vault.remove(f"n{number}.md")
    vault.write({f"m{number}.md": "text" for number in range(30)})
    vault.sync_all()
    assert empty_scoped.sync.catch_up()
    with index.reading() as db:
        assert len(index.paths(db)) == len(index.searchable(db)) == 30
    vault.index.rebuild()
    vault.sync_all()
    for turn in range(3):
        vault.write({f"{turn} {number}.md": "more" for number in range(30)})
        vault.sync_all()
        assert empty_scoped.sync.catch_up()
    with index.reading() as db:
        assert index.paths(db) == dict(db.execute("SELECT id, path FROM files"))
        assert sorted(index.table(db)) == sorted(index.paths(db).values())
        assert index.searchable(db) == index.paths(db).keys()


def test_a_deleted_file_is_filled_again(empty_scoped: Scoped, tmp_path: Path) -> None:
    vault = empty_scoped.vault
    vault.write({"a.md": "text", "Private/one.md": "secret"})
    vault.sync_all()
    assert empty_scoped.sync.catch_up()
    schema.remove(empty_scoped.index.file)
    assert empty_scoped.sync.catch_up()
    assert empty_scoped.dump() == empty_scoped.dump_of_visible_files(tmp_path / "bare")


def test_while_the_full_index_is_being_built_it_has_what_that_has(make_vault: Any) -> None:
    vault = make_vault({f"{'Private/' * (number % 2)}n{number}.md": "text" for number in range(500)})
    vault.index.rebuild()
    sync = Synchronizer(vault.root, vault.index, batch_files=100, children=0)
    scoped = Scoped(vault, SCOPES["a folder denied"])
    done: list[tuple[int, int]] = []

    def look() -> bool:
        assert not scoped.sync.catch_up()
        with vault.index.reading() as db:
            statement = "SELECT count(*) FROM files WHERE state = 1 AND path NOT LIKE 'Private/%'"
            (visible,) = db.execute(statement).fetchone()
        assert not scoped.index.status().complete
        done.append((scoped.index.status().done, visible))
        return False

    sync.sync_all(cancel=look)
    assert len(done) > 1
    assert all(own == visible for own, visible in done), done
    assert scoped.sync.catch_up()
    assert scoped.index.status().complete
    scoped.index.close()


_FILLER = """
import sys
from pathlib import Path
from support.index import Index, Members
from vaultbridge.vault.scope import Scope
from vaultbridge.index.scope_sync import ScopeSynchronizer
from vaultbridge.vault.paths import VaultFolder

cache, vault = map(Path, sys.argv[1:3])
full, scoped = Index.open(cache), Index.open(cache / "scopes", "scope.sqlite3")
sync = ScopeSynchronizer(full, scoped, Members(VaultFolder(vault), Scope(deny=("Private/",))), batch_files=5)
print("begun", flush=True)
while sync.step() != "current":
    print("step", flush=True)
print("done", flush=True)
"""


def start_filler(vault: Vault) -> subprocess.Popen[str]:
    environ = {**os.environ, "PYTHONPATH": str(Path(__file__).parent.parent)}
    return subprocess.Popen(
        [sys.executable, "-c", _FILLER, str(vault.cache), str(vault.folder)],
        stdout=subprocess.PIPE,
        text=True,
        env=environ,
    )


@pytest.mark.parametrize("killed", [False, True], ids=["both finish", "one is killed"])
def test_two_processes_fill_it_together(empty_scoped: Scoped, tmp_path: Path, killed: bool) -> None:
    vault = empty_scoped.vault
    vault.write({f"n{number}.md": f"text {number} [[n{number + 1}]] #tag" for number in range(120)})
    vault.sync_all()
    with start_filler(vault) as first:
        assert first.stdout is not None
        lines = [first.stdout.readline() for _ in range(4)]
        assert lines == ["begun\n", "step\n", "step\n", "step\n"]
        second = start_filler(vault)
        if killed:
            first.kill()
        else:
            assert first.stdout.read().endswith("done\n")
    with second:
        assert second.stdout is not None
        assert second.stdout.read().endswith("done\n")
    assert empty_scoped.index.status().complete
    assert empty_scoped.dump() == empty_scoped.dump_of_visible_files(tmp_path / "bare")


def test_a_step_that_another_process_has_overtaken_writes_nothing(empty_scoped: Scoped) -> None:
    vault = empty_scoped.vault
    vault.write({"a.md": "text"})
    vault.sync_all()
    other = empty_scoped.make_sync()
    steps: list[Step] = [empty_scoped.sync.step(), other.step(), empty_scoped.sync.step(), other.step()]
    assert steps == ["more"] * 4
    assert empty_scoped.sync.catch_up() and other.catch_up()
    with empty_scoped.index.reading() as db, vault.index.reading() as source:
        assert (
            read_followed(db).generation
            == source.execute("SELECT value FROM meta WHERE name = 'generation'").fetchone()[0]
        )
        assert db.execute("SELECT count(*) FROM words WHERE words MATCH 'text'").fetchone() == (1,)
