"""Where a new attachment goes."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from vaultbridge.engine import DirectEngine
from vaultbridge.engine.files import choose_attachment_path, get_file_size, render_embed
from vaultbridge.errors import InvalidArgument, PermissionDenied
from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.scope import Scope

MakeVault = Callable[..., DirectEngine]


def test_the_settings_choose_the_folder_of_a_bare_name(make_vault: MakeVault) -> None:
    engine = make_vault(
        {".obsidian/app.json": '{"attachmentFolderPath":"./img"}', "f/N.md": "", "f/img/a.png": b"123"}
    )
    assert choose_attachment_path(engine, "b.png", VaultPath("f/N.md")) == "f/img/b.png"
    assert choose_attachment_path(engine, "b.png", None) == "img/b.png"
    assert choose_attachment_path(engine, "g/b.png", VaultPath("f/N.md")) == "g/b.png"
    assert choose_attachment_path(engine, "A.png", VaultPath("f/N.md")) == "f/img/A 1.png", (
        "names differ in more than case"
    )
    assert get_file_size(engine, VaultPath("f/img/a.png")) == 3


def test_a_link_is_written_as_the_vault_writes_links(make_vault: MakeVault) -> None:
    files = {"x/a.png": b"", "y/a.png": b"", "z/b.png": b"", "N.md": ""}
    engine = make_vault(files)
    assert render_embed(engine, VaultPath("z/b.png"), VaultPath("N.md")) == "![[b.png]]"
    assert render_embed(engine, VaultPath("x/a.png"), None) == "![[x/a.png]]"


def test_a_file_that_is_not_an_attachment_or_may_not_be_created_is_refused(make_vault: MakeVault) -> None:
    engine = make_vault({"p/s.png": b""}, scope=Scope(deny=("p/",)))
    for name in ("N.md", "C.canvas", "noending"):
        with pytest.raises(InvalidArgument):
            choose_attachment_path(engine, name, None)
    with pytest.raises(PermissionDenied):
        choose_attachment_path(engine, "p/s.png", None)


@pytest.mark.parametrize("taken", [False, True])
def test_a_numbered_name_that_is_hidden_is_passed_over_whether_it_is_taken_or_not(
    make_vault: MakeVault, taken: bool
) -> None:
    hidden = {"a 1.png": b""} if taken else {}
    engine = make_vault({"a.png": b"", **hidden}, scope=Scope(deny=("a 1.png",)))
    assert choose_attachment_path(engine, "a.png", None) == "a 2.png"
