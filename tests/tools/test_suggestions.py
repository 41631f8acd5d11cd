"""A call of an unknown tool gets a suggestion, and a call that wants to read never a destructive one."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.tools import Small
from support.vault import VaultProcess, make_small_vault, vault_wire
from vaultbridge.errors import InvalidArgument
from vaultbridge.protocols.bridge_v1.endpoints import BridgeV1
from vaultbridge.protocols.http.failures import HttpFailure
from vaultbridge.tools.standard import STANDARD_TOOLS
from vaultbridge.tools.suggestions import CHANGED_BY, FOREIGN_TOOLS, find_tool, is_harmless, suggest_tool

TOOLS = {f"obsidian_{tool.name}": tool.effect != "changes" for tool in STANDARD_TOOLS}
BARE = {tool.name: tool.effect != "changes" for tool in STANDARD_TOOLS}
DESTROYING = {name for name, harmless in TOOLS.items() if not harmless}


@pytest.mark.parametrize(
    ("name", "ours"),
    [
        ("obsidian_get_file_contents", "read_note"),
        ("obsidian_list_files_in_vault", "list_files"),
        ("obsidian_list_files_in_dir", "list_files"),
        ("obsidian_simple_search", "search"),
        ("obsidian_complex_search", "search"),
        ("obsidian_patch_content", "edit_note"),
        ("obsidian_append_content", "edit_note"),
        ("obsidian_put_content", "create_note"),
        ("obsidian_delete_file", "delete_note"),
        ("obsidian_batch_get_file_contents", "read_note"),
        ("obsidian_get_periodic_note", "daily_note"),
        ("obsidian_get_recent_changes", "list_files"),
        ("mcp__obsidian__obsidian_get_file_contents", "read_note"),
        ("obsidian_global_search", "search"),
        ("obsidian_search_replace", "edit_note"),
        ("obsidian_manage_frontmatter", "edit_note"),
        ("get_frontmatter", "properties"),
        ("list_all_tags", "tags"),
        ("read-note", "read_note"),
        ("write_note", "create_note"),
        ("search-vault", "search"),
        ("recent_activity", "list_files"),
        ("get_active_file", "active"),
        ("fetch", "read_note"),
        ("obsidian_raed_note", "read_note"),
        ("delet_note", "delete_note"),
        ("ask", "context"),
        ("build_context", "context"),
        ("find_similar", "related"),
    ],
)
def test_the_names_of_other_servers_lead_to_ours(name: str, ours: str) -> None:
    assert find_tool(name, TOOLS)[0] == f"obsidian_{ours}"
    assert find_tool(name, BARE)[0] == ours


def test_a_suggestion_names_the_arguments() -> None:
    assert suggest_tool("obsidian_get_file_contents", TOOLS) == (
        "Use obsidian_read_note with the file's path as name."
    )
    assert suggest_tool("Obsidian-Read-Note", TOOLS) == "Did you mean obsidian_read_note?"
    assert suggest_tool("make_coffee", TOOLS) == ""
    assert suggest_tool("get_file_contents", {"test_echo": True}) == ""


def test_every_foreign_name_leads_to_exactly_one_existing_tool() -> None:
    names = [name for _, _, listed in FOREIGN_TOOLS for name in listed.split()]
    assert len(set(names)) == len(names)
    assert {ours for ours, _, _ in FOREIGN_TOOLS} <= set(BARE)
    reading = ("get", "read", "list", "search", "find", "show", "view", "query", "browse")
    for ours, _, listed in FOREIGN_TOOLS:
        for name in listed.split():
            if name.split("_")[0] in reading and name not in ("search_replace", "search_and_replace"):
                assert BARE[ours], name


words = st.sampled_from(
    [
        "get",
        "read",
        "list",
        "search",
        "find",
        "show",
        "view",
        "fetch",
        "note",
        "file",
        "vault",
        "content",
        "contents",
        "notes",
        "all",
        "recent",
        "tags",
        "delete",
        "obsidian",
        "mcp",
        "data",
        "text",
        "by",
        "name",
        "page",
    ]
)


@given(st.lists(words, min_size=1, max_size=5).map("_".join) | st.text(max_size=40))
def test_only_a_destructive_name_leads_to_a_destructive_tool(name: str) -> None:
    found, _ = find_tool(name, TOOLS)
    if found in DESTROYING:
        verb = found.removeprefix("obsidian_").split("_")[0]
        assert verb[:4] in name.lower() or any(name.endswith(word) for word in ("batch", "undo"))


def test_a_tool_without_hints_is_judged_by_its_name() -> None:
    assert is_harmless("read_note", reads=None, destroys=None)
    assert not is_harmless("delete_note", reads=None, destroys=None)
    assert not is_harmless("look", reads=False, destroys=True)
    assert is_harmless("delete_note", reads=True, destroys=None)


async def test_a_foreign_name_is_answered_with_ours_over_stdio_and_bridge_v1(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "a"})
    async with VaultProcess(tmp_path, str(vault)) as process:
        await process.begin()
        call = {"name": "obsidian_get_file_contents", "arguments": {"filepath": "A.md"}}
        message = (await process.ask("tools/call", call))["error"]["message"]
        assert "Use obsidian_read_note with" in message
        assert "delete" not in message
    async with vault_wire(tmp_path, vault) as wire:
        with pytest.raises(HttpFailure) as caught:
            await BridgeV1(wire.server).call("obsidian_get_file_contents", b'{"arguments":{}}')
        assert caught.value.details == "Use read_note with the file's path as name."


def test_a_reading_tool_names_the_tool_that_changes(small: Small) -> None:
    harness = small({"A.md": "a"})
    for tool in ("tags", "properties", "tasks", "template", "daily_note", "canvas", "attachment", "history"):
        arguments = {"name": "A", "action": "add"} if tool in ("canvas", "attachment") else {"action": "add"}
        assert f"{tool} only reads; " in str(harness.catch_refusal(InvalidArgument, tool, **arguments))
    assert set(CHANGED_BY) < set(BARE)
