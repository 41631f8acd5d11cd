"""`vaultbridge.vault.write.places`: where recorded acts took place, after the vault was moved."""

from __future__ import annotations

from pathlib import Path

from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.write.places import make_mover, move_places
from vaultbridge.vault.write.steps import (
    ContentImage,
    FolderMade,
    FolderRemoved,
    Moved,
    Removed,
    Restored,
    Trashed,
    Written,
)

P = VaultPath
IMAGE = ContentImage(b"1", "1", 1)


def test_every_place_of_every_kind_of_act_moves(tmp_path: Path) -> None:
    move = make_mover("/old", "/new")
    trashed = Trashed(P("t"), "/old/t", "local", "/old/.trash/t", "/old/.trash/t.info", "x", False, None, 0)
    acts = [
        Written(P("a"), "/old/a", None, IMAGE, None, "/old/.tmp"),
        Removed(P("a"), "/old/a", IMAGE, 0),
        Moved(P("a"), P("b"), "/old/a", "/old/b", folder=False),
        trashed,
        Restored(trashed),
        FolderMade(P("d"), "/old/d"),
        FolderRemoved(P("d"), "/old/d"),
    ]
    moved = [move_places(act, move) for act in acts]
    assert "/old" not in repr(moved)
    back = make_mover("/new", "/old")
    assert [move_places(act, back) for act in moved] == acts


def test_only_what_is_in_the_vault_moves() -> None:
    move = make_mover("/a/vault", "/a/vault/inner")
    assert move("/a/vault") == "/a/vault/inner"
    assert move("/a/vault/inner/x") == "/a/vault/inner/inner/x"
    assert move("/a/vault2/x") == "/a/vault2/x"
    assert move("/home/.local/share/Trash/files/x") == "/home/.local/share/Trash/files/x"


def test_a_trash_beside_the_vault_moves_only_if_it_is_there_now(tmp_path: Path) -> None:
    old, new = tmp_path / "STICK", tmp_path / "STICK1"
    (new / ".Trash-0" / "files").mkdir(parents=True)
    move = make_mover(str(old / "Notes"), str(new / "Notes"))
    assert move(str(old / ".Trash-0/files/n.md")) == str(new / ".Trash-0/files/n.md")
    assert move(str(old / "Elsewhere/n.md")) == str(old / "Elsewhere/n.md")
