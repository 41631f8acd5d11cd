"""The companion and the stand-in for the app against Obsidian's published typings, by TypeScript itself.

Needs npm once, to install what tests/companion/npm pins into the user's cache folder; then it works offline.
"""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

from companion.obsidian import FOLDER, MAIN, NODE, needs_node
from support.node import NotInstallable, install_packages, skip_without_packages

HERE = Path(__file__).parent
PINNED = HERE / "npm"

pytestmark = [pytest.mark.long, pytest.mark.node, needs_node, pytest.mark.timeout(400)]

ROOTS = ("standin.ts", "main.js")

DIFFERENCES = {
    "Invented": ("app.cjs", "  lineCount() {", "  countLines() {"),
    "Misfits": ("app.cjs", "return this.#lines.length;", "return `${this.#lines.length}`;"),
    "Unmade": ("app.cjs", "(message, duration) {", "(message, duration, /** @type {number} */ more) {"),
    "CmMisfits": ("codemirror.mjs", "return this.cm.hasFocus;", "return 'yes';"),
    "Hidden": ("standin.ts", "'focused' | 'seen'", "'focused' | 'getLine' | 'seen'"),
    '"Menu"': ("standin.ts", "  Menu: 'items';\n", ""),
    "loadLocalStore": ("main.js", "loadLocalStorage(", "loadLocalStore("),
}
"""What TypeScript has to complain of, and a mistake that leads to it: in which file, what, and what it
becomes."""


@pytest.fixture(scope="module")
def packages() -> Path:
    try:
        return install_packages("companion", PINNED)
    except NotInstallable as reason:
        skip_without_packages(reason)


@pytest.fixture(scope="module")
def folder(packages: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The companion as it is installed, and what stands in for the app, beside the packages."""
    folder = tmp_path_factory.mktemp("typings")
    (folder / "node_modules").symlink_to(packages / "node_modules")
    for file in (MAIN, *(HERE / name for name in ("app.cjs", "dom.cjs", "codemirror.mjs", "standin.ts"))):
        shutil.copy(file, folder)
    return folder


@pytest.fixture(scope="module")
def complaints(folder: Path) -> dict[str, list[str]]:
    """What TypeScript complains of: in the companion, in the stand-in, and after each mistake."""
    wanted: dict[str, dict[str, Any]] = {
        "companion": {"roots": ["main.js"], "changed": {}},
        "standin": {"roots": ["standin.ts"], "changed": {}},
    }
    for name, (file, old, new) in DIFFERENCES.items():
        text = (folder / file).read_text("utf-8")
        assert old in text, name
        wanted[name] = {"roots": ROOTS, "changed": {file: text.replace(old, new, 1)}}
    asked = json.dumps(list(wanted.values()))
    return dict(zip(wanted, run_node("check.cjs", str(folder), given=asked), strict=True))


def run_node(script: str, *words: str, given: str = "", cwd: Path | None = None) -> Any:
    assert NODE is not None
    done = subprocess.run(
        [NODE, str(HERE / script), *words], cwd=cwd, input=given, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_companion_fits_the_typings(complaints: dict[str, list[str]]) -> None:
    assert complaints["companion"] == []


def test_the_standin_for_the_app_fits_the_typings(complaints: dict[str, list[str]]) -> None:
    assert complaints["standin"] == []


@pytest.mark.parametrize("name", DIFFERENCES)
def test_a_difference_from_the_typings_would_be_found(complaints: dict[str, list[str]], name: str) -> None:
    assert any(name in text for text in complaints[name]), complaints[name]


@pytest.fixture(scope="module")
def used(folder: Path, packages: Path) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = run_node("uses.cjs", str(packages), "main.js", "app.cjs", cwd=folder)
    return found


def test_the_manifest_asks_for_the_app_that_has_everything_we_use(used: list[dict[str, Any]]) -> None:
    """No older one would do, and none of our own calls needs a newer one. The typings say of most members
    since when they exist."""
    answer = [use for use in used if use["since"]]
    assert len(answer) > 80
    newest = max(answer, key=lambda use: [int(part) for part in use["since"].split(".")])
    manifest = json.loads((FOLDER / "manifest.json").read_text("utf-8"))
    assert newest["since"] == manifest["minAppVersion"], newest


def test_the_tests_cover_every_call_that_the_companion_makes(used: list[dict[str, Any]]) -> None:
    names = {f"{use['of']}.{use['member']}" for use in used}
    assert {"App.loadLocalStorage", "Workspace.on('editor-change')", "Editor.setSelection"} <= names
    assert [use for use in used if use["isClass"] and not use["offered"]] == []


def test_the_typings_and_codemirror_are_pinned_as_the_app_has_them(packages: Path) -> None:
    lock = json.loads((PINNED / "package-lock.json").read_text("utf-8"))["packages"]
    for name, about in lock.items():
        if name:
            assert about["integrity"].startswith("sha512-") and "resolved" not in about, name
    obsidian = json.loads((packages / "node_modules" / "obsidian" / "package.json").read_text("utf-8"))
    for name, version in obsidian["peerDependencies"].items():
        assert lock[f"node_modules/{name}"]["version"] == version
