"""`list_files`."""

from __future__ import annotations

import os

import pytest

from support.tools import NOW, Small, ToolHarness
from vaultbridge.errors import InvalidArgument, InvalidPath, NoteNotFound
from vaultbridge.tools.base.schema import derive_schema
from vaultbridge.tools.list_files import LIST_FILES
from vaultbridge.tools.search import SEARCH
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


def set_days_ago(harness: ToolHarness, path: str, days: float) -> None:
    moment = NOW.timestamp() - days * 86_400
    os.utime(harness.folder / path, (moment, moment))


@pytest.mark.parametrize(
    ("since", "found"),
    [
        ("today", ["f/B.md"]),
        ("yesterday", ["f/B.md", "A.md"]),
        ("2026-03-14", ["f/B.md", "A.md"]),
        ("-7", ["f/B.md", "A.md", "f/g/p.png"]),
        ("tomorrow", []),
    ],
)
def test_what_was_changed_since_a_day_comes_newest_first(small: Small, since: str, found: list[str]) -> None:
    harness = small({"A.md": "a", "f/B.md": "b", "f/g/p.png": b"p", "Old.md": "o"})
    for path, days in (("A.md", 1.0), ("f/B.md", 0.1), ("f/g/p.png", 5.0), ("Old.md", 400.0)):
        set_days_ago(harness, path, days)
    harness.engine.index_sync.refresh()
    rows = harness.rows("list_files", modified_since=since)
    assert [row.partition("  ")[0] for row in rows[:-1]] == found
    assert rows[-1] == f"(files: {len(found) or 'none'})"


def test_a_day_narrows_every_other_choice(small: Small) -> None:
    harness = small({"A.md": "a", "f/B.md": "#t", "f/g/p.png": b"p", "f/Old.md": "o", "Old.md": "o"})
    for path in ("f/Old.md", "Old.md"):
        set_days_ago(harness, path, 400.0)
    for path in ("A.md", "f/B.md", "f/g/p.png"):
        set_days_ago(harness, path, 0.1)
    harness.engine.index_sync.refresh()

    def find(**arguments: object) -> set[str]:
        return {row.partition("  ")[0] for row in harness.rows("list_files", **arguments)[:-1]}

    assert find(modified_since="-1", folder="f") == {"f/B.md", "f/g/p.png"}
    assert find(modified_since="-1", kind="note") == {"A.md", "f/B.md"}
    assert find(modified_since="-1", kind="untagged") == {"A.md"}
    assert find(modified_since="-1", kind="image") == {"f/g/p.png"}
    assert find(modified_since="-1", kind="folder") == {"f/", "f/g/"}
    assert find(modified_since="-1", pattern="f/*.md") == {"f/B.md"}
    assert harness.rows("list_files", modified_since="-1", limit=1, sort="size")[-1].startswith(
        "(files 1-1 of 3"
    )


@pytest.mark.parametrize("deny", [("f/",), ("A.md", "f/", "Old.md")])
def test_hidden_files_are_not_counted_among_the_changed(small: Small, deny: tuple[str, ...]) -> None:
    harness = small({"A.md": "a", "f/B.md": "b", "Old.md": "o", "Z.md": "z"}, scope=Scope(deny=deny))
    for path in ("A.md", "f/B.md", "Z.md"):
        set_days_ago(harness, path, 0.1)
    set_days_ago(harness, "Old.md", 400.0)
    harness.engine.index_sync.refresh()
    shown = [path for path in ("A.md", "Z.md") if path not in deny]
    rows = harness.rows("list_files", modified_since="yesterday")
    assert [row.partition("  ")[0] for row in rows] == [*shown, f"(files: {len(shown)})"]
    page = harness.rows("list_files", modified_since="yesterday", limit=1, offset=len(shown) - 1)
    assert page[0].startswith(shown[-1])


def test_a_day_that_is_none_is_refused(small: Small) -> None:
    harness = small(FILES)
    for wrong in ("2020-13-01", "last week"):
        refused = harness.catch_refusal(InvalidArgument, "list_files", modified_since=wrong)
        assert refused.argument == "modified_since"
        assert "YYYY-MM-DD" in refused.hint


def test_by_default_a_page_has_the_few_newest_or_a_whole_folder(small: Small) -> None:
    harness = small({f"{number:03}.md": "x" for number in range(130)})
    assert harness.rows("list_files")[-1] == "(files 1-100 of 130; continue with offset=100)"
    assert harness.rows("list_files", sort="modified")[-1] == "(files 1-20 of 130; continue with offset=20)"
    assert harness.rows("list_files", sort="size", offset=120)[-1] == "(121-130 of 130)"
    assert harness.rows("list_files", limit=130)[-1] == "(files: 130)"


def test_limits_are_in_the_schemas_of_lists() -> None:
    for tool in (LIST_FILES, SEARCH):
        assert "limit" in derive_schema(tool.arguments)["properties"], tool.name
