"""Files as the rows of a base. How a tool shows the result is tested with the tool."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vaultbridge.bases.parse import parse_base
from vaultbridge.engine import DirectEngine
from vaultbridge.engine.base_query import load_base, run_base_query
from vaultbridge.errors import InvalidArgument

MakeVault = Callable[..., DirectEngine]

TEXT = "views:\n  - type: table\n    name: V\n    order: [file.path]\n"


def test_every_visible_file_is_a_row(make_vault: MakeVault) -> None:
    engine = make_vault({"A.md": "", "f/B.canvas": "{}", "p.png": b"", "Q.base": TEXT})
    result = run_base_query(engine, parse_base(TEXT), TEXT, None)
    assert sorted(row.path for row in result.rows) == ["A.md", "Q.base", "f/B.canvas", "p.png"]


def test_a_base_is_a_file_or_a_block(make_vault: MakeVault) -> None:
    engine = make_vault({"Q.base": TEXT, "N.md": f"x\n```base\n{TEXT}```\n", "Other.canvas": "{}"})
    assert load_base(engine, "Q.base")[1:] == (TEXT, "Q.base")
    base, text, path = load_base(engine, "N", block=1)
    assert (base.views[0].name, text, path) == ("V", TEXT, "N.md")
    for name, block in (("N", 2), ("Other.canvas", 1)):
        with pytest.raises(InvalidArgument):
            load_base(engine, name, block=block)


def test_a_note_that_shows_bases_names_them(make_vault: MakeVault) -> None:
    """In the app, `this` is the note that shows a base: it has rows there that the base alone lacks."""
    engine = make_vault(
        {
            "f/Book list.base": TEXT,
            "People/Ada.md": (
                "![[Book list.base#V]] ![x](../f/Book%20list.base) ![[Gone.base]] [[Book list.base]]\n"
            ),
            "Plain.md": "[[Book list.base]]\n",
        }
    )
    with pytest.raises(InvalidArgument) as refused:
        load_base(engine, "Ada")
    assert str(refused.value) == (
        "People/Ada.md has no ```base block. It shows Book list.base#V; ../f/Book list.base; Gone.base: give "
        "one of them as name, and People/Ada.md as this."
    )
    with pytest.raises(InvalidArgument) as refused:
        load_base(engine, "Plain")
    assert str(refused.value) == "Plain.md has no ```base block. Name a .base file, or give the YAML as base."


def test_a_base_that_cannot_be_read_is_not_run(make_vault: MakeVault) -> None:
    text = "views: [\n"
    with pytest.raises(InvalidArgument, match=r"cannot be used \(line \d+\): "):
        run_base_query(make_vault({}), parse_base(text), text, None)


def test_links_resolve_from_the_note_they_stand_in(make_vault: MakeVault) -> None:
    engine = make_vault({"a/N.md": "---\nto: '[[X]]'\n---\n", "a/X.md": "", "b/X.md": ""})
    text = "filters: 'to.asFile().path == \"a/X.md\"'\n" + TEXT
    assert [row.path for row in run_base_query(engine, parse_base(text), text, None).rows] == ["a/N.md"]
