"""`vaultbridge.vault.settings`: docs/obsidian.md 9; absence and breakage mean defaults."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import msgspec
import pytest

from vaultbridge.vault.obsidian import read_workspace
from vaultbridge.vault.paths import VaultFolder
from vaultbridge.vault.settings import Bookmark, PeriodicNotes, SettingsReader, VaultSettings


def write(folder: Path, name: str, value: Any) -> None:
    place = folder / ".obsidian" / name
    place.parent.mkdir(parents=True, exist_ok=True)
    place.write_text(value if isinstance(value, str) else json.dumps(value), encoding="utf-8")


def test_a_vault_without_settings_has_the_defaults(root: VaultFolder) -> None:
    settings = SettingsReader(root).current()
    assert settings.problems == ()
    assert settings.new_link_format == VaultSettings().new_link_format
    assert settings.periodic_notes("daily") == PeriodicNotes(
        enabled=True, folder="", format="YYYY-MM-DD", template=""
    )


def test_everything_that_is_set_is_read_and_unknown_keys_are_no_problem(
    root: VaultFolder, folder: Path
) -> None:
    write(
        folder,
        "app.json",
        {
            "newLinkFormat": "relative",
            "useMarkdownLinks": True,
            "alwaysUpdateLinks": True,
            "attachmentFolderPath": "./files",
            "newFileLocation": "folder",
            "newFileFolderPath": "Inbox",
            "trashOption": "local",
            "showUnsupportedFiles": True,
            "userIgnoreFilters": ["Archive/"],
            "somethingNew": {"deep": [1]},
        },
    )
    write(
        folder,
        "daily-notes.json",
        {"folder": "/Daily/", "format": "YYYY/MM/DD", "template": "T/Day", "autorun": True},
    )
    write(folder, "templates.json", {"folder": "T", "dateFormat": "DD.MM.YYYY", "timeFormat": "HH.mm"})
    write(folder, "types.json", {"types": {"Due": "date", "tags": "tags"}})
    write(folder, "community-plugins.json", ["dataview", "tasks"])
    write(folder, "core-plugins.json", {"daily-notes": True, "graph": False})
    settings = SettingsReader(root).current()
    assert settings.problems == ()
    assert (settings.links.new_link_format, settings.links.use_markdown_links) == ("relative", True)
    assert (settings.attachment_folder, settings.new_file_location, settings.new_file_folder) == (
        "./files",
        "folder",
        "Inbox",
    )
    assert settings.trash_option == "local"
    assert settings.ignore_filters.match("Archive/n.md")
    assert settings.periodic_notes("daily") == PeriodicNotes(
        enabled=True, folder="Daily", format="YYYY/MM/DD", template="T/Day"
    )
    assert (settings.template_folder, settings.template_date_format, settings.template_time_format) == (
        "T",
        "DD.MM.YYYY",
        "HH.mm",
    )
    assert settings.property_types == {"due": "date", "tags": "tags"}
    assert settings.community_plugins == ("dataview", "tasks")
    assert settings.core_plugins == {"daily-notes": True, "graph": False}


def test_empty_texts_mean_the_default_formats(root: VaultFolder, folder: Path) -> None:
    write(folder, "daily-notes.json", {"format": "", "folder": ""})
    write(folder, "templates.json", {"dateFormat": ""})
    settings = SettingsReader(root).current()
    assert settings.periodic_notes("daily").format == "YYYY-MM-DD"
    assert settings.template_date_format == "YYYY-MM-DD"
    assert settings.problems == ()


def test_an_older_list_of_core_plugins_is_understood(root: VaultFolder, folder: Path) -> None:
    write(folder, "core-plugins.json", ["daily-notes", "graph"])
    assert SettingsReader(root).current().core_plugins == {"daily-notes": True, "graph": True}


PERIODIC = {
    "daily": {"enabled": True, "folder": "P", "format": "DD-MM-YYYY", "template": "x"},
    "weekly": {"enabled": True, "folder": "W", "format": ""},
    "monthly": {"enabled": False, "format": "MMMM YYYY"},
    "yearly": "nonsense",
}


def test_an_enabled_daily_note_of_the_periodic_plugin_overrides_the_core_one(
    root: VaultFolder, folder: Path
) -> None:
    write(folder, "daily-notes.json", {"folder": "Daily"})
    write(folder, "plugins/periodic-notes/data.json", PERIODIC)
    settings = SettingsReader(root).current()
    assert settings.periodic_notes("daily") == PeriodicNotes(
        enabled=True, folder="P", format="DD-MM-YYYY", template="x"
    )
    assert settings.periodic_notes("weekly") == PeriodicNotes(
        enabled=True, folder="W", format="gggg-[W]ww", template=""
    )
    assert settings.periodic_notes("monthly") == PeriodicNotes(
        enabled=False, folder="", format="MMMM YYYY", template=""
    )
    assert settings.periodic_notes("yearly").format == "YYYY"


def test_a_disabled_daily_note_or_a_disabled_plugin_overrides_nothing(
    root: VaultFolder, folder: Path
) -> None:
    write(folder, "daily-notes.json", {"folder": "Daily"})
    write(folder, "plugins/periodic-notes/data.json", {"daily": {**PERIODIC["daily"], "enabled": False}})  # type: ignore[dict-item]
    assert SettingsReader(root).current().periodic_notes("daily").folder == "Daily"
    write(folder, "plugins/periodic-notes/data.json", PERIODIC)
    write(folder, "community-plugins.json", ["dataview"])
    assert SettingsReader(root).current().periodic_notes("daily").folder == "Daily"
    write(folder, "community-plugins.json", ["periodic-notes"])
    assert SettingsReader(root).current().periodic_notes("daily").folder == "P"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("app.json", ""),
        ("app.json", "{broken"),
        ("app.json", [1, 2]),
        ("app.json", {"newLinkFormat": "longest"}),
        ("app.json", {"newLinkFormat": 5}),
        ("app.json", {"useMarkdownLinks": "yes"}),
        ("app.json", {"userIgnoreFilters": "Archive"}),
        ("app.json", {"userIgnoreFilters": ["Archive/", 7]}),
        ("app.json", {"userIgnoreFilters": ["/[/"]}),
        ("types.json", {"types": ["x"]}),
        ("bookmarks.json", {"items": {}}),
        ("daily-notes.json", {"format": 7}),
        ("templates.json", "[" * 100_000),
    ],
)
def test_broken_settings_are_reported_and_mean_the_defaults(
    root: VaultFolder, folder: Path, name: str, value: Any
) -> None:
    write(folder, name, value)
    settings = SettingsReader(root).current()
    assert len(settings.problems) == 1
    assert (
        "the ignore filter '/[/'" if value == {"userIgnoreFilters": ["/[/"]} else name
    ) in settings.problems[0]
    assert str(folder) not in settings.problems[0]
    assert settings.links == VaultSettings().links
    assert settings.periodic_notes("daily").format == "YYYY-MM-DD"


APP = {"newLinkFormat": "relative", "newFileLocation": "folder", "newFileFolderPath": "Inbox"}


@pytest.mark.parametrize("torn", ["", "  \n", '{"newLinkFormat": "rel', "\0" * 60, "[" * 100_000])
def test_a_file_that_is_only_half_written_still_means_what_it_said(
    root: VaultFolder, folder: Path, torn: str
) -> None:
    """The app empties a file before it writes it, and a power cut may leave it empty."""
    write(folder, "app.json", {**APP, "userIgnoreFilters": ["Diary/"]})
    write(folder, "daily-notes.json", {"folder": "Daily"})
    reader = SettingsReader(root)
    before = reader.current()
    write(folder, "app.json", torn)
    write(folder, "daily-notes.json", torn)
    now = reader.current()
    assert [problem.partition(" ")[0] for problem in now.problems] == ["app.json", "daily-notes.json"]
    assert all("what it said before" in problem for problem in now.problems)
    assert msgspec.structs.replace(now, problems=()) == before
    write(folder, "app.json", {"newLinkFormat": "absolute"})
    assert reader.current().new_link_format == "absolute"
    assert not reader.current().ignore_filters.filters
    (folder / ".obsidian" / "daily-notes.json").unlink()
    assert reader.current().periodic_notes("daily").folder == ""
    assert reader.current().problems == ()


def test_while_the_vault_is_away_its_settings_stay(root: VaultFolder, folder: Path) -> None:
    write(folder, "app.json", APP)
    reader = SettingsReader(root)
    before = reader.current()
    away = folder.with_name("away")
    folder.rename(away)
    assert reader.current() == before
    folder.mkdir()
    assert reader.current() == before
    folder.rmdir()
    away.rename(folder)
    write(folder, "app.json", {})
    assert reader.current().new_file_folder == ""


@pytest.mark.parametrize(
    ("name", "value", "why"),
    [
        ("app.json", "", "app.json is empty"),
        ("app.json", "{", "app.json is not valid JSON"),
        ("app.json", [], "app.json does not contain an object"),
        ("app.json", {"userIgnoreFilters": "Diary/"}, "'userIgnoreFilters' is not a list"),
        ("app.json", {"userIgnoreFilters": ["Diary/", 7]}, "'userIgnoreFilters'"),
        ("app.json", {"userIgnoreFilters": ["/(a+)+/"]}, "'/(a+)+/' is not used"),
        ("app.json", {"userIgnoreFilters": [f"f{number}/" for number in range(1001)]}, "only the first"),
        ("app.json", {"userIgnoreFilters": ["Diary/"]}, ""),
        ("app.json", {"newLinkFormat": "longest"}, ""),
        ("types.json", "{", ""),
    ],
)
def test_it_says_whether_the_excluded_files_are_known(
    root: VaultFolder, folder: Path, name: str, value: Any, why: str
) -> None:
    write(folder, name, value)
    unknown = SettingsReader(root).current().exclusions_unknown
    assert why in unknown if why else unknown == ""


def test_bookmarks_are_a_flat_list_with_their_groups(root: VaultFolder, folder: Path) -> None:
    items = [
        {"type": "file", "path": "a.md", "subpath": "#H", "title": "A"},
        {
            "type": "group",
            "title": "Work",
            "items": [
                {"type": "search", "query": "tag:#x"},
                {"type": "group", "title": "Deep", "items": [{"type": "folder", "path": "F"}]},
            ],
        },
        {"type": "url", "url": "https://example.org", "title": "Web"},
        "nonsense",
    ]
    write(folder, "bookmarks.json", {"items": items})
    assert SettingsReader(root).current().bookmarks == (
        Bookmark("file", "a.md", "A", "#H", ()),
        Bookmark("search", "tag:#x", "", "", ("Work",)),
        Bookmark("folder", "F", "", "", ("Work", "Deep")),
        Bookmark("url", "https://example.org", "Web", "", ()),
    )


def test_settings_are_read_again_only_when_a_file_changed(root: VaultFolder, folder: Path) -> None:
    reader = SettingsReader(root)
    write(folder, "app.json", {"trashOption": "local"})
    first = reader.current()
    assert reader.current() is first
    write(folder, "app.json", {"trashOption": "none"})
    os.utime(folder / ".obsidian" / "app.json", ns=(1, 1))
    assert reader.current().trash_option == "none"
    (folder / ".obsidian" / "app.json").unlink()
    assert reader.current().trash_option == "system"


def test_a_byte_order_mark_does_not_break_a_settings_file(root: VaultFolder, folder: Path) -> None:
    write(folder, "app.json", "\ufeff" + json.dumps({"trashOption": "none"}))
    assert SettingsReader(root).current().trash_option == "none"


def test_settings_are_never_waited_for(root: VaultFolder, folder: Path) -> None:
    """A vault may come from anywhere, with a link to a device or a pipe in the place of a file."""
    settings = folder / ".obsidian"
    settings.mkdir()
    (settings / "app.json").symlink_to("/dev/zero")
    assert SettingsReader(root).current().problems == ("app.json cannot be read: it is not an ordinary file",)
    os.mkfifo(settings / "workspace.json")
    os.mkfifo(settings / "bookmarks.json")
    (settings / "types.json").symlink_to("/dev/stdin")
    (settings / "templates.json").mkdir()
    assert len(SettingsReader(root).current().problems) == 4
    assert read_workspace(root).problem == "workspace.json cannot be read: it is not an ordinary file"
