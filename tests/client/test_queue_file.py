"""The queue on disk."""

from __future__ import annotations

import resource
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from vaultbridge.client.websocket.queue_file import QueueFile
from vaultbridge.errors import EngineFailure


def test_rows_pass_from_waiting_to_handed_to_gone(tmp_path: Path) -> None:
    file = QueueFile(str(tmp_path / "q"), "ws://x")
    first, second = file.add(b"1", handed=False), file.add(b"2", handed=True)
    assert file.list_waiting() == [(first, b"1")] and file.list_handed() == [(second, b"2")]
    file.mark_handed(first)
    assert file.list_waiting() == [] and [data for _, data in file.list_handed()] == [b"1", b"2"]
    file.remove([first, second])
    assert file.list_handed() == []
    file.close()


def test_the_content_survives_and_keeps_its_order(tmp_path: Path) -> None:
    file = QueueFile(str(tmp_path / "q"), "ws://x")
    for n in range(100):
        file.add(b"%d" % n, handed=False)
    file.close()
    again = QueueFile(str(tmp_path / "q"), "ws://x")
    assert [data for _, data in again.list_waiting()] == [b"%d" % n for n in range(100)]
    again.close()


def test_another_server_s_messages_are_left_alone_and_its_url_is_not_stored(tmp_path: Path) -> None:
    path = tmp_path / "q"
    file = QueueFile(str(path), "ws://x?token=secret-token")
    file.add(b"for x", handed=False)
    file.close()
    other = QueueFile(str(path), "ws://y")
    assert other.list_waiting() == []
    other.close()
    assert all(b"secret-token" not in file.read_bytes() for file in tmp_path.iterdir())
    back = QueueFile(str(path), "ws://x?token=secret-token")
    assert [data for _, data in back.list_waiting()] == [b"for x"]
    back.close()


@pytest.mark.parametrize(
    ("url", "spellings"),
    [
        ("ws://host:80", ["WS://HOST", "ws://Host:80/", "ws://host./", "ws://name:secret@host"]),
        ("wss://host/mcp", ["wss://host:443/mcp/", "WSS://HOST/mcp", "wss://host/mcp//"]),
        ("ws://[::1]:8080", ["ws://[::1]:8080/", "WS://[::1]:8080", "ws://[0:0:0:0:0:0:0:1]:8080"]),
        ("ws://bücher.example/ü", ["ws://xn--bcher-kva.example/%C3%BC", "ws://BÜCHER.example/%c3%bc"]),
        ("ws://host/~a?q=ü", ["ws://host/%7Ea?q=%C3%BC", "ws://host/./b/../~a?q=ü"]),
        ("ws://host/a?q=1", ["ws://HOST:80/a/?q=1"]),
    ],
)
def test_the_messages_belong_to_the_server_however_its_url_is_spelled(
    tmp_path: Path, url: str, spellings: list[str]
) -> None:
    path = str(tmp_path / "q")
    file = QueueFile(path, url)
    file.add(b"waiting", handed=False)
    file.close()
    for spelling in spellings:
        again = QueueFile(path, spelling)
        assert [data for _, data in again.list_waiting()] == [b"waiting"], spelling
        assert again.count_others() == 0
        again.close()
    for other in ("ws://host:81", "wss://host", "ws://host/MCP", "ws://host/a?q=2", "ws://other"):
        another = QueueFile(path, other)
        assert another.list_waiting() == [] and another.count_others() == 1
        another.close()


def test_there_is_no_mapped_file_that_somebody_could_cut(tmp_path: Path) -> None:
    """Unlike the index and the journal: one process uses the file, so SQLite keeps its `-shm` in memory. A
    process that died, or a program that had a look, may have left things beside it."""
    program = """
import os, sys
from vaultbridge.client.websocket.queue_file import QueueFile
QueueFile(sys.argv[1], "ws://x").add(b"before", handed=False)
os.kill(os.getpid(), 9)
"""
    path = tmp_path / "q"
    assert subprocess.run([sys.executable, "-c", program, path]).returncode == -signal.SIGKILL
    assert (tmp_path / "q-wal").stat().st_size
    (tmp_path / "q-shm").write_bytes(b"cut")
    file = QueueFile(str(path), "ws://x")
    file.add(b"after", handed=False)
    for size in (9, 90_000, 900_000):
        file.add(b"x" * size, handed=True)
    assert (tmp_path / "q-shm").read_bytes() == b"cut", "not used"
    assert [data for _, data in file.list_waiting()] == [b"before", b"after"]
    file.close()


def test_the_file_is_for_its_owner_only(tmp_path: Path) -> None:
    file = QueueFile(str(tmp_path / "q"), "ws://x")
    assert stat.S_IMODE((tmp_path / "q").stat().st_mode) == 0o600
    file.close()


def test_a_file_that_is_no_database_or_cannot_be_made_is_reported_without_its_path(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("this is not a database, but a text that is long enough to be looked at")
    with pytest.raises(EngineFailure, match="cannot be used") as refused:
        QueueFile(str(tmp_path / "text"), "ws://x")
    assert str(tmp_path) not in str(refused.value)
    with pytest.raises(EngineFailure, match="cannot be used") as refused:
        QueueFile(str(tmp_path / "missing" / "q"), "ws://x")
    assert str(tmp_path) not in str(refused.value)


def test_two_at_once_are_refused(tmp_path: Path) -> None:
    first = QueueFile(str(tmp_path / "q"), "ws://x")
    with pytest.raises(EngineFailure, match="in use"):
        QueueFile(str(tmp_path / "q"), "ws://x")
    first.close()


def test_a_failing_disk_is_reported_as_such(tmp_path: Path) -> None:
    file = QueueFile(str(tmp_path / "q"), "ws://x")
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (1, hard))
    try:
        with pytest.raises(EngineFailure, match="cannot be used"):
            file.add(b"x", handed=False)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    file.add(b"y", handed=False)
    assert [data for _, data in file.list_waiting()] == [b"y"]
    file.close()
