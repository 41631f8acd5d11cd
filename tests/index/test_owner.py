"""One keeper a vault, replaced when it dies, however it dies."""

from __future__ import annotations

import signal
import subprocess
import sys
from pathlib import Path

from vaultbridge.index.owner import Keeper

PROGRAM = (
    "import sys; from pathlib import Path; from vaultbridge.index.owner import Keeper\n"
    "keeper = Keeper(Path(sys.argv[1])); print(keeper.claim(), flush=True); sys.stdin.read()"
)


def test_the_first_to_claim_keeps_until_it_lets_go(tmp_path: Path) -> None:
    first, second = Keeper(tmp_path), Keeper(tmp_path)
    assert first.claim() and first.claim()
    assert not second.claim()
    first.release()
    assert second.claim()
    assert (first.ours, second.ours) == (False, True)
    second.release()


def test_a_killed_keeper_is_followed_by_the_next(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as keeper:
        assert keeper.stdout is not None
        assert keeper.stdout.readline().strip() == b"True"
        heir = Keeper(tmp_path)
        assert not heir.claim()
        keeper.send_signal(signal.SIGKILL)
        keeper.wait(30)
        assert heir.claim()
        heir.release()
