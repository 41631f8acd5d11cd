"""Two vaults that differ only in a hidden folder are one vault to a caller who may not see it.

The same operations are carried out on both: every outcome, refusal and answer, and every byte of the visible
notes afterwards, must be the same. So no pinned link, notice, suggestion, number or count reveals a hidden
file. In the vault that has the hidden notes, the links inside them follow renames all the same.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from msgspec.structs import replace

from vaultbridge.cli.notes.export import FORMATS
from vaultbridge.engine import DirectEngine
from vaultbridge.engine.files import choose_attachment_path, render_embed
from vaultbridge.engine.operations import AddFile, Append, Create, Delete, Move, RenameHeading, RenameTag
from vaultbridge.engine.operations.base import Operation
from vaultbridge.errors import VaultbridgeError
from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.write.trash import Trash

from .conftest import MakeVault, read_contents

NAMES = ("deep", "diary", "plan")
FOLDERS = ("", "Pub/", "Pub/Sub/")
HIDDEN_FOLDERS = ("Private/", "Private/Sub/", "A/")
"""Also one that comes before a visible one, both in the alphabet and by depth."""

EXACT = ("deep OR diary OR plan", '"sub deep"', '"dee"', "pla -tag", "line:(deep diary)", "/d[ei]/", "path:p")

SCOPE = Scope(deny=("Private/", "A/"))

visible_paths = st.builds("{}{}.md".format, st.sampled_from(FOLDERS), st.sampled_from(NAMES))
hidden_paths = st.builds("{}{}.md".format, st.sampled_from(HIDDEN_FOLDERS), st.sampled_from(NAMES))
targets = st.sampled_from([*NAMES, "Sub/deep", "Pub/plan", "./deep", "../plan", "/diary", "new", "A/deep"])
links = st.builds(
    "{}[[{}{}]]".format, st.sampled_from(["", "!"]), targets, st.sampled_from(["", "#Part", "|x"])
)
texts = st.builds(
    lambda found: "## Part\n\n" + "\n".join(found) + "\n#tag\n", st.lists(links, min_size=1, max_size=4)
)
names = st.one_of(visible_paths, st.sampled_from([*NAMES, "new", "Pub/Sub"]))
operations = st.one_of(
    st.builds(lambda note, text: Create(note=note, content=text), names, texts),
    st.builds(lambda note, text: Append(note=note, content=text), names, texts),
    st.builds(lambda note, to: Move(note=note, to=to), names, names),
    st.builds(lambda note: Delete(note=note), names),
    st.builds(lambda note: RenameHeading(note=note, heading="Part", to="Piece"), names),
    st.just(RenameTag(tag="tag", to="mark")),
    st.builds(lambda path: AddFile(path=path.replace(".md", ".png"), data=b"x"), visible_paths),
)


@contextmanager
def opened(files: dict[str, str]) -> Iterator[DirectEngine]:
    with tempfile.TemporaryDirectory() as base:
        for path, text in files.items():
            place = Path(base, "vault", path)
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_text(text)
        Path(base, "vault").mkdir(exist_ok=True)
        trash = Trash({"HOME": str(Path(base, "home"))})
        cache = Path(base, "cache")
        with DirectEngine(
            Path(base, "vault"), cache=cache, trash=trash, scope=SCOPE, clock=lambda: 1e9
        ) as engine:
            yield engine


def attempt(engine: DirectEngine, batch: list[Operation], *, dry_run: bool) -> str:
    try:
        return repr(replace(engine.apply(batch, dry_run=dry_run), change_id=""))
    except VaultbridgeError as error:
        return f"{type(error).__name__}: {error} {error.details}"


def ask_questions(engine: DirectEngine) -> Iterator[tuple[str, Any]]:
    queries = engine.queries
    paths = [file.path for file in queries.files()]
    yield "files", paths
    yield "counts", queries.counts()
    yield "unresolved", queries.unresolved()
    yield "unresolved count", queries.unresolved_count()
    yield "unresolved places", queries.unresolved_places()
    yield "problems", queries.problem_counts()
    yield "orphans", queries.orphans(attachments=True)
    yield "dead ends", queries.dead_ends()
    yield "tags", queries.tags()
    for query in EXACT:
        found = queries.search(query)
        yield f"order of {query}", [hit.score for hit in found.hits]
        # Hits with the same score are sorted by time, and the clock may tick in one vault only.
        hits = sorted((hit.path, hit.score) for hit in found.hits)
        yield query, (hits, found.total, found.indexed, found.notes)
    ranked = queries.rank("deep diary plan", sections_per_note=3, explain=True)
    yield (
        "rank",
        (
            [(note.path, note.score, note.sections, note.missing, note.views) for note in ranked.notes],
            (ranked.total, ranked.with_all_words, ranked.indexed, ranked.searchable),
        ),
    )
    for status in (queries.status, queries.fresh_status()):
        yield "status", (status.state, status.done, status.total)
    for path in paths:
        yield f"outgoing {path}", queries.outgoing(path)
        yield f"backlinks {path}", queries.backlinks(path)
        yield f"around {path}", queries.neighbourhood(path, 2)
        yield f"link to {path}", render_embed(engine, path, VaultPath("Pub/plan.md"))
    for name in (*NAMES, "Sub/deep", "dee", "A/deep", "Private/deep"):
        yield f"find {name}", _find_or_explain(engine, name)
    yield "place", choose_attachment_path(engine, "picture.png", None)
    for name, form in FORMATS.items():
        yield name, "".join(form(engine))
    yield "history", [(change.label, change.paths) for change in engine.history.changes(limit=100)]


def _find_or_explain(engine: DirectEngine, name: str) -> str:
    try:
        return engine.find(name)
    except VaultbridgeError as error:
        return f"{type(error).__name__}: {error} {error.details}"


@pytest.mark.long
@settings(max_examples=30, deadline=None)
@given(
    seen=st.dictionaries(visible_paths, texts, min_size=1, max_size=5),
    hidden=st.dictionaries(hidden_paths, texts, min_size=1, max_size=4),
    batches=st.lists(st.lists(operations, min_size=1, max_size=2), min_size=1, max_size=4),
)
def test_a_hidden_folder_makes_no_difference_to_anything(
    seen: dict[str, str], hidden: dict[str, str], batches: list[list[Operation]]
) -> None:
    with opened({**seen, **hidden}) as full, opened(seen) as bare:
        for batch in batches:
            for dry_run in (True, False):
                assert attempt(full, batch, dry_run=dry_run) == attempt(bare, batch, dry_run=dry_run), batch
            for (question, answer), (_, bare_answer) in zip(
                ask_questions(full), ask_questions(bare), strict=True
            ):
                assert answer == bare_answer, (question, batch)
        left = {path: data for path, data in read_contents(full).items() if SCOPE.visible(path)}
        assert left == read_contents(bare)


@pytest.mark.long
@settings(max_examples=40, deadline=None)
@given(
    seen=st.dictionaries(visible_paths, texts, min_size=2, max_size=5),
    hidden=st.dictionaries(hidden_paths, texts, min_size=2, max_size=5),
    data=st.data(),
)
def test_a_move_rewrites_links_as_if_no_hidden_note_had_that_name(
    seen: dict[str, str], hidden: dict[str, str], data: st.DataObject
) -> None:
    """Only notes that are there are moved: most operations of the test above name none."""
    with opened({**seen, **hidden}) as full, opened(seen) as bare:
        for _ in range(2):
            note = data.draw(st.sampled_from(sorted(read_contents(bare))))
            to = data.draw(st.sampled_from([f"{folder}{name}" for folder in FOLDERS for name in NAMES]))
            batch: list[Operation] = [Move(note=f"/{note}", to=f"/{to}")]
            assert attempt(full, batch, dry_run=False) == attempt(bare, batch, dry_run=False), batch
            left = {path: data for path, data in read_contents(full).items() if SCOPE.visible(path)}
            assert left == read_contents(bare), batch


def test_an_older_link_is_not_pinned_to_a_hidden_note(make_vault: MakeVault) -> None:
    """The case in which this was first seen."""
    engine = make_vault({"Note.md": "text\n", "Private/Sub/deep.md": "secret"}, scope=SCOPE)
    engine.apply([Append(note="Note", content="[[deep]]")])
    outcome = engine.apply([Create(note="deep", content="")])
    assert read_contents(engine)["Note.md"] == b"text\n[[deep]]\n"
    assert "Private" not in repr(outcome)
    assert outcome.notices == ("1 unresolved link(s) now lead to deep.md, from: Note.md.",)


def test_links_in_hidden_notes_still_follow_and_stay_right(make_vault: MakeVault) -> None:
    files = {"Pub/plan.md": "", "Private/deep.md": "[[plan]] [[diary]]", "Private/diary.md": "mine"}
    engine = make_vault(files, scope=SCOPE)
    outcome = engine.apply([Move(note="plan", to="Pub/diary")])
    assert read_contents(engine)["Private/deep.md"] == b"[[Pub/diary]] [[diary]]"
    assert "Private" not in repr(outcome)
    engine.apply([Create(note="deep", content="[[diary]]")])
    assert read_contents(engine)["Private/deep.md"] == b"[[Pub/diary]] [[diary]]"


def test_the_text_around_a_link_counts_for_the_visible_note_of_that_name(make_vault: MakeVault) -> None:
    """Among all files `[[Plan]]` leads to the hidden note, whose path is shorter."""
    seen = {
        "Guide.md": "The harbour and its tides: [[Plan]].\n",
        "Pub/Sub/Plan.md": "Nothing about it.\n",
    }
    hidden = {"A/Plan.md": "secret", **{f"A/H{number}.md": "secret" for number in range(20)}}
    for more in ({}, hidden):
        engine = make_vault({**seen, **more}, scope=SCOPE)
        assert [note.path for note in engine.queries.rank("harbour tides").notes] == [*seen], more


def test_hidden_files_that_are_left_out_do_not_use_up_the_list(make_vault: MakeVault) -> None:
    hidden = {f"Private/\x01{number}.md": "" for number in range(150)}
    for more in ({}, hidden):
        engine = make_vault({"Z\x01.md": "", **more}, scope=SCOPE)
        assert [skipped.path for skipped in engine.queries.left_out()[1]] == ["Z\\x01.md"]
