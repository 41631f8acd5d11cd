"""The list of tools at hand is the catalog's."""

from __future__ import annotations

import itertools
from pathlib import Path

import msgspec
import pytest

from vaultbridge.protocols.mcp.vault import listing as vault_listing
from vaultbridge.protocols.mcp.vault.listing import load_tool_list, make_tool_info, render_tool_list
from vaultbridge.tools.base.tool import Profile
from vaultbridge.tools.standard import standard_catalog

PROFILES: tuple[Profile, ...] = ("full", "core", "read-only")


def test_the_file_is_what_the_catalog_says() -> None:
    kept = Path(vault_listing.__file__).with_name("vault_tools.json").read_bytes()
    assert kept == render_tool_list(standard_catalog()), (
        "run: python -m vaultbridge.protocols.mcp.vault.listing"
    )


@pytest.mark.parametrize(
    ("profile", "read_only", "vaults"),
    list(itertools.product(PROFILES, (False, True), ((), ("A",), ("A", "B")))),
)
def test_each_way_to_look_at_the_tools_is_at_hand(
    profile: Profile, read_only: bool, vaults: tuple[str, ...]
) -> None:
    tools = standard_catalog().list_tools(profile=profile, read_only=read_only, vaults=vaults)
    assert load_tool_list(profile, read_only=read_only, vaults=vaults) == tuple(map(make_tool_info, tools))


def test_nothing_is_added_to_what_the_catalog_writes() -> None:
    """A model pays for each byte."""
    for tool in standard_catalog().list_tools():
        assert msgspec.to_builtins(make_tool_info(tool)) == {
            key: value for key, value in tool.wire().items() if value is not None
        }
