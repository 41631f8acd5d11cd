"""Paths as clients write them."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterator
from pathlib import Path

import pytest

from support.vault_view import VaultView
from vaultbridge.errors import InvalidPath
from vaultbridge.protocols.claude_ide.wire import IdePaths
from vaultbridge.vault.paths import vault_path

VAULT_NAME = "Mein Tresor é"
VAULT = {"Sub/Note 1.md": "x"}


@pytest.fixture
def paths(vault: Path) -> Iterator[IdePaths]:
    view = VaultView(vault)
    yield IdePaths(view)
    view.close()


@pytest.mark.parametrize("form", ["{vault}/Sub/Note 1.md", "Sub/Note 1.md", "{vault}//Sub/./Note 1.md"])
def test_absolute_and_relative_paths_are_understood(paths: IdePaths, vault: Path, form: str) -> None:
    assert paths.parse(form.format(vault=vault)) == "Sub/Note 1.md"


def test_another_normalisation_of_the_folder_is_the_same_folder(paths: IdePaths, vault: Path) -> None:
    assert paths.parse(unicodedata.normalize("NFD", str(vault / "Sub/Note 1.md"))) == "Sub/Note 1.md"


def test_a_symlink_to_the_vault_leads_into_it(paths: IdePaths, vault: Path, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(vault)
    assert paths.parse(str(tmp_path / "link/Sub/Note 1.md")) == "Sub/Note 1.md"
    assert paths.parse(str(tmp_path / "link/New.md")) == "New.md"


@pytest.mark.parametrize(
    "text", ["/etc/passwd", "{vault}x/Note.md", "{vault}/../other.md", "{vault}", "", "/"]
)
def test_a_path_outside_the_vault_is_refused(paths: IdePaths, vault: Path, text: str) -> None:
    with pytest.raises(InvalidPath):
        paths.parse(text.format(vault=vault))


def test_a_leading_slash_may_mean_the_top_of_the_vault(paths: IdePaths, vault: Path) -> None:
    assert paths.parse_lenient("/Sub/Note 1.md") == "Sub/Note 1.md"
    assert paths.parse_lenient(str(vault / "Sub/Note 1.md")) == "Sub/Note 1.md"


@pytest.mark.parametrize("encode", [True, False])
def test_uris_may_be_percent_encoded_or_not(paths: IdePaths, vault: Path, encode: bool) -> None:
    file = vault / "Sub/Note 1.md"
    assert paths.from_uri(file.as_uri() if encode else f"file://{file}") == "Sub/Note 1.md"


def test_a_percent_sign_in_a_name_stays(paths: IdePaths, vault: Path) -> None:
    (vault / "50%20.md").write_text("x")
    assert paths.from_uri(f"file://{vault}/50%20.md") == "50%20.md"


def test_paths_are_sent_absolute_and_as_stored(paths: IdePaths, vault: Path) -> None:
    stored = unicodedata.normalize("NFD", "Äpfel.md")
    (vault / stored).write_text("x")
    assert paths.absolute(vault_path("Äpfel.md")) == str(vault / stored)
    assert paths.raw_uri(vault_path("Sub/Note 1.md")) == f"file://{vault}/Sub/Note 1.md"
    assert paths.url(vault_path("Sub/Note 1.md")).endswith("Mein%20Tresor%20%C3%A9/Sub/Note%201.md")
