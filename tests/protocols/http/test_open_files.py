"""How many connections a process has room for."""

from __future__ import annotations

import subprocess
import sys

import pytest

from vaultbridge.protocols.http.listen import (
    MAX_CONNECTIONS,
    MIN_CONNECTIONS,
    RESERVED_FILES,
    reserve_connections,
)

if sys.platform == "win32":
    pytest.skip("Windows has no such limit", allow_module_level=True)

PROGRAM = """
import resource, sys
soft, hard = int(sys.argv[1]), int(sys.argv[2])
resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
from vaultbridge.protocols.http.listen import reserve_connections
print(reserve_connections(), *resource.getrlimit(resource.RLIMIT_NOFILE))
"""


def run_limited(soft: int, hard: int) -> list[int]:
    """The room, and the limits afterwards, in a process of its own that may open so many files."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM, str(soft), str(hard)], capture_output=True, text=True, check=True
    )
    return [int(word) for word in done.stdout.split()]


def test_a_low_limit_is_raised_as_far_as_connections_need() -> None:
    """256, as on a Mac, would be used up by the callers that are promised a place."""
    enough = MAX_CONNECTIONS + RESERVED_FILES
    assert run_limited(256, 4096) == [MAX_CONNECTIONS, enough, 4096]


def test_a_high_limit_is_left_alone() -> None:
    assert run_limited(3000, 3000) == [MAX_CONNECTIONS, 3000, 3000]


@pytest.mark.parametrize(("hard", "room"), [(400, 400 - RESERVED_FILES), (140, MIN_CONNECTIONS)])
def test_under_a_low_limit_fewer_connections_are_accepted(hard: int, room: int) -> None:
    assert run_limited(100, hard) == [room, hard, hard]


def test_this_machine_allows_enough_open_files() -> None:
    assert reserve_connections() >= 200
