"""No tool answers from the empty folder that a missing disk leaves behind."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from support.changing_calls import EDITS, TOOLS
from support.tools import Small
from vaultbridge.errors import VaultNotFound
from vaultbridge.tools.base.tool import Tool
from vaultbridge.tools.standard import standard_catalog

FILES = {
    "A.md": "# Top\n\n- [ ] task\n",
    "C.canvas": "{}",
    "p.png": "x",
    "T/Day.md": "template\n",
    **{f"n{number}.md": f"note {number} [[A]]\n" for number in range(10)},
    ".obsidian/daily-notes.json": json.dumps({"folder": "Daily"}),
    ".obsidian/templates.json": json.dumps({"folder": "T"}),
}

READING: dict[str, list[dict[str, Any]]] = {
    "read_note": [{"name": "A"}, {"names": ["A", "n1"]}],
    "context": [{"question": "task"}],
    "search": [{"query": "task"}, {"query": "file:A"}],
    "list_files": [{}, {"kind": "folder"}],
    "properties": [{}, {"name": "A"}],
    "tags": [{}, {"name": "A"}],
    "links": [{"name": "A"}, {"kind": "orphans"}],
    "related": [{"name": "A"}, {"text": "task"}, {}],
    "tasks": [{}],
    "daily_note": [{}, {"action": "path"}],
    "template": [{}, {"template": "Day"}, {"template": "Day", "title": "x"}],
    "canvas": [{"name": "C"}],
    "base_query": [{"base": "views: []"}],
    "attachment": [{"name": "p.png"}, {"name": "p.png", "action": "info"}],
    "history": [{}, {"id": "1"}, {"name": "A"}],
    "vault_info": [{}, {"section": "settings"}, {"section": "problems"}],
    "active": [{}],
    "open": [{"name": "A"}],
}


def test_every_tool_has_its_calls_here() -> None:
    catalog = standard_catalog()
    tools = [catalog.get(name) for name in catalog.names(prefix="")]
    reading = {tool.name for tool in tools if isinstance(tool, Tool) and tool.effect == "reads"}
    assert set(READING) == reading
    assert EDITS


@pytest.mark.parametrize(
    ("tool", "arguments"),
    [(tool, arguments) for tool, calls in (READING | TOOLS).items() for arguments in calls],
    ids=lambda value: value if isinstance(value, str) else str(value)[:40],
)
def test_no_tool_answers_while_an_empty_folder_is_in_the_vaults_place(
    small: Small, tool: str, arguments: dict[str, Any]
) -> None:
    vault = small(FILES)
    vault.engine.index_sync.refresh()
    away = vault.folder.with_name("away")
    vault.folder.rename(away)
    vault.folder.mkdir()
    with pytest.raises(VaultNotFound, match="an empty folder is in its place"):
        vault.call(tool, **arguments)
    assert not list(vault.folder.iterdir())
    _put_back(vault.folder, away)
    assert vault.text("daily_note", action="path").startswith("Daily/")


def _put_back(folder: Path, away: Path) -> None:
    folder.rmdir()
    away.rename(folder)
