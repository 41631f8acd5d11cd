"""Reading files from the index."""

from __future__ import annotations

from collections.abc import Callable

from support.index import Vault, dump
from vaultbridge.index.files import iterate_notes, list_files

MakeVault = Callable[[dict[str, str | bytes]], Vault]


def test_files_are_listed_for_the_vault_or_for_one_folder(make_vault: MakeVault) -> None:
    vault = make_vault({"A/x.md": "1", "A b/y.md": "2", "A/B/z.png": b"3", "A.md": "4"})
    assert [file.path for file in list_files(vault.index).rows] == ["A b/y.md", "A.md", "A/B/z.png", "A/x.md"]
    assert [file.path for file in list_files(vault.index, "A").rows] == ["A/B/z.png", "A/x.md"]
    picture = list_files(vault.index, "A").rows[1]
    assert (picture.kind, picture.size, len(picture.hash)) == ("note", 1, 16)


def test_notes_come_by_path_with_the_targets_of_their_links(make_vault: MakeVault) -> None:
    vault = make_vault({"b.md": "[[a]] [[nowhere]] [[#here]]", "a.md": "# A", "p.png": b""})
    found = [
        (note.file.path, [link.raw for link in note.note.links], note.resolved)
        for note in iterate_notes(vault.index)
    ]
    assert found == [
        ("a.md", [], ()),
        ("b.md", ["[[a]]", "[[nowhere]]", "[[#here]]"], ("a.md", None, "b.md")),
    ]


def test_the_stored_text_is_the_one_that_is_searched(make_vault: MakeVault) -> None:
    vault = make_vault({"a.md": b"\xef\xbb\xbfone\r\ntwo \xff"})
    assert dump(vault.index)["a.md"]["text"] == [("one\r\ntwo \ufffd",)]
