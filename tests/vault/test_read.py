"""`vaultbridge.vault.read`: bounded, whole, and with what notices a change."""

from __future__ import annotations

import os
import threading
from hashlib import blake2b
from pathlib import Path

import pytest

from vaultbridge.errors import EngineFailure, NoteNotFound
from vaultbridge.system import FileStat
from vaultbridge.vault.paths import Root, vault_path
from vaultbridge.vault.read import content_hash, read_file
from vaultbridge.vault.walk import FileEntry, walk


def test_the_hash_is_sixteen_digits_of_blake2b() -> None:
    assert content_hash(b"abc") == blake2b(b"abc", digest_size=8).hexdigest()
    assert len(content_hash(b"")) == 16


def test_a_file_is_read_with_its_stat_and_mode(root: Root, folder: Path) -> None:
    (folder / "n.md").write_bytes(b"\xef\xbb\xbfa\r\n\xff")
    (folder / "n.md").chmod(0o640)
    content = read_file(root, vault_path("N.md"))
    assert content.data == b"\xef\xbb\xbfa\r\n\xff"
    assert content.hash == content_hash(content.data)
    assert content.mode == 0o640
    [entry] = [item for item in walk(root) if isinstance(item, FileEntry)]
    assert content.signature == FileStat(entry.mtime_ns, entry.size, entry.ino)


def test_an_empty_file_is_an_empty_text(root: Root, folder: Path) -> None:
    (folder / "n.md").write_bytes(b"")
    assert read_file(root, vault_path("n.md")).data == b""


def test_a_missing_file_and_a_folder_give_different_errors(root: Root, folder: Path) -> None:
    (folder / "A").mkdir()
    with pytest.raises(NoteNotFound):
        read_file(root, vault_path("none.md"))
    with pytest.raises(EngineFailure, match="a folder"):
        read_file(root, vault_path("A"))


def test_no_more_than_the_limit_is_read(root: Root, folder: Path) -> None:
    (folder / "n.md").write_bytes(b"x" * 11)
    assert len(read_file(root, vault_path("n.md"), limit=11).data) == 11
    with pytest.raises(EngineFailure, match="11 bytes; files up to 10 bytes are read"):
        read_file(root, vault_path("n.md"), limit=10)


def test_a_pipe_does_not_block_a_reader(root: Root, folder: Path) -> None:
    os.mkfifo(folder / "pipe.md")
    outcome: list[BaseException] = []

    def attempt() -> None:
        try:
            read_file(root, vault_path("pipe.md"))
        except EngineFailure as error:
            outcome.append(error)

    reader = threading.Thread(target=attempt, daemon=True)
    reader.start()
    reader.join(timeout=60)
    assert not reader.is_alive()
    assert "not an ordinary file" in str(outcome[0])


def test_a_file_that_is_not_downloaded_is_not_read(root: Root, folder: Path) -> None:
    with (folder / "far.md").open("wb") as file:
        file.truncate(4096)
    with pytest.raises(EngineFailure, match="not downloaded"):
        read_file(root, vault_path("far.md"))


def test_a_file_that_changes_while_it_is_read_is_read_again(
    root: Root, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = folder / "n.md"
    place.write_bytes(b"first")
    read, turns = os.read, []

    def read_and_save(handle: int, size: int) -> bytes:
        data = read(handle, size)
        if data == b"first":
            place.write_bytes(b"second!")
        turns.append(data)
        return data

    monkeypatch.setattr(os, "read", read_and_save)
    assert read_file(root, vault_path("n.md")).data == b"second!"
    assert turns == [b"first", b"second!"]


def test_reading_a_file_that_keeps_changing_fails(
    root: Root, folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    place = folder / "n.md"
    place.write_bytes(b"x")
    read = os.read

    def read_and_save(handle: int, size: int) -> bytes:
        data = read(handle, size)
        place.write_bytes(data + b"x")
        return data

    monkeypatch.setattr(os, "read", read_and_save)
    with pytest.raises(EngineFailure, match="keeps changing"):
        read_file(root, vault_path("n.md"))
