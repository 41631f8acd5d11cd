"""What the vault's `.obsidian` folder says, with Obsidian's defaults where it says nothing.

Read only: unknown keys survive because nothing is written. A file that is broken or has a value of the
wrong kind counts as absent there, and the problem is reported; the vault stays usable.
"""

from __future__ import annotations

import re
from typing import Any, Final, Literal

import msgspec
from msgspec import Struct

from vaultbridge.limits import MIB
from vaultbridge.vault.paths import CONFIG_FOLDER, Root, VaultPath, folder_of, join, vault_folder
from vaultbridge.vault.read import Signature
from vaultbridge.vault.steps import TrashOption

SETTINGS_BYTES: Final = 8 * MIB
"""The largest settings file that is read: bookmarks of a large vault stay far below."""

FILTER_CHARS: Final = 500
"""The longest ignore filter: a person types it."""

BOOKMARK_DEPTH: Final = 32
"""The deepest nesting of bookmark groups that is followed."""

Period = Literal["daily", "weekly", "monthly", "quarterly", "yearly"]
LinkFormat = Literal["shortest", "relative", "absolute"]

PERIOD_FORMATS: Final[dict[Period, str]] = {
    "daily": "YYYY-MM-DD",
    "weekly": "gggg-[W]ww",
    "monthly": "YYYY-MM",
    "quarterly": "YYYY-[Q]Q",
    "yearly": "YYYY",
}
_PERIODIC_PLUGIN: Final = "periodic-notes"


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
    ignore_filters: tuple[str, ...] = ()
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
    from vaultbridge.errors import InvalidPath

    try:
        return vault_folder(text)
    except InvalidPath:
        return VaultPath("")
