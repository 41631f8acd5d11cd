"""Whether a process is there."""

from __future__ import annotations

import os
import subprocess
import sys

from vaultbridge.system import is_process_alive


def test_we_are_alive_and_so_is_the_first_process() -> None:
    assert is_process_alive(os.getpid())
    assert is_process_alive(1)


def test_one_that_ended_is_not() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert not is_process_alive(child.pid)


def test_what_is_no_process_id_is_not() -> None:
    for pid in (0, -1, 2**40):
        assert not is_process_alive(pid)
