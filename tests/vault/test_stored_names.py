"""How a name is stored, on a disk that tells spellings apart."""

from __future__ import annotations

import os
import tempfile
import unicodedata
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st

from support.waiting import wait_until
from vaultbridge.links.resolve import name_key
from vaultbridge.vault.paths import VaultFolder
from vaultbridge.vault.stored_names import ANSWERS, StoredNames


def test_a_name_made_just_after_the_folder_was_listed_is_found(tmp_path: Path) -> None:
    """Times of files have steps, so a folder may change again without a new one."""
    root = VaultFolder(tmp_path)
    for number in range(300):
        asked = f"NOTE {number}.md"
        assert root.find_stored_name(str(tmp_path), asked) is None
        (tmp_path / f"Note {number}.md").touch()
        assert root.find_stored_name(str(tmp_path), asked) == f"Note {number}.md"
        if number % 3 == 0:
            (tmp_path / f"Note {number}.md").unlink()
            assert root.find_stored_name(str(tmp_path), asked) is None


def test_a_name_made_by_a_program_that_keeps_the_folders_time_is_found(tmp_path: Path) -> None:
    """rsync and tar give a folder the time that it has elsewhere, after they made files in it."""
    stored, old = StoredNames(), (1_600_000_000_000_000_001,) * 2
    folder = tmp_path / "Folder"
    folder.mkdir()
    os.utime(folder, ns=old)
    for number in range(20):
        wait_until(lambda: _is_kept(stored, str(folder)))
        (folder / f"Note {number}.md").touch()
        os.utime(folder, ns=old)
        assert stored.find_other_spelling(str(folder), f"NOTE {number}.md") == f"Note {number}.md"


def _is_kept(stored: StoredNames, folder: str) -> bool:
    return stored._list(folder) is stored._list(folder)


LETTERS = "aAkKıİsSſßẞé\u0301eÅ\u212bﬁfi\u212a漢ςσΣ"
NAMES = st.text(st.sampled_from(LETTERS), min_size=1, max_size=4)


@settings(max_examples=200, deadline=None)
@given(st.lists(NAMES, max_size=6), NAMES)
def test_a_name_is_found_in_every_spelling_that_is_compared_equal(names: list[str], wanted: str) -> None:
    with tempfile.TemporaryDirectory() as folder:
        for name in names:
            Path(folder, name).touch()
        found = StoredNames().find_other_spelling(folder, wanted)
        same = sorted(name for name in os.listdir(folder) if name_key(name) == name_key(wanted))  # noqa: PTH208
    exact = [name for name in same if unicodedata.normalize("NFC", name) == wanted]
    assert found == [*exact, *same, None][0]


def test_answers_about_a_folder_are_bounded(tmp_path: Path) -> None:
    stored = StoredNames()
    for number in range(ANSWERS + 10):
        stored.find_other_spelling(str(tmp_path), f"{number}")
    assert all(len(listing.found) <= ANSWERS for listing in stored._listings.values())
