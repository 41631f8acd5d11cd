"""Lock files in real folders: where they lie, what they say, and whose are touched."""

from __future__ import annotations

import json
import os
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from support.process import drop_privileges
from support.waiting import BOUND
from vaultbridge.protocols.claude_ide.lock_files import (
    LockFiles,
    list_lock_files,
    list_lock_folders,
    list_scanned_folders,
    make_lock,
    read_lock,
)

TOKEN = "7d9a4f10-6a9c-4d0e-9a51-2f53d5a7c111"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    home = tmp_path / "home"
    home.mkdir()
    return home


VAULT_NAME = "Mein Tresor é"


@pytest.fixture
def dead_pid() -> int:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    return child.pid


def read_mode(path: Path) -> int:
    return stat.S_IMODE(path.stat().st_mode)


# places


HABITS: dict[str, Callable[[Path, str, str], list[Path]]] = {
    # Release: home, CLAUDE_CONFIG_DIR, XDG_CONFIG_HOME -> the places that it scans.
    "1.0.0": lambda home, chosen, xdg: [home / ".claude"],
    "1.0.30": lambda home, chosen, xdg: (
        [Path(chosen)] if chosen else [Path(xdg) / "claude"] if xdg else [home / ".claude"]
    ),
    "1.0.60": lambda home, chosen, xdg: [Path(chosen) if chosen else home / ".claude"],
    "2.0.50": lambda home, chosen, xdg: [Path(chosen) if chosen else home / ".claude"],
    "2.1.325": lambda home, chosen, xdg: [*([Path(chosen)] if chosen else []), home / ".claude"],
}
"""What each release was seen to scan, as docs/claude-code.md has it."""


@pytest.mark.parametrize("release", HABITS)
@pytest.mark.parametrize("configured", [True, False])
@pytest.mark.parametrize("xdg", [True, False])
def test_every_release_finds_the_bridge_exactly_once(
    home: Path, vault: Path, tmp_path: Path, release: str, configured: bool, xdg: bool
) -> None:
    environ = {}
    if configured:
        environ["CLAUDE_CONFIG_DIR"] = str(tmp_path / "conf")
    if xdg:
        (tmp_path / "xdg" / "claude").mkdir(parents=True)
        environ["XDG_CONFIG_HOME"] = str(tmp_path / "xdg")
    LockFiles(list_lock_folders(environ, home)).write(make_lock(4000, TOKEN, [vault]))
    scanned = HABITS[release](home, environ.get("CLAUDE_CONFIG_DIR", ""), environ.get("XDG_CONFIG_HOME", ""))
    found = [place for place in scanned if (place / "ide" / "4000.lock").exists()]
    # The first release did not know the variable, and is the only one that misses a lock there.
    assert len(found) == (0 if release == "1.0.0" and configured else 1)


def test_the_releases_are_in_the_documents_table() -> None:
    table = (Path(__file__).parents[3] / "docs" / "claude-code.md").read_text("utf-8")
    assert [release for release in HABITS if f"| {release} |" not in table] == []


def test_the_folder_in_the_home_is_used_when_none_is_configured(home: Path) -> None:
    """Seed 001, Lock File System, 3."""
    assert list_lock_folders({}, home) == (home / ".claude" / "ide",)


def test_the_configured_folder_alone_is_used_when_there_is_one(home: Path, tmp_path: Path) -> None:
    """Seed 001, Lock File System, 1. A second lock would make the newest client list the bridge twice."""
    (home / ".config" / "claude").mkdir(parents=True)
    folders = list_lock_folders({"CLAUDE_CONFIG_DIR": str(tmp_path / "conf")}, home)
    assert folders == (tmp_path / "conf" / "ide",)


def test_dead_locks_are_swept_wherever_a_client_looks(home: Path, tmp_path: Path, dead_pid: int) -> None:
    environ = {"CLAUDE_CONFIG_DIR": str(tmp_path / "conf")}
    left = home / ".claude" / "ide" / "4000.lock"
    left.parent.mkdir(parents=True)
    left.write_text(json.dumps({"pid": dead_pid}))
    files = LockFiles(list_lock_folders(environ, home), swept=list_scanned_folders(environ, home))
    assert files.sweep() == (left,)


def test_the_xdg_folder_is_used_when_its_claude_folder_exists(home: Path, tmp_path: Path) -> None:
    """Seed 001, Lock File System, 2."""
    (tmp_path / "xdg" / "claude").mkdir(parents=True)
    folders = list_lock_folders({"XDG_CONFIG_HOME": str(tmp_path / "xdg")}, home)
    assert folders == (home / ".claude" / "ide", tmp_path / "xdg" / "claude" / "ide")
    (home / ".config" / "claude").mkdir(parents=True)
    assert list_lock_folders({}, home)[1] == home / ".config" / "claude" / "ide"


def test_an_absent_xdg_folder_is_not_created(home: Path, tmp_path: Path) -> None:
    assert len(list_lock_folders({"XDG_CONFIG_HOME": str(tmp_path / "xdg")}, home)) == 1


def test_one_real_folder_is_used_once(home: Path) -> None:
    (home / ".claude").mkdir()
    (home / "link").symlink_to(home / ".claude")
    environ = {"CLAUDE_CONFIG_DIR": str(home / "link")}
    assert list_lock_folders(environ, home) == (home / "link" / "ide",)
    assert list_scanned_folders(environ, home) == (home / "link" / "ide",)


# content


def test_the_lock_has_the_seeds_fields(home: Path, vault: Path) -> None:
    """Seed 000, Lock File Format."""
    (written,) = LockFiles(list_lock_folders({}, home)).write(make_lock(54321, TOKEN, [vault]))
    assert written == home / ".claude" / "ide" / "54321.lock"
    assert json.loads(written.read_text()) == {
        "pid": os.getpid(),
        "workspaceFolders": [str(vault)],
        "ideName": "Obsidian",
        "transport": "ws",
        "runningInWindows": False,
        "authToken": TOKEN,
        "port": 54321,
    }


def test_symlinks_are_resolved_in_the_lock(vault: Path, tmp_path: Path) -> None:
    """The client compares with its real working directory."""
    (tmp_path / "link").symlink_to(vault)
    lock = make_lock(1, TOKEN, [tmp_path / "link", vault])
    assert lock.workspace_folders == (str(vault),)


def test_the_name_can_be_chosen(vault: Path) -> None:
    assert make_lock(1, TOKEN, [vault], ide_name="Notes").ide_name == "Notes"


def test_folder_and_file_are_private(home: Path, vault: Path) -> None:
    """Seed 000, Authentication Flow 2: mode 600."""
    (written,) = LockFiles(list_lock_folders({}, home)).write(make_lock(4000, TOKEN, [vault]))
    assert read_mode(written) == 0o600
    assert read_mode(written.parent) == 0o700


def test_a_wide_folder_is_narrowed(home: Path, vault: Path) -> None:
    folder = home / ".claude" / "ide"
    folder.mkdir(parents=True)
    folder.chmod(0o755)
    LockFiles([folder]).write(make_lock(4000, TOKEN, [vault]))
    assert read_mode(folder) == 0o700


def test_nothing_but_the_lock_is_left_in_the_folder(home: Path, vault: Path) -> None:
    """It is written beside and moved into place, so that no client reads half of it."""
    files = LockFiles(list_lock_folders({}, home))
    files.write(make_lock(4000, TOKEN, [vault]))
    files.write(make_lock(4000, TOKEN, [vault]))
    assert [file.name for file in (home / ".claude" / "ide").iterdir()] == ["4000.lock"]


def test_it_is_rewritten_when_the_vaults_change(home: Path, vault: Path, tmp_path: Path) -> None:
    files = LockFiles(list_lock_folders({}, home))
    files.write(make_lock(4000, TOKEN, [vault]))
    (written,) = files.write(make_lock(4000, TOKEN, [vault, tmp_path]))
    assert json.loads(written.read_text())["workspaceFolders"] == [str(vault), str(tmp_path)]


def test_a_lock_under_the_old_port_goes_when_the_port_changes(home: Path, vault: Path) -> None:
    files = LockFiles(list_lock_folders({}, home))
    files.write(make_lock(4000, TOKEN, [vault]))
    files.write(make_lock(4001, TOKEN, [vault]))
    assert [file.name for file in (home / ".claude" / "ide").iterdir()] == ["4001.lock"]


def test_a_lock_is_restored_where_it_is_gone_or_broken_and_nowhere_else(
    home: Path, vault: Path, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    folders = [tmp_path / name for name in ("gone", "broken", "whole", "taken", "appeared", "file/ide")]
    (tmp_path / "file").write_text("")
    files = LockFiles(folders[:4])
    assert files.restore(folders) == ()  # Nothing was written yet.
    gone, broken, whole, taken, appeared, _ = (folder / "4000.lock" for folder in folders)
    files.write(make_lock(4000, TOKEN, [vault]))
    gone.unlink()
    broken.write_text('{"pid"')
    taken.write_text('{"pid": 1}')
    before = whole.stat()
    assert files.restore(folders) == (gone, broken, appeared)
    assert gone.read_bytes() == broken.read_bytes() == appeared.read_bytes() == whole.read_bytes()
    assert whole.stat() == before
    assert taken.read_text() == '{"pid": 1}'
    assert files.restore(folders) == ()
    assert caplog.text.count("Could not write a lock file") == 1
    files.remove()
    assert not any(file.exists() for file in (gone, broken, whole, appeared))
    assert files.restore(folders) == ()


WRITE_LOCK = """
import pathlib, sys
from vaultbridge.protocols.claude_ide.lock_files import LockFiles, make_lock

*folders, vault = map(pathlib.Path, sys.argv[1:])
print(*LockFiles(folders).write(make_lock(4000, "token", [vault])), sep="\\n")
"""


def test_a_folder_that_cannot_be_written_does_not_stop_the_others(
    home: Path, vault: Path, tmp_path: Path
) -> None:
    closed = tmp_path / "closed"
    closed.mkdir(mode=0o500)
    folders = [closed / "ide", home / ".claude" / "ide"]
    command = [*drop_privileges(), sys.executable, "-c", WRITE_LOCK, *folders, vault]
    done = subprocess.run(command, capture_output=True, text=True, timeout=BOUND, check=True)
    assert done.stdout.splitlines() == [str(home / ".claude" / "ide" / "4000.lock")]
    assert list(closed.iterdir()) == []


def test_a_file_in_the_way_of_a_folder_does_not_stop_the_others(home: Path, vault: Path) -> None:
    (home / "file").write_text("")
    files = LockFiles([home / "file" / "ide", home / ".claude" / "ide"])
    assert files.write(make_lock(4000, TOKEN, [vault])) == (home / ".claude" / "ide" / "4000.lock",)


# whose are touched


def test_our_own_lock_is_removed_everywhere(home: Path, vault: Path) -> None:
    (home / ".config" / "claude").mkdir(parents=True)
    files = LockFiles(list_lock_folders({}, home))
    written = files.write(make_lock(4000, TOKEN, [vault]))
    assert len(written) == 2
    files.remove()
    assert not any(file.exists() for file in written)


def test_a_lock_that_another_wrote_over_ours_stays(home: Path, vault: Path) -> None:
    files = LockFiles(list_lock_folders({}, home))
    (written,) = files.write(make_lock(4000, TOKEN, [vault]))
    written.write_text(json.dumps({"pid": os.getppid(), "ideName": "Other"}))
    files.remove()
    assert written.exists()


def test_locks_of_dead_processes_are_swept(home: Path, vault: Path, dead_pid: int) -> None:
    files = LockFiles(list_lock_folders({}, home))
    (written,) = files.write(make_lock(4000, TOKEN, [vault], pid=dead_pid))
    assert files.sweep() == (written,)
    assert not written.exists()


@pytest.mark.parametrize(
    "content",
    [
        json.dumps({"pid": os.getpid(), "ideName": "Editor"}),
        json.dumps({"pid": os.getppid()}),
        "not json",
        "[]",
        json.dumps({"ideName": "no pid"}),
        json.dumps({"pid": "12"}),
        "\xff",
        json.dumps({"pid": 1, "runningInWindows": True}),
        "x" * 100_000,
    ],
    ids=["this process", "its parent", "text", "list", "no pid", "pid is text", "latin-1", "windows", "long"],
)
def test_others_locks_are_never_touched(home: Path, content: str) -> None:
    folder = home / ".claude" / "ide"
    folder.mkdir(parents=True)
    (folder / "5000.lock").write_text(content, "latin-1")
    assert LockFiles([folder]).sweep() == ()
    assert (folder / "5000.lock").exists()


def test_only_files_named_by_a_port_are_read(home: Path, dead_pid: int) -> None:
    """Seed 001: the name must be the port number."""
    folder = home / ".claude" / "ide"
    folder.mkdir(parents=True)
    for name in ("notes.lock", "123.txt", "123456.lock", "12a.lock"):
        (folder / name).write_text(json.dumps({"pid": dead_pid}))
    assert list_lock_files(folder) == []
    assert LockFiles([folder]).sweep() == ()


def test_a_lock_left_by_a_killed_process_is_stale_until_it_is_rewritten(
    home: Path, vault: Path, dead_pid: int
) -> None:
    files = LockFiles(list_lock_folders({}, home))
    (written,) = files.write(make_lock(4000, TOKEN, [vault], pid=dead_pid))
    left = read_lock(written)
    assert left is not None and left.is_stale
    again = LockFiles(list_lock_folders({}, home))
    again.write(make_lock(4000, TOKEN, [vault]))
    lock = read_lock(written)
    assert lock is not None and not lock.is_stale
    assert (lock.port, lock.auth_token, lock.pid) == (4000, TOKEN, os.getpid())


def test_a_missing_folder_has_no_locks(home: Path) -> None:
    assert list_lock_files(home / "nowhere") == []
    assert LockFiles([home / "nowhere"]).sweep() == ()
