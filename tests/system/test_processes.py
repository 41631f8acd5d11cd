"""Whether a process is there."""

from __future__ import annotations

import os
import subprocess
import sys

from vaultbridge.system import is_process_alive


def test_this_process_and_the_first_one_are_alive() -> None:
    assert is_process_alive(os.getpid())
    assert is_process_alive(1)


def test_a_process_that_ended_is_not_alive() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()
    assert not is_process_alive(child.pid)


def test_an_invalid_process_id_is_not_alive() -> None:
    for pid in (0, -1, 2**40):
        assert not is_process_alive(pid)
