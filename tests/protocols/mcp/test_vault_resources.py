"""The vault's files as resources."""

from __future__ import annotations

from pathlib import Path

import pytest

from support.vault import copy_sample_vault, make_small_vault, open_engines
from vaultbridge.errors import NotFound, PermissionDenied, VaultNotFound
from vaultbridge.protocols.mcp.values import BlobResource, ResourceInfo, TextResource
from vaultbridge.protocols.mcp.vault import resources as vault_resources
from vaultbridge.protocols.mcp.vault.engines import VaultEngines
from vaultbridge.vault.scope import Scope


def list_everything(engines: VaultEngines) -> list[ResourceInfo]:
    found: list[ResourceInfo] = []
    cursor = ""
    while True:
        page = vault_resources.list_page(engines, cursor)
        found += page.items
        if not (cursor := page.next):
            return found


@pytest.mark.parametrize("indexed", [False, True])
def test_every_visible_file_is_listed_once_by_path(tmp_path: Path, indexed: bool) -> None:
    """From the disk while the index is being built, from the index afterwards: the same."""
    vault = copy_sample_vault(tmp_path)
    engines = open_engines(tmp_path, vault, scope=Scope(deny=("Garden",)))
    if indexed:
        engines["Sample Vault"].index_sync.refresh()
    assert engines["Sample Vault"].queries.status.complete is indexed
    there = sorted(
        place.relative_to(vault).as_posix()
        for place in vault.rglob("*")
        if place.is_file() and not place.relative_to(vault).as_posix().startswith((".", "Garden/"))
    )
    assert [info.name for info in list_everything(engines)] == there
    engines.close()


@pytest.mark.parametrize("indexed", [False, True])
def test_a_link_to_a_hidden_file_is_not_listed(tmp_path: Path, indexed: bool) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "a", "Private/B.md": "secret"})
    (vault / "Link.md").symlink_to(vault / "Private/B.md")
    (vault / "Fine.md").symlink_to(vault / "A.md")
    engines = open_engines(tmp_path, vault, scope=Scope(deny=("Private",)))
    if indexed:
        engines["Notes"].index_sync.refresh()
    assert [info.name for info in list_everything(engines)] == ["A.md", "Fine.md"]
    engines.close()


def test_a_resource_has_its_kind_size_and_time(tmp_path: Path) -> None:
    vault = make_small_vault(
        tmp_path, {"Été.md": "ab", "p.png": b"\x89PNG", "c.canvas": "{}", "b.base": "views: []"}
    )
    engines = open_engines(tmp_path, vault)
    found = {info.name: info for info in list_everything(engines)}
    assert {name: info.mime_type for name, info in found.items()} == {
        "Été.md": "text/markdown",
        "p.png": "image/png",
        "c.canvas": "application/json",
        "b.base": "application/yaml",
    }
    note = found["Été.md"]
    assert (note.title, note.size) == ("Été", 2)
    assert note.uri == "obsidian://vault/Notes/%C3%89t%C3%A9.md"
    assert note.annotations is not None
    assert note.annotations.last_modified.endswith("Z")
    engines.close()


def test_a_large_vault_comes_in_pages_without_gaps(tmp_path: Path) -> None:
    files: dict[str, str | bytes] = {f"N{n:04}.md": "" for n in range(1101)}
    engines = open_engines(tmp_path, make_small_vault(tmp_path, files))
    assert len(vault_resources.list_page(engines, "").items) == 500
    assert [info.name for info in list_everything(engines)] == sorted(files)
    engines.close()


def test_several_vaults_are_listed_together_and_a_missing_one_is_left_out(tmp_path: Path) -> None:
    first, second = (
        make_small_vault(tmp_path, {"A.md": "1"}, "One"),
        make_small_vault(tmp_path, {"A.md": "2"}, "One more"),
    )
    engines = open_engines(tmp_path, first, second, tmp_path / "missing")
    assert [info.uri for info in list_everything(engines)] == [
        "obsidian://vault/One%20more/A.md",
        "obsidian://vault/One/A.md",
    ]
    engines.close()


def test_without_any_vault_the_reason_is_given(tmp_path: Path) -> None:
    with pytest.raises(VaultNotFound):
        vault_resources.list_page(open_engines(tmp_path, tmp_path / "missing"), "")


def test_text_is_read_as_text_and_the_rest_as_bytes(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"A b.md": "# é\n", "p.png": b"\x89PNG", "bad.md": b"a\xffb"})
    engines = open_engines(tmp_path, vault)
    (note,) = vault_resources.read_resource("obsidian://vault/Notes/A%20b.md", engines)
    assert note == TextResource(
        uri="obsidian://vault/Notes/A%20b.md", text="# é\n", mime_type="text/markdown"
    )
    (picture,) = vault_resources.read_resource("obsidian://vault/Notes/p.png", engines)
    assert picture == BlobResource(uri="obsidian://vault/Notes/p.png", blob=b"\x89PNG", mime_type="image/png")
    (bad,) = vault_resources.read_resource("obsidian://vault/Notes/bad.md", engines)
    assert isinstance(bad, TextResource)
    assert bad.text == "a\ufffdb"
    engines.close()


def test_a_template_may_be_filled_in_with_a_notes_name(tmp_path: Path) -> None:
    engines = open_engines(tmp_path, copy_sample_vault(tmp_path))
    (content,) = vault_resources.read_resource("obsidian://vault/Sample%20Vault/M82", engines)
    assert content.uri == "obsidian://vault/Sample%20Vault/M82"
    engines.close()


@pytest.mark.parametrize(
    "path", ["Hidden/B.md", "Nope.md", "../Notes/A.md", ".obsidian/app.json", "A.md/", ""]
)
def test_what_is_hidden_missing_or_outside_is_not_there(tmp_path: Path, path: str) -> None:
    vault = make_small_vault(tmp_path, {"A.md": "a", "Hidden/B.md": "b", ".obsidian/app.json": "{}"})
    engines = open_engines(tmp_path, vault, scope=Scope(deny=("Hidden",)))
    if path == "A.md/":
        assert vault_resources.read_resource(f"obsidian://vault/Notes/{path}", engines)
    else:
        with pytest.raises(NotFound) as missing:
            vault_resources.read_resource(f"obsidian://vault/Notes/{path}", engines)
        assert "Hidden/B.md" not in str(missing.value).replace(path, "")
    engines.close()


def test_a_vault_that_is_not_open_has_no_resources(tmp_path: Path) -> None:
    engines = open_engines(tmp_path, make_small_vault(tmp_path, {"A.md": "a"}))
    with pytest.raises(NotFound):
        vault_resources.read_resource("obsidian://vault/Other/A.md", engines)


def test_a_file_too_large_for_a_message_is_refused_by_its_size(tmp_path: Path) -> None:
    vault = make_small_vault(tmp_path, {"film.mp4": b""})
    with (vault / "film.mp4").open("r+b") as file:
        file.truncate(vault_resources.RESOURCE_BYTES + 1)
    engines = open_engines(tmp_path, vault)
    with pytest.raises(PermissionDenied, match=r"film\.mp4"):
        vault_resources.read_resource("obsidian://vault/Notes/film.mp4", engines)
    engines.close()
