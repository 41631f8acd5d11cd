"""`vaultbridge.vault.file_links`: links are followed one by one, and never looked at behind a hidden name."""

from __future__ import annotations

import os
import unicodedata
from pathlib import Path

import pytest

from support.disk_trace import trace_disk
from vaultbridge.vault.file_links import LINKS_FOLLOWED, leads_to_hidden
from vaultbridge.vault.paths import VaultFolder

VAULT = {"Pub/a.md": "a", "Private/b.md": "b", "Pub/Sub/c.md": "c"}


@pytest.fixture
def root(vault: Path) -> VaultFolder:
    return VaultFolder(vault)


def shows(path: str) -> bool:
    return not path.startswith(("Private", "."))


@pytest.mark.parametrize(
    ("target", "hidden"),
    [
        ("a.md", False),
        ("../Private/b.md", True),
        ("../Private/gone.md", True),
        ("gone.md", False),
        ("{vault}/Private/b.md", True),
        ("{vault}/Pub/a.md", False),
        ("{alias}/Private/b.md", True),
        ("{alias}/Pub/a.md", False),
        ("../Private/../Pub/a.md", True),
        ("./Sub/.././../Private/b.md", True),
        ("../.obsidian/app.json", True),
        ("/etc/hostname", False),
    ],
)
def test_a_link_is_as_visible_as_every_name_on_its_way(
    vault: Path, root: VaultFolder, tmp_path: Path, target: str, hidden: bool
) -> None:
    alias = tmp_path / "alias"
    alias.symlink_to(vault)
    (vault / "Pub/l.md").symlink_to(target.format(vault=vault, alias=alias))
    assert leads_to_hidden(root, "Pub/l.md", shows) is hidden
    (vault / "Pub/m.md").symlink_to("l.md")
    assert leads_to_hidden(root, "Pub/m.md", shows) is hidden


def test_a_link_that_passes_through_a_hidden_link_is_hidden_wherever_it_ends(
    vault: Path, root: VaultFolder
) -> None:
    (vault / "Pub/l.md").symlink_to("../Private/back.md")
    assert leads_to_hidden(root, "Pub/l.md", shows)
    (vault / "Private/back.md").symlink_to("../Pub/a.md")
    assert leads_to_hidden(root, "Pub/l.md", shows)


def test_nothing_is_asked_about_a_hidden_place(
    vault: Path, root: VaultFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    (vault / "Pub/l.md").symlink_to("../Private/b.md")
    (vault / "Pub/d").symlink_to("../Private")
    with trace_disk(monkeypatch, vault) as trace:
        assert leads_to_hidden(root, "Pub/l.md", shows)
        assert leads_to_hidden(root, "Pub/d/b.md", shows)
    assert trace.calls
    assert not any("Private" in call for call in trace.calls)


def test_a_link_in_another_spelling_is_followed(vault: Path, root: VaultFolder) -> None:
    (vault / unicodedata.normalize("NFD", "Über.md")).symlink_to("Private/b.md")
    assert leads_to_hidden(root, "Über.md", shows)


def test_links_in_a_circle_end(vault: Path, root: VaultFolder) -> None:
    (vault / "Pub/x.md").symlink_to("y.md")
    (vault / "Pub/y.md").symlink_to("x.md")
    assert leads_to_hidden(root, "Pub/x.md", shows)


def test_as_many_links_are_followed_as_the_system_follows(vault: Path, root: VaultFolder) -> None:
    for number in range(LINKS_FOLLOWED):
        (vault / f"{number}.md").symlink_to(f"{number + 1}.md")
    (vault / f"{LINKS_FOLLOWED}.md").write_text("end")
    assert not leads_to_hidden(root, "0.md", shows)
    assert os.path.exists(vault / "0.md")  # noqa: PTH110 - what the system says
