"""Whether a process is there, and where the user's home is."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

from vaultbridge.system import find_home, is_process_alive


def test_this_process_and_the_first_one_are_alive() -> None:
    assert is_process_alive(os.getpid())
    assert is_process_alive(1)


def test_a_process_that_ended_is_not_alive() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert not is_process_alive(child.pid)


@pytest.mark.parametrize(
    ("platform", "environ", "home"),
    [
        ("linux", {"HOME": "/home/a", "USERPROFILE": "/b"}, "/home/a"),
        ("win32", {"HOME": "/h", "USERPROFILE": "/users/a"}, "/users/a"),
        ("win32", {"HOME": "/h"}, "/h"),
        ("linux", {"HOME": ""}, str(Path.home())),
    ],
)
def test_the_home_is_the_one_that_programs_of_that_system_use(
    platform: str, environ: dict[str, str], home: str
) -> None:
    """On Windows, Git's shell and others set HOME, but an editor looks below USERPROFILE for its files."""
    assert find_home(environ, platform=platform) == Path(home)


def test_an_invalid_process_id_is_not_alive() -> None:
    for pid in (0, -1, 2**40):
        assert not is_process_alive(pid)
