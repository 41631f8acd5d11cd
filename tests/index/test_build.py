"""Parsing in child processes gives the same rows as parsing here, even when a child dies."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

import pytest

from vaultbridge.index.build import CHUNK_FILES, ChunkResult, FileJob, FileResult, parse_files
from vaultbridge.vault.paths import VaultFolder

NOTES = 20 * CHUNK_FILES
"""Enough that no child is finished when the first result is read: only a few chunks can wait for the
writer."""

needs_proc = pytest.mark.skipif(sys.platform != "linux", reason="children are found through /proc")


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> VaultFolder:
    folder = tmp_path_factory.mktemp("vault")
    for number in range(NOTES):
        (folder / f"n{number}.md").write_text(f"# Title {number}\n[[n{number + 1}]] wörd{number} #tag\n")
    return VaultFolder(folder)


def make_jobs(count: int = NOTES) -> list[FileJob]:
    return [FileJob(number, f"n{number}.md", "note", 40) for number in range(count)]


def read(chunks: Iterable[ChunkResult]) -> dict[int, FileResult]:
    return {result.id: result for chunk in chunks for result in chunk}


def list_parsing_children() -> list[int]:
    """The processes that this one has started to parse notes."""
    found: list[int] = []
    for task in Path("/proc/self/task").iterdir():
        # A thread or a process may end while we look.
        with suppress(FileNotFoundError, ProcessLookupError):
            for pid in (task / "children").read_text().split():
                if b"vaultbridge.index.build" in Path(f"/proc/{pid}/cmdline").read_bytes():
                    found.append(int(pid))
    return found


def test_children_give_the_same_rows_as_this_process(root: VaultFolder) -> None:
    here = read(parse_files(root, make_jobs(), children=0))
    assert read(parse_files(root, make_jobs(), children=3)) == here
    assert len(here) == NOTES


@needs_proc
def test_a_child_that_dies_causes_a_warning_and_loses_no_note(
    root: VaultFolder, caplog: pytest.LogCaptureFixture
) -> None:
    results = parse_files(root, make_jobs(), children=2)
    first = next(results)
    children = list_parsing_children()
    assert children
    os.kill(children[0], signal.SIGKILL)
    assert read([first, *results]) == read(parse_files(root, make_jobs(), children=0))
    assert "process that parses notes died" in caplog.text


@needs_proc
def test_stopping_early_ends_the_children(root: VaultFolder) -> None:
    results = parse_files(root, make_jobs(), children=2)
    next(results)
    assert list_parsing_children()
    results.close()
    assert not list_parsing_children()


def test_long_messages_in_both_directions_do_not_deadlock(tmp_path: Path) -> None:
    """Far more than a pipe holds, in both directions at once."""
    folder = tmp_path / ("d" * 200) / ("e" * 200)
    folder.mkdir(parents=True)
    names = [f"{'n' * 200}{number}.md" for number in range(300)]
    for name in names:
        (folder / name).write_text("many words " * 200)
    shown = folder.relative_to(tmp_path).as_posix()
    work = [FileJob(number, f"{shown}/{name}", "note", 1) for number, name in enumerate(names)]
    results = parse_files(VaultFolder(tmp_path), work, children=2)
    assert sum(len(chunk) for chunk in results) == 300


def test_a_file_that_vanished_is_reported_as_gone(root: VaultFolder) -> None:
    (chunk,) = parse_files(root, [FileJob(1, "missing.md", "note", 1)])
    assert chunk == [FileResult(1, "missing.md", None, None, gone=True)]


def test_known_content_is_not_parsed(root: VaultFolder) -> None:
    (chunk,) = parse_files(root, make_jobs(1))
    rows = chunk[0].rows
    assert rows is not None
    (again,) = parse_files(root, [FileJob(0, "n0.md", "note", 40, known_hash=rows.hash)])
    assert again[0].rows is None
    assert again[0].signature is not None


def test_a_placeholder_is_not_read(root: VaultFolder) -> None:
    (chunk,) = parse_files(root, [FileJob(0, "n0.md", "note", 40, placeholder=True)])
    rows = chunk[0].rows
    assert rows is not None
    assert (rows.text, rows.hash) == (None, "")
