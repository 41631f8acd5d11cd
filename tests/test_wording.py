"""What people read is English that a colleague would say aloud: phrases that were not stay away."""

from __future__ import annotations

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]

SAY = {
    "the same, as an option": "another way to name the view",
    "cannot ask you": "Can't prompt outside a terminal",
    "} has forgotten": 'Removed "work" from Cursor',
    "Nothing is related": "No related notes found",
    r"waits? for you\b(?! here)": "is waiting for your review",
    "Nothing is waiting": "No changes to review",
    "No change is waiting": "No changes to review",
    "Nothing has been decided": "No reviewed changes yet",
    r"[>']Decided[<']": "Reviewed",
    "has done nothing|'did nothing": "No activity yet",
    "Notes not written yet": "Unresolved links",
    "Plain words<": "Smart search",
    "Exact query": "Obsidian syntax",
    "Obsidian knows no": "No vault found here or in Obsidian",
    "No vault was named": "No vault found here or in Obsidian",
    r"not a text\b(?! file| to)": "not a text file",
    "exclude each other": "cannot be combined",
    "would be it": "it would be",
    "There are: ": "Choose one of:",
    r"is not possible; write": "give",
    "cannot be read so": "is not valid in this syntax",
    "What it says:": "Its log:",
    "Without any, it is": "By default it is",
    r"(vault|folder|program)\b[^.]{0,40} is not there\"": "is missing",
}
"""What not to write (a regular expression), and what to say instead."""

SOURCES = (("src/vaultbridge", "*.py"), ("src/vaultbridge/companion", "*.js"), ("web/src", "*.t*"))

FILES = [file for folder, kinds in SOURCES for file in sorted((ROOT / folder).rglob(kinds))]
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

COMMENT = re.compile(r"^\s*(?:#|//|\*)")


def test_nobody_is_told_what_a_colleague_would_not_say() -> None:
    assert len(FILES) > 400
    found = []
    for file in (*FILES, *PAGES):
        for number, line in enumerate(file.read_text("utf-8").splitlines(), 1):
            if not COMMENT.match(line) or file in PAGES:
                found += [
                    f"{file.relative_to(ROOT)}:{number}: instead of {phrase!r}: {say}"
                    for phrase, say in SAY.items()
                    if re.search(phrase, line)
                ]
    assert not found
