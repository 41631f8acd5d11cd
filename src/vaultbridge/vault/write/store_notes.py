"""What is known of the journal and of the proposals beside their databases: the last number that each gave,
and what was ever lost of them.

A database that is gone, damaged or an old copy cannot say which numbers it has given, and a number that is
given twice would let `undo` revert another change than the one that was meant. And whoever lists the history
must hear that a part of it is missing, until its owner has confirmed it.
"""

from __future__ import annotations

import os
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from vaultbridge.errors import JSON_ERRORS
from vaultbridge.system import read_private, write_private

LOSSES_KEPT: Final = 30
"""How many losses are remembered: more than the damaged journals that are kept."""

RANGES_KEPT: Final = 100
"""How many ranges of lost numbers one loss names; those between the last ones count as lost too. A disk loses
whole blocks, so a handful is usual."""

SKIPPED: Final = 1000
"""How many numbers are left out after a loss. The last number is not forced to the disk with each change, and
these are more than are given in the half minute that systems keep it in memory."""

_DIGITS: Final = 20


class Loss(Struct, frozen=True):
    """Something that a database does not have any more, for another reason than its age. `text` says for
    people what happened, `lost` has the first and last number of each range of changes, `kept` the name of
    the file with what was there before, "" if there is none."""

    at: float
    text: str
    lost: tuple[tuple[int, int], ...] = ()
    kept: str = ""
    confirmed: bool = False

    def covers(self, number: int) -> bool:
        return any(first <= number <= last for first, last in self.lost)


class StoreNotes:
    """Beside the database `place`; all databases of a vault share the list of losses. Any thread and process
    may use it; whoever adds a loss has the database to itself, or its lock. `second` is another folder for
    the last number: somebody may delete the first with all that is in it."""

    def __init__(self, place: Path, *, second: Path | None = None) -> None:
        folders = (place.parent,) if second is None else (place.parent, second)
        self._number_files = tuple(folder / f"{place.stem}.last" for folder in folders)
        self._losses_file = place.with_name("losses.json")
        self._last = 0

    def read_last(self) -> int:
        """The last number that was certainly given, 0 if none is known."""
        for file in self._number_files:
            try:
                number, check = file.read_text("ascii").split()
                if zlib.crc32(number.encode()) == int(check):
                    self._last = max(self._last, int(number))
            except (OSError, ValueError):
                pass
        return self._last

    @property
    def was_used(self) -> bool:
        """Whether there ever was a database; a damaged note of its numbers says so too."""
        return any(file.exists() for file in self._number_files)

    def remember_last(self, number: int) -> None:
        """Called when a change has ended, after its record is on the disk: so this is never ahead of a sound
        database. Written in place in one step, which outlives this process. Failing does no harm while the
        database is sound."""
        self._last = max(self._last, number)
        text = f"{self._last:0{_DIGITS}}"
        line = f"{text} {zlib.crc32(text.encode()):010}\n".encode()
        for file in self._number_files:
            try:
                handle = os.open(file, os.O_WRONLY | os.O_CREAT, 0o600)
                try:
                    os.write(handle, line)
                finally:
                    os.close(handle)
            except OSError:
                pass

    def list_losses(self) -> tuple[Loss, ...]:
        data = read_private(self._losses_file)
        try:
            return () if data is None else msgspec.json.decode(data, type=tuple[Loss, ...])
        except JSON_ERRORS:
            return (Loss(0.0, "The record of what the journal lost earlier can no longer be read."),)

    def add_loss(self, loss: Loss) -> None:
        """Stores it durably, in place of one that is about the same file: salvaging may be interrupted and
        begin again. Raises OSError."""
        others = [known for known in self.list_losses() if not loss.kept or known.kept != loss.kept]
        self._write((*others, loss)[-LOSSES_KEPT:])

    def confirm(self) -> None:
        """The owner knows: nothing more is said about it, except to who asks for a lost change. Raises
        OSError."""
        self._write(tuple(replace(loss, confirmed=True) for loss in self.list_losses()))

    def _write(self, losses: Iterable[Loss]) -> None:
        write_private(self._losses_file, msgspec.json.encode(tuple(losses)))


def make_ranges(numbers: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """Ascending numbers as ranges."""
    ranges: list[tuple[int, int]] = []
    for number in numbers:
        if ranges and (number == ranges[-1][1] + 1 or len(ranges) == RANGES_KEPT):
            ranges[-1] = (ranges[-1][0], number)
        else:
            ranges.append((number, number))
    return tuple(ranges)


def describe_ranges(ranges: Iterable[tuple[int, int]]) -> str:
    """For people: "7, 12 to 30"."""
    return ", ".join(str(first) if first == last else f"{first} to {last}" for first, last in ranges)
