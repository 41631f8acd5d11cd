"""Parsing in child processes gives the same rows as parsing here, even when a child dies."""

from __future__ import annotations

import os
import signal
from pathlib import Path

import pytest

from vaultbridge.index.sync import build
from vaultbridge.index.sync.build import FileJob, FileResult, parse_files
from vaultbridge.vault.paths import Root


@pytest.fixture
def root(tmp_path: Path) -> Root:
    for number in range(60):
        (tmp_path / f"n{number}.md").write_text(f"# Title {number}\n[[n{number + 1}]] wörd{number} #tag\n")
    return Root(tmp_path)


def jobs(count: int = 60) -> list[FileJob]:
    return [FileJob(number, f"n{number}.md", "note", 40) for number in range(count)]


def read(root: Root, children: int) -> tuple[dict[int, FileResult], set[str]]:
    chunks = list(parse_files(root, jobs(), children=children))
    return {result.id: result for chunk in chunks for result in chunk.results}, {
        term for chunk in chunks for term in chunk.terms
    }


def test_children_give_the_same_rows_as_this_process(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "CHUNK_FILES", 7)
    here, words_here = read(root, 0)
    there, words_there = read(root, 3)
    assert there == here
    assert len(here) == 60
    assert words_there == words_here >= {"word17", "tag", "title"}


def test_a_child_that_dies_causes_a_warning_and_loses_no_note(
    root: Root, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(build, "CHUNK_FILES", 7)
    start = build._start_child
    killed: list[int] = []

    def start_and_kill_the_first() -> object:
        child = start()
        if not killed:
            killed.append(child.pid)
            os.kill(child.pid, signal.SIGKILL)
        return child

    monkeypatch.setattr(build, "_start_child", start_and_kill_the_first)
    there, _ = read(root, 2)
    assert there == read(root, 0)[0]
    assert "process that parses notes died" in caplog.text


def test_stopping_early_ends_the_children(root: Root, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(build, "CHUNK_FILES", 2)
    children: list[object] = []
    start = build._start_child
    monkeypatch.setattr(build, "_start_child", lambda: children.append(start()) or children[-1])
    results = parse_files(root, jobs(), children=2)
    next(results)
    results.close()
    assert children
    assert all(child.poll() is not None for child in children)  # type: ignore[attr-defined]


def test_long_messages_in_both_directions_do_not_deadlock(tmp_path: Path) -> None:
    """Far more than a pipe holds, in both directions at once."""
    folder = tmp_path / ("d" * 200) / ("e" * 200)
    folder.mkdir(parents=True)
    names = [f"{'n' * 200}{number}.md" for number in range(300)]
    for name in names:
        (folder / name).write_text("many words " * 200)
    shown = folder.relative_to(tmp_path).as_posix()
    work = [FileJob(number, f"{shown}/{name}", "note", 1) for number, name in enumerate(names)]
    results = parse_files(Root(tmp_path), work, children=2)
    assert sum(len(chunk.results) for chunk in results) == 300


def test_a_file_that_vanished_is_reported_as_gone(root: Root) -> None:
    (chunk,) = parse_files(root, [FileJob(1, "missing.md", "note", 1)])
    assert chunk.results == [FileResult(1, "missing.md", None, None, gone=True)]


def test_known_content_is_not_parsed(root: Root) -> None:
    (chunk,) = parse_files(root, jobs(1))
    rows = chunk.results[0].rows
    assert rows is not None
    (again,) = parse_files(root, [FileJob(0, "n0.md", "note", 40, known_hash=rows.hash)])
    assert again.results[0].rows is None
    assert again.results[0].signature is not None


def test_a_placeholder_is_not_read(root: Root) -> None:
    (chunk,) = parse_files(root, [FileJob(0, "n0.md", "note", 40, placeholder=True)])
    rows = chunk.results[0].rows
    assert rows is not None
    assert (rows.text, rows.hash) == (None, "")
