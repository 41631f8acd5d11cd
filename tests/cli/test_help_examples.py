"""Every example that a command's `--help` prints is run, as it stands, in a vault that has what it names."""

from __future__ import annotations

import contextlib
import importlib
import io
import json
import re
import shutil
from datetime import date, timedelta
from pathlib import Path

import pytest

from cli.documented import make_home, run_lines
from support.background import ending_bridges
from support.files import write_vault
from vaultbridge.cli.commands import COMMANDS, find_command

STAYS = re.compile(r"--watch|localhost:8080")
"""They watch until they are ended, or want a server of somebody else's; tests of their own hold them."""

NOTES = {
    "Moth garden": "# Moth garden\n\nMoths at night like evening primrose and honeysuckle.\n",
    "Moth list": "Moths at night, counted beside the honeysuckle.\n",
    "Evening primrose": "Evening primrose feeds moths at night.\n",
    "Honeysuckle": "Honeysuckle, for moths at night: see the moth garden.\n",
    "Roof": "The roof needs slates.\n",
    "Log": "",
    "Inbox": "# Inbox\n\nWhat came in\n\n## Today\n\n\n\n\n\n\n- [ ] call back\n",
    "Plan": "---\nstatus: idle\ndraft: true\n---\n",
    "Templates/Project": "---\nstatus: idea\n---\n# {{title}}\n",
    "Projects/Balcony plan": "- [ ] buy boards 📅 2026-11-01\n",
}


def print_help(command: str) -> str:
    printed = io.StringIO()
    module, function = find_command(command)
    with contextlib.redirect_stdout(printed), contextlib.suppress(SystemExit):
        getattr(importlib.import_module(module), function)(["--help"])
    return printed.getvalue()


def list_examples() -> list[str]:
    found = []
    for command in COMMANDS:
        for block in re.findall(r"^examples:\n((?:  .*\n?)+)", print_help(command), re.MULTILINE):
            # What stands two spaces behind an example is a remark, and so is a parenthesis at its end.
            found += [re.split(r" {2,}| {3}\(", line.strip())[0] for line in block.splitlines()]
    return found


def find_turn(line: str) -> int:
    """What is shared needs a service, and after a pause nothing can be called."""
    return 0 if "service install ~" in line else 2 if "vaultbridge pause" in line else 1


EXAMPLES = sorted((line for line in list_examples() if not STAYS.search(line)), key=find_turn)


def test_the_help_of_most_commands_that_write_has_examples() -> None:
    assert len(EXAMPLES) >= 30
    assert {"append", "connect", "daily", "edit", "new", "related", "set", "tasks"} <= {
        line.partition("vaultbridge ")[2].split()[0] for line in EXAMPLES
    }


@pytest.mark.long
@pytest.mark.skipif(shutil.which("bash") is None, reason="the lines use it")
async def test_every_example_works(tmp_path: Path) -> None:
    home = tmp_path / "home"
    vault = make_home(home)
    write_vault(vault, {f"{name}.md": text for name, text in NOTES.items()})
    # Whatever day it is when the examples are run.
    days = [date.today() + timedelta(days) for days in range(-1, 3)]
    write_vault(vault, {f"{day}.md": "It rained.\n" for day in days})
    write_vault(vault, {".obsidian/templates.json": json.dumps({"folder": "Templates"})})
    write_vault(vault / "Work", {"minutes.md": "# Minutes\n", "batch.json": "[]"})
    operation = {"op": "append", "note": "Inbox", "content": "- [ ] one more"}
    (vault / "Work" / "batch.json").write_text(json.dumps([operation]), "utf-8")
    with ending_bridges(home / "cache"):
        failed = await run_lines(home, vault, EXAMPLES, assistant="claude-ai")
    assert not failed
