"""docs/glossary.md names things that exist, where it says they are."""

from __future__ import annotations

import io
import re
import tokenize
from pathlib import Path

ROOT = Path(__file__).parents[1]
ROWS = re.findall(
    r"^\| (?:`(\w+)`|\*\w+\*) \| (?:`([\w.]+)`)? ?\|",
    (ROOT / "docs/glossary.md").read_text("utf-8"),
    re.MULTILINE,
)


def is_defined(word: str, module: str) -> bool:
    file = ROOT / "src" / "vaultbridge" / Path(*module.split("."))
    source = file / "__init__.py" if file.is_dir() else file.with_suffix(".py")
    if not word or not source.exists():
        return source.exists()
    definition = rf"^(?:class {word}\b|{word}\b.* = )"
    return re.search(definition, source.read_text("utf-8"), re.MULTILINE) is not None


def test_a_word_is_where_the_glossary_says() -> None:
    assert not [(word, module) for word, module in ROWS if module and not is_defined(word, module)]


def test_every_row_is_read() -> None:
    assert len(ROWS) > 30


RETIRED = {
    "bench": "VaultContext",
    "desk": "EditorHub",
    "door": "WebSocketEndpoint",
    "keeper": "IndexLeader",
    "outlet": "MessageSink",
    "seat": "AssistantSession",
    "settlement": "failure reports",
    "surroundings": "environ",
    "told": "announced, reported, or what it is",
    "workshop": "ToolContext",
}
"""Words that were names here once, and the word that the field has for the same."""

NAMED_FILES = sorted({*(ROOT / "src").rglob("*.py"), *(ROOT / "tests").rglob("*.py")})


def test_no_name_uses_a_retired_word() -> None:
    """Names in code only: a sentence may well speak of a door."""
    found = []
    for file in NAMED_FILES:
        for token in tokenize.generate_tokens(io.StringIO(file.read_text("utf-8")).readline):
            if token.type == tokenize.NAME and not token.string.startswith("test_"):
                for word in re.findall(r"[A-Z]?[a-z]+|[A-Z]+", token.string):
                    if word.lower() in RETIRED:
                        place = f"{file.relative_to(ROOT)}:{token.start[0]}"
                        found.append(f"{place}: {token.string}; say {RETIRED[word.lower()]}")
    assert not found
