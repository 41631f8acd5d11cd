"""A vault's index has one leader, and the next process takes over when it dies, however it dies."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

from vaultbridge.engine.index_leader import STALLED_SECONDS, IndexLeader

PROGRAM = (
    "import sys; from pathlib import Path; from vaultbridge.engine.index_leader import IndexLeader\n"
    "leader = IndexLeader(Path(sys.argv[1])); print(leader.claim(), flush=True); sys.stdin.read()"
)


def test_the_first_process_to_claim_leads_until_it_releases(tmp_path: Path) -> None:
    first, second = IndexLeader(tmp_path), IndexLeader(tmp_path)
    assert first.claim() and first.claim()
    assert not second.claim()
    first.release()
    assert second.claim()
    assert (first.held, second.held) == (False, True)
    second.release()


def test_another_process_takes_over_from_a_killed_leader(tmp_path: Path) -> None:
    with subprocess.Popen(
        [sys.executable, "-c", PROGRAM, tmp_path], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as leader:
        assert leader.stdout is not None
        assert leader.stdout.readline().strip() == b"True"
        successor = IndexLeader(tmp_path)
        assert not successor.claim()
        leader.send_signal(signal.SIGKILL)
        leader.wait(60)
        assert successor.claim()
        successor.release()


def test_a_leader_with_an_old_heartbeat_is_not_taken_to_be_watching(tmp_path: Path) -> None:
    leader, other = IndexLeader(tmp_path), IndexLeader(tmp_path)
    assert not (other.is_watched or other.is_stalled)
    assert leader.claim()
    leader.mark_watching(watching=True)
    assert other.is_watched and not other.is_stalled
    now = time.time()
    for heard in (now - STALLED_SECONDS - 1, now + 3600):
        os.utime(tmp_path / "keeper.watches", (heard, heard))
        assert other.is_stalled and not other.is_watched
    leader.mark_watching(watching=True)
    assert other.is_watched
    leader.release()
    assert not (other.is_watched or other.is_stalled)


def test_a_leader_whose_lock_file_was_deleted_claims_it_again(tmp_path: Path) -> None:
    leader = IndexLeader(tmp_path / "cache")
    assert leader.claim()
    shutil.rmtree(tmp_path / "cache")
    assert not leader.held
    assert leader.claim() and leader.held
    assert not IndexLeader(tmp_path / "cache").claim()
    leader.release()
