"""Code that plugin files share."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from support.plugins import PluginFolder

USER = '''
from vaultbridge.plugins import tool
from {module} import word

@tool(effect="reads")
def {name}() -> str:
    """Says a word."""
    return word()
'''

LATE = '''
from vaultbridge.plugins import tool

@tool(effect="reads")
def late() -> str:
    """Says a word."""
    from _late_words import word
    return word()
'''


def word(says: str) -> str:
    """Another length tells apart what was written within one tick of the file system's clock."""
    return f"def word():\n    return {says!r}\n"


def test_a_file_imports_its_sibling_and_follows_its_changes(plugins: PluginFolder) -> None:
    plugins.raw("_words.py", word("one"))
    plugins.raw("a.py", USER.format(module="_words", name="first"))
    plugins.raw("b.py", USER.format(module="_words", name="second"))
    assert plugins.list_added() == ["first", "second"]
    assert plugins.call_text("first") == plugins.call_text("second") == "one"
    plugins.raw("_words.py", word("three"))
    assert plugins.call_text("first") == plugins.call_text("second") == "three"


def test_a_missing_or_broken_sibling_is_reported_and_tried_again(plugins: PluginFolder) -> None:
    plugins.raw("a.py", USER.format(module="_missing_words", name="first"))
    assert "No module named '_missing_words'" in plugins.registry.problems["a.py"]
    plugins.raw("_missing_words.py", "def word(:\n")
    assert "line 1" in plugins.registry.problems["a.py"]
    plugins.raw("_missing_words.py", word("found"))
    assert plugins.call_text("first") == "found"
    assert plugins.registry.problems == {}


def test_a_sibling_imported_during_a_call_is_followed_too(plugins: PluginFolder) -> None:
    plugins.raw("_late_words.py", word("one"))
    plugins.raw("a.py", LATE)
    assert plugins.call_text("late") == "one"
    plugins.raw("_late_words.py", word("three"))
    assert plugins.call_text("late") == "three"


def test_files_that_use_no_sibling_are_not_loaded_again(plugins: PluginFolder) -> None:
    plugins.raw("a.py", "import sys\nsys.loads_of_a = getattr(sys, 'loads_of_a', 0) + 1\n")
    plugins.raw("_unused_words.py", word("one"))
    plugins.raw("_unused_words.py", word("other"))
    try:
        assert vars(sys)["loads_of_a"] == 1
    finally:
        del vars(sys)["loads_of_a"]


def test_a_file_never_shadows_a_library(plugins: PluginFolder) -> None:
    plugins.raw("_json.py", word("not JSON"))
    plugins.raw("json.py", "")
    plugins.raw("a.py", "import json, _json\nassert _json.make_encoder and json.dumps\n")
    assert "a.py" not in plugins.registry.problems


@pytest.mark.parametrize("how", ["in a vault", "open to all"])
def test_a_sibling_that_others_can_write_is_not_run(plugins: PluginFolder, tmp_path: Path, how: str) -> None:
    plugins.raw("b.py", "")
    shared = plugins.folder / "_foreign_words.py"
    if how == "in a vault":
        (tmp_path / "vault" / "words.py").write_text(word("evil"), "utf-8")
        shared.symlink_to(tmp_path / "vault" / "words.py")
    else:
        shared.write_text(word("evil"), "utf-8")
        shared.chmod(0o666)
    plugins.raw("a.py", USER.format(module="_foreign_words", name="first"))
    assert plugins.list_added() == []
    says = plugins.registry.problems["a.py"]
    assert "_foreign_words.py is not loaded: " in says
    assert ("vault" if how == "in a vault" else "everybody") in says


def test_a_sibling_that_becomes_part_of_a_vault_is_unloaded(plugins: PluginFolder, tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    (tmp_path / "elsewhere" / "words.py").write_text(word("one"), "utf-8")
    plugins.raw("b.py", "")
    (plugins.folder / "_moved_words.py").symlink_to(tmp_path / "elsewhere" / "words.py")
    plugins.raw("a.py", USER.format(module="_moved_words", name="first"))
    assert plugins.call_text("first") == "one"
    plugins.registry.guard([tmp_path / "elsewhere"])
    plugins.registry.refresh()
    assert "it leads into a vault" in plugins.registry.problems["a.py"]
    assert "_moved_words" not in sys.modules


def test_when_the_folder_is_gone_no_sibling_can_be_imported(plugins: PluginFolder) -> None:
    plugins.raw("_former_words.py", word("one"))
    plugins.registry.refresh()
    __import__("_former_words")
    plugins.folder.rename(plugins.folder.with_name("elsewhere"))
    plugins.registry.refresh()
    sys.modules.pop("_former_words", None)
    with pytest.raises(ModuleNotFoundError):
        __import__("_former_words")
    plugins.folder.with_name("elsewhere").rename(plugins.folder)
    plugins.folder.chmod(0o777)
    plugins.registry.refresh()
    with pytest.raises(ModuleNotFoundError):
        __import__("_former_words")


def test_after_clearing_no_sibling_can_be_imported(plugins: PluginFolder) -> None:
    plugins.raw("_gone_words.py", word("one"))
    plugins.raw("a.py", USER.format(module="_gone_words", name="first"))
    plugins.registry.clear()
    with pytest.raises(ModuleNotFoundError):
        __import__("_gone_words")
