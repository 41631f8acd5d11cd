"""The real Claude Code with its tools deferred: its model sees names only, and searches for what it needs.

Opt-in like its neighbours: set VAULTBRIDGE_TEST_CLAUDE=1. The model is a stand-in on loopback that sends the
search of each request; which tools are found is decided by the client."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest

from claude.mock_api import MockModel
from claude.print_mode import ask
from support.tool_search import ASKED
from support.vault import copy_sample_vault

pytestmark = [
    pytest.mark.claude,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        os.environ.get("VAULTBRIDGE_TEST_CLAUDE") != "1", reason="opt-in: set VAULTBRIDGE_TEST_CLAUDE=1"
    ),
]

SHOWN = 5
"""How many tools the client's search gives by default."""


class SearchingModel(MockModel):
    """Sends one search after the other, and keeps the tools that the client found for each."""

    def __init__(self, questions: list[str]) -> None:
        super().__init__()
        self._waiting = list(questions)
        self._sent: dict[str, str] = {}

    def _reply(self, body: dict[str, Any]) -> dict[str, Any]:
        offered = {tool.get("name") for tool in body.get("tools", [])}
        if not self._waiting or "ToolSearch" not in offered:
            return {"type": "text", "text": "Understood."}
        number = f"toolu_{len(self.asked)}"
        self._sent[number] = self._waiting.pop(0)
        search = {"query": self._sent[number], "max_results": SHOWN}
        return {"type": "tool_use", "id": number, "name": "ToolSearch", "input": search}

    def found(self) -> dict[str, list[str]]:
        """The tools that were found for each question, as far as they are of the vault."""
        answers: dict[str, list[str]] = {}
        for message in self.asked[-1]["messages"]:
            for block in message["content"] if isinstance(message["content"], list) else ():
                if block.get("type") == "tool_result" and isinstance(block["content"], list):
                    names = [part.get("tool_name", "") for part in block["content"]]
                    answers[self._sent[block["tool_use_id"]]] = [
                        name.removeprefix("mcp__vault__obsidian_") for name in names
                    ]
        return answers


async def test_the_clients_search_finds_each_tool_by_users_words(tmp_path: Path) -> None:
    copy_sample_vault(tmp_path)
    model = SearchingModel(list(ASKED))
    await model.start()
    try:
        await ask(tmp_path, model, "hello", search=True)
    finally:
        await model.stop()
    found = model.found()
    assert {words: tool in found.get(words, ()) for words, tool in ASKED.items()} == dict.fromkeys(
        ASKED, True
    ), found
