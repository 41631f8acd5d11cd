"""`list_files`."""

from __future__ import annotations

import os

import pytest

from support.tools import Small, ToolHarness
from vaultbridge.errors import InvalidArgument, InvalidPath, NoteNotFound
from vaultbridge.vault.scope import Scope

FILES = {
    "A.md": "a",
    "f/B.md": "bb",
    "f/g/C.canvas": "{}",
    "f/g/p.png": b"pp",
    "s.mp3": b"s",
    "v.mp4": b"v",
    "d.pdf": b"d",
    "t.base": "",
    "z.xyz": b"z",
}


def test_all_files_by_path(small: Small) -> None:
    assert small(FILES).rows("list_files") == [*sorted(FILES), "(files: 9)"]


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        ("note", ["A.md", "f/B.md"]),
        ("canvas", ["f/g/C.canvas"]),
        ("base", ["t.base"]),
        ("image", ["f/g/p.png"]),
        ("audio", ["s.mp3"]),
        ("video", ["v.mp4"]),
        ("pdf", ["d.pdf"]),
        ("other", ["z.xyz"]),
        ("folder", ["f/  files 3", "f/g/  files 2"]),
    ],
)
def test_files_of_a_kind(small: Small, kind: str, rows: list[str]) -> None:
    assert small(FILES).rows("list_files", kind=kind)[:-1] == rows


def test_a_folder_and_its_levels(small: Small) -> None:
    harness = small(FILES)
    assert harness.rows("list_files", folder="f")[:-1] == ["f/B.md", "f/g/C.canvas", "f/g/p.png"]
    assert harness.rows("list_files", folder="/f/", depth=1) == ["f/B.md", "f/g/  files 2", "(entries: 2)"]
    assert harness.rows("list_files", kind="folder", depth=1)[:-1] == ["f/  files 3"]
    assert harness.rows("list_files", kind="folder", folder="f")[:-1] == ["f/g/  files 2"]


def test_globs_choose_the_files(small: Small) -> None:
    harness = small(FILES)
    assert harness.rows("list_files", pattern="*.md")[:-1] == ["A.md", "f/B.md"]
    assert harness.rows("list_files", pattern="f/**/*.png")[:-1] == ["f/g/p.png"]
    assert harness.rows("list_files", pattern="B.md")[:-1] == ["f/B.md"]
    assert harness.rows("list_files", pattern="/*.md")[:-1] == ["A.md"]
    assert harness.rows("list_files", pattern="f/*")[:-1] == ["f/B.md"]
    assert harness.rows("list_files", pattern="*.none") == ["(files: none)"]
    assert harness.catch_refusal(InvalidArgument, "list_files", pattern="*" * 40).argument == "pattern"


def test_the_most_recent_and_the_largest_first(small: Small) -> None:
    harness = small({"A.md": "a", "B.md": "bbb", "C.md": "cc"})
    for name, time in (("A", 300), ("B", 100), ("C", 200)):
        os.utime(harness.folder / f"{name}.md", (time, time))
    assert [row.split()[0] for row in harness.rows("list_files", sort="modified")[:-1]] == [
        "A.md",
        "C.md",
        "B.md",
    ]
    assert harness.rows("list_files", sort="size", limit=1)[0] == "B.md  3 bytes"


def test_pages_add_up_to_the_whole_list(small: Small) -> None:
    harness = small(FILES)
    assert harness.rows("list_files", limit=5)[-1] == "(files 1-5 of 9; continue with offset=5)"
    assert harness.rows("list_files", limit=5, offset=5) == [
        *sorted(FILES)[5:],
        "(6-9 of 9)",
    ]
    assert harness.rows("list_files", offset=50) == ["(files: 9, none from offset 50 on)"]


def test_a_page_never_fills_a_conversation(small: Small) -> None:
    harness = small({f"{'long name ' * 12}{number}.md": "" for number in range(400)})
    text = harness.text("list_files", limit=500)
    assert len(text) < 32_000
    assert "continue with offset=" in text


def test_a_missing_folder_is_refused_with_the_closest_names(sample: ToolHarness) -> None:
    error = sample.catch_refusal(NoteNotFound, "list_files", folder="Projcts")
    assert error.closest[0] == "Projects/"
    assert "No folder named 'Projcts'" in str(error)
    sample.catch_refusal(InvalidPath, "list_files", folder="../x")
    assert sample.catch_refusal(InvalidArgument, "list_files", kind="movie").argument == "kind"
    assert sample.catch_refusal(InvalidArgument, "list_files", limit=501).argument == "limit"
    assert sample.catch_refusal(InvalidArgument, "list_files", offset=-1).argument == "offset"


def test_hidden_files_are_neither_listed_nor_counted(small: Small) -> None:
    harness = small(FILES, scope=Scope(deny=("f/g/",)))
    assert harness.rows("list_files", kind="folder")[:-1] == ["f/  files 1"]
    assert harness.rows("list_files", depth=1)[-1] == "(entries: 7)"
    hidden = harness.catch_refusal(NoteNotFound, "list_files", folder="f/g")
    missing = harness.catch_refusal(NoteNotFound, "list_files", folder="f/q")
    assert str(hidden).replace("/g", "/q") == str(missing)
