"""Which tools are on, by name and by group."""

from __future__ import annotations

import pytest

from vaultbridge.server.config.model import ToolsConfig
from vaultbridge.server.live_tools import Switches
from vaultbridge.tools.move_note import DELETE_NOTE
from vaultbridge.tools.standard import STANDARD_TOOLS, standard_catalog


@pytest.mark.parametrize(
    ("config", "on"),
    [
        (ToolsConfig(), True),
        (ToolsConfig(disable=("delete_note",)), False),
        (ToolsConfig(disable=("notes",)), False),
        (ToolsConfig(disable=("canvas",)), True),
        (ToolsConfig(enable=("delete_note",)), True),
        (ToolsConfig(enable=("notes",)), True),
        (ToolsConfig(enable=("canvas",)), False),
        (ToolsConfig(enable=("notes",), disable=("delete_note",)), False),
        (ToolsConfig(enable=("delete_note",), disable=("notes",)), False),
    ],
)
def test_disable_switches_a_tool_off_and_enable_all_others(config: ToolsConfig, *, on: bool) -> None:
    assert (DELETE_NOTE.name, DELETE_NOTE.group) == ("delete_note", "notes")
    assert Switches(standard_catalog(), config).is_on(DELETE_NOTE) is on


def test_another_configuration_takes_the_place_of_the_first() -> None:
    catalog = standard_catalog()
    everything = catalog.names()
    switches = Switches(catalog, ToolsConfig())
    switches.change(ToolsConfig(enable=("search",)), STANDARD_TOOLS)
    assert catalog.names() == ("obsidian_search",)
    switches.change(ToolsConfig(), STANDARD_TOOLS)
    assert catalog.names() == everything


def test_names_in_the_configuration_that_nothing_has_are_known() -> None:
    switches = Switches(standard_catalog(), ToolsConfig(disable=("delet_note", "notes"), enable=("x",)))
    assert switches.list_unknown(STANDARD_TOOLS) == ["delet_note", "x"]


def test_no_standard_tool_is_named_like_a_group_of_others() -> None:
    """Tools and groups are switched by the same word."""
    for tool in STANDARD_TOOLS:
        assert not [
            standard.name
            for standard in STANDARD_TOOLS
            if standard.group == tool.name and standard is not tool
        ]
