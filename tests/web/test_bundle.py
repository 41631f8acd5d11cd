"""The committed bundle of the page is what its sources give: by recorded hashes, and with npm by bytes."""

from __future__ import annotations

import base64
import gzip
import hashlib
import json
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

from support.node import NotInstallable, install_packages, skip_without_packages

ROOT = Path(__file__).parents[2]
WEB = ROOT / "web"
STATIC = ROOT / "src" / "vaultbridge" / "web" / "static"
VIEWS = ROOT / "src" / "vaultbridge" / "protocols" / "mcp" / "vault" / "views"

BUNDLE = json.loads((STATIC / "bundle.json").read_text("utf-8"))

BEYOND_SOURCES = ("package.json", "package-lock.json", "tsconfig.json", "build.mjs")

ALLOWED_LICENCES = {"MIT", "BSD-3-Clause", "(MPL-2.0 OR Apache-2.0)", "BSD-2-Clause", "ISC"}

VIEW_BYTES = 300_000
"""What a view within a chat may weigh: it is one message, which some clients keep with every answer."""

COMPRESSED_BYTES = 1_000_000
"""What the whole page may weigh on the wire, every view included."""


def hash_bytes(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def read_sources() -> dict[str, bytes]:
    names = [file.relative_to(WEB).as_posix() for file in (WEB / "src").rglob("*") if file.is_file()]
    return {name: (WEB / name).read_bytes() for name in sorted([*names, *BEYOND_SOURCES])}


def test_the_bundle_was_made_from_these_sources() -> None:
    listed = "".join(f"{hash_bytes(data)}  {name}\n" for name, data in read_sources().items())
    assert hash_bytes(listed.encode()) == BUNDLE["sources"], "run `make web` and commit what it writes"


def test_nobody_edited_the_bundle() -> None:
    found = {
        file.name: hash_bytes(file.read_bytes()) for file in STATIC.iterdir() if file.name != "bundle.json"
    }
    assert found == BUNDLE["files"], "run `make web` and commit what it writes"
    views = {file.name: hash_bytes(file.read_bytes()) for file in VIEWS.iterdir()}
    assert views == BUNDLE["views"], "run `make web` and commit what it writes"


def test_every_package_is_locked_by_its_hash_and_names_no_registry() -> None:
    lock = json.loads((WEB / "package-lock.json").read_text("utf-8"))
    packages = {name: about for name, about in lock["packages"].items() if name}
    assert len(packages) > 20
    for name, about in packages.items():
        assert about.get("integrity", "").startswith("sha512-"), name
        assert "resolved" not in about, name


def test_each_package_in_the_bundle_has_its_licence_in_the_notice() -> None:
    _, *parts = (STATIC / "THIRD_PARTY.txt").read_text("utf-8").split(f"\n{'=' * 80}\n\n")
    lock = json.loads((WEB / "package-lock.json").read_text("utf-8"))["packages"]
    named = [re.fullmatch(r"(\S+) (\S+) \((.+)\)", part.partition("\n")[0]) for part in parts]
    assert parts and all(named)
    for part, entry in zip(parts, named, strict=True):
        assert entry is not None
        assert lock[f"node_modules/{entry[1]}"]["version"] == entry[2]
        assert entry[3] in ALLOWED_LICENCES, entry[0]
        assert "copyright" in part.lower(), entry[0]


def test_the_whole_page_is_light() -> None:
    weight = sum(len(gzip.compress(file.read_bytes())) for file in STATIC.iterdir() if file.suffix != ".txt")
    assert weight < COMPRESSED_BYTES


@pytest.mark.parametrize("file", sorted(VIEWS.iterdir()), ids=lambda file: file.stem)
def test_a_view_for_chats_is_light_and_needs_nothing_else(file: Path) -> None:
    text = file.read_text("utf-8")
    assert len(text.encode()) < VIEW_BYTES
    found = re.search(r'Content-Security-Policy" content="([^"]+)"', text)
    assert found is not None
    policy = dict(part.split(" ", 1) for part in found[1].split("; "))
    assert policy["default-src"] == "'none'"
    assert set(policy) == {
        "default-src", "script-src", "style-src", "base-uri", "form-action", "require-trusted-types-for",
        "trusted-types",
    }  # fmt: skip
    for tag, rule in (("script", "script-src"), ("style", "style-src")):
        (content,) = re.findall(rf"<{tag}[^>]*>(.*?)</{tag}>", text, re.DOTALL)
        digest = base64.b64encode(hashlib.sha256(content.encode()).digest()).decode()
        assert policy[rule] == f"'sha256-{digest}'"
    assert not re.search(r"""(?:src|href)\s*=\s*["']|@import|url\(|fetch\(|eval\(""", text)


@pytest.mark.node
@pytest.mark.timeout(400)
def test_bundling_again_gives_the_same_bytes(tmp_path: Path) -> None:
    try:
        packages = install_packages("page", WEB)
    except NotInstallable as reason:
        skip_without_packages(reason)
    # The build looks for packages beside its sources.
    copy = tmp_path / "web"
    shutil.copytree(WEB, copy, ignore=shutil.ignore_patterns("node_modules"))
    (copy / "node_modules").symlink_to(packages / "node_modules")
    node = shutil.which("node")
    assert node is not None
    for command in (
        [str(copy / "node_modules" / ".bin" / "tsc"), "--noEmit"],
        [node, "build.mjs", str(tmp_path / "out"), str(tmp_path / "views")],
    ):
        done = subprocess.run(
            command, cwd=copy, capture_output=True, text=True, timeout=300, check=False, env=os.environ
        )
        assert done.returncode == 0, done.stdout + done.stderr
    made = {file.name: file.read_bytes() for file in (tmp_path / "out").iterdir()}
    assert made == {file.name: file.read_bytes() for file in STATIC.iterdir()}
    views = {file.name: file.read_bytes() for file in (tmp_path / "views").iterdir()}
    assert views == {file.name: file.read_bytes() for file in VIEWS.iterdir()}
