"""What Obsidian demands of a plugin's files, and what we promise of them."""

from __future__ import annotations

import json
import re

import vaultbridge
from companion.obsidian import FOLDER, MAIN
from vaultbridge.cli.setup.companion import release_files


def test_the_manifest_is_what_obsidian_requires() -> None:
    manifest = json.loads((FOLDER / "manifest.json").read_text("utf-8"))
    texts = ("id", "name", "version", "minAppVersion", "description", "author")
    assert all(isinstance(manifest[name], str) and manifest[name] for name in texts)
    assert re.fullmatch(r"[a-z][a-z-]*", manifest["id"]) and not manifest["id"].endswith("plugin")
    assert re.fullmatch(r"[\w ()+-]+", manifest["name"], re.ASCII)
    for text in (manifest["id"], manifest["name"].lower()):
        assert not re.search("obsi|sidian", text) and "plugin" not in text
    assert re.fullmatch(r"\d+\.\d+\.\d+", manifest["minAppVersion"])
    assert manifest["version"] == vaultbridge.__version__
    assert manifest["isDesktopOnly"] is False
    assert manifest["description"].endswith(".") and len(manifest["description"]) <= 250
    assert manifest["description"].isascii()


def test_every_version_is_listed_with_the_app_that_it_needs() -> None:
    """Obsidian offers an older app the newest version that it can run, by this list."""
    manifest = json.loads((FOLDER / "manifest.json").read_text("utf-8"))
    versions = json.loads(release_files()["versions.json"])
    assert versions[manifest["version"]] == manifest["minAppVersion"]
    assert all(re.fullmatch(r"\d+\.\d+\.\d+", text) for pair in versions.items() for text in pair)


def test_no_command_has_a_default_hotkey() -> None:
    """The app's guidelines ask for that: it could collide with a key that the person has set."""
    assert "hotkeys" not in MAIN.read_text("utf-8")


def test_modules_of_node_are_asked_for_only_where_the_desktop_needs_them() -> None:
    """At the top level a `require` of Node's modules would stop the plugin from loading on a phone."""
    text = MAIN.read_text("utf-8")
    at_top = re.findall(r"^const .*require\('([^']+)'\)", text, re.MULTILINE)
    assert at_top == ["obsidian", "@codemirror/view"]
    anywhere = set(re.findall(r"require\('([^']+)'\)", text))
    assert anywhere == {"obsidian", "@codemirror/view", "fs", "os", "path"}
    # The app's own linter looks for this guard at the beginning of a function that uses them.
    for function in re.findall(
        r"^function (?:(?!^}).)*require\((?:(?!^}).)*", text, re.MULTILINE | re.DOTALL
    ):
        assert re.search(r"\) \{\n  if \(!Platform\.isDesktop\) return \[\];\n", function), function


def test_text_never_becomes_markup_or_code_and_nothing_is_stored_in_the_vault() -> None:
    text = MAIN.read_text("utf-8")
    for word in (
        "innerHTML",
        "outerHTML",
        "insertAdjacentHTML",
        "eval(",
        "new Function",
        "saveData",
        "loadData",
    ):
        assert word not in text, word
    for word in (
        "vault.modify",
        "vault.create",
        "vault.delete",
        "adapter.write",
        "vault.append",
        "vault.trash",
    ):
        assert word not in text, word


def test_colours_are_the_themes() -> None:
    text = (FOLDER / "styles.css").read_text("utf-8")
    assert not re.findall(r"#[0-9a-fA-F]{3,8}\b|\brgb\(|\bhsl\(", text)
    selectors = re.findall(r"^([.#\w][^{,]*)[,{]", text, re.MULTILINE)
    assert selectors and all(selector.startswith(".vaultbridge-") for selector in selectors)


def test_every_class_that_is_used_is_styled_or_looked_for() -> None:
    used = set(re.findall(r"class: '(vaultbridge-[a-z]+)'", MAIN.read_text("utf-8")))
    styled = set(re.findall(r"\.(vaultbridge-[a-z]+)", (FOLDER / "styles.css").read_text("utf-8")))
    assert used and not used - styled
