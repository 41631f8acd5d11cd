"""Pages of rows, pages of long texts, and the warning about an incomplete index."""

from __future__ import annotations

import threading
from contextlib import ExitStack

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.index import another_leader
from support.tools import Small, ToolHarness, ungroup
from vaultbridge.errors import InvalidArgument
from vaultbridge.index.store.database import Index
from vaultbridge.index.sync import Synchronizer
from vaultbridge.tools.base.answer import (
    PAGE_CHARS,
    ROW_CHARS,
    cut_text,
    describe_incomplete_index,
    group_rows,
    render_page,
    wait_for_index,
)

BUILDING = "The index is still being built; these results are incomplete."


def test_a_row_that_is_too_long_is_cut() -> None:
    text = render_page(["x" * 5000], total=1, offset=0, what="rows")
    assert text == "x" * (ROW_CHARS - 1) + "…\n(rows: 1)"


def test_rows_that_do_not_fit_are_left_for_the_next_page() -> None:
    rows = ["y" * 1000] * 100
    text = render_page(rows, total=100, offset=0, what="rows", head="head", notes=["note"])
    shown = text.count("\n" + "y" * 1000)
    assert text.startswith("note\nhead\ny")
    assert text.endswith(f"(rows 1-{shown} of 100; continue with offset={shown})")
    assert len(text) <= PAGE_CHARS + 200


@given(
    st.lists(st.text(st.characters(codec="utf-8"), max_size=300), max_size=40),
    st.integers(200, 3000),
    st.integers(0, 10**7),
)
def test_a_page_never_takes_more_than_its_characters(rows: list[str], size: int, offset: int) -> None:
    notes = [describe_incomplete_index(10**6, 10**6)]
    text = render_page(
        iter(rows),
        total=offset + 10**7,
        offset=offset,
        what="notes without backlinks",
        notes=notes,
        max_chars=size,
    )
    assert len(text) <= size
    if rows:
        assert not text.endswith(f"none from offset {offset} on)"), "a caller could not go on"


@given(st.lists(st.tuples(st.sampled_from(["a.md", "b/c.md", "d e.md"]), st.integers(1, 99))))
def test_grouped_rows_say_what_ungrouped_ones_say(places: list[tuple[str, int]]) -> None:
    rows = [(path, f"{line}: text") for path, line in places]
    whole = [f"{path}:{place}" for path, place in rows]
    assert ungroup("\n".join(group_rows(rows)).splitlines()) == whole


@pytest.mark.parametrize(
    ("tool", "arguments", "more"),
    [
        ("list_files", {}, "offset="),
        ("search", {"query": "the"}, "offset="),
        ("properties", {}, "offset="),
        ("properties", {"property": "tags"}, "offset="),
        ("tags", {}, "offset="),
        ("tags", {"action": "notes", "tag": "project"}, "offset="),
        ("links", {"name": "Home"}, "offset="),
        ("links", {"kind": "orphans"}, "offset="),
        ("tasks", {}, "offset="),
        ("history", {}, "before="),
        ("template", {}, "offset="),
        ("vault_info", {}, "…"),
        ("vault_info", {"section": "settings"}, "offset="),
    ],
)
def test_every_list_keeps_to_the_characters_it_was_given(
    sample: ToolHarness, tool: str, arguments: dict[str, object], more: str
) -> None:
    for number in range(12):
        for folder in ("Templates", "Projects"):
            file = sample.folder / folder / f"A note that was added {number}.md"
            file.write_text("[[Home]] #project")
        sample.call("edit_note", op="append", name="Home", content=f"[[Algol]] {number}")
    whole = sample.text(tool, **arguments)
    assert len(whole) > 250
    short = sample.text(tool, **arguments, max_chars=250)
    assert len(short) <= 250
    assert whole.startswith(short.splitlines()[0].removesuffix("…"))
    assert more in short.splitlines()[-1], "what is missing is not said"


def test_lone_surrogates_are_never_sent() -> None:
    assert render_page(["a\udce9"], total=1, offset=0, what="rows").startswith("a\ufffd")


@given(st.text(st.sampled_from("ab\n"), max_size=60), st.integers(1, 20))
def test_pages_of_a_text_add_up_to_the_whole(text: str, size: int) -> None:
    pieces, start = [], 0
    while True:
        piece = cut_text(text, start=start, max_chars=size)
        head, mark, after = piece.rpartition("[cut; continue with start=")
        if not mark:
            pieces.append(piece)
            break
        stop = int(after.removesuffix("]"))
        assert start < stop <= start + size
        pieces.append(head)
        start = stop
    assert "".join(pieces) == text


def test_a_start_beyond_the_text_is_refused() -> None:
    with pytest.raises(InvalidArgument) as caught:
        cut_text("abc", start=4, max_chars=5)
    assert caught.value.argument == "start"


def test_an_incomplete_index_is_reported(small: Small) -> None:
    harness = small({"A.md": "needle"})
    with another_leader(harness.engine.cache):
        assert wait_for_index(harness.context.for_vault()) == [BUILDING]
    assert harness.rows("search", query="needle") == ["A.md:1: needle", "(notes: 1)"]
    assert wait_for_index(harness.context.for_vault()) == []


@pytest.mark.parametrize(
    ("index_wait", "rows"),
    [
        (60.0, ["A.md", "(files: 1)"]),
        (0.01, [BUILDING, "(files: none)"]),
    ],
)
def test_a_query_waits_for_the_first_build_as_long_as_it_may(
    small: Small, index_wait: float, rows: list[str]
) -> None:
    harness = small({"A.md": "needle"}).with_context(index_wait=index_wait)
    engine = harness.engine

    def build() -> None:
        index = Index.open(engine.cache)
        try:
            Synchronizer(engine.root, index).sync_all()
        finally:
            index.close()
            leading.close()

    with ExitStack() as leading:
        leading.enter_context(another_leader(engine.cache))
        builder = threading.Thread(target=build)
        if index_wait > 1:
            builder.start()
        assert harness.rows("list_files") == rows
    if index_wait > 1:
        builder.join(60)


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [
        ("list_files", {}),
        ("links", {"kind": "orphans"}),
        ("properties", {}),
        ("tags", {}),
        ("tags", {"action": "notes", "tag": "t"}),
        ("tasks", {}),
        ("vault_info", {}),
        ("vault_info", {"section": "links"}),
        ("base_query", {"base": "views:\n  - type: table\n"}),
        ("attachment", {"action": "info", "name": "p.png"}),
        ("template", {}),
    ],
)
def test_an_index_that_completes_meanwhile_is_still_reported_as_incomplete(
    small: Small, tool: str, arguments: dict[str, object]
) -> None:
    queries: list[str] = []

    def end_build_before_the_second_query(point: str) -> None:
        if point == "query":
            queries.append(point)
            if len(queries) == 2:
                building.close()

    harness = small(
        {"A.md": "text #t", "p.png": "", "T/x.md": "", ".obsidian/templates.json": '{"folder": "T"}'},
        checkpoint=end_build_before_the_second_query,
    )
    with ExitStack() as building:
        building.enter_context(another_leader(harness.engine.cache))
        assert harness.rows(tool, **arguments)[0].startswith("The index is still being built")
        assert harness.engine.queries.status.complete
