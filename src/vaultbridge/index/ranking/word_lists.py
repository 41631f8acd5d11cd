"""Loads the lists of words that ranking uses, from `words/`, when they are first needed.

A file has sections, such as `[german]`; the module that reads it knows what they contain. A line with a # is
a comment."""

from __future__ import annotations

import re
from functools import lru_cache
from pathlib import Path
from typing import Final

SHARED_LETTERS: Final = 3
"""How many first letters words with the same stem share, so that few stems need to be compared."""

_FOLDER: Final = Path(__file__).with_name("words")
_SECTION: Final = re.compile(r"^\[(\w+)\]$", re.MULTILINE)
_COMMENT: Final = re.compile(r"^#.*$", re.MULTILINE)


@lru_cache
def load_word_lists(name: str) -> dict[str, str]:
    """Returns the text of each section of a file."""
    text = _COMMENT.sub("", (_FOLDER / f"{name}.txt").read_text("utf-8"))
    _, *parts = _SECTION.split(text)
    return dict(zip(parts[::2], parts[1::2], strict=True))
