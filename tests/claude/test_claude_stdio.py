"""The real Claude Code in print mode with `vaultbridge stdio` as its MCP server.

Opt-in like its neighbour: set VAULTBRIDGE_TEST_CLAUDE=1. The model is a stand-in on loopback that calls the
tool a prompt names; nothing leaves the machine.
"""

from __future__ import annotations

import json
import os
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import pytest

from claude.mock_api import MockModel
from claude.print_mode import ask
from support.vault import copy_sample_vault
from vaultbridge.tools.standard import standard_catalog

pytestmark = [
    pytest.mark.claude,
    pytest.mark.timeout(300),
    pytest.mark.skipif(
        os.environ.get("VAULTBRIDGE_TEST_CLAUDE") != "1", reason="opt-in: set VAULTBRIDGE_TEST_CLAUDE=1"
    ),
]


class CallingModel(MockModel):
    """`CALL <tool> <json>` in a prompt makes it call that tool of the vault, if it is offered."""

    def _reply(self, body: dict[str, Any]) -> dict[str, Any]:
        usual = super()._reply(body)
        if usual["text"] != "Understood.":
            return usual
        words = json.dumps(body["messages"], ensure_ascii=False)
        offered = {tool.get("name") for tool in body.get("tools", [])}
        for name in offered:
            if f"CALL {name}" in words:
                given = words.split(f"CALL {name} ", 1)[1].replace('\\"', '"')
                arguments, _ = json.JSONDecoder().raw_decode(given)
                return {
                    "type": "tool_use",
                    "id": f"toolu_{len(self.asked)}",
                    "name": name,
                    "input": arguments,
                }
        return usual

    def results(self) -> list[str]:
        """What the client sent back of tools."""
        blocks = [
            block
            for body in self.asked
            for message in body["messages"]
            if isinstance(message["content"], list)
            for block in message["content"]
        ]
        return [
            json.dumps(block, ensure_ascii=False) for block in blocks if block.get("type") == "tool_result"
        ]


@pytest.fixture
async def model() -> AsyncIterator[CallingModel]:
    model = CallingModel()
    await model.start()
    yield model
    await model.stop()


async def test_the_client_offers_every_tool_to_its_model_and_reads_a_note(
    tmp_path: Path, model: CallingModel
) -> None:
    copy_sample_vault(tmp_path)
    answer = await ask(tmp_path, model, 'CALL mcp__vault__obsidian_read_note {"name": "Home"}')
    assert answer["result"] == "The tool has answered."
    assert any("Nightjar Hill" in result for result in model.results())
    offered = {tool["name"] for tool in model.asked[0]["tools"]}
    every = {f"mcp__vault__{name}" for name in standard_catalog().names()}
    assert every <= offered
    assert model.has_seen("An Obsidian vault: Markdown notes joined by [[wikilinks]].")


async def test_the_client_creates_a_note_and_gets_the_error_of_a_wrong_call(
    tmp_path: Path, model: CallingModel
) -> None:
    vault = copy_sample_vault(tmp_path)
    call = 'CALL mcp__vault__obsidian_create_note {"name": "Garden/By Claude", "content": "made"}'
    await ask(tmp_path, model, call)
    assert (vault / "Garden" / "By Claude.md").read_text() == "made"
    await ask(tmp_path, model, 'CALL mcp__vault__obsidian_read_note {"name": "Hom"}')
    assert any("No note named 'Hom'" in result and "Home.md" in result for result in model.results())
