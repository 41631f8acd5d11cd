"""What a template adds to a note that exists."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vaultbridge.engine import Engine
from vaultbridge.engine.operations import Append, Insert, SetProperty
from vaultbridge.engine.templates import inserting, template_path
from vaultbridge.errors import EditRefused, NoteNotFound
from vaultbridge.vault.paths import VaultPath

MakeVault = Callable[..., Engine]

FILES = {
    ".obsidian/templates.json": '{"folder":"T"}',
    "T/P.md": "---\nTags: [a, b]\nstatus: new\nowner:\naliases: Q\n---\nbody {{title}}\n",
    "T/Only.md": "---\nx: 1\n---\n\n",
    "T/Bad.md": "---\nx: [\n---\n",
    "P.md": "another",
    "N.md": "---\ntags: a\nstatus: old\nowner: me\n---\ntext\n",
}
N = VaultPath("N.md")


def test_own_values_stay_and_lists_are_joined(make_vault: MakeVault) -> None:
    engine = make_vault(FILES)
    assert inserting(engine, "P", N, expected="h") == [
        Append(note=N, content="body N\n", expected="h"),
        SetProperty(note=N, name="Tags", value=["a", "b"], expected="h"),
        SetProperty(note=N, name="aliases", value="Q", expected="h"),
    ]


def test_text_goes_to_its_place_before_properties_move_the_lines(make_vault: MakeVault) -> None:
    engine = make_vault(FILES)
    first = inserting(engine, "P", N, line=6)[0]
    assert first == Insert(note=N, line=6, content="body N\n")
    assert inserting(engine, "P", N, heading="H")[0] == Append(note=N, content="body N\n", heading="H")
    assert inserting(engine, "Only", N) == [SetProperty(note=N, name="x", value=1)]


def test_a_template_lies_in_its_folder_first(make_vault: MakeVault) -> None:
    engine = make_vault(FILES)
    assert template_path(engine, "P") == "T/P.md"
    assert template_path(engine, "N") == "N.md"
    with pytest.raises(NoteNotFound):
        template_path(engine, "Zzz")


def test_a_template_that_cannot_be_read_is_refused(make_vault: MakeVault) -> None:
    with pytest.raises(EditRefused):
        inserting(make_vault(FILES), "Bad", N)
