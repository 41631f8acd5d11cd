"""One keeper a vault, replaced when it dies, however it dies."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from vaultbridge.engine.index_sync import SILENT_SECONDS, IndexLeader

PROGRAM = (
    "import sys; from pathlib import Path; from vaultbridge.engine.index_sync import Keeper\n"
    "keeper = Keeper(Path(sys.argv[1])); print(keeper.claim(), flush=True); sys.stdin.read()"
)


def test_the_first_to_claim_keeps_until_it_lets_go(tmp_path: Path) -> None:
    first, second = IndexLeader(tmp_path), IndexLeader(tmp_path)
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
        heir = IndexLeader(tmp_path)
        assert not heir.claim()
        keeper.send_signal(signal.SIGKILL)
        keeper.wait(30)
        assert heir.claim()
        heir.release()


def test_a_keeper_that_was_not_heard_of_for_long_does_not_watch(tmp_path: Path) -> None:
    keeper, other = IndexLeader(tmp_path), IndexLeader(tmp_path)
    assert not (other.watched or other.silent)
    assert keeper.claim()
    keeper.tell_watching(watching=True)
    assert other.watched and not other.silent
    now = time.time()
    for heard in (now - SILENT_SECONDS - 1, now + 3600):
        os.utime(tmp_path / "keeper.watches", (heard, heard))
        assert other.silent and not other.watched
    keeper.tell_watching(watching=True)
    assert other.watched
    keeper.release()
    assert not (other.watched or other.silent)


def test_a_keeper_whose_lock_was_deleted_claims_it_again(tmp_path: Path) -> None:
    keeper = IndexLeader(tmp_path / "cache")
    assert keeper.claim()
    shutil.rmtree(tmp_path / "cache")
    assert not keeper.ours
    assert keeper.claim() and keeper.ours
    assert not IndexLeader(tmp_path / "cache").claim()
    keeper.release()
