"""What is wrong in a vault, as one scope may see it."""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from vaultbridge.engine import DirectEngine
from vaultbridge.tools.vault_info import check_health
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.walk import WALK_DEPTH

MakeVault = Callable[..., DirectEngine]


def test_problems_duplicates_and_conflicts_are_found(make_vault: MakeVault) -> None:
    engine = make_vault(
        {
            "a/N.md": "x ^b\n\ny ^b\n",
            "b/n.md": "",
            "b/N (conflicted copy 2026-01-02 101010).md": "",
            "Bad.md": "---\na: [\n---\n",
        }
    )
    queries = engine.queries
    assert [(problem.path, problem.code) for problem in queries.problems().rows] == [
        ("Bad.md", "bad-yaml"),
        ("a/N.md", "duplicate-block-id"),
    ]
    assert queries.duplicates().rows == (("a/N.md", "b/n.md"),)
    assert [(path, conflict.original) for path, conflict in queries.conflicts().rows] == [
        ("b/N (conflicted copy 2026-01-02 101010).md", "b/N.md")
    ]
    found = check_health(engine)
    assert found.count("bad-yaml", "duplicate-key") == 1
    assert found.count_others("bad-yaml") == 1
    assert (found.duplicates, found.conflicts, found.broken, found.missing) == (1, 1, 0, 0)


def test_hidden_notes_are_not_looked_at(make_vault: MakeVault) -> None:
    engine = make_vault({"a/N.md": "", "b/N.md": "---\na: [\n---\n"}, scope=Scope(deny=("b/",)))
    found = check_health(engine)
    assert (found.problems, found.duplicates, found.conflicts) == ({}, 0, 0)


def test_names_that_are_not_utf8_are_reported_once_and_within_the_scope(
    make_vault: MakeVault, caplog: pytest.LogCaptureFixture
) -> None:
    engine = make_vault({"A.md": "x", "Private/B.md": "y"})
    folder = os.fsencode(engine.root.folder)
    for name in (b"caf\xe9.md", b"Private/s\xff.md", b"Icon\r"):
        try:
            (Path(os.fsdecode(folder + b"/" + name))).write_bytes(b"z")
        except OSError:
            pytest.skip("this file system takes UTF-8 only")
    Path(os.fsdecode(folder + b"/old\xfe")).mkdir()
    engine.index_sync.refresh()
    engine.index_sync.refresh()
    assert read_reasons(engine) == {
        "Private/s\\xff.md": "bad-name",
        "caf\\xe9.md": "bad-name",
        "old\\xfe/": "bad-name",
    }
    assert [record.args for record in caplog.records if "left out" in record.message] == [(3,)]
    hidden = make_vault(scope=Scope(deny=("Private/",)))
    assert read_reasons(hidden) == {"caf\\xe9.md": "bad-name", "old\\xfe/": "bad-name"}
    Path(os.fsdecode(folder + b"/caf\xe9.md")).rename(engine.root.folder / "café.md")
    engine.index_sync.refresh()
    assert engine.queries.left_out()[0] == 2


def test_files_hidden_by_a_namesake_or_too_deep_are_reported(make_vault: MakeVault) -> None:
    engine = make_vault({"Café.md": "x", "Été/B.md": "y", "Private/Ü.md": "z"})
    folder = engine.root.folder
    for name in ("Café.md", "Café.bin", "Été/C.md", "Private/Ü.md"):
        other = folder / unicodedata.normalize("NFD", name)
        other.parent.mkdir(exist_ok=True)
        other.write_text("the other form")
    deep = folder.joinpath(*["d"] * (WALK_DEPTH + 1))
    deep.mkdir(parents=True)
    (deep / "note.md").write_text("x")
    engine.index_sync.refresh()
    expected = {
        "Café.md": "same-name",
        "Été/": "same-name",
        "/".join(["d"] * (WALK_DEPTH + 1)) + "/": "too-deep",
    }
    assert read_reasons(engine) == {**expected, "Private/Ü.md": "same-name"}
    assert read_reasons(make_vault(scope=Scope(deny=("Private/",)))) == expected


def read_reasons(engine: DirectEngine) -> dict[str, str]:
    count, left_out = engine.queries.left_out()
    assert count == len(left_out)
    return {file.path: file.why for file in left_out}
