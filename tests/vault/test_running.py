"""`vaultbridge.vault.obsidian`: docs/obsidian.md 9, whether the app runs."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest

from vaultbridge.vault.obsidian import is_obsidian_running

SOCKET_PATH_BYTES = 103
"""What every system has room for in the name of a socket."""


@pytest.fixture
def environ(home: Path) -> dict[str, str]:
    return {"HOME": str(home), "XDG_RUNTIME_DIR": str(home)}


def write_lock(home: Path, text: str) -> None:
    folder = home / ".config" / "obsidian"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "SingletonLock").unlink(missing_ok=True)
    (folder / "SingletonLock").symlink_to(text)


def test_without_lock_and_socket_it_does_not_run(environ: dict[str, str]) -> None:
    assert not is_obsidian_running(environ, platform="linux")


def test_a_lock_of_a_live_process_on_this_machine_means_it_runs(environ: dict[str, str], home: Path) -> None:
    write_lock(home, f"{socket.gethostname()}-{os.getpid()}")
    assert is_obsidian_running(environ, platform="linux")


def test_a_lock_that_outlived_its_process_means_nothing(environ: dict[str, str], home: Path) -> None:
    ended = subprocess.Popen([sys.executable, "-c", ""])
    ended.wait()
    write_lock(home, f"{socket.gethostname()}-{ended.pid}")
    assert not is_obsidian_running(environ, platform="linux")


@pytest.mark.parametrize(
    "text", ["another-host-{pid}", "{host}-", "{host}-x", "nonsense", "{host}-0", "{host}-99999999999"]
)
def test_a_lock_of_another_machine_or_of_no_process_means_nothing(
    environ: dict[str, str], home: Path, text: str
) -> None:
    write_lock(home, text.format(host=socket.gethostname(), pid=os.getpid()))
    assert not is_obsidian_running(environ, platform="linux")


def test_a_connectable_command_line_socket_means_it_runs(environ: dict[str, str], home: Path) -> None:
    place = home / ".obsidian-cli.sock"
    if len(os.fsencode(place)) > SOCKET_PATH_BYTES:
        pytest.skip("temporary files lie too deep here for a socket")
    with socket.socket(socket.AF_UNIX, socket.SOCK_STREAM) as server:
        server.bind(str(place))
        assert not is_obsidian_running(environ, platform="linux"), "bound but nobody listens"
        server.listen()
        assert is_obsidian_running(environ, platform="linux")
    assert place.exists()
    assert not is_obsidian_running(environ, platform="linux"), "a left-over socket file"


def test_on_windows_the_lock_file_lives_as_long_as_the_app(tmp_path: Path) -> None:
    environ = {"USERPROFILE": str(tmp_path), "APPDATA": str(tmp_path)}
    assert not is_obsidian_running(environ, platform="win32")
    (tmp_path / "obsidian").mkdir()
    (tmp_path / "obsidian" / "lockfile").write_text("")
    assert is_obsidian_running(environ, platform="win32")
