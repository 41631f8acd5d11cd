"""English words near in meaning to others, for questions that have other words than the notes.

Unlike `synonyms`, these are many and were chosen by a machine, so they count least of all. The list
(`words/neighbours.txt.gz`) was distilled once, offline, by `benchmarks/distil_neighbours.py`, which says from
what; nothing but this list is needed at run time."""

from __future__ import annotations

import gzip
from bisect import bisect_left
from functools import lru_cache
from pathlib import Path
from typing import Final

_FILE: Final = Path(__file__).with_name("words") / "neighbours.txt.gz"


@lru_cache(1)
def _load_lines() -> list[str]:
    """Returns the lines of the list, in order: as a dictionary it would take three times the memory."""
    return gzip.decompress(_FILE.read_bytes()).decode("ascii").splitlines()


def find_neighbours(stem: str) -> list[str]:
    """Returns the words nearest in meaning to the English words with a stem, nearest first."""
    lines = _load_lines()
    place = bisect_left(lines, f"{stem} ")
    first, *others = lines[place].split() if place < len(lines) else [""]
    return others if first == stem else []
