"""What a template adds to a note that exists."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vaultbridge.engine import DirectEngine
from vaultbridge.engine.drafting.templates import find_template, merge_template
from vaultbridge.engine.operations import Append, Insert, InsertTemplate, SetProperty
from vaultbridge.engine.operations.base import NoteEdit
from vaultbridge.errors import EditRefused, NoteNotFound, StaleWrite
from vaultbridge.vault.paths import VaultPath

MakeVault = Callable[..., DirectEngine]

FILES = {
    ".obsidian/templates.json": '{"folder":"T"}',
    "T/P.md": "---\nTags: [a, b]\nstatus: new\nowner:\naliases: Q\n---\nbody {{title}}\n",
    "T/Only.md": "---\nx: 1\n---\n\n",
    "T/Bad.md": "---\nx: [\n---\n",
    "P.md": "another",
    "N.md": "---\ntags: a\nstatus: old\nowner: me\n---\ntext\n",
}
N = VaultPath("N.md")


def merge(engine: DirectEngine, template: str, *, heading: str = "", line: int = 0) -> list[NoteEdit]:
    text = engine.expand(template, "N")
    return merge_template(text, template, engine.view(N).note, N, heading=heading, line=line)


def test_own_values_stay_and_lists_are_joined(make_vault: MakeVault) -> None:
    engine = make_vault(FILES)
    assert merge(engine, "P") == [
        Append(note=N, content="body N\n"),
        SetProperty(note=N, name="Tags", value=["a", "b"]),
        SetProperty(note=N, name="aliases", value="Q"),
    ]


def test_text_goes_to_its_place_before_properties_move_the_lines(make_vault: MakeVault) -> None:
    engine = make_vault(FILES)
    first = merge(engine, "P", line=6)[0]
    assert first == Insert(note=N, line=6, content="body N\n")
    assert merge(engine, "P", heading="H")[0] == Append(note=N, content="body N\n", heading="H")
    assert merge(engine, "Only") == [SetProperty(note=N, name="x", value=1)]


def test_a_template_lies_in_its_folder_first(make_vault: MakeVault) -> None:
    engine = make_vault(FILES)
    assert find_template(engine, "P") == "T/P.md"
    assert find_template(engine, "N") == "N.md"
    with pytest.raises(NoteNotFound):
        find_template(engine, "Zzz")


def test_a_template_that_cannot_be_read_is_refused(make_vault: MakeVault) -> None:
    with pytest.raises(EditRefused):
        merge(make_vault(FILES), "Bad")


def test_inserting_a_template_is_one_change_of_the_note_that_was_seen(make_vault: MakeVault) -> None:
    engine = make_vault(FILES)
    with pytest.raises(StaleWrite):
        engine.apply([InsertTemplate(note="N", template="P", expected="0" * 16)])
    engine.apply([InsertTemplate(note="N", template="P", expected=engine.view(N).hash)])
    assert engine.view(N).text.endswith("---\ntext\nbody N\n")
    assert engine.history.changes()[0].label == "insert template"
