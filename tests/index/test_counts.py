"""Counts over the whole vault equal those from the notes, whatever happened to the files, and so do pages."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from support.index import Vault
from vaultbridge.index import files, listing
from vaultbridge.index.graph import LinkGraph
from vaultbridge.index.store import write
from vaultbridge.index.store.database import Index, write_meta
from vaultbridge.links.resolve import name_key
from vaultbridge.vault.cloud import detect_conflict

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


def count_from_notes(index: Index) -> dict[str, Any]:
    """The same from the parsed notes alone, without a table that is made for it."""
    tags: dict[str, list[int]] = {}
    properties: dict[str, int] = {}
    missing: dict[str, list[str]] = {}
    linked, linking = set[str](), set[str]()
    with index.reading() as db:
        skipped = {path for (path,) in db.execute("SELECT path FROM files WHERE ignored")}
    notes = [note for note in files.iterate_notes(index) if note.file.path not in skipped]
    for note in notes:
        path = note.file.path
        levels: dict[str, int] = {}
        for tag in note.note.tags:
            parts = name_key(tag.name).split("/")
            for level in range(1, len(parts) + 1):
                key = "/".join(parts[:level])
                levels[key] = levels.get(key, 0) + 1
        for key, count in levels.items():
            amounts = tags.setdefault(key, [0, 0])
            amounts[:] = amounts[0] + 1, amounts[1] + count
        for name in note.note.properties.values if note.note.properties else ():
            properties[name_key(name)] = properties.get(name_key(name), 0) + 1
        for link, target in zip(note.note.links, note.resolved, strict=True):
            if target is None:
                missing.setdefault(name_key(link.target), []).append(path)
            elif target != path:
                linked.add(target)
            if target != path:
                linking.add(path)
    targets = sorted(missing.items(), key=lambda item: (-len(item[1]), item[0]))
    paths = [note.file.path for note in notes]
    every = [file.path for file in files.list_files(index).rows]
    folders: dict[str, int] = {}
    for path in every:
        parents = path.split("/")[:-1]
        for level in range(len(parents) + 1):
            folder = "/".join(parents[:level])
            folders[folder] = folders.get(folder, 0) + 1
    named: dict[str, list[str]] = {}
    for path in every:
        if path.endswith(".md"):
            named.setdefault(name_key(path.rpartition("/")[2]), []).append(path)
    return {
        "tags": {key: tuple(amounts) for key, amounts in tags.items()},
        "properties": properties,
        "unresolved": [(len(sources), tuple(dict.fromkeys(sources))) for _, sources in targets],
        "orphans": [path for path in paths if path not in linked],
        "dead ends": [path for path in paths if path not in linking],
        "folders": folders,
        "duplicates": [tuple(group) for _, group in sorted(named.items()) if len(group) > 1],
        "conflicts": [path for path in every if detect_conflict(path, set(every)) is not None],
    }


def count_with_queries(index: Index) -> dict[str, Any]:
    graph = LinkGraph(index)
    return {
        "tags": {name_key(tag.name): (tag.notes, tag.occurrences) for tag in listing.list_tags(index)},
        "properties": {name_key(found.name): found.notes for found in listing.list_properties(index)},
        "unresolved": [(entry.count, entry.sources) for entry in graph.unresolved().rows],
        "orphans": list(graph.orphans().rows),
        "dead ends": list(graph.dead_ends().rows),
        "folders": files.count_by_folder(index),
        "duplicates": list(files.find_duplicates(index).rows),
        "conflicts": [path for path, _ in files.find_conflicts(index).rows],
    }


def check_pages(index: Index, limit: int, offset: int) -> None:
    """A page is a part of the whole list, and knows how long that is."""
    for name, answer in ANSWERS.items():
        page, whole = answer(index, limit, offset), answer(index, 10_000, 0)
        if isinstance(whole, listing.ListPage):
            assert page.rows == whole.rows[offset : offset + limit], name
            assert page.total == whole.total == len(whole.rows), name
        elif isinstance(whole, listing.TaskPage):
            assert page.tasks == whole.tasks[offset : offset + limit], name
            assert page.total == whole.total == len(whole.tasks), name


@settings(max_examples=15, deadline=None)
@given(
    first=changes,
    later=st.lists(changes, min_size=1, max_size=4),
    ignored=st.lists(st.sampled_from([*FOLDERS[1:], "/e/"]), max_size=2),
    limit=st.integers(1, 4),
    offset=st.integers(0, 4),
)
def test_counts_follow_every_change_and_agree_with_the_notes(
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
            assert count_with_queries(vault.index) == count_from_notes(vault.index)
        graph = LinkGraph(vault.index)
        entries = graph.unresolved().rows
        assert graph.unresolved_count() == (sum(entry.count for entry in entries), len(entries))
        places = [(path, entry.target) for entry in entries for path in entry.sources]
        assert list(graph.unresolved_places().rows) == places
        assert listing.count_properties(vault.index) == len(listing.list_properties(vault.index))
        check_pages(vault.index, limit, offset)
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
        for name, answer in ANSWERS.items():
            assert answer(vault.index, 2, 1) == expected[name], name
    finally:
        vault.close()


MANY = 2000


def test_pages_are_the_same_when_there_are_many_rows(vaults: Callable[[], Vault]) -> None:
    vault = vaults()
    try:
        # A note has a hundred problems at most.
        lines = "[[Gone]] [[other gone]]\n- [ ] open\nx ^b\n\n" * 90
        notes = MANY // 90 + 2
        vault.write({f"{'a/' * (number % 3)}Note {number}.md": lines for number in range(notes)})
        vault.sync_all()
        for page in ((3, 0), (5, MANY // 3), (4, 2 * MANY)):
            check_pages(vault.index, *page)
        problems = files.list_problems(vault.index, limit=1)
        missing = LinkGraph(vault.index).unresolved(limit=1)
        assert min(problems.total, missing.rows[0].count) >= MANY
    finally:
        vault.close()
