"""A journal that is damaged, gone, old or newer: what can be read of it stays, and the rest is told."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from vaultbridge.errors import EngineFailure, InvalidArgument
from vaultbridge.vault.paths import Root, vault_path
from vaultbridge.vault.write.journal import make_image
from vaultbridge.vault.write.journal_rows import JournalEntry
from vaultbridge.vault.write.steps import MoveFile, WriteFile, Written
from vaultbridge.vault.write.transaction import Transactor
from vaultbridge.vault.write.trash import Trash

P = vault_path
CHANGES = 60
FLIPS = 150
"""How many bytes of each part of the file are flipped: with those of all parts, some seconds."""


class Made:
    """A journal of many changes, and the vault that they made, to be damaged again and again."""

    def __init__(self, place: Path) -> None:
        self.base = place / "made"
        self.trash = Trash({"HOME": str(place)}, platform="linux")
        self.place = place
        (self.base / "vault").mkdir(parents=True)
        (self.base / "state").mkdir()
        transactor = self.open(self.base)
        # Every note has its own text, so that a wrong one would be seen.
        for number in range(CHANGES):
            name = P(f"N{number % 20}.md")
            transactor.apply(
                [WriteFile(name, f"{number} of {name}\n".encode() * (1 + number * 9 % 200))],
                actor="mcp:test",
                label=f"change {number}",
            )
        transactor.apply([MoveFile(P("N7.md"), P("Moved.md"))], actor="mcp:test", label="move")
        self.entries = {entry.id: entry for entry in transactor.journal.history(limit=500)}
        transactor.close()
        self.last = max(self.entries)
        self.rounds = 0

    def open(self, base: Path) -> Transactor:
        return Transactor(Root(base / "vault"), base / "state", trash=self.trash)

    @property
    def file(self) -> Path:
        return self.base / "state" / "journal.sqlite"

    def copy(self) -> Path:
        """Where it was, because the journal knows exact places."""
        self.rounds += 1
        kept = self.place / "kept"
        if not kept.exists():
            shutil.copytree(self.base, kept)
        shutil.rmtree(self.base)
        shutil.copytree(kept, self.base)
        return self.base


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> Made:
    return Made(tmp_path_factory.mktemp("journal"))


def same(entry: JournalEntry, known: JournalEntry) -> bool:
    """Whether it is the same change, whether or not its content was lost."""
    return (entry.id, entry.at, entry.label, entry.acts) == (known.id, known.at, known.label, known.acts)


def check_promises(made: Made, base: Path) -> str:
    """Whatever happened to the journal: what is missing is told, no number is given twice, and undoing gives
    the text that was there, or an error."""
    transactor = made.open(base)
    journal = transactor.journal
    try:
        shown = {entry.id: entry for entry in journal.history(limit=500)}
        for number, entry in shown.items():
            assert number in made.entries and same(entry, made.entries[number])
        missing = sorted(set(made.entries) - set(shown))
        if missing:
            assert journal.list_notices(), f"{missing} are missing, and nobody says so"
        for number in missing:
            with pytest.raises(InvalidArgument, match="was lost"):
                journal.entry(number)
        for number in (made.last, 55, 41):
            if number not in shown:
                continue
            try:
                transactor.undo(number, actor="cli")
            except EngineFailure:
                continue
            # Only what that change did is undone.
            act = made.entries[number].acts[0]
            if isinstance(act, Written):
                assert act.before is not None
                assert make_image((base / "vault" / act.path).read_bytes()) == act.before
            else:
                assert (base / "vault" / "N7.md").exists()
        new = transactor.apply([WriteFile(P("new.md"), b"new")], actor="cli", label="new").id
        assert new > made.last
        assert journal.history(limit=1)[0].id == new
        return " ".join(journal.list_notices())
    finally:
        transactor.close()


def draw_places(size: int) -> Iterator[int]:
    """All of the header, and places in all pages."""
    drawn = random.Random(23)
    yield from range(0, 100, 3)
    yield from sorted(drawn.sample(range(100, size), FLIPS))


def test_one_flipped_byte_never_loses_the_history_silently(made: Made) -> None:
    told = 0
    for at in draw_places(made.file.stat().st_size):
        base = made.copy()
        data = bytearray(made.file.read_bytes())
        if at in (18, 19):
            # They say which SQLite may write the file: for a later one it is forbidden, not damaged.
            continue
        data[at] ^= 1 << at % 8
        made.file.write_bytes(data)
        transactor = made.open(base)
        newer = "newer" in transactor.journal.find_problem()
        transactor.close()
        if newer:
            # One byte makes it a later version's, which only refusing is safe for.
            assert 60 <= at < 64
            continue
        told += bool(check_promises(made, base))
    assert told > 10, "the draw has met what SQLite and the hashes notice"
