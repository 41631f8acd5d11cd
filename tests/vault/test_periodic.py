"""`vaultbridge.vault.dates`: docs/obsidian.md 9, which note is a day's."""

from __future__ import annotations

from datetime import date

import pytest

from vaultbridge.errors import InvalidPath
from vaultbridge.vault.dates import periodic_path
from vaultbridge.vault.settings import Period, PeriodicNotes, VaultSettings

DAY = date(2024, 3, 5)


def make_daily(folder: str, fmt: str) -> VaultSettings:
    return VaultSettings(
        periodic={"daily": PeriodicNotes(enabled=True, folder=folder, format=fmt, template="")}
    )


@pytest.mark.parametrize(
    ("period", "path"),
    [
        ("daily", "2024-03-05.md"),
        ("weekly", "2024-W10.md"),
        ("monthly", "2024-03.md"),
        ("quarterly", "2024-Q1.md"),
        ("yearly", "2024.md"),
    ],
)
def test_without_settings_the_defaults_name_the_note(period: Period, path: str) -> None:
    assert periodic_path(period, DAY, VaultSettings()) == path


@pytest.mark.parametrize(
    ("folder", "fmt", "path"),
    [
        ("Daily", "YYYY-MM-DD", "Daily/2024-03-05.md"),
        ("", "YYYY/MM-MMMM/YYYY-MM-DD", "2024/03-March/2024-03-05.md"),
        ("A/B", "[Day] D", "A/B/Day 5.md"),
        ("", "/YYYY/", "2024.md"),
    ],
)
def test_folder_and_format_make_the_path(folder: str, fmt: str, path: str) -> None:
    assert periodic_path("daily", DAY, make_daily(folder, fmt)) == path


@pytest.mark.parametrize("fmt", ["HH:mm", "[..]/YYYY", "YYYY#MM", "[.hidden]"])
def test_a_format_that_gives_an_invalid_name_is_refused(fmt: str) -> None:
    with pytest.raises(InvalidPath):
        periodic_path("daily", DAY, make_daily("", fmt))
