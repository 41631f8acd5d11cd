"""Plugin files: loaded, reloaded, removed, and harmless when they are wrong."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import pytest

from support.plugins import GOOD, PluginFolder, write_package
from vaultbridge.errors import NotFound
from vaultbridge.plugins.registry import MAX_FILE_BYTES, MAX_PLUGIN_TOOLS
from vaultbridge.server.config.model import ToolsConfig
from vaultbridge.tools.base.catalog import MAX_TOOLS
from vaultbridge.tools.standard import STANDARD_TOOLS

HURRIED = 0.05
"""Seconds, soon over for a file that never ends."""

ENDLESS = "import threading\nthreading.Event().wait()"


def test_without_a_folder_there_are_no_tools(plugins: PluginFolder) -> None:
    plugins.registry.refresh()
    assert plugins.list_added() == []
    assert plugins.registry.problems == {}


def test_a_file_adds_its_tools_under_their_own_names(plugins: PluginFolder) -> None:
    plugins.write("mine.py", "greet", "hello")
    assert plugins.list_added() == ["greet"]
    assert plugins.call_text("greet") == "hello"
    assert plugins.registry.tools()[0].group == "mine"


def test_a_changed_file_changes_its_tools_and_listeners_are_notified(plugins: PluginFolder) -> None:
    plugins.write("mine.py", "greet", "hello")
    heard = []
    plugins.catalog.listen(lambda: heard.append(1))
    plugins.registry.refresh()
    assert heard == []
    plugins.write("mine.py", "greet", "good day")
    assert plugins.call_text("greet") == "good day"
    assert heard
    plugins.write("mine.py", "bow", "silently")
    assert plugins.list_added() == ["bow"]


def test_a_changed_file_is_one_change_of_the_list_and_keeps_its_place(plugins: PluginFolder) -> None:
    """At no moment is a caller without its tools, and no assistant is notified of one."""
    two = GOOD.format(name="greet", says="hello") + GOOD.format(name="bow", says="x")
    plugins.raw("a.py", two)
    plugins.write("b.py", "wave", "hi")
    seen = []
    plugins.catalog.listen(lambda: seen.append(plugins.list_added()))
    plugins.raw("a.py", two.replace("hello", "good day"))
    assert seen == [["greet", "bow", "wave"]]
    (plugins.folder / "a.py").unlink()
    plugins.registry.refresh()
    assert seen[1:] == [["wave"]]


def test_when_a_file_goes_its_tools_go(plugins: PluginFolder) -> None:
    plugins.write("mine.py", "greet", "hello")
    plugins.write("other.py", "bow", "silently")
    (plugins.folder / "mine.py").unlink()
    plugins.registry.refresh()
    assert plugins.list_added() == ["bow"]
    assert "vaultbridge_plugin_mine" not in sys.modules
    with pytest.raises(NotFound):
        plugins.call_text("greet")


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("def broken(:", "line 1"),
        ("x = 1\nraise ValueError('no')", "line 2: ValueError: no"),
        ("import nothing_of_this_name", "ModuleNotFoundError"),
        ("import sys\nsys.exit(3)", "line 2: SystemExit"),
        ("raise KeyboardInterrupt", "line 1: KeyboardInterrupt"),
        (GOOD.format(name="obsidian_search", says="x"), "begins with obsidian_"),
        ("#" * (MAX_FILE_BYTES + 1), "more than"),
        (GOOD.format(name="read_note", says="x"), "'read_note' is taken"),
        (GOOD.format(name="notes", says="x"), "'notes' is taken"),
        (
            GOOD.format(name="broken", says="x") + GOOD.format(name="other", says="x"),
            "'broken' has the same name as a group",
        ),
        ("from vaultbridge.plugins import tool\n@tool()\ndef f(a: int): return ''", "no docstring"),
    ],
)
def test_a_bad_file_is_reported_and_affects_no_other(plugins: PluginFolder, text: str, says: str) -> None:
    plugins.write("good.py", "greet", "hello")
    plugins.raw("broken.py", text)
    assert says in plugins.registry.problems["broken.py"]
    assert plugins.list_added() == ["greet"]
    assert plugins.call_text("greet") == "hello"
    plugins.write("broken.py", "bow", "silently")
    assert plugins.registry.problems == {}
    assert set(plugins.list_added()) == {"greet", "bow"}


def test_a_file_that_breaks_keeps_the_tools_it_had(plugins: PluginFolder) -> None:
    plugins.write("mine.py", "greet", "hello")
    plugins.raw("mine.py", "def greet(:")
    assert "mine.py" in plugins.registry.problems
    assert plugins.call_text("greet") == "hello"


def test_two_files_cannot_add_the_same_tool(plugins: PluginFolder) -> None:
    plugins.write("a.py", "greet", "first")
    plugins.write("b.py", "greet", "second")
    assert plugins.call_text("greet") == "first"
    assert "taken" in plugins.registry.problems["b.py"]


def test_a_name_that_becomes_free_goes_to_the_file_that_wanted_it(plugins: PluginFolder) -> None:
    plugins.write("a.py", "greet", "first")
    plugins.write("b.py", "greet", "second")
    (plugins.folder / "a.py").unlink()
    plugins.registry.refresh()
    assert plugins.call_text("greet") == "second"
    assert plugins.registry.problems == {}


def test_a_tool_can_move_to_a_file_that_is_checked_earlier(plugins: PluginFolder) -> None:
    plugins.write("a.py", "greet", "a")
    plugins.write("b.py", "bow", "b")
    (plugins.folder / "a.py").write_text(GOOD.format(name="bow", says="a"))
    plugins.write("b.py", "wave", "b")
    assert (plugins.call_text("bow"), plugins.call_text("wave")) == ("a", "b")
    assert plugins.registry.problems == {}


def many(count: int) -> str:
    return "".join(GOOD.format(name=f"tool_{number}", says="x") for number in range(count))


def test_a_file_with_too_many_tools_is_refused_and_the_others_stay(plugins: PluginFolder) -> None:
    plugins.write("good.py", "greet", "hello")
    plugins.raw("many.py", many(MAX_PLUGIN_TOOLS))
    assert "may have" in plugins.registry.problems["many.py"]
    assert plugins.list_added() == ["greet"]
    plugins.raw("many.py", many(MAX_PLUGIN_TOOLS - 1))
    assert len(plugins.list_added()) == MAX_PLUGIN_TOOLS
    plugins.write("more.py", "bow", "x")
    assert "may have" in plugins.registry.problems["more.py"]


def test_as_many_tools_as_plugins_may_have_fit_beside_ours() -> None:
    assert MAX_PLUGIN_TOOLS + len(STANDARD_TOOLS) <= MAX_TOOLS


@pytest.mark.skipif(os.name != "posix", reason="Windows has no such files")
def test_only_regular_files_are_opened(plugins: PluginFolder) -> None:
    """A pipe would wait for a writer."""
    plugins.folder.mkdir()
    os.mkfifo(plugins.folder / "pipe.py")
    (plugins.folder / "folder.py").mkdir()
    (plugins.folder / "nowhere.py").symlink_to(plugins.folder / "missing")
    plugins.registry.refresh()
    assert plugins.registry.problems == {
        "pipe.py": "it is not a regular file",
        "folder.py": "it is not a regular file",
    }


def test_a_link_to_a_file_elsewhere_is_loaded_and_followed(plugins: PluginFolder, tmp_path: Path) -> None:
    elsewhere = tmp_path / "checkout.py"
    elsewhere.write_text(GOOD.format(name="greet", says="hello"))
    plugins.folder.mkdir()
    (plugins.folder / "mine.py").symlink_to(elsewhere)
    plugins.registry.refresh()
    assert plugins.call_text("greet") == "hello"
    elsewhere.write_text(GOOD.format(name="greet", says="good day"))
    plugins.registry.refresh()
    assert plugins.call_text("greet") == "good day"


def test_what_a_file_prints_does_not_reach_standard_output(
    plugins: PluginFolder, capsys: pytest.CaptureFixture[str]
) -> None:
    plugins.raw("loud.py", "print('HELLO')")
    printed = capsys.readouterr()
    assert (printed.out, printed.err) == ("", "HELLO\n")


def test_a_file_that_never_ends_is_reported_and_affects_no_other(
    plugins: PluginFolder, tmp_path: Path
) -> None:
    plugins.write("good.py", "greet", "hello")
    before = sys.stdout
    folder = tmp_path / "others"
    folder.mkdir()
    (folder / "hangs.py").write_text(ENDLESS)
    hurried = plugins.open_registry(folder, HURRIED)
    hurried.refresh()
    assert "longer than 0.05 seconds" in hurried.problems["hangs.py"]
    assert sys.stdout is before, "it did not take standard output with it"
    assert plugins.list_added() == ["greet"]
    assert plugins.call_text("greet") == "hello"
    (folder / "hangs.py").unlink()
    hurried.refresh()
    assert hurried.problems == {}


def test_a_folder_that_becomes_a_vault_loses_its_tools(plugins: PluginFolder, tmp_path: Path) -> None:
    plugins.write("mine.py", "greet", "hello")
    plugins.registry.guard([tmp_path])
    plugins.registry.refresh()
    assert plugins.list_added() == []
    assert "inside a vault" in plugins.registry.problems["tools"]
    plugins.registry.guard([tmp_path / "vault"])
    plugins.registry.refresh()
    assert plugins.list_added() == ["greet"]
    assert plugins.registry.problems == {}


def test_a_link_whose_target_becomes_part_of_a_vault_loses_its_tools(
    plugins: PluginFolder, tmp_path: Path
) -> None:
    (tmp_path / "other").mkdir()
    (tmp_path / "other" / "x.py").write_text(GOOD.format(name="greet", says="hello"))
    plugins.folder.mkdir()
    (plugins.folder / "mine.py").symlink_to(tmp_path / "other" / "x.py")
    plugins.registry.refresh()
    assert plugins.list_added() == ["greet"]
    plugins.registry.guard([tmp_path / "other"])
    plugins.registry.refresh()
    assert plugins.list_added() == []


def test_a_world_writable_folder_is_not_loaded(plugins: PluginFolder) -> None:
    plugins.folder.mkdir()
    plugins.folder.chmod(0o777)
    plugins.write("mine.py", "greet", "hello")
    assert plugins.list_added() == []
    assert "everybody" in plugins.registry.problems["tools"]
    plugins.folder.chmod(0o755)
    plugins.registry.refresh()
    assert plugins.list_added() == ["greet"]


def test_a_folder_inside_a_vault_is_not_loaded(tmp_path: Path) -> None:
    """An assistant may write into the vault, and would so run code."""
    vault = tmp_path / "vault"
    vault.mkdir()
    plugins = PluginFolder(vault / "tools", vault)
    plugins.write("mine.py", "greet", "hello")
    assert plugins.list_added() == []
    assert "inside a vault" in plugins.registry.problems["tools"]


def test_a_link_into_a_vault_is_not_loaded(plugins: PluginFolder, tmp_path: Path) -> None:
    (tmp_path / "vault" / "trap.py").write_text(GOOD.format(name="greet", says="trapped"))
    plugins.folder.mkdir()
    (plugins.folder / "mine.py").symlink_to(tmp_path / "vault" / "trap.py")
    plugins.registry.refresh()
    assert plugins.list_added() == []
    assert "leads into a vault" in plugins.registry.problems["mine.py"]


def test_a_world_writable_file_is_not_loaded(plugins: PluginFolder) -> None:
    plugins.write("mine.py", "greet", "hello")
    (plugins.folder / "other.py").write_text(GOOD.format(name="bow", says="x"))
    (plugins.folder / "other.py").chmod(0o666)
    plugins.registry.refresh()
    assert plugins.list_added() == ["greet"]


def test_hidden_and_private_files_are_ignored(plugins: PluginFolder) -> None:
    plugins.write("_helper.py", "greet", "hello")
    plugins.write(".hidden.py", "bow", "hello")
    plugins.raw("notes.txt", "no code")
    assert plugins.list_added() == []


def test_tools_are_switched_by_name_and_by_group_before_they_are_seen(tmp_path: Path) -> None:
    plugins = PluginFolder(tmp_path / "tools", tmp_path / "vault", ToolsConfig(disable=("greet", "other")))
    plugins.write("mine.py", "greet", "hello")
    plugins.write("other.py", "bow", "silently")
    plugins.write("third.py", "wave", "hi")
    assert plugins.list_added() == ["wave"]
    plugins.switches.change(
        ToolsConfig(enable=("greet", "notes")), (*STANDARD_TOOLS, *plugins.registry.tools())
    )
    assert "greet" in plugins.catalog.names()
    assert "wave" not in plugins.catalog.names()
    assert "obsidian_read_note" in plugins.catalog.names()
    assert "obsidian_search" not in plugins.catalog.names()
    plugins.registry.clear()


def test_packages_add_tools_by_entry_point(
    plugins: PluginFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    site = tmp_path / "site"
    stars = (
        GOOD.format(name="twinkle", says="*") + GOOD.format(name="fall", says="!") + "both = [twinkle, fall]"
    )
    write_package(
        site,
        "stars",
        "stars = stars_pkg:both\nbad = stars_pkg:missing\nno = stars_pkg:__name__",
        stars_pkg=stars,
    )
    write_package(site, "more-stars", "stars = more_pkg", more_pkg=GOOD.format(name="shine", says="+"))
    monkeypatch.syspath_prepend(str(site))
    plugins.registry.load_packages()
    assert set(plugins.list_added()) == {"twinkle", "fall", "shine"}
    assert plugins.call_text("twinkle") == "*"
    assert {tool.group for tool in plugins.registry.tools()} == {"stars"}
    assert "AttributeError" in plugins.registry.problems["stars:bad"]
    assert "not a module" in plugins.registry.problems["stars:no"]


def test_packages_keep_their_tools_when_the_files_are_left_out(
    plugins: PluginFolder, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_package(tmp_path / "site", "moons", "moons = moon_pkg", moon_pkg=GOOD.format(name="wane", says="("))
    monkeypatch.syspath_prepend(str(tmp_path / "site"))
    plugins.registry.load_packages()
    plugins.write("mine.py", "greet", "hello")
    plugins.registry.clear()
    assert plugins.list_added() == ["wane"]
