"""The text of all names finds what a loop over the names finds, also after names were replaced."""

from __future__ import annotations

import random
from collections import Counter
from itertools import islice

import pytest

from vaultbridge.index import name_text
from vaultbridge.index.fold import fold_text
from vaultbridge.index.name_text import AliasText, NameText

FOLDERS = ("", "ab/", "ab/c/", "ab c/", "Ab/", "b/", "äb/京/", "京/")
NAMES = ("a.md", "ab.md", "bc.md", "B c.md", "é.md", "京都.md", "c.b.a.md", "none", "bb.png")
WANTED = (
    "a",
    "b",
    "ab",
    "b/",
    "ab/",
    "b/a",
    "/ab",
    "c/b",
    " c/",
    "京/",
    "/京都",
    "ab/c/bc",
    "c.b",
    "\0a",
    "bc\nab",
    "",
)


def count_one_by_one(names: NameText, wanted: str) -> Counter[int]:
    width = 3 if len(wanted) > 5 else 2 if len(wanted) > 2 else 1
    counts: Counter[int] = Counter()
    for gram in {wanted[at : at + width] for at in range(len(wanted) - width + 1)}:
        containing = (line for line in range(len(names.names)) if gram in names.fold_name(line))
        counts.update(islice(containing, name_text.GRAM_HITS))
    return counts


@pytest.mark.parametrize("most", [2, 5, 2000])
@pytest.mark.parametrize("seed", range(40))
def test_groups_are_counted_as_by_a_loop_over_the_names(
    monkeypatch: pytest.MonkeyPatch, seed: int, most: int
) -> None:
    """The second limit ends within the names of one folder."""
    monkeypatch.setattr(name_text, "GRAM_HITS", most)
    draw = random.Random(seed)
    paths = sorted(draw.sample([folder + name for folder in FOLDERS for name in NAMES], draw.randint(0, 40)))
    names = NameText(paths)
    for wanted in map(fold_text, WANTED):
        assert names.count_shared_groups(wanted) == count_one_by_one(names, wanted)


def test_an_alias_is_in_no_folder() -> None:
    aliases = AliasText(["a/b", "a/c", "two\nlines"])
    assert [aliases.fold_name(line) for line in range(3)] == ["a/b", "a/c", "two lines"]
    assert aliases.count_shared_groups("a/b") == count_one_by_one(aliases, "a/b")
    assert aliases.count_shared_groups("o lin") == {2: 4}
