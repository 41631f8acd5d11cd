"""`vaultbridge.vault.read`: bounded, whole, and with what notices a change."""

from __future__ import annotations

import os
import threading
import time
from hashlib import blake2b
from pathlib import Path

import pytest

from support.system_calls import act_after_reads
from vaultbridge.errors import EngineFailure, NoteBusy, NoteNotFound
from vaultbridge.system import FileStat
from vaultbridge.vault.paths import VaultFolder, vault_path
from vaultbridge.vault.read import EMPTY_SECONDS, content_hash, read_place
from vaultbridge.vault.walk import FileEntry, walk


def test_the_hash_is_sixteen_digits_of_blake2b() -> None:
    assert content_hash(b"abc") == blake2b(b"abc", digest_size=8).hexdigest()
    assert len(content_hash(b"")) == 16


def test_a_file_is_read_with_its_stat_and_mode(root: VaultFolder, folder: Path) -> None:
    (folder / "n.md").write_bytes(b"\xef\xbb\xbfa\r\n\xff")
    (folder / "n.md").chmod(0o640)
    content = read_place(root.resolve(vault_path("N.md")), "N.md")
    assert content.data == b"\xef\xbb\xbfa\r\n\xff"
    assert content.hash == content_hash(content.data)
    assert content.mode == 0o640
    [entry] = [item for item in walk(root) if isinstance(item, FileEntry)]
    assert content.signature == FileStat(entry.mtime_ns, entry.size, entry.ino)


def test_an_empty_file_is_an_empty_text(root: VaultFolder, folder: Path) -> None:
    (folder / "n.md").write_bytes(b"")
    assert read_place(root.resolve(vault_path("n.md")), "n.md").data == b""


def test_a_missing_file_and_a_folder_give_different_errors(root: VaultFolder, folder: Path) -> None:
    (folder / "A").mkdir()
    with pytest.raises(NoteNotFound):
        read_place(root.resolve(vault_path("none.md")), "none.md")
    with pytest.raises(EngineFailure, match="a folder"):
        read_place(root.resolve(vault_path("A")), "A")


def test_no_more_than_the_limit_is_read(root: VaultFolder, folder: Path) -> None:
    (folder / "n.md").write_bytes(b"x" * 11)
    assert len(read_place(root.resolve(vault_path("n.md")), "n.md", limit=11).data) == 11
    with pytest.raises(EngineFailure, match="11 bytes; files up to 10 bytes are read"):
        read_place(root.resolve(vault_path("n.md")), "n.md", limit=10)


def test_a_pipe_does_not_block_a_reader(root: VaultFolder, folder: Path) -> None:
    os.mkfifo(folder / "pipe.md")
    outcome: list[BaseException] = []

    def attempt() -> None:
        try:
            read_place(root.resolve(vault_path("pipe.md")), "pipe.md")
        except EngineFailure as error:
            outcome.append(error)

    reader = threading.Thread(target=attempt, daemon=True)
    reader.start()
    reader.join(timeout=60)
    assert not reader.is_alive()
    assert "not an ordinary file" in str(outcome[0])


def test_a_file_that_is_not_downloaded_is_not_read(root: VaultFolder, folder: Path) -> None:
    with (folder / "far.md").open("wb") as file:
        file.truncate(4096)
    with pytest.raises(EngineFailure, match="not downloaded"):
        read_place(root.resolve(vault_path("far.md")), "far.md")


def test_a_file_that_changes_while_it_is_read_is_read_again(
    root: VaultFolder, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = folder / "n.md"
    place.write_bytes(b"first")
    turns = []

    def save_once(data: bytes) -> None:
        if data == b"first":
            place.write_bytes(b"second!")
        turns.append(data)

    act_after_reads(monkeypatch, save_once)
    assert read_place(root.resolve(vault_path("n.md")), "n.md").data == b"second!"
    assert turns == [b"first", b"second!"]


def test_reading_a_file_that_keeps_changing_fails(
    root: VaultFolder, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = folder / "n.md"
    place.write_bytes(b"x")
    act_after_reads(monkeypatch, lambda data: place.write_bytes(data + b"x"))
    with pytest.raises(EngineFailure, match="keeps changing"):
        read_place(root.resolve(vault_path("n.md")), "n.md")


def test_a_file_emptied_by_a_clock_that_is_a_little_ahead_counts_as_being_saved(
    root: VaultFolder, folder: Path
) -> None:
    """As on a network disk, whose own clock sets the time of a change."""
    place = folder / "n.md"
    place.write_bytes(b"")
    ahead = EMPTY_SECONDS / 2
    while True:
        begun = time.time()
        os.utime(place, (begun + ahead, begun + ahead))
        try:
            read_place(root.resolve(vault_path("n.md")), "n.md", not_busy=True)
        except NoteBusy:
            break
        assert time.time() - begun > ahead, "it was read at once"  # Else the machine is too busy to tell.
