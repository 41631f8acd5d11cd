"""Tools of installed packages over stdio: in the first list, which is the only one many clients ask for."""

from __future__ import annotations

import zipfile
from pathlib import Path

import pytest

from support.plugins import GOOD, write_package
from support.serve import Served, served
from support.vault import VaultProcess, make_small_vault
from vaultbridge.plugins import registry as plugins
from vaultbridge.server.stdio import serve as stdio_serve


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """A folder of packages with one that brings a tool."""
    write_package(
        tmp_path / "site", "stars", "stars = star_pkg", star_pkg=GOOD.format(name="twinkle", says="*")
    )
    return tmp_path / "site"


async def test_the_first_list_has_the_tools_of_packages(tmp_path: Path, site: Path) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "alpha"})
    async with VaultProcess(tmp_path, str(vault), PYTHONPATH=str(site)) as process:
        await process.begin()
        listed = await process.list_tool_names()
        assert {"twinkle", "obsidian_read_note"} <= listed
        answer = await process.result("tools/call", {"name": "twinkle", "arguments": {}})
        assert answer["content"] == [{"type": "text", "text": "*"}]


async def test_packages_that_are_left_out_are_in_no_list(tmp_path: Path, site: Path) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "alpha"})
    config = tmp_path / "config" / "vaultbridge" / "config.toml"
    config.parent.mkdir(parents=True)
    config.write_text("[tools]\npackages = false\n", "utf-8")
    environ = {"PYTHONPATH": str(site), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    async with VaultProcess(tmp_path, str(vault), **environ) as process:
        await process.begin()
        assert "twinkle" not in await process.list_tool_names()
        # By now everything is loaded.
        assert "alpha" in await process.text("read_note", name="A")
        assert "twinkle" not in await process.list_tool_names()


def test_a_package_that_brings_tools_is_seen_wherever_python_looks_for_packages(
    tmp_path: Path, site: Path
) -> None:
    other = tmp_path / "other"
    write_package(other, "plain", "", plain_pkg="")
    scripts = "[console_scripts]\nvaultbridge.tools = x\n"
    (other / "plain-1.0.dist-info" / "entry_points.txt").write_text(scripts)
    (other / "bare-1.0.dist-info").mkdir()
    archive = tmp_path / "lib.zip"
    with zipfile.ZipFile(archive, "w") as opened:
        opened.writestr("module.py", "")
    without = ["", str(archive), str(tmp_path / "missing"), str(other)]
    assert not stdio_serve.may_have_packages(without)
    assert stdio_serve.may_have_packages([*without, str(site)])
    old = tmp_path / "old"
    (old / "moons.egg-info").mkdir(parents=True)
    (old / "moons.egg-info" / "entry_points.txt").write_text(f"[{plugins.ENTRY_POINTS}]\nmoons = x\n")
    assert stdio_serve.may_have_packages([str(old)])


async def test_code_that_is_not_ours_is_named_on_standard_error(tmp_path: Path, site: Path) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "alpha"})
    tools = tmp_path / "config" / "vaultbridge" / "tools"
    tools.mkdir(parents=True)
    (tools / "mine.py").write_text(GOOD.format(name="count", says="1"), "utf-8")
    environ = {"PYTHONPATH": str(site), "XDG_CONFIG_HOME": str(tmp_path / "config")}
    async with VaultProcess(tmp_path, str(vault), **environ) as process:
        await process.begin()
        assert {"twinkle", "count"} <= await process.list_tool_names()
        code, _, err = await process.end()
    assert code == 0
    (line,) = [line for line in err.decode().splitlines() if "not vaultbridge's own" in line]
    assert "stars:stars (twinkle)" in line
    assert "tools/mine.py (count)" in line
    assert str(tmp_path) not in line


async def test_serve_names_it_in_its_first_lines(tmp_path: Path, site: Path) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "alpha"})
    async with served(tmp_path / "plain", vault) as server:
        assert server.announced["code"] == []
    server = Served(tmp_path / "home", PYTHONPATH=str(site))
    try:
        await server.start(vault)
        assert server.announced["code"] == [{"name": "stars:stars", "tools": ["twinkle"], "fault": ""}]
    finally:
        await server.kill()
