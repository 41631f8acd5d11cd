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

Answer = Callable[[Index, int, int], Any]


ANSWERS: dict[str, Answer] = {
    "tags": lambda index, limit, offset: listing.list_tags(index),
    "properties": lambda index, limit, offset: listing.list_properties(index),
    "values": lambda index, limit, offset: listing.list_property_values(
        index, "status", limit=limit, offset=offset
    ),
    "kinds": lambda index, limit, offset: files.count_by_kind(index),
    "folders": lambda index, limit, offset: files.count_by_folder(index),
    "shallow": lambda index, limit, offset: files.list_shallow_paths(index, "a", 1),
    "problem counts": lambda index, limit, offset: files.count_problems_by_code(index),
    "unresolved count": lambda index, limit, offset: LinkGraph(index).unresolved_count(),
    "orphans": lambda index, limit, offset: LinkGraph(index).orphans(limit=limit, offset=offset),
    "dead ends": lambda index, limit, offset: LinkGraph(index).dead_ends(limit=limit, offset=offset),
    "unresolved": lambda index, limit, offset: LinkGraph(index).unresolved(
        limit=limit, offset=offset, sources=2
    ),
    "unresolved places": lambda index, limit, offset: LinkGraph(index).unresolved_places(
        limit=limit, offset=offset
    ),
    **{
        question.__name__: lambda index, limit, offset, question=question: question(  # type: ignore[misc]
            index, limit=limit, offset=offset
        )
        for question in (files.list_problems, files.find_duplicates, files.find_conflicts)
    },
    **{
        f"files {order} {kind} {folder}": lambda index, limit, offset, about=(order, kind, folder): (  # type: ignore[misc]
            files.list_files(index, about[2], order=about[0], kind=about[1], limit=limit, offset=offset)
        )
        for order in ("path", "modified", "size")
        for kind in ("", "note", "canvas")
        for folder in ("", "a")
    },
    **{
        f"tasks {asked}": lambda index, limit, offset, asked=asked: listing.list_tasks(  # type: ignore[misc]
            index, **asked, limit=limit, offset=offset
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


def count_anew(index: Index, answer: Answer, limit: int, offset: int) -> Any:
    """Answers as during a first build, when there are no totals."""
    with index.writing(silently=True) as db:
        write_meta(db, state="building")
    try:
        return answer(index, limit, offset)
    finally:
        with index.writing(silently=True) as db:
            write_meta(db, state="ready")


@settings(max_examples=15, deadline=None)
@given(
    first=changes,
    later=st.lists(changes, min_size=1, max_size=4),
    ignored=st.lists(st.sampled_from([*FOLDERS[1:], "/e/"]), max_size=2),
    limit=st.integers(1, 4),
    offset=st.integers(0, 4),
)
def test_totals_follow_every_change_and_agree_with_a_full_count(
    vaults: Callable[[], Vault],
    first: dict[str, str | None],
    later: list[dict[str, str | None]],
    ignored: list[str],
    limit: int,
    offset: int,
) -> None:
    vault = vaults()
    try:
        change(vault, first)
        vault.sync_all()
        for number, files in enumerate(later):
            change(vault, files)
            vault.sync_paths(*files)
            if number == 1:
                vault.ignore(*ignored)
            now, new = vault.dump(), vault.rebuild()
            assert (now["/totals"], now["/marks"]) == (new["/totals"], new["/marks"])
        for name, answer in ANSWERS.items():
            for page in ((limit, offset), (1000, 0)):
                assert answer(vault.index, *page) == count_anew(vault.index, answer, *page), name
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
                assert answer(vault.limit(hidden), 1000, 0) == answer(without.index, 1000, 0), name
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
        expected = {name: answer(vault.index, 2, 1) for name, answer in ANSWERS.items()}
        with vault.index.writing() as db:
            write.begin_bulk(db)
            write_meta(db, state="building")
            db.execute("DELETE FROM totals")
            db.execute("DELETE FROM marks")
        for name, answer in ANSWERS.items():
            assert answer(vault.index, 2, 1) == expected[name], name
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
                assert answer(vault.index, *page) == count_anew(vault.index, answer, *page), name
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
