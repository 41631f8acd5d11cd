"""The tools that the configuration names: unknown names are reported, and files may come and go."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.plugins import GOOD
from vaultbridge.server.config.model import ToolsConfig
from vaultbridge.server.live_tools import LiveTools
from vaultbridge.tools.standard import standard_catalog

UNKNOWN = "neither a tool nor a group"


class Live:
    def __init__(self, folder: Path, config: ToolsConfig) -> None:
        self.catalog = standard_catalog()
        self.tools = LiveTools(self.catalog, folder, config, [])
        self.tools.start()

    def change(self, config: ToolsConfig) -> set[str]:
        self.tools.apply(config)
        self.tools.refresh()
        return set(self.catalog.names(prefix=""))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "mine.py").write_text(GOOD.format(name="greet", says="hello"))
    return tmp_path


def test_files_and_packages_are_left_out_by_their_switches(folder: Path) -> None:
    live = Live(folder, ToolsConfig(plugins=False))
    assert "greet" not in live.catalog.names()
    assert "greet" in live.change(ToolsConfig())
    assert "greet" not in live.change(ToolsConfig(plugins=False))
    assert "greet" in live.change(ToolsConfig())


def test_tools_and_groups_are_switched_off_and_on_again(folder: Path) -> None:
    live = Live(folder, ToolsConfig(disable=("canvas", "mine")))
    before = set(live.catalog.names(prefix=""))
    assert not before & {"canvas", "greet"}
    assert live.change(ToolsConfig()) == before | {"canvas", "greet"}
    assert live.change(ToolsConfig(enable=("read_note", "greet"))) == {"read_note", "greet"}
    assert live.change(ToolsConfig(enable=("notes",), disable=("delete_note",))) >= {"read_note"}
    assert "delete_note" not in live.catalog.names(prefix="")


def test_an_unknown_name_is_reported_at_the_start_and_after_a_change(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    live = Live(folder, ToolsConfig(disable=("delet_note", "greet")))
    assert f"'delet_note', which is {UNKNOWN}" in caplog.text
    assert "'greet'" not in caplog.text
    caplog.clear()
    live.tools.refresh()
    assert caplog.text == ""
    live.change(ToolsConfig(enable=("greet", "serch")))
    assert f"'serch', which is {UNKNOWN}" in caplog.text
    assert "'greet'" not in caplog.text


def test_a_tool_of_a_file_that_is_loaded_with_the_change_is_known(
    folder: Path, caplog: pytest.LogCaptureFixture
) -> None:
    live = Live(folder, ToolsConfig(plugins=False))
    live.change(ToolsConfig(disable=("greet",)))
    assert UNKNOWN not in caplog.text
