"""`vaultbridge.vault.settings`: the rules that follow from the settings (docs/obsidian.md 4)."""

from __future__ import annotations

import pytest

from vaultbridge.links.syntax import LinkSettings
from vaultbridge.vault.paths import vault_path
from vaultbridge.vault.settings import PERIOD_FORMATS, IgnoreFilters, VaultSettings


@pytest.mark.parametrize(
    ("setting", "folder"),
    [
        ("/", ""),
        ("", ""),
        ("./", "A/B"),
        ("./files", "A/B/files"),
        ("./a/b", "A/B/a/b"),
        ("Assets", "Assets"),
        ("Assets/Img/", "Assets/Img"),
        ("/Assets", "Assets"),
        ("../out", ""),
        (".obsidian", ""),
    ],
)
def test_attachments_go_where_the_setting_says(setting: str, folder: str) -> None:
    settings = VaultSettings(attachment_folder=setting)
    assert settings.attachment_folder_for(vault_path("A/B/n.md")) == folder


def test_attachments_beside_a_note_at_the_top_go_to_the_top() -> None:
    assert VaultSettings(attachment_folder="./").attachment_folder_for(vault_path("n.md")) == ""
    assert VaultSettings(attachment_folder="./x").attachment_folder_for(vault_path("n.md")) == "x"


def test_new_notes_go_where_the_setting_says() -> None:
    beside = vault_path("A/n.md")
    assert VaultSettings().new_note_folder(beside) == ""
    assert VaultSettings(new_file_location="current").new_note_folder(beside) == "A"
    assert VaultSettings(new_file_location="current").new_note_folder(None) == ""
    inbox = VaultSettings(new_file_location="folder", new_file_folder="Inbox/New/")
    assert inbox.new_note_folder(beside) == "Inbox/New"


def test_the_defaults_are_obsidians() -> None:
    settings = VaultSettings()
    assert settings.links == LinkSettings("shortest", use_markdown_links=False)
    assert settings.trash_option == "system"
    assert [settings.periodic_notes(period).format for period in PERIOD_FORMATS] == [
        "YYYY-MM-DD",
        "gggg-[W]ww",
        "YYYY-MM",
        "YYYY-[Q]Q",
        "YYYY",
    ]
    assert not settings.ignore_filters.match("any.md")


def test_the_filters_are_matched() -> None:
    settings = VaultSettings(ignore_filters=IgnoreFilters(("Archive/",)))
    assert settings.ignore_filters.match("Archive/n.md") and not settings.ignore_filters.match("n.md")
