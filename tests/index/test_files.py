"""Reading single files from the index."""

from __future__ import annotations

from collections.abc import Callable

from support.index import Vault
from vaultbridge.index.files import find_file, iterate_notes, list_files, read_text
from vaultbridge.vault.paths import VaultPath

MakeVault = Callable[[dict[str, str | bytes]], Vault]


def test_files_are_listed_for_the_vault_or_for_one_folder(make_vault: MakeVault) -> None:
    vault = make_vault({"A/x.md": "1", "A b/y.md": "2", "A/B/z.png": b"3", "A.md": "4"})
    assert [one.path for one in list_files(vault.index)] == ["A b/y.md", "A.md", "A/B/z.png", "A/x.md"]
    assert [one.path for one in list_files(vault.index, VaultPath("A"))] == ["A/B/z.png", "A/x.md"]
    one = find_file(vault.index, VaultPath("A/x.md"))
    assert one is not None
    assert (one.kind, one.size, len(one.hash)) == ("note", 1, 16)
    assert find_file(vault.index, VaultPath("missing.md")) is None


def test_notes_come_by_path_with_the_targets_of_their_links(make_vault: MakeVault) -> None:
    vault = make_vault({"b.md": "[[a]] [[nowhere]] [[#here]]", "a.md": "# A", "p.png": b""})
    found = [
        (one.file.path, [link.raw for link in one.note.links], one.resolved)
        for one in iterate_notes(vault.index)
    ]
    assert found == [
        ("a.md", [], ()),
        ("b.md", ["[[a]]", "[[nowhere]]", "[[#here]]"], ("a.md", None, "b.md")),
    ]


def test_the_stored_text_is_the_one_that_is_searched(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": b"\xef\xbb\xbfone\r\ntwo \xff"})
    assert read_text(vault.index, VaultPath("a.md")) == "one\r\ntwo \ufffd"
    assert read_text(vault.index, VaultPath("b.md")) is None
