"""What the vault's `.obsidian` folder says, as values with Obsidian's defaults, and the rules that follow
from them: where new notes and attachments go, what is ignored. Reading the files is `settings_read.py`'s.
"""

from __future__ import annotations

from typing import Final, Literal

from msgspec import Struct

from vaultbridge.errors import InvalidPath
from vaultbridge.links.rewrite import LinkFormat, LinkSettings
from vaultbridge.vault.ignore import IgnoreFilters
from vaultbridge.vault.paths import VaultPath, folder_of, join, vault_folder
from vaultbridge.vault.steps import TrashOption

Period = Literal["daily", "weekly", "monthly", "quarterly", "yearly"]

PERIOD_FORMATS: Final[dict[Period, str]] = {
    "daily": "YYYY-MM-DD",
    "weekly": "gggg-[W]ww",
    "monthly": "YYYY-MM",
    "quarterly": "YYYY-[Q]Q",
    "yearly": "YYYY",
}


class PeriodicNotes(Struct, frozen=True):
    """Where one kind of periodic note lies. `folder` is `""` for the vault's top; `template` may be empty."""

    enabled: bool
    folder: str
    format: str
    template: str


class Bookmark(Struct, frozen=True):
    """`group` holds the titles of the groups around it. `target` is a path, a query or an address."""

    kind: str
    target: str
    title: str
    subpath: str
    group: tuple[str, ...]


class VaultSettings(Struct, frozen=True, kw_only=True):
    new_link_format: LinkFormat = "shortest"
    use_markdown_links: bool = False
    always_update_links: bool = False
    attachment_folder: str = "/"
    new_file_location: Literal["root", "current", "folder"] = "root"
    new_file_folder: str = ""
    trash_option: TrashOption = "system"
    show_unsupported_files: bool = False
    periodic: dict[Period, PeriodicNotes] = {}
    template_folder: str = ""
    template_date_format: str = "YYYY-MM-DD"
    template_time_format: str = "HH:mm"
    property_types: dict[str, str] = {}
    """By the property's name in lower case."""
    bookmarks: tuple[Bookmark, ...] = ()
    community_plugins: tuple[str, ...] = ()
    core_plugins: dict[str, bool] = {}
    problems: tuple[str, ...] = ()
    ignoring: IgnoreFilters = IgnoreFilters(())

    @property
    def links(self) -> LinkSettings:
        """How new links are written."""
        return LinkSettings(self.new_link_format, self.use_markdown_links)

    def ignored(self, path: str) -> bool:
        """Whether the ignore filters hide a file from search, graph and tags (never from link resolution)."""
        return self.ignoring.match(path)

    def notes_of(self, period: Period) -> PeriodicNotes:
        """Where periodic notes of this kind lie, by Obsidian's defaults when nothing is set."""
        return self.periodic.get(period) or PeriodicNotes(
            enabled=False, folder="", format=PERIOD_FORMATS[period], template=""
        )

    def attachment_folder_for(self, note: VaultPath) -> VaultPath:
        """Where an attachment added to `note` goes."""
        setting = self.attachment_folder
        if setting.startswith("./"):
            inner = _folder(setting[2:])
            return join(folder_of(note), inner) if inner else folder_of(note)
        return _folder(setting)

    def new_note_folder(self, beside: VaultPath | None) -> VaultPath:
        """Where a note named without a folder goes; `beside` is the active note."""
        if self.new_file_location == "current" and beside is not None:
            return folder_of(beside)
        if self.new_file_location == "folder":
            return _folder(self.new_file_folder)
        return VaultPath("")


def _folder(text: str) -> VaultPath:
    """A folder as the settings name it; the vault's top when it is none that a vault can have."""
    try:
        return vault_folder(text)
    except InvalidPath:
        return VaultPath("")
