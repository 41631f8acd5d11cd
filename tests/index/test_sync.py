"""Whatever happens on disk, the index says what a rebuilt one says."""

from __future__ import annotations

import errno
import os
import shutil
import subprocess
import sys
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from support.index import Vault
from support.system_calls import refuse_call
from vaultbridge.errors import EngineFailure, VaultNotFound
from vaultbridge.index.build import CHUNK_FILES, PARALLEL_FILES
from vaultbridge.index.graph import LinkGraph
from vaultbridge.index.query.search import search
from vaultbridge.index.store.database import Index
from vaultbridge.index.sync import Synchronizer
from vaultbridge.limits import NOTE_PARSE_BYTES
from vaultbridge.vault.paths import VaultFolder, VaultPath

MakeVault = Callable[[dict[str, str | bytes]], Vault]

FOLDERS = ["", "A/", "A/B/", "C/"]
NAMES = ["one.md", "two.md", "Three.md", "three.md", "v1.2.md", "v1.2", "pic.png", "board.canvas", "été.md"]
TARGETS = [
    "one",
    "two",
    "three",
    "A/one",
    "A/B/two",
    "v1.2",
    "pic.png",
    "board.canvas",
    "été",
    "./one",
    "/two",
    "",
]


class OutsideChanges(RuleBasedStateMachine):
    """Somebody changes the vault with other tools; now and then we compare all of it or some paths."""

    def __init__(self) -> None:
        super().__init__()
        self.vault: Vault
        self.touched: set[str] = set()
        self.clock = 10**18

    @initialize(folder=st.just(None))
    def begin(self, folder: None) -> None:
        import tempfile

        self.temporary = Path(tempfile.mkdtemp(prefix="outside-"))
        self.vault = Vault(self.temporary)
        # Links to every name that may appear, from two places: adding or removing a file affects some of
        # them.
        everything = "\n".join(f"[[{target}]]" for target in TARGETS)
        self.vault.write({"links.md": everything, "A/B/links.md": everything})
        self.vault.sync_all()

    def teardown(self) -> None:
        if hasattr(self, "vault"):
            self.vault.close()
            shutil.rmtree(self.temporary)

    def _stamp(self, path: str) -> None:
        # An hour apart each time, so that no change happens within one tick of the clock.
        self.clock += 3600 * 10**9
        os.utime(self.vault.folder / path, ns=(self.clock, self.clock))
        self.touched.add(path)

    def _existing(self) -> list[str]:
        found = self.vault.folder.rglob("*")
        return sorted(path.relative_to(self.vault.folder).as_posix() for path in found if path.is_file())

    @rule(
        folder=st.sampled_from(FOLDERS),
        name=st.sampled_from(NAMES),
        links=st.lists(st.sampled_from(TARGETS), max_size=3),
        tag=st.sampled_from(["", "#x", "#x/y"]),
    )
    def write(self, folder: str, name: str, links: list[str], tag: str) -> None:
        text = f"---\nstatus: {len(links)}\naliases: [{name[:3]}]\n---\n# Head {tag}\n"
        text += "".join(
            f"see [[{link}#h]] and [t]({link.replace(' ', '%20')})\n- [ ] {link}\n" for link in links
        )
        if name.endswith(".canvas"):
            text = f'{{"nodes":[{{"id":"1","type":"file","file":"{(links or ["one"])[0]}"}}],"edges":[]}}'
        place = self.vault.folder / folder / name
        if place.is_dir() or any(parent.is_file() for parent in place.parents):
            return
        self.vault.write({folder + name: text})
        self._stamp(folder + name)

    @precondition(lambda self: self._existing())
    @rule(data=st.data())
    def remove(self, data: st.DataObject) -> None:
        path = data.draw(st.sampled_from(self._existing()))
        self.vault.remove(path)
        self.touched.add(path)

    @precondition(lambda self: self._existing())
    @rule(data=st.data(), folder=st.sampled_from(FOLDERS), name=st.sampled_from(NAMES))
    def move(self, data: st.DataObject, folder: str, name: str) -> None:
        path = data.draw(st.sampled_from(self._existing()))
        place = self.vault.folder / folder / name
        place.parent.mkdir(parents=True, exist_ok=True)
        if place.is_dir():
            return
        (self.vault.folder / path).replace(place)
        self.touched |= {path, folder + name}

    @rule(old=st.sampled_from(["A", "C"]), new=st.sampled_from(["C", "D/E"]))
    def move_folder(self, old: str, new: str) -> None:
        source, place = self.vault.folder / old, self.vault.folder / new
        if source.is_dir() and not place.exists():
            place.parent.mkdir(parents=True, exist_ok=True)
            source.rename(place)
            self.touched |= {old, new}

    @rule()
    def look_at_everything(self) -> None:
        self.vault.sync_all()
        self.touched.clear()

    @rule()
    def look_at_what_changed(self) -> None:
        self.vault.sync_paths(*sorted(self.touched))
        self.touched.clear()

    @precondition(lambda self: not self.touched)
    @invariant()
    def the_index_equals_a_rebuilt_one(self) -> None:
        assert self.vault.dump() == self.vault.rebuild()
        with self.vault.index.reading() as db:
            assert not db.execute("SELECT term FROM vocabulary EXCEPT SELECT term FROM terms").fetchall()


OutsideChanges.TestCase.settings = settings(max_examples=15, stateful_step_count=12, deadline=None)
test_the_index_equals_a_rebuilt_one_after_any_changes = OutsideChanges.TestCase


def test_a_change_looks_up_what_it_needs_and_walks_no_table(make_vault: MakeVault) -> None:
    """What a change costs must not grow with the vault: SQLite prefers to walk all notes when a condition
    names their kind, so each statement's plan is looked at."""
    vault = make_vault({"Hub.md": "", "a.md": "[[Hub]] #t", "b.md": "[[Hub|x]] [[a]]\n- [ ] task"})
    with vault.index.writing() as db:
        writer = db
    vault.index.table()  # A process reads the names of all files once.
    statements: set[str] = set()
    writer.set_trace_callback(statements.add)
    (vault.folder / "Hub.md").rename(vault.folder / "Hub 2.md")
    vault.write({"a.md": "[[Hub 2]] #t #u", "b.md": "[[Hub 2|x]] [[a]]\n- [x] task", "c/a.md": "k: v"})
    vault.sync_paths("Hub.md", "Hub 2.md", "a.md", "b.md", "c/a.md")
    writer.set_trace_callback(None)
    ours = {sql for sql in statements if "'main'." not in sql}  # Not those of the full-text table itself.
    asked = [sql for sql in ours if sql.startswith(("SELECT", "UPDATE", "DELETE"))]
    assert len(asked) > 20
    for statement in asked:
        for *_, step in writer.execute(f"EXPLAIN QUERY PLAN {statement}"):
            walks = step.startswith("SCAN") and "CONSTANT ROW" not in step
            assert not walks and "files_kind (kind=?)" not in step, (statement, step)


def test_nothing_is_read_again_when_nothing_changed(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": "x", "b.md": "y"})
    os.utime(vault.folder / "a.md", ns=(10**18, 10**18))
    os.utime(vault.folder / "b.md", ns=(10**18, 10**18))
    vault.sync_all()
    generation = vault.index.status().generation
    assert not vault.sync_all()
    assert vault.index.status().generation == generation


def test_a_young_file_is_read_again_without_a_change_for_readers(empty_vault: Vault) -> None:
    """It is compared by its hash until its timestamp can be trusted. Until then nothing is written, and then
    only that it is."""
    written, now = 10**18, [10**18]
    sync = Synchronizer(empty_vault.root, empty_vault.index, clock=lambda: now[0])
    empty_vault.write({"a.md": "x", "pic.png": "y"})
    os.utime(empty_vault.folder / "a.md", ns=(written, written))
    sync.sync_all()

    def count_trusted() -> int:
        with empty_vault.index.reading() as db:
            return int(db.execute("SELECT trusted FROM files WHERE path = 'a.md'").fetchone()[0])

    generation = empty_vault.index.status().generation
    assert not sync.sync_all()
    assert not sync.sync_paths([VaultPath("a.md")])
    assert (empty_vault.index.status().generation, count_trusted()) == (generation, 0)
    now[0] += 3 * 10**9
    assert not sync.sync_all()
    assert count_trusted() == 1


def test_a_touched_file_with_the_same_content_is_not_parsed_again(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": "x"})
    os.utime(vault.folder / "a.md", ns=(10**18, 10**18))
    assert vault.sync_all().changed == 0


def test_a_change_within_one_tick_of_the_clock_is_found_by_the_next_comparison(empty_vault: Vault) -> None:
    """Same size, timestamp and inode: only the hash differs, and it is compared while the file is young."""
    now = 10**18
    watcher = Synchronizer(empty_vault.root, empty_vault.index, clock=lambda: now)
    empty_vault.write({"a.md": "first"})
    os.utime(empty_vault.folder / "a.md", ns=(now, now))
    watcher.sync_all()
    with open(empty_vault.folder / "a.md", "r+b") as file:
        file.write(b"other")
    os.utime(empty_vault.folder / "a.md", ns=(now, now))
    assert watcher.sync_all().changed == 1
    assert search(empty_vault.index, "other").total == 1


def test_links_are_resolved_again_when_files_are_added_or_removed(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": "[[b]] [[v1.2]]"})
    graph = LinkGraph(vault.index)
    assert [link.resolved for link in graph.outgoing(VaultPath("a.md"))] == [None, None]
    vault.write({"x/b.md": "", "v1.2.md": ""})
    vault.sync_paths("x/b.md", "v1.2.md")
    assert [link.resolved for link in graph.outgoing(VaultPath("a.md"))] == ["x/b.md", "v1.2.md"]
    vault.write({"v1.2": "", "b.md": ""})
    vault.sync_paths("v1.2", "b.md")
    assert [link.resolved for link in graph.outgoing(VaultPath("a.md"))] == ["b.md", "v1.2"]
    vault.remove("b.md")
    vault.remove("x/b.md")
    vault.sync_paths("b.md", "x")
    assert [link.resolved for link in graph.outgoing(VaultPath("a.md"))] == [None, "v1.2"]


def test_readers_see_a_move_as_one_step(make_vault: MakeVault) -> None:
    vault = make_vault({"old.md": "word"})
    (vault.folder / "old.md").rename(vault.folder / "new.md")
    before = vault.index.status().generation
    vault.sync_paths("old.md", "new.md")
    assert vault.index.status().generation == before + 1
    assert [hit.path for hit in search(vault.index, "word").hits] == ["new.md"]


def test_a_build_in_child_processes_equals_one_in_this_process(empty_vault: Vault, tmp_path: Path) -> None:
    count = PARALLEL_FILES + 50
    empty_vault.write({f"f{n % 7}/n{n}.md": f"# T{n}\n[[n{n + 1}]] #t{n % 5} word{n}" for n in range(count)})
    empty_vault.sync_all()
    folder = tmp_path / "alone"
    folder.mkdir()
    alone = Index.open(folder)
    Synchronizer(empty_vault.root, alone, children=0).sync_all()
    from support.index import dump

    assert dump(alone) == empty_vault.dump()
    assert search(alone, "ord17").total == search(empty_vault.index, "ord17").total > 1
    alone.close()


def test_a_build_reports_progress_and_continues_after_it_was_cancelled(empty_vault: Vault) -> None:
    empty_vault.write({f"n{n:03}.md": f"[[n{n + 1:03}]] word" for n in range(350)})
    batches = Synchronizer(empty_vault.root, empty_vault.index, batch_files=CHUNK_FILES)
    reported: list[tuple[int, int]] = []
    report = batches.sync_all(lambda done, total: reported.append((done, total)), lambda: len(reported) == 2)
    assert report.cancelled
    assert reported == [(100, 350), (200, 350)]
    page = search(empty_vault.index, "word", limit=50)
    assert (page.total, page.complete, page.indexed, page.notes) == (200, False, 200, 350)
    empty_vault.sync_all()
    assert empty_vault.index.status().complete
    assert search(empty_vault.index, "word", limit=50).total == 350
    assert empty_vault.dump() == empty_vault.rebuild()


def test_the_next_build_finishes_one_that_was_killed(make_vault: MakeVault, empty_vault: Vault) -> None:
    empty_vault.write({f"n{n:03}.md": f"[[n{n + 1:03}]] word{n}" for n in range(120)})
    program = (
        "import sys; from pathlib import Path\n"
        "from vaultbridge.index.store.database import Index\n"
        "from vaultbridge.index.sync import Synchronizer\n"
        "from vaultbridge.vault.paths import VaultFolder\n"
        "def report(done, total):\n"
        "    print(done, flush=True)\n"
        "    sys.stdin.read()\n"
        "index = Index.open(Path(sys.argv[2]))\n"
        "Synchronizer(VaultFolder(sys.argv[1]), index, batch_files=50).sync_all(report)\n"
    )
    arguments = [sys.executable, "-c", program, empty_vault.folder, empty_vault.cache]
    with subprocess.Popen(arguments, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as builder:
        assert builder.stdout is not None
        assert builder.stdout.readline().strip() == b"100"
        builder.kill()
    assert empty_vault.index.status().state == "building"
    assert search(empty_vault.index, "word").total == 100
    empty_vault.sync_all()
    assert empty_vault.index.status().complete
    assert empty_vault.dump() == empty_vault.rebuild()


def test_readers_see_a_consistent_index_while_a_build_runs(empty_vault: Vault) -> None:
    empty_vault.write({f"n{n:03}.md": "word" for n in range(8 * CHUNK_FILES)})
    seen: list[int] = []
    failures: list[BaseException] = []
    finished = threading.Event()

    def read() -> None:
        try:
            while not finished.is_set():
                seen.append(search(empty_vault.index, "word", limit=50).total)
        except BaseException as error:
            failures.append(error)

    reader = threading.Thread(target=read)
    reader.start()
    Synchronizer(empty_vault.root, empty_vault.index, batch_files=CHUNK_FILES).sync_all()
    finished.set()
    reader.join(60)
    assert not failures
    assert seen == sorted(seen)


class BusyRoot(VaultFolder):
    """A vault in which `disturb` happens at the end of the first walk."""

    disturb: Callable[[], object] | None = None

    def absence(self) -> str:
        disturb, self.disturb = self.disturb, None
        if disturb is not None:
            disturb()
        return super().absence()


@pytest.mark.parametrize("folder", ["", "Sub"])
def test_a_note_that_is_saved_and_indexed_during_a_comparison_stays_in_the_index(
    make_vault: MakeVault, folder: str
) -> None:
    vault = make_vault({"a.md": "", "Sub/b.md": ""})

    def save() -> None:
        vault.write({"Sub/new.md": "new"})
        vault.sync_paths("Sub/new.md")

    root = BusyRoot(vault.folder)
    root.disturb = save
    with closing(Index.open(vault.cache)) as other:
        synchronizer = Synchronizer(root, other)
        if folder:
            synchronizer.sync_paths([VaultPath(folder)])
        else:
            synchronizer.sync_all()
        assert root.disturb is None
        assert sorted(other.table()) == ["Sub/b.md", "Sub/new.md", "a.md"]


def test_an_older_file_that_is_put_back_while_another_process_indexes_is_what_the_index_has(
    make_vault: MakeVault,
) -> None:
    """As a backup or a version control does it: the file has an earlier time than the one it replaces."""
    vault = make_vault({"a.md": "first", "b.md": ""})
    place, aside = vault.folder / "a.md", vault.folder / "aside"
    place.write_text("put back")
    os.utime(place, (1_000_000_000, 1_000_000_000))

    def replace_for_a_moment() -> None:
        if not aside.exists() and "second" not in seen:
            place.rename(aside)
            place.write_text("second")
            with closing(Index.open(vault.cache)) as other:
                Synchronizer(vault.root, other).sync_paths([VaultPath("a.md")])
                seen.append("second" if search(other, "second").total else "")
            aside.replace(place)

    seen: list[str] = []
    vault.sync.sync_paths([VaultPath("a.md")], replace_for_a_moment)
    assert seen == ["second"]
    assert search(vault.index, "back").total == 1
    assert vault.dump() == vault.rebuild()


def test_a_comparison_finds_what_is_new_changed_and_gone_among_trusted_files(make_vault: MakeVault) -> None:
    vault = make_vault(dict.fromkeys(("a.md", "b.md", "c.md", "d.png", "Sub/e.md"), ""))
    with vault.index.writing() as db:
        db.execute("UPDATE files SET trusted = 1")
    vault.write({"b.md": "other", "new.md": "", "d.png": "other"})
    vault.remove("c.md")
    report = vault.sync_all()
    assert (report.added, report.changed, report.removed) == (1, 1, 1)
    assert vault.dump() == vault.rebuild()


def test_two_synchronisers_on_one_index_reach_the_same_result(make_vault: MakeVault) -> None:
    """Another process indexes what it wrote itself while our own comparison runs."""
    vault = make_vault({f"n{n}.md": f"[[n{n + 1}]]" for n in range(20)})
    other = Index.open(vault.cache)
    theirs = Synchronizer(vault.root, other)
    vault.write({f"n{n}.md": f"[[n{n + 2}]] changed" for n in range(0, 20, 2)})
    vault.remove("n1.md")
    failures: list[BaseException] = []

    def work(look: Callable[[], object]) -> None:
        try:
            look()
        except BaseException as error:
            failures.append(error)

    threads = [
        threading.Thread(target=work, args=(vault.sync_all,)),
        threading.Thread(
            target=work, args=(lambda: theirs.sync_paths([VaultPath(f"n{n}.md") for n in range(20)]),)
        ),
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert not failures
    vault.sync_all()
    assert vault.dump() == vault.rebuild()
    other.close()


def test_files_that_cannot_be_parsed_are_listed_with_a_problem(make_vault: MakeVault) -> None:
    vault = make_vault(
        {
            "big.md": b"word " * (NOTE_PARSE_BYTES // 5 + 1),
            "bytes.md": b"ok \xff\xfe word",
            "yaml.md": "---\na: [\n---\nword",
            "huge.md": '---\nid: 123456789012345678901234567890\nodd: "\\ud800"\n---\nword',
            "linking.md": "[[big]]",
        }
    )
    dump = vault.dump()
    assert [problem.code for problem in dump["big.md"]["note"][0].problems] == ["too-large"]
    assert [problem.code for problem in dump["bytes.md"]["note"][0].problems] == ["invalid-utf8"]
    assert [problem.code for problem in dump["yaml.md"]["note"][0].problems] == ["bad-yaml"]
    assert dump["linking.md"]["links"][0][-1] == "big.md"
    assert {hit.path for hit in search(vault.index, "content:word").hits} == {
        "bytes.md",
        "yaml.md",
        "huge.md",
    }
    assert not vault.sync_all().changed


def test_a_path_in_the_wrong_case_or_behind_a_loop_changes_nothing(make_vault: MakeVault) -> None:
    vault = make_vault({"Note.md": "x", "Folder/a.md": "y"})
    (vault.folder / "loop").symlink_to(vault.folder / "Folder")
    vault.sync_paths("note.md", "loop/a.md", "loop")
    assert vault.dump() == vault.rebuild()


def test_a_damaged_index_is_rebuilt_and_filled_again(
    make_vault: MakeVault, caplog: pytest.LogCaptureFixture
) -> None:
    vault = make_vault({"a.md": "word"})
    before = vault.dump()
    vault.index.compact()
    data = bytearray(vault.index.file.read_bytes())
    for page in range(8192, len(data), 8192):
        data[page : page + 200] = b"\xaa" * 200
    vault.index.file.write_bytes(data)
    other = Index.open(vault.cache)
    assert "rebuilt" in caplog.text
    Synchronizer(vault.root, other).sync_all()
    assert search(other, "word").total == 1
    other.close()
    # The process that had it open notices it without being restarted.
    vault.sync_all()
    assert vault.dump() == before


@pytest.mark.parametrize("empty", [False, True])
def test_a_missing_vault_removes_no_rows(make_vault: MakeVault, empty: bool) -> None:
    vault = make_vault({"A.md": "[[B]]", "F/B.md": "b"})
    before = vault.dump()
    folder, away = vault.root.folder, vault.root.folder.with_name("away")
    folder.rename(away)
    if empty:
        folder.mkdir()
    with pytest.raises(VaultNotFound):
        vault.sync_all()
    vault.sync.sync_paths([VaultPath("A.md"), VaultPath("F"), VaultPath("F/B.md")])
    assert vault.dump() == before


def test_an_index_is_not_complete_when_the_vault_vanishes_during_the_first_build(empty_vault: Vault) -> None:
    """Every note that is still to be read is gone then, and an index without them would look complete."""
    vault = empty_vault
    vault.write({f"F/{number}.md": "x" for number in range(150)})
    folder, away = vault.root.folder, vault.root.folder.with_name("away")
    batches = Synchronizer(vault.root, vault.index, batch_files=CHUNK_FILES)
    with pytest.raises(VaultNotFound) as caught:
        batches.sync_all(progress=lambda done, total: folder.rename(away) and None)
    assert str(folder.parent) not in str(caught.value)
    assert not vault.index.status().complete
    away.rename(folder)
    vault.sync_all()
    assert vault.index.status().complete
    assert search(vault.index, "x").total == 150


def test_a_vault_whose_folder_cannot_be_listed_is_not_taken_for_an_empty_one(
    empty_vault: Vault, monkeypatch: pytest.MonkeyPatch
) -> None:
    vault = empty_vault
    vault.write({"A.md": "x"})
    with monkeypatch.context() as broken:
        refuse_call(broken, "open", errno.EIO, where=lambda place: str(place) == str(vault.root.folder))
        with pytest.raises(EngineFailure, match="could not be read: Input/output error"):
            vault.sync_all()
    assert not vault.index.status().complete


PARTS = {
    "front": (
        "",
        "---\ndone: true\n---\n",
        "---\ndone: 1   \n---\n",
        "---\ndone: 1.0\naliases: [Ölberg]\n---\n",
    ),
    "head": ("", "# Überschrift\n", "# Überschrift #x\n", "## заголовок\n"),
    "links": ("", "see [[other]]\n", "see [[other#h|o]] and [[מסמך]]\n"),
    "task": ("", "- [ ] water\n", "- [x] water 📅 2026-01-02\n"),
    "tail": ("", "another paragraph\n", "もう一つの段落\n", "%% unclosed"),
}


@settings(max_examples=25, deadline=None)
@given(versions=st.lists(st.tuples(*map(st.sampled_from, PARTS.values())), min_size=2, max_size=4))
def test_an_edited_note_has_the_rows_of_a_new_one(
    tmp_path_factory: pytest.TempPathFactory, versions: list[tuple[str, ...]]
) -> None:
    """Whichever parts of it stay as they were."""
    vault = Vault(tmp_path_factory.mktemp("edited"))
    try:
        vault.write({"note.md": "".join(versions[0]), "other.md": "x"})
        vault.sync_all()
        for number, parts in enumerate(versions[1:], 1):
            vault.write({"note.md": "".join(parts)})
            os.utime(vault.folder / "note.md", ns=(number * 10**12, number * 10**12))
            vault.sync_paths("note.md")
            assert vault.dump() == vault.rebuild()
    finally:
        vault.close()
