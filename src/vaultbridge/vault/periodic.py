"""Which note is the daily, weekly, monthly, quarterly or yearly one of a date, and back. Pure."""

from __future__ import annotations

from datetime import date

from vaultbridge.links.resolve import name_key
from vaultbridge.vault.moment import ENGLISH_WEEK, Week, format_moment
from vaultbridge.vault.moment_read import parse_moment
from vaultbridge.vault.paths import VaultPath, is_under, new_vault_path
from vaultbridge.vault.settings import Period, VaultSettings


def periodic_path(
    period: Period, day: date, settings: VaultSettings, *, week: Week = ENGLISH_WEEK
) -> VaultPath:
    """The path of the note, whether it exists or not. A `/` in the format makes folders. Raises
    `InvalidPath` when the format gives a name that no note may have."""
    notes = settings.notes_of(period)
    name = format_moment(day, notes.format, week=week).strip("/ ")
    return new_vault_path(f"{notes.folder}/{name}.md")


def periodic_date(
    period: Period, path: VaultPath, settings: VaultSettings, *, week: Week = ENGLISH_WEEK
) -> date | None:
    """The (first) day that a periodic note is about; None for any other note."""
    notes = settings.notes_of(period)
    folder = name_key(notes.folder.strip("/"))
    if not name_key(path).endswith(".md") or not is_under(name_key(path), folder):
        return None
    name = path[len(folder) + 1 if folder else 0 : -3]
    return parse_moment(name, notes.format.strip("/ "), week=week)
