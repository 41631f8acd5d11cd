"""Stored totals equal a new count whatever happened to the files, and so do their pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.index import Vault
from vaultbridge.index import files, listing, totals
from vaultbridge.index.graph import LinkGraph
from vaultbridge.index.store import write
from vaultbridge.index.store.database import Index, write_meta

STEMS = (
    "Note",
    "Note 1",
    "Note 2",
    "Note 3",
    "Note-DESKTOP-AB12CD3",
    "Note (conflicted copy 2026-01-02 101010)",
)
FOLDERS = ("", "a/", "a/b/", "Note 2/", "ΟΔΟΣ/")
PATHS = [f"{folder}{stem}{end}" for folder in FOLDERS for stem in STEMS for end in (".md", ".canvas")] + [
    "p.png"
]

LINES = (
    "[[Note]]",
    "[[Note 2]] [[note 2]]",
    "[[a/Note]]",
    "[[Gone]] [[gone]] [[GONE]]",
    "[[ΟΔΟΣ]] [[Ωοδός]]",
    "[[#here]]",
    "#Work/Plan #work/plan/now",
    "#work #日记/x",
    "- [ ] open",
    "- [x] done",
    "- [/] half 📅 2024-04-01",
    "- [ ] café 📅 2024-05-02 #work",
    "x ^b\n\ny ^b",
)
HEADS = (
    "",
    "---\nStatus: a\ntags: [idea, Idea/x]\n---\n",
    "---\nstatus: [a, b, a]\nn: 1\n---\n",
    "---\na: [\n---\n",
)

contents = st.builds(
    lambda head, lines: head + "\n".join(lines) + "\n",
    st.sampled_from(HEADS),
    st.lists(st.sampled_from(LINES)),
)
changes = st.dictionaries(st.sampled_from(PATHS), st.none() | contents, max_size=6)

Answer = Callable[[Index, Any, int, int], Any]


def show_everything(path: str) -> bool:
    """Hides nothing, but makes each query count for itself."""
    return True


ANSWERS: dict[str, Answer] = {
    "tags": lambda index, seen, limit, offset: listing.list_tags(index, visible=seen),
    "properties": lambda index, seen, limit, offset: listing.list_properties(index, visible=seen),
    "values": lambda index, seen, limit, offset: listing.list_property_values(
        index, "status", limit=limit, offset=offset, visible=seen
    ),
    "kinds": lambda index, seen, limit, offset: files.count_by_kind(index, visible=seen),
    "folders": lambda index, seen, limit, offset: files.count_by_folder(index, visible=seen),
    "shallow": lambda index, seen, limit, offset: files.list_shallow_paths(index, "a", 1, visible=seen),
    "problem counts": lambda index, seen, limit, offset: files.count_problems_by_code(index, visible=seen),
    "unresolved count": lambda index, seen, limit, offset: LinkGraph(index, visible=seen).unresolved_count(),
    "orphans": lambda index, seen, limit, offset: LinkGraph(index, visible=seen).orphans(
        limit=limit, offset=offset
    ),
    "dead ends": lambda index, seen, limit, offset: LinkGraph(index, visible=seen).dead_ends(
        limit=limit, offset=offset
    ),
    "unresolved": lambda index, seen, limit, offset: LinkGraph(index, visible=seen).unresolved(
        limit=limit, offset=offset, sources=2
    ),
    "unresolved places": lambda index, seen, limit, offset: LinkGraph(index, visible=seen).unresolved_places(
        limit=limit, offset=offset
    ),
    **{
        question.__name__: lambda index, seen, limit, offset, question=question: question(  # type: ignore[misc]
            index, limit=limit, offset=offset, visible=seen
        )
        for question in (files.list_problems, files.find_duplicates, files.find_conflicts)
    },
    **{
        f"files {order} {kind} {folder}": lambda index, seen, limit, offset, about=(order, kind, folder): (  # type: ignore[misc]
            files.list_files(
                index, about[2], order=about[0], kind=about[1], limit=limit, offset=offset, visible=seen
            )
        )
        for order in ("path", "modified", "size")
        for kind in ("", "note", "canvas")
        for folder in ("", "a")
    },
    **{
        f"tasks {asked}": lambda index, seen, limit, offset, asked=asked: listing.list_tasks(  # type: ignore[misc]
            index, **asked, limit=limit, offset=offset, visible=seen
        )
        for asked in (
            {},
            {"status": "open"},
            {"status": "done"},
            {"status": "/"},
            {"text": "CAFE"},
            {"tag": "work"},
            {"path_prefix": "a/"},
            {"due_before": "2024-05-01", "status": "done"},
            {"due_after": "2024-04-01"},
        )
    },
}


@pytest.fixture(scope="module")
def vaults(tmp_path_factory: pytest.TempPathFactory) -> Callable[[], Vault]:
    return lambda: Vault(tmp_path_factory.mktemp("vault"))


def change(vault: Vault, files: dict[str, str | None]) -> None:
    for path, content in files.items():
        if content is not None:
            vault.write({path: content})
        elif (vault.folder / path).exists():
            vault.remove(path)


@settings(max_examples=15, deadline=None)
@given(
    first=changes,
    later=st.lists(changes, min_size=1, max_size=4),
    limit=st.integers(1, 4),
    offset=st.integers(0, 4),
)
def test_totals_follow_every_change_and_agree_with_a_full_count(
    vaults: Callable[[], Vault],
    first: dict[str, str | None],
    later: list[dict[str, str | None]],
    limit: int,
    offset: int,
) -> None:
    vault = vaults()
    try:
        change(vault, first)
        vault.sync_all()
        for files in later:
            change(vault, files)
            vault.sync_paths(*files)
            now, new = vault.dump(), vault.rebuild()
            assert (now["/totals"], now["/marks"]) == (new["/totals"], new["/marks"])
        for name, answer in ANSWERS.items():
            for page in ((limit, offset), (1000, 0)):
                assert answer(vault.index, None, *page) == answer(vault.index, show_everything, *page), name
    finally:
        vault.close()


@settings(max_examples=10, deadline=None)
@given(files=changes, hidden=st.sampled_from(FOLDERS[1:]))
def test_hidden_files_count_as_if_they_did_not_exist(
    vaults: Callable[[], Vault], files: dict[str, str | None], hidden: str
) -> None:
    vault, without = vaults(), vaults()
    try:
        change(vault, files)
        change(without, {path: text for path, text in files.items() if not path.startswith(hidden)})
        vault.sync_all(), without.sync_all()
        for name, answer in ANSWERS.items():
            if not name.startswith("files "):
                seen = answer(vault.index, lambda path: not path.startswith(hidden), 1000, 0)
                assert seen == answer(without.index, None, 1000, 0), name
    finally:
        vault.close()
        without.close()


def test_every_query_is_answered_while_a_first_build_has_no_sql_indexes(
    vaults: Callable[[], Vault],
) -> None:
    vault = vaults()
    try:
        vault.write({f"a/Note {number}.md": HEADS[1] + "\n".join(LINES) for number in range(3)})
        vault.sync_all()
        expected = {name: answer(vault.index, show_everything, 2, 1) for name, answer in ANSWERS.items()}
        with vault.index.writing() as db:
            write.begin_bulk(db)
            write_meta(db, state="building")
            db.execute("DELETE FROM totals")
            db.execute("DELETE FROM marks")
        for name, answer in ANSWERS.items():
            assert answer(vault.index, None, 2, 1) == expected[name], name
    finally:
        vault.close()


def test_pages_are_the_same_when_there_are_too_many_rows_to_sort(vaults: Callable[[], Vault]) -> None:
    vault = vaults()
    try:
        # A note has a hundred problems at most.
        lines = "[[Gone]] [[other gone]]\n- [ ] open\nx ^b\n\n" * 90
        notes = listing.FEW_ROWS // 90 + 2
        vault.write({f"{'a/' * (number % 3)}Note {number}.md": lines for number in range(notes)})
        vault.sync_all()
        for name, answer in ANSWERS.items():
            for page in ((3, 0), (5, listing.FEW_ROWS // 3), (4, 2 * listing.FEW_ROWS)):
                assert answer(vault.index, None, *page) == answer(vault.index, show_everything, *page), name
        problems = files.list_problems(vault.index, limit=1)
        missing = LinkGraph(vault.index).unresolved(limit=1)
        assert min(problems.total, missing.rows[0].count) >= listing.FEW_ROWS
    finally:
        vault.close()


def test_another_paragraph_writes_no_totals(vaults: Callable[[], Vault]) -> None:
    vault = vaults()
    try:
        vault.write({"a.md": "---\nk: 1\n---\n#t [[b]] [[c]]\n- [ ] x\n", "b.md": ""})
        vault.sync_all()
        with vault.index.writing() as db:
            db.execute("CREATE TABLE written (what)")
            for table in ("totals", "marks"):
                for act in ("INSERT", "UPDATE", "DELETE"):
                    db.execute(
                        f"CREATE TRIGGER {table}_{act} AFTER {act} ON {table}"
                        f" BEGIN INSERT INTO written VALUES ('{table} {act}'); END"
                    )
        vault.write({"a.md": "---\nk: 1\n---\n#t [[b]] [[c]]\n- [ ] x\nmore\n"})
        vault.sync_paths("a.md")
        with vault.index.reading() as db:
            assert db.execute("SELECT what FROM written").fetchall() == []
            assert totals.are_current(db)
    finally:
        vault.close()
