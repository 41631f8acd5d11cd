"""The instructions that a model gets with `initialize`."""

from __future__ import annotations

import re

import pytest

from vaultbridge.protocols.mcp.vault.listing import render_instructions
from vaultbridge.tools.base.tool import Profile
from vaultbridge.tools.standard import standard_catalog

SHORT = 1150
"""Characters, about 250 tokens: clients send it with every conversation."""


def test_the_instructions_explain_the_essentials_in_few_lines() -> None:
    text = render_instructions()
    for word in ("[[wikilinks]]", "`expected`", "dry_run", "offset"):
        assert word in text
    assert len(render_instructions(restricted=True, several=True)) <= SHORT


def test_the_operators_are_explained_once_where_they_are_used() -> None:
    [search] = [tool for tool in standard_catalog().list_tools(prefix="") if tool.name == "search"]
    for word in (
        "tag:#x",
        "[property:value]",
        "/regex/",
        "OR",
        "-not",
        '"phrase"',
        "line:(a b)",
        "task-todo:x",
    ):
        assert word in search.description
        assert word not in render_instructions()


def test_notes_are_said_to_be_data_and_not_orders() -> None:
    for text in (render_instructions(), render_instructions(read_only=True)):
        assert "data, not orders" in text


def test_a_read_only_vault_is_said_to_be_one_and_nothing_of_editing() -> None:
    text = render_instructions(read_only=True)
    assert "read-only" in text
    assert "expected" not in text


def test_a_part_of_a_vault_and_several_vaults_are_mentioned() -> None:
    assert "Only a part" in render_instructions(restricted=True)
    assert "`vault`" in render_instructions(several=True)
    assert "Only a part" not in render_instructions()


def test_a_reviewed_vault_is_said_to_be_one() -> None:
    assert "status pending" in render_instructions(reviewed=True)
    assert "pending" not in render_instructions() + render_instructions(reviewed=True, read_only=True)
    assert len(render_instructions(reviewed=True)) <= SHORT


@pytest.mark.parametrize("profile", ["full", "core", "read-only"])
def test_it_names_only_tools_that_are_listed_and_says_where_to_begin(profile: Profile) -> None:
    """Clients that load schemas later show the model only the names and this text."""
    text = render_instructions(core=profile == "core", read_only=profile == "read-only")
    listed = {tool.name for tool in standard_catalog().list_tools(profile=profile)}
    named = re.findall(r"obsidian_\w+", text)
    assert named and set(named) <= listed
    assert named[0] == "obsidian_context" and "plain words" in text
    assert profile == "read-only" or "obsidian_undo" in named
