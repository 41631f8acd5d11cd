"""Absolute paths into a vault become paths within it, in every tool; anything else stays unchanged."""

from __future__ import annotations

import unicodedata
from pathlib import Path
from typing import Any

import pytest

from support.tools import Small
from vaultbridge.errors import InvalidPath
from vaultbridge.tools.base.arguments import has_absolute_path, make_relative
from vaultbridge.vault.absolute import relative_to_vault

VAULT = Path("/home/me/N\u00f6tes")


def shorten(text: str) -> str:
    inside = relative_to_vault(text, VAULT)
    return text if inside is None else inside


@pytest.mark.parametrize(
    ("given", "taken"),
    [
        ({"name": f"{VAULT}/A.md"}, {"name": "A.md"}),
        (
            {"path": f"{VAULT}/f/A.md", "content": f"{VAULT}/A.md"},
            {"path": "f/A.md", "content": f"{VAULT}/A.md"},
        ),
        ({"names": [f"{VAULT}/A.md", "B"]}, {"names": ["A.md", "B"]}),
        ({"name": f"{VAULT}/f/", "to": f"{VAULT}/g/"}, {"name": "f/", "to": "g/"}),
        ({"folder": str(VAULT)}, {"folder": ""}),
        ({"folder": f"{VAULT}/"}, {"folder": ""}),
        ({"name": unicodedata.normalize("NFD", f"{VAULT}/A.md")}, {"name": "A.md"}),
        (
            {"operations": [{"op": "append", "name": f"{VAULT}/A.md"}, 5]},
            {"operations": [{"op": "append", "name": "A.md"}, 5]},
        ),
    ],
)
def test_an_absolute_path_in_the_vault_becomes_a_vault_path(
    given: dict[str, Any], taken: dict[str, Any]
) -> None:
    assert has_absolute_path(given)
    assert make_relative(given, shorten) == taken


@pytest.mark.parametrize(
    "given",
    [
        {"name": "/A.md"},
        {"name": f"{VAULT}s/A.md"},
        {"name": f"/mnt{VAULT}/A.md"},
        {"name": ["/x", 5, None], "to": {}},
        {"operations": "/x", "name": "/x"},
    ],
)
def test_any_other_path_stays_unchanged(given: dict[str, Any]) -> None:
    assert has_absolute_path(given)
    assert make_relative(given, shorten) == given


def test_a_relative_path_does_not_need_the_vault() -> None:
    assert not has_absolute_path({"name": "A", "content": "/x", "to": 5, "operations": [{"content": "/x"}]})


def test_tools_take_the_path_of_the_file(small: Small) -> None:
    harness = small({"A.md": "alpha", "f/B.md": "beta"})
    root = harness.engine.root.folder
    assert "alpha" in harness.text("read_note", name=f"{root}/A.md")
    assert "beta" in harness.text("read_note", path=f"{root}/f/B.md")
    assert "f/B.md" in harness.text("list_files", folder=f"{root}/f")
    harness.data("create_note", name=f"{root}/f/New.md", content="x")
    assert (root / "f" / "New.md").read_text() == "x"
    harness.data("move_note", name=f"{root}/A.md", to=f"{root}/f/C.md")
    assert sorted(path.name for path in root.rglob("*.md")) == ["B.md", "C.md", "New.md"]
    with pytest.raises(InvalidPath, match="outside the vault"):
        harness.call("read_note", name=f"{root}x/A.md")


def test_an_absolute_path_of_the_top_is_not_a_bare_name(small: Small) -> None:
    """A bare name goes where the settings put new notes, and renames in place."""
    harness = small(
        {
            "f/B.md": "beta",
            ".obsidian/app.json": '{"newFileLocation":"folder","newFileFolderPath":"f"}',
        }
    )
    harness.data("create_note", name=f"{harness.folder}/New.md", content="x")
    harness.data("move_note", name="f/B", to=f"{harness.folder}/C.md")
    harness.data("add_attachment", name=f"{harness.folder}/p.png", data="eA==")
    assert sorted(path for path in harness.files() if not path.startswith(".")) == ["C.md", "New.md", "p.png"]
