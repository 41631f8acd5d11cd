"""Options, environment and configuration of `vaultbridge stdio`."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from vaultbridge.errors import InvalidArgument
from vaultbridge.server.config.model import config_file
from vaultbridge.server.stdio.configured import make_vault_scope
from vaultbridge.server.stdio.serve import StdioOptions, StdioPlan, make_plan, make_server, may_be_configured
from vaultbridge.vault.scope import LiveScope

CONFIG = """
[[vaults]]
path = "{folder}"
read_only = true
deny = ["Private"]

[scope]
deny = ["Secret"]

[tools]
profile = "core"
disable = ["search"]
errors = "result"

[limits]
call_seconds = 7.0

[log]
level = "error"
"""


def write_config(home: Path, text: str) -> dict[str, str]:
    file = home / ".config" / "vaultbridge" / "config.toml"
    file.parent.mkdir(parents=True)
    file.write_text(text)
    return {"HOME": str(home)}


def find_scope(plan: StdioPlan, vault: str) -> LiveScope:
    return make_vault_scope(plan.vaults[vault], plan.config)


def test_without_anything_said_nothing_is_limited(tmp_path: Path) -> None:
    plan = make_plan(StdioOptions(), {"HOME": str(tmp_path)})
    assert plan.vaults == {}
    assert (plan.settings.profile, plan.settings.read_only, plan.settings.restricted) == (
        "full",
        False,
        False,
    )
    assert (plan.tool_errors, plan.log_level, plan.call_seconds) == ("auto", "info", 30.0)
    assert plan.settings.quick_list


def test_the_environment_names_vaults_like_a_path(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "VAULTBRIDGE_VAULT": os.pathsep.join(["/a/One", "", "/b/Two"])}
    assert {name: plan.text for name, plan in make_plan(StdioOptions(), environ).vaults.items()} == {
        "One": "/a/One",
        "Two": "/b/Two",
    }
    assert list(make_plan(StdioOptions(vaults=("/c/Three",)), environ).vaults) == ["Three"]


@pytest.mark.parametrize("text", ["$HOME/Notes", "${HOME}/Notes"])
def test_variables_in_the_name_of_a_vault_are_filled_in(tmp_path: Path, text: str) -> None:
    """No shell stands between an assistant's list of servers and us."""
    environ = {"HOME": str(tmp_path)}
    wanted = {"Notes": f"{tmp_path}/Notes"}
    plan = make_plan(StdioOptions(vaults=(text,)), environ)
    assert {name: vault.text for name, vault in plan.vaults.items()} == wanted
    plan = make_plan(StdioOptions(), {**environ, "VAULTBRIDGE_VAULT": text})
    assert {name: vault.text for name, vault in plan.vaults.items()} == wanted


def test_existing_folders_and_unset_variables_are_left_as_they_are(tmp_path: Path) -> None:
    there = tmp_path / "$HOME"
    there.mkdir()
    texts = (str(there), "/x/$NO_SUCH/Notes", "/x/100$")
    plan = make_plan(StdioOptions(vaults=texts), {"HOME": str(tmp_path)})
    assert tuple(vault.text for vault in plan.vaults.values()) == texts


def test_the_configuration_is_followed(tmp_path: Path) -> None:
    environ = write_config(tmp_path, CONFIG.format(folder="/v/Notes"))
    plan = make_plan(StdioOptions(), environ)
    assert list(plan.vaults) == ["Notes"]
    assert (plan.tool_errors, plan.log_level, plan.call_seconds) == ("result", "error", 7.0)
    assert (plan.settings.profile, plan.settings.read_only, plan.settings.restricted) == ("core", True, True)
    assert not plan.settings.quick_list
    scope = find_scope(plan, "Notes")
    assert not scope.visible("Private/A.md")
    assert not scope.visible("Secret/A.md")
    assert scope.visible("A.md")
    assert scope.read_only


def test_the_command_line_overrides_the_configuration_and_only_narrows_its_scope(tmp_path: Path) -> None:
    environ = write_config(tmp_path, CONFIG.format(folder="/v/Notes"))
    options = StdioOptions(
        vaults=("/v/Notes", "/v/Other"),
        allow=("Private", "Open"),
        profile="full",
        tool_errors="protocol",
        log_level="debug",
        call_seconds=3.0,
        name="mine",
    )
    plan = make_plan(options, environ)
    assert (plan.tool_errors, plan.log_level, plan.call_seconds) == ("protocol", "debug", 3.0)
    assert plan.settings.profile == "full"
    assert not plan.settings.read_only, "one of the two may be changed"
    assert not find_scope(plan, "Notes").visible("Private/A.md")
    assert find_scope(plan, "Other").visible("Private/A.md")
    assert not find_scope(plan, "Other").visible("A.md")
    assert make_server(plan, environ).offer.name == "mine"


@pytest.mark.parametrize("where", ["HOME", "XDG_CONFIG_HOME", "VAULTBRIDGE_CONFIG"])
def test_with_tools_of_ones_own_the_first_list_is_the_whole_one(tmp_path: Path, where: str) -> None:
    """Many clients never ask again."""
    config = tmp_path / (".config" if where == "HOME" else "config") / "vaultbridge"
    value = {"HOME": tmp_path, "XDG_CONFIG_HOME": config.parent, "VAULTBRIDGE_CONFIG": config / "config.toml"}
    environ = {"HOME": str(tmp_path), where: str(value[where]), "VAULTBRIDGE_VAULT": "/v"}
    config.mkdir(parents=True)
    (config / "config.toml").touch()
    assert make_plan(StdioOptions(), environ).settings.quick_list
    (config / "tools").mkdir()
    assert not make_plan(StdioOptions(), environ).settings.quick_list
    (config / "config.toml").write_text("[tools]\nplugins = false\n")
    assert make_plan(StdioOptions(), environ).settings.quick_list


def test_the_settings_of_a_vault_apply_however_it_is_named(tmp_path: Path) -> None:
    folder = tmp_path / "Notes"
    folder.mkdir()
    environ = write_config(tmp_path, f"[[vaults]]\npath = '{tmp_path}/x/../Notes'\nread_only = true\n")
    for options, named in (((str(folder),), "/nowhere"), ((), str(folder))):
        plan = make_plan(StdioOptions(vaults=options), {**environ, "VAULTBRIDGE_VAULT": named})
        assert list(plan.vaults) == ["Notes"]
        assert plan.settings.read_only


def test_the_environment_may_make_everything_read_only(tmp_path: Path) -> None:
    environ = {"HOME": str(tmp_path), "VAULTBRIDGE_READ_ONLY": "1", "VAULTBRIDGE_VAULT": "/v/Notes"}
    plan = make_plan(StdioOptions(), environ)
    assert plan.settings.read_only
    assert list(plan.vaults) == ["Notes"]


@pytest.mark.parametrize("options", [StdioOptions(allow=("../x",)), StdioOptions(deny=(" ",))])
def test_a_bad_pattern_is_refused_before_anything_is_served(tmp_path: Path, options: StdioOptions) -> None:
    with pytest.raises(InvalidArgument):
        make_plan(options, {"HOME": str(tmp_path)})


def test_a_bad_configuration_is_refused_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(InvalidArgument, match="line"):
        make_plan(StdioOptions(), write_config(tmp_path, "[tools]\nprofile = 'everything'\n"))


@pytest.mark.parametrize("where", ["HOME", "XDG_CONFIG_HOME", "VAULTBRIDGE_CONFIG"])
def test_a_configuration_is_never_overlooked(tmp_path: Path, where: str) -> None:
    """The quick look before the first answer finds the file wherever the thorough one does."""
    environ = {"HOME": str(tmp_path)}
    if where == "XDG_CONFIG_HOME":
        environ[where] = str(tmp_path / "xdg")
    if where == "VAULTBRIDGE_CONFIG":
        environ[where] = str(tmp_path / "elsewhere.toml")
    else:
        assert not may_be_configured(environ)
    file = config_file(environ)
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text("")
    assert may_be_configured(environ)
