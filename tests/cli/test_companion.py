"""`vaultbridge companion` as a process, on real vault folders."""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Callable
from pathlib import Path

import pytest

import vaultbridge
from support.commands import run_command
from support.serve import hosted
from vaultbridge.cli.setup.companion import plugin_files

NAMES = ["main.js", "manifest.json", "styles.css"]
SWITCH = "Enable it in Obsidian: Settings, Community plugins, “vaultbridge companion”.\n"

Run = Callable[..., subprocess.CompletedProcess[str]]


VAULT = {".obsidian/": "", "A.md": "a\n"}


@pytest.fixture
def run(tmp_path: Path) -> Run:
    environ = {**os.environ, "HOME": str(tmp_path), "VAULTBRIDGE_CACHE": str(tmp_path / "cache")}

    def companion(*arguments: object) -> subprocess.CompletedProcess[str]:
        return run_command("companion", *map(str, arguments), env=environ)

    return companion


def find_plugin_folder(vault: Path) -> Path:
    return vault / ".obsidian" / "plugins" / "vaultbridge"


def read_tree(vault: Path) -> dict[str, bytes]:
    return {str(path.relative_to(vault)): path.read_bytes() for path in vault.rglob("*") if path.is_file()}


def write_enabled_plugins(vault: Path, names: object) -> Path:
    file = vault / ".obsidian" / "community-plugins.json"
    file.write_text(names if isinstance(names, str) else json.dumps(names), "utf-8")
    return file


def test_install_writes_the_plugin_and_nothing_else(run: Run, vault: Path) -> None:
    before = read_tree(vault)
    done = run("install", vault)
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == f"Installed the companion {vaultbridge.__version__}.\n{SWITCH}"
    after = read_tree(vault)
    written = {name: data for name, data in after.items() if name not in before}
    assert sorted(written) == [f".obsidian/plugins/vaultbridge/{name}" for name in NAMES]
    assert {Path(name).name: data for name, data in written.items()} == plugin_files()
    assert before.items() <= after.items()


def test_install_again_updates_and_keeps_what_is_not_ours(run: Run, vault: Path) -> None:
    run("install", vault)
    manifest = find_plugin_folder(vault) / "manifest.json"
    manifest.write_text(json.dumps({"id": "vaultbridge", "version": "0.0.1"}), "utf-8")
    (find_plugin_folder(vault) / "data.json").write_text("{}", "utf-8")
    assert json.loads(run("status", vault, "--json").stdout)["current"] is False
    assert f"To update: vaultbridge companion install -v {vault}\n" in run("status", vault).stdout
    done = run("install", vault)
    assert done.stdout.startswith(f"Updated the companion from 0.0.1 to {vaultbridge.__version__}.")
    assert (find_plugin_folder(vault) / "data.json").read_text("utf-8") == "{}"
    assert sorted(path.name for path in find_plugin_folder(vault).iterdir()) == ["data.json", *NAMES]


def test_enable_keeps_every_other_plugin(run: Run, vault: Path) -> None:
    file = write_enabled_plugins(vault, ["dataview", "käse"])
    done = run("install", vault, "--enable", "--json")
    version = vaultbridge.__version__
    assert json.loads(done.stdout) == {"installed": True, "version": version, "was": None, "enabled": True}
    assert json.loads(file.read_text("utf-8")) == ["dataview", "käse", "vaultbridge"]
    again = run("install", vault, "--enable")
    assert "restart Obsidian" in again.stdout
    assert json.loads(file.read_text("utf-8")) == ["dataview", "käse", "vaultbridge"]


def test_without_enable_the_list_stays_as_it_is(run: Run, vault: Path) -> None:
    file = write_enabled_plugins(vault, '["dataview"]')
    assert run("install", vault).stdout.endswith(SWITCH)
    assert file.read_text("utf-8") == '["dataview"]'


def test_enable_makes_the_list_where_there_is_none(run: Run, vault: Path) -> None:
    run("install", vault, "--enable")
    file = vault / ".obsidian" / "community-plugins.json"
    assert file.read_text("utf-8") == '[\n  "vaultbridge"\n]'


@pytest.mark.parametrize("content", ["", "{}", '["a", 1]', "[", '"vaultbridge"'])
def test_enable_refuses_a_list_that_is_not_what_obsidian_writes(run: Run, vault: Path, content: str) -> None:
    file = write_enabled_plugins(vault, content)
    done = run("install", vault, "--enable")
    assert done.returncode == 1
    assert "community-plugins.json is not the list of names that Obsidian writes" in done.stderr
    assert file.read_text("utf-8") == content and not find_plugin_folder(vault).exists()
    assert run("install", vault).returncode == 0
    assert file.read_text("utf-8") == content


def test_remove_takes_away_what_install_wrote(run: Run, vault: Path) -> None:
    before = read_tree(vault)
    write_enabled_plugins(vault, ["dataview"])
    run("install", vault, "--enable")
    done = run("remove", vault)
    assert done.stdout == f"Removed the companion {vaultbridge.__version__}.\n"
    listed = (vault / ".obsidian" / "community-plugins.json").read_text("utf-8")
    assert json.loads(listed) == ["dataview"] and not find_plugin_folder(vault).exists()
    (vault / ".obsidian" / "community-plugins.json").unlink()
    assert read_tree(vault) == before
    assert run("remove", vault).stdout == "The companion was not installed.\n"


def test_remove_leaves_files_that_are_not_ours(run: Run, vault: Path) -> None:
    run("install", vault)
    (find_plugin_folder(vault) / "data.json").write_text("{}", "utf-8")
    found = json.loads(run("remove", vault, "--json").stdout)
    assert found == {"removed": True, "was": vaultbridge.__version__, "kept": ["data.json"]}
    assert [path.name for path in find_plugin_folder(vault).iterdir()] == ["data.json"]


@pytest.mark.parametrize("action", ["install", "remove", "status"])
def test_a_folder_of_another_plugin_is_not_touched(run: Run, vault: Path, action: str) -> None:
    find_plugin_folder(vault).mkdir(parents=True)
    (find_plugin_folder(vault) / "manifest.json").write_text('{"id": "other", "version": "1"}', "utf-8")
    before = read_tree(vault)
    done = run(action, vault)
    assert done.returncode == 1 and "contains another plugin: 'other'" in done.stderr
    assert read_tree(vault) == before


def test_a_linked_folder_is_not_touched(run: Run, vault: Path, tmp_path: Path) -> None:
    elsewhere = tmp_path / "workshop"
    elsewhere.mkdir()
    find_plugin_folder(vault).parent.mkdir()
    find_plugin_folder(vault).symlink_to(elsewhere)
    done = run("install", vault)
    assert done.returncode == 1 and "is a link" in done.stderr
    assert list(elsewhere.iterdir()) == []


def test_a_folder_that_obsidian_does_not_know_is_refused(run: Run, tmp_path: Path) -> None:
    folder = tmp_path / "Plain"
    folder.mkdir()
    done = run("install", folder, "--json")
    assert done.returncode == 1 and "has not been opened in Obsidian yet" in done.stderr
    assert str(tmp_path) not in done.stderr and json.loads(done.stdout)["hint"]
    assert list(folder.iterdir()) == []


def test_an_unwritable_folder_is_reported_in_one_line(run: Run, vault: Path) -> None:
    (vault / ".obsidian" / "plugins").write_text("a file", "utf-8")
    done = run("install", vault)
    assert done.returncode == 1 and done.stderr.startswith("vaultbridge: ") and done.stderr.count("\n") == 1


def test_enable_goes_with_install_only(run: Run, vault: Path) -> None:
    done = run("remove", vault, "--enable")
    assert done.returncode == 2 and "--enable does not work with remove" in done.stderr


def test_status_of_nothing(run: Run, vault: Path) -> None:
    assert run("status", vault).stdout.startswith("The companion is not installed.")
    assert json.loads(run("status", vault, "--json").stdout) == {
        "installed": False,
        "version": None,
        "available": vaultbridge.__version__,
        "current": False,
        "enabled": False,
        "connected": False,
    }


async def test_status_says_whether_the_app_is_connected(tmp_path: Path, vault: Path) -> None:
    async with hosted(tmp_path / "home", vault) as server:
        await server.command("companion", "install", vault)
        output = (await server.command("companion", "status", vault))[1]
        assert SWITCH in output and "It is not connected to a bridge at the moment." in output
        async with server.editor("obsidian", proposals=True):
            output = (await server.command("companion", "status", vault))[1]
            assert "It is connected." in output
