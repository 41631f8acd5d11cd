"""Notes found by name before the index knows them."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from typing import Any

import pytest

from support.index import another_leader
from vaultbridge.engine import DirectEngine
from vaultbridge.engine.files import choose_attachment_path
from vaultbridge.engine.finder import Finder
from vaultbridge.engine.operations import Append, Create, Delete, Move, RenameTag, Write
from vaultbridge.engine.operations.base import Operation
from vaultbridge.engine.queries import Queries
from vaultbridge.errors import AmbiguousName, EditRefused, NoteNotFound
from vaultbridge.index.store.database import Index
from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.scope import Scope

from .conftest import MakeVault


@pytest.fixture
def make_unindexed(make_vault: MakeVault) -> Iterator[MakeVault]:
    """Like `make_vault`, with an index that another process has only just begun."""
    with ExitStack() as leading:

        def make(*args: Any, **options: Any) -> DirectEngine:
            engine = make_vault(*args, **options)
            leading.enter_context(another_leader(engine.cache))
            return engine

        yield make


@pytest.mark.parametrize(
    "name", ["Deep", "deep", "Deep.md", "Folder/Deep", "[[Deep|shown]]", "[[Deep#Heading]]"]
)
def test_a_note_in_a_folder_is_found_as_a_link_would_find_it(make_unindexed: MakeVault, name: str) -> None:
    engine = make_unindexed({"Some/Folder/Deep.md": "deep"})
    assert not engine.queries.status.complete
    assert engine.find(name) == "Some/Folder/Deep.md"


def test_several_notes_of_one_name_are_listed(make_unindexed: MakeVault) -> None:
    engine = make_unindexed({"A/Same.md": "1", "B/Same.md": "2"})
    with pytest.raises(AmbiguousName) as several:
        engine.find("Same")
    assert several.value.candidates == ("A/Same.md", "B/Same.md")
    assert engine.find("B/Same") == "B/Same.md"


def test_what_is_missing_or_hidden_is_not_found(make_unindexed: MakeVault) -> None:
    engine = make_unindexed({"Secret/Deep.md": "x"}, scope=Scope(deny=("Secret",)))
    for name in ("Deep", "Nothing"):
        with pytest.raises(NoteNotFound):
            engine.find(name)


def test_an_index_that_becomes_complete_right_after_its_answer_is_queried_again(
    make_vault: MakeVault,
) -> None:
    files = {"A/Same.md": "1", "B/Same.md": "2", "C/Deep.md": "---\naliases: Other name\n---\n"}
    for name, expected in (("Deep", "C/Deep.md"), ("Other name", "C/Deep.md"), ("Same", None)):
        engine = make_vault(files)
        with ExitStack() as other:
            other.enter_context(another_leader(engine.cache))
            assert not engine.queries.status.complete
            queries = CompleteAfterwards(engine, other.close)
            finder = Finder(engine.root, engine.scope, lambda queries=queries: queries)  # type: ignore[misc]
            if expected is None:
                with pytest.raises(AmbiguousName):
                    finder.find(name)
            else:
                assert finder.find(name) == expected
        assert engine.queries.status.complete
        engine.close()
        shutil.rmtree(engine.cache)


class CompleteAfterwards(Queries):
    """The index is complete a moment after it was asked for a name: its leader has built it."""

    def __init__(self, engine: DirectEngine, let_build: Callable[[], None]) -> None:
        super().__init__(engine.root, engine.index_sync, Scope(), lambda: engine.settings)
        self._engine = engine
        self._let_build = let_build

    def find(self, name: str, *, source: str = "", index: Index | None = None) -> VaultPath:
        try:
            return super().find(name, source=source, index=index)
        finally:
            self._let_build()
            self._engine.index_sync.refresh()


@pytest.fixture
def make_waiting(make_vault: MakeVault) -> Iterator[MakeVault]:
    """Like `make_vault`, with a first build by another process that ends while a change waits for it."""
    with ExitStack() as leading:

        def make(files: dict[str, str | bytes], **options: Any) -> DirectEngine:
            def end_build(point: str) -> None:
                if point == "waiting for the index":
                    leading.close()
                    engine.index_sync.refresh()

            engine = make_vault(files, checkpoint=end_build, **options)
            leading.enter_context(another_leader(engine.cache))
            return engine

        yield make


def test_a_rename_during_a_first_build_finds_every_link(make_waiting: MakeVault) -> None:
    engine = make_waiting({"A/Plan.md": "x", "B/Other.md": "[[Plan]] [[Plan#^a|p]]", "C.md": "[[A/Plan]]"})
    assert not engine.queries.status.complete
    engine.apply([Move(note="Plan", to="Idea")])
    folder = engine.root.folder
    assert (folder / "B/Other.md").read_text() == "[[Idea]] [[Idea#^a|p]]"
    assert (folder / "C.md").read_text() == "[[Idea]]"


def test_a_new_note_during_a_first_build_takes_no_older_link_over(make_waiting: MakeVault) -> None:
    engine = make_waiting({"A/Plan.md": "x", "B/Other.md": "[[Plan]]"})
    engine.apply([Create(note="Plan", content="new")])
    assert (engine.root.folder / "B/Other.md").read_text() == "[[A/Plan]]"


@pytest.mark.parametrize("operation", [Delete(note="F/"), Move(note="F/", to="G")])
def test_a_folder_with_hidden_files_is_refused_during_a_first_build_too(
    make_waiting: MakeVault, operation: Operation
) -> None:
    engine = make_waiting({"F/Seen.md": "x", "F/Secret.md": "y"}, scope=Scope(deny=("F/Secret.md",)))
    with pytest.raises(EditRefused, match="may not be changed"):
        engine.apply([operation])
    assert (engine.root.folder / "F/Secret.md").read_text() == "y"


def test_a_note_is_overwritten_and_edited_without_waiting_for_a_first_build(
    make_unindexed: MakeVault,
) -> None:
    engine = make_unindexed({"F/Plan.md": "old"})
    engine.apply([Create(note="f/plan", content="new", overwrite=True)])
    engine.apply([Append(note="F/Plan", content="more")])
    engine.apply([RenameTag(note="F/Plan", tag="a", to="b"), Write(note="F/Plan", content="last")])
    assert [path.name for path in (engine.root.folder / "F").iterdir()] == ["Plan.md"]
    assert (engine.root.folder / "F/Plan.md").read_text() == "last"
    with pytest.raises(EditRefused, match=r"F/Plan\.md already exists"):
        engine.apply([Create(note="F/Plan", content="x")])
    assert not engine.queries.status.complete


def test_a_new_attachment_gets_a_free_name_before_the_index_knows_the_old_one(
    make_unindexed: MakeVault,
) -> None:
    engine = make_unindexed({"Files/a.png": b"1", "Files/A 1.png": b"2"})
    assert choose_attachment_path(engine, "Files/a.png", None) == "Files/a 2.png"


def test_an_edit_by_path_does_not_wait_for_the_index(make_vault: MakeVault) -> None:
    """Nothing but the note itself is needed, so an edit right after opening a large vault takes no longer."""
    engine = make_vault({"Some/Note.md": "old\n", "Other.md": "[[Note]]\n"})
    engine.apply(
        [Append(note="Some/Note", content="first"), Append(note="Some/Note.md", content="second line")]
    )
    assert not engine.queries.status.complete
    assert [hit.path for hit in engine.queries.search("second").hits] == ["Some/Note.md"]
    assert engine.queries.status.complete
    engine.apply([Move(note="Some/Note.md", to="Renamed"), Append(note="Renamed", content="third")])
    assert engine.read_bytes(VaultPath("Other.md")) == b"[[Renamed]]\n"
