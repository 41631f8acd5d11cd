"""Every command line that the documents show is run, as it stands, in a home that has what it names."""

from __future__ import annotations

import re
import shutil
from pathlib import Path

import pytest

from cli.documented import make_home, run_lines
from support.background import ending_bridges

ROOT = Path(__file__).parents[2]
DOCUMENTS = [ROOT / "README.md", *sorted((ROOT / "docs").glob("*.md"))]

LINE = re.compile(r"^(?: {4})?((?:vaultbridge [a-z]|curl )(?:\\\n|[^\n])*)$", re.MULTILINE)
"""Indented or in a fence; a line that ends in a backslash goes on."""

STAYS = re.compile(r"vaultbridge (serve|stdio|bridge)\b|vaultbridge init$|--watch|localhost:8080")
"""They run until they are ended, ask a person, or want a server of somebody else's; tests of their own hold
them."""


def find_command_lines() -> list[str]:
    found: dict[str, None] = {}
    for document in DOCUMENTS:
        for line in LINE.findall(document.read_text("utf-8")):
            # What stands three spaces behind a command is a remark.
            shown = re.split(r" {3,}", re.sub(r"\\\n *", "", line))[0].strip()
            if not STAYS.search(shown) or shown.startswith('vaultbridge call "vaultbridge stdio'):
                found[shown] = None
    return list(found)


LINES = find_command_lines()


def test_the_documents_show_command_lines() -> None:
    assert len(LINES) >= 20 and any("connect cursor" in line for line in LINES)


@pytest.mark.long
@pytest.mark.skipif(not (shutil.which("bash") and shutil.which("curl")), reason="the lines use both")
async def test_every_command_line_of_the_documents_works(tmp_path: Path) -> None:
    home = tmp_path / "home"
    vault = make_home(home)
    with ending_bridges(home / "cache"):
        failed = await run_lines(home, vault, LINES)
    assert not failed
