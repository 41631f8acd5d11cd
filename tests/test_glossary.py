"""docs/glossary.md names things that exist, where it says they are."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
ROWS = re.findall(
    r"^\| (?:`(\w+)`|\*\w+\*) \| (?:`([\w.]+)`)? ?\|",
    (ROOT / "docs/glossary.md").read_text("utf-8"),
    re.MULTILINE,
)


@pytest.mark.parametrize(("word", "module"), [row for row in ROWS if row[1]], ids=lambda value: str(value))
def test_a_word_is_where_the_glossary_says(word: str, module: str) -> None:
    file = ROOT / "src" / "vaultbridge" / Path(*module.split("."))
    source = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
    text = source.read_text("utf-8")
    if word:
        assert re.search(rf"^(?:class {word}\b|{word}\b.* = )", text, re.MULTILINE)


def test_every_row_is_read() -> None:
    assert len(ROWS) > 30
