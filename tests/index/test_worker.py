"""Reading files for the index. `test_build` shows that children and this process agree."""

from __future__ import annotations

import io
import unicodedata
from pathlib import Path

import pytest

from vaultbridge.index.build import Chunk, FileJob, FileResult, receive, run_chunk, send
from vaultbridge.index.store.rows import decode_note
from vaultbridge.limits import NOTE_PARSE_BYTES


def read(folder: Path, *paths: str, size: int = 1) -> list[FileResult]:
    jobs = [FileJob(number, path, "note", size) for number, path in enumerate(paths)]
    return run_chunk(Chunk(str(folder), False, jobs))


def list_codes(result: FileResult) -> list[str]:
    assert result.rows is not None
    return [problem.code for problem in decode_note(result.rows.note).problems]


def test_a_file_stored_under_another_unicode_form_is_read(tmp_path: Path) -> None:
    folder = tmp_path / unicodedata.normalize("NFD", "été")
    folder.mkdir()
    (folder / unicodedata.normalize("NFD", "né.md")).write_text("here")
    (result,) = read(tmp_path, "été/né.md")
    assert result.rows is not None
    assert result.rows.text == "here"


def test_linked_files_are_indexed_under_their_own_path_and_never_outside_the_vault(
    tmp_path: Path,
) -> None:
    vault, outside = tmp_path / "vault", tmp_path / "outside"
    for folder in (vault / "real", outside):
        folder.mkdir(parents=True)
    (vault / "real" / "n.md").write_text("inside")
    (outside / "s.md").write_text("secret")
    (vault / "in.md").symlink_to(vault / "real" / "n.md")
    (vault / "out.md").symlink_to(outside / "s.md")
    (vault / "folder").symlink_to(outside)
    inside, out, through = read(vault, "in.md", "out.md", "folder/s.md")
    assert inside.rows is not None and inside.rows.text is None
    assert b"inside" not in inside.rows.note
    assert list_codes(out) == list_codes(through) == ["unreadable"]
    assert b"secret" not in b"".join(result.rows.note for result in (out, through) if result.rows)


def test_a_file_that_is_too_large_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "a.md").write_text("x")
    (result,) = read(tmp_path, "a.md", size=NOTE_PARSE_BYTES + 1)
    assert list_codes(result) == ["too-large"]
    assert result.rows is not None and result.rows.text is None


def test_a_folder_in_the_place_of_a_note_is_a_problem_not_a_crash(tmp_path: Path) -> None:
    (tmp_path / "a.md").mkdir()
    (result,) = read(tmp_path, "a.md")
    assert list_codes(result) == ["unreadable"]


@pytest.mark.parametrize("cut", [0, 3, 8, 12])
def test_an_incomplete_message_ends_the_stream(cut: int) -> None:
    pipe = io.BytesIO()
    send(pipe, Chunk("folder", False, []))
    assert receive(io.BytesIO(pipe.getvalue()[:cut])) is None
    assert receive(io.BytesIO(pipe.getvalue())) is not None
