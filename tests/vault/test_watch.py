"""`vaultbridge.vault.watch`: every change to the vault is reported in batches, or as a rescan."""

from __future__ import annotations

import os
import queue
import shutil
import signal
import subprocess
import sys
import threading
import time
import unicodedata
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.waiting import BOUND
from vaultbridge.system import find_disk_kind
from vaultbridge.vault.paths import VaultFolder
from vaultbridge.vault.watch import (
    BAD_NAME,
    STALL_SECONDS,
    PathsChanged,
    Rescan,
    SettingsChanged,
    VaultLost,
    VaultWatcher,
    WatchEvent,
    WorkspaceChanged,
)

MARK = "mark "
"""The start of the names of marker files: every change before a marker is reported before it."""

MOVED_AT_ONCE = 20
"""Enough folders that one of them shows the fault in two of three runs: each takes a third of a second."""


class Watched:
    """A watched vault, and the events that were reported."""

    def __init__(self, root: VaultFolder, *, busy: threading.Event | None = None, **options: int) -> None:
        """The receiver is `busy` with an event until that is set."""
        self.busy = busy or threading.Event()
        if busy is None:
            self.busy.set()
        self.events_seen: queue.Queue[WatchEvent] = queue.Queue()
        self._folder = root.folder
        self._marks = 0
        self.watcher = VaultWatcher(root, self._hear, **options)
        self.watcher.start()
        assert self.events_seen.get(timeout=BOUND) == Rescan("started")

    def _hear(self, event: WatchEvent) -> None:
        self.events_seen.put(event)
        self.busy.wait(BOUND)

    def until(self, wanted: Callable[[list[WatchEvent]], bool]) -> list[WatchEvent]:
        """All events until `wanted` is true of them."""
        deadline = time.monotonic() + BOUND
        events: list[WatchEvent] = []
        while not wanted(events):
            left = deadline - time.monotonic()
            assert left > 0, f"only {events} within {BOUND} s"
            try:
                events.append(self.events_seen.get(timeout=left))
            except queue.Empty:
                continue
        return events

    def watch_change(self, change: Callable[[], object]) -> list[WatchEvent]:
        """All events of one change, in however many parts they come: the system reports changes in their
        order, so all of them are there when a later marker is reported."""
        change()
        self._marks += 1
        mark = f"{MARK}{self._marks}.md"
        (self._folder / mark).write_text("x")
        return self.until(lambda events: mark in _list_all_paths(events))

    def paths(self, *wanted: str) -> set[str]:
        """All changed paths until the wanted ones are among them."""
        return _list_paths(self.until(lambda events: set(wanted) <= _list_paths(events)))


def _list_paths(events: list[WatchEvent]) -> set[str]:
    return {path for path in _list_all_paths(events) if not path.startswith(MARK)}


def _list_all_paths(events: list[WatchEvent]) -> set[str]:
    return {path for event in events if isinstance(event, PathsChanged) for path in event.paths}


def _shows(events: list[WatchEvent], path: str) -> bool:
    """Whether the receiver learns of a file: by its path, or because it compares everything."""
    return path in _list_paths(events) or any(isinstance(event, Rescan) for event in events)


def _list_obsidian_events(events: list[WatchEvent]) -> set[WatchEvent]:
    return {event for event in events if isinstance(event, SettingsChanged | WorkspaceChanged)}


@pytest.fixture
def watched(root: VaultFolder) -> Iterator[Watched]:
    made = Watched(root)
    yield made
    made.watcher.stop()


def test_writes_moves_and_deletions_are_reported_by_vault_path(watched: Watched, folder: Path) -> None:
    first, second = folder / "a.md", folder / "b.md"
    assert _list_paths(watched.watch_change(lambda: first.write_text("x"))) == {"a.md"}
    assert _list_paths(watched.watch_change(lambda: first.rename(second))) == {"a.md", "b.md"}
    assert _list_paths(watched.watch_change(second.unlink)) == {"b.md"}


def test_an_atomic_save_is_reported_as_its_note_alone(watched: Watched, folder: Path) -> None:
    passing = folder / ".tmp-save"
    assert _list_paths(watched.watch_change(lambda: passing.write_text("x"))) == set()
    assert _list_paths(watched.watch_change(lambda: passing.replace(folder / "n.md"))) == {"n.md"}


def test_a_new_folder_is_reported_with_its_files(watched: Watched, folder: Path, tmp_path: Path) -> None:
    """A folder may be filled before the system watches it, so its files are looked for."""
    source = tmp_path / "source" / "deep"
    source.mkdir(parents=True)
    for number in range(20):
        (source / f"{number}.md").write_text("x")
    (source / ".hidden").write_text("x")
    (tmp_path / "source").rename(folder / "Came")
    wanted = {f"Came/deep/{number}.md" for number in range(20)}
    assert watched.paths(*wanted) - wanted <= {"Came", "Came/deep"}
    shutil.rmtree(folder / "Came")
    assert "Came" in watched.paths("Came")


def test_no_file_is_missed_in_folders_made_and_filled_at_once(watched: Watched, folder: Path) -> None:
    for number in range(30):
        (folder / f"d{number}" / "e").mkdir(parents=True)
        (folder / f"d{number}" / "e" / "n.md").write_text("x")
    watched.paths(*(f"d{number}/e/n.md" for number in range(30)))


@pytest.mark.skipif(sys.platform != "linux", reason="other systems watch all folders as one")
def test_a_folder_that_is_moved_as_soon_as_it_is_made_stays_watched(watched: Watched, folder: Path) -> None:
    """One in twenty such folders was no longer watched, until everything was compared minutes later."""
    (folder / "From").mkdir()
    for number in range(MOVED_AT_ONCE):
        made, parent = folder / "From" / str(number), folder / f"To {number}"
        made.mkdir()
        (made / "Note.md").write_text("x")
        parent.mkdir()
        moved = made.rename(parent / "Moved")
        watched.until(lambda events, name=f"{parent.name}/Moved/Note.md": _shows(events, name))
        (moved / "Later.md").write_text("x")
        watched.until(lambda events, name=f"{parent.name}/Moved/Later.md": _shows(events, name))


def test_names_are_reported_as_nfc(watched: Watched, folder: Path) -> None:
    place = folder / unicodedata.normalize("NFD", "Café.md")
    assert _list_paths(watched.watch_change(lambda: place.write_text("x"))) == {"Café.md"}


def test_hidden_files_are_ignored_except_obsidians_settings_and_workspace(
    watched: Watched, folder: Path
) -> None:
    git, obsidian = folder / ".git", folder / ".obsidian"
    made = watched.watch_change(lambda: (git.mkdir(), (git / "index").write_text("x"), obsidian.mkdir()))
    saved = watched.watch_change(lambda: (obsidian / "app.json").write_text("{}"))
    moved = watched.watch_change(lambda: (obsidian / "workspace.json").write_text("{}"))
    assert _list_paths([*made, *saved, *moved]) == set()
    events_seen = [_list_obsidian_events(events) for events in (made, saved, moved)]
    assert events_seen == [set(), {SettingsChanged()}, {WorkspaceChanged()}]


def test_a_placeholder_is_reported_by_the_name_of_its_file(watched: Watched, folder: Path) -> None:
    assert _list_paths(watched.watch_change(lambda: (folder / ".Far.md.icloud").write_text("x"))) == {
        "Far.md"
    }


def test_changes_by_another_process_are_reported(watched: Watched, folder: Path) -> None:
    code = "import sys, pathlib; [(pathlib.Path(sys.argv[1]) / f'{n}.md').write_text('x') for n in range(50)]"
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True, timeout=BOUND)
    watched.paths(*(f"{number}.md" for number in range(50)))


def test_very_many_changes_become_a_rescan(root: VaultFolder, folder: Path) -> None:
    watched = Watched(root, batch_paths=20, busy=threading.Event())
    # Written while the receiver is busy, so that all of it is there the next time.
    for number in range(200):
        (folder / f"{number}.md").write_text("x")
    watched.busy.set()
    events = watched.until(lambda events: Rescan("many-changes") in events)
    watched.watcher.stop()
    assert all(len(event.paths) <= 20 for event in events if isinstance(event, PathsChanged))


def test_a_new_folder_with_very_many_files_becomes_a_rescan(
    root: VaultFolder, folder: Path, tmp_path: Path
) -> None:
    watched = Watched(root, batch_paths=20)
    (tmp_path / "many").mkdir()
    for number in range(100):
        (tmp_path / "many" / f"{number}.md").write_text("x")
    (tmp_path / "many").rename(folder / "Many")
    watched.until(lambda events: Rescan("many-changes") in events)
    watched.watcher.stop()


def test_a_vault_that_vanishes_and_returns_is_reported_and_watched_again(
    watched: Watched, folder: Path
) -> None:
    away = folder.with_name("away")
    folder.rename(away)
    events = watched.until(lambda events: any(isinstance(event, VaultLost) for event in events))
    assert str(folder) not in str(events)
    away.rename(folder)
    watched.until(lambda events: Rescan("vault-returned") in events)
    (folder / "after.md").write_text("x")
    watched.paths("after.md")


def test_another_folder_in_the_vaults_place_is_watched_instead(watched: Watched, folder: Path) -> None:
    """As when a volume is mounted over it: the watch would look at the old one for ever."""
    other = folder.with_name("other")
    other.mkdir()
    (other / "there.md").write_text("x")
    folder.rename(folder.with_name("old"))
    other.rename(folder)
    watched.until(lambda events: Rescan("vault-returned") in events)
    (folder / "new.md").write_text("x")
    watched.paths("new.md")


def test_an_empty_folder_in_the_vaults_place_is_a_vault_that_is_lost(root: VaultFolder, folder: Path) -> None:
    """A mount point without its disk."""
    watched = Watched(root, busy=threading.Event())
    # The watcher does not look between the two steps; it would report a folder that is gone.
    folder.rename(folder.with_name("old"))
    folder.mkdir()
    watched.busy.set()
    events = watched.until(lambda events: VaultLost("an empty folder is in its place") in events)
    assert not any(isinstance(event, Rescan) for event in events)
    folder.rmdir()
    folder.with_name("old").rename(folder)
    watched.until(lambda events: Rescan("vault-returned") in events)
    watched.watcher.stop()


@pytest.mark.parametrize("kind", ["9p", "nfs4", "cifs", "fuse.sshfs"])
def test_a_disk_that_others_write_too_is_not_trusted_to_report_it(
    root: VaultFolder, tmp_path: Path, kind: str
) -> None:
    """As `/mnt/c` in a WSL, where Obsidian runs in the Windows around it: searches compare with the disk."""
    mounts = tmp_path / "mountinfo"
    place = str(root.folder).replace("\\", r"\134").replace(" ", r"\040")
    mounts.write_text(
        f"1 0 8:1 / / rw - ext4 /dev/a rw\n2 1 0:9 / {place} rw,x - {kind} C:\\134 rw\n", "utf-8"
    )
    heard: queue.Queue[WatchEvent] = queue.Queue()
    watcher = VaultWatcher(root, heard.put, mounts=mounts)
    watcher.start()
    event = heard.get(timeout=BOUND)
    watcher.stop()
    assert isinstance(event, VaultLost) and kind in event.why and "compare" in event.why


NAMES = st.text(st.characters(exclude_categories=("Cs",), exclude_characters="/\0"), min_size=1, max_size=4)


@given(
    st.lists(st.tuples(st.lists(NAMES, max_size=3), st.sampled_from(["ext4", "9p", "nfs"])), max_size=5),
    st.lists(NAMES),
)
def test_the_innermost_mount_says_what_kind_a_disk_is(
    mounts: list[tuple[list[str], str]], parts: list[str]
) -> None:
    def escape(parts: list[str]) -> str:
        """As the kernel writes a path there."""
        path = "/" + "/".join(parts)
        return "".join(f"\\{ord(char):03o}" if char in " \t\n\\#" else char for char in path)

    lines = [f"1 0 8:1 / {escape(place)} rw shared:1 - {kind} dev rw" for place, kind in mounts]
    above = [(len(place), number) for number, (place, _) in enumerate(mounts) if parts[: len(place)] == place]
    expected = mounts[max(above)[1]][1] if above else ""
    assert find_disk_kind("/" + "/".join(parts) if parts else "", "\n".join(lines)) == expected


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_folder_whose_name_is_not_utf_8_ends_the_watch_once_and_says_why(
    root: VaultFolder, folder: Path
) -> None:
    """watchfiles cannot report such a name, and fails as soon as anything opens that folder. A vault with one
    was watched, compared and given up ten times a second."""
    bad = folder / os.fsdecode(b"caf\xe9")
    bad.mkdir()
    watched = Watched(root)
    assert list(bad.iterdir()) == []
    lost = watched.until(lambda events: any(isinstance(event, VaultLost) for event in events))
    assert lost[-1] == VaultLost(BAD_NAME)
    watched.watcher.stop()
    assert watched.events_seen.empty()


def test_stopping_ends_the_thread_also_while_the_vault_is_gone(root: VaultFolder, folder: Path) -> None:
    before = set(threading.enumerate())
    watched = Watched(root)
    folder.rmdir()
    watched.until(lambda events: any(isinstance(event, VaultLost) for event in events))
    (thread,) = set(threading.enumerate()) - before
    watched.watcher.stop()
    assert not thread.is_alive()


@pytest.mark.skipif(not hasattr(signal, "SIGSTOP"), reason="the system cannot stop a process")
def test_a_process_that_was_stopped_asks_for_a_rescan(root: VaultFolder, folder: Path) -> None:
    """While it was stopped, the system's queue of events may have overflowed, and nothing says so."""
    program = (
        "import sys\n"
        "from vaultbridge.vault.paths import VaultFolder\n"
        "from vaultbridge.vault.watch import VaultWatcher\n"
        "VaultWatcher(VaultFolder(sys.argv[1]), lambda event: print(event, flush=True)).start()\n"
        "sys.stdin.read()\n"
    )
    with subprocess.Popen(
        [sys.executable, "-c", program, folder], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as child:
        assert child.stdout is not None
        assert child.stdout.readline() == "Rescan(why='started')\n"
        child.send_signal(signal.SIGSTOP)
        # The one thing that only time can show: that it stood still for long.
        threading.Event().wait(STALL_SECONDS + 0.5)
        child.send_signal(signal.SIGCONT)
        assert child.stdout.readline() == "Rescan(why='lost-events')\n"
        child.kill()
