"""`vaultbridge.vault.write.transaction` with the plan behind it: whole or not at all, undone when asked."""

from __future__ import annotations

import os
import random
import subprocess
import sys
import textwrap
import unicodedata
from collections.abc import Callable
from pathlib import Path

import pytest

from vaultbridge.errors import (
    EditRefused,
    EngineFailure,
    NoteNotFound,
    PermissionDenied,
    StaleWrite,
    TimedOut,
    VaultNotFound,
)
from vaultbridge.vault.locking import FileLock
from vaultbridge.vault.paths import VaultFolder, VaultPath, vault_path
from vaultbridge.vault.read import content_hash
from vaultbridge.vault.write.steps import (
    ABSENT,
    MakeFolder,
    MoveFile,
    MoveFolder,
    RemoveFile,
    RemoveFolder,
    Step,
    TrashFile,
    WriteFile,
)
from vaultbridge.vault.write.transaction import Applied, Transactor
from vaultbridge.vault.write.trash import Trash

Snapshot = Callable[[], dict[str, bytes | None]]
P = vault_path


def do(transactor: Transactor, *steps: Step) -> Applied:
    return transactor.apply(steps, actor="test", label="a change")


def test_a_new_note_is_written_with_the_folders_it_needs(transactor: Transactor, snapshot: Snapshot) -> None:
    done = do(transactor, WriteFile(P("A/B/n.md"), b"x", ABSENT))
    assert done.id == 1
    assert snapshot() == {"A": None, "A/B": None, "A/B/n.md": b"x"}
    transactor.undo(1, actor="test")
    assert snapshot() == {}


def test_a_write_replaces_the_whole_file_and_keeps_its_mode(transactor: Transactor, folder: Path) -> None:
    (folder / "n.md").write_bytes(b"old")
    (folder / "n.md").chmod(0o640)
    do(transactor, WriteFile(P("n.md"), b"new", content_hash(b"old")))
    assert (folder / "n.md").read_bytes() == b"new"
    assert (folder / "n.md").stat().st_mode & 0o777 == 0o640
    transactor.undo(1, actor="test")
    assert (folder / "n.md").read_bytes() == b"old"
    assert (folder / "n.md").stat().st_mode & 0o777 == 0o640


def test_a_stale_write_fails_with_the_current_hash_and_nothing_changes(
    transactor: Transactor, folder: Path, snapshot: Snapshot
) -> None:
    (folder / "a.md").write_bytes(b"a")
    (folder / "n.md").write_bytes(b"now")
    before = snapshot()
    with pytest.raises(StaleWrite) as caught:
        do(transactor, WriteFile(P("a.md"), b"new"), WriteFile(P("n.md"), b"new", content_hash(b"then")))
    assert caught.value.current == content_hash(b"now")
    assert snapshot() == before
    with pytest.raises(StaleWrite) as caught:
        do(transactor, WriteFile(P("gone.md"), b"new", content_hash(b"then")))
    assert caught.value.current == ""
    assert transactor.journal.history() == ()


@pytest.mark.parametrize("taken", ["n.md", "N.md", unicodedata.normalize("NFD", "né.md")])
def test_a_new_note_is_refused_if_one_exists_in_any_spelling(
    transactor: Transactor, folder: Path, taken: str
) -> None:
    (folder / taken).write_bytes(b"x")
    wanted = unicodedata.normalize("NFC", taken).lower()
    with pytest.raises(EditRefused, match="already exists"):
        do(transactor, WriteFile(P(wanted), b"y", ABSENT))


def test_writing_what_is_there_already_changes_nothing(transactor: Transactor, folder: Path) -> None:
    (folder / "n.md").write_bytes(b"x")
    before = (folder / "n.md").stat()
    assert do(transactor, WriteFile(P("n.md"), b"x")).id == 0
    after = (folder / "n.md").stat()
    # Not the whole stat: reading a file may set the time of its last access.
    assert (after.st_ino, after.st_mtime_ns, after.st_ctime_ns) == (
        before.st_ino,
        before.st_mtime_ns,
        before.st_ctime_ns,
    )


def test_a_note_stored_as_nfd_keeps_its_name(transactor: Transactor, folder: Path) -> None:
    stored = unicodedata.normalize("NFD", "Café.md")
    (folder / stored).write_bytes(b"old")
    do(transactor, WriteFile(P("Café.md"), b"new"))
    do(transactor, RemoveFile(P("Café.md")))
    transactor.undo(2, actor="test")
    do(transactor, MoveFile(P("Café.md"), P("Tea.md")))
    transactor.undo(4, actor="test")
    assert [item.name for item in folder.iterdir()] == [stored]
    assert (folder / stored).read_bytes() == b"new"


def test_a_folder_stored_as_nfd_gets_its_name_back(transactor: Transactor, folder: Path) -> None:
    stored = unicodedata.normalize("NFD", "Café")
    (folder / stored).mkdir()
    (folder / stored / "n.md").write_bytes(b"x")
    do(transactor, MoveFolder(P("Café"), P("Tea")))
    transactor.undo(1, actor="test")
    assert [item.name for item in folder.iterdir()] == [stored]
    do(transactor, RemoveFile(P("Café/n.md")), RemoveFolder(P("Café")))
    assert list(folder.iterdir()) == []
    transactor.undo(3, actor="test")
    assert [item.name for item in folder.iterdir()] == [stored]
    assert (folder / stored / "n.md").read_bytes() == b"x"


def test_a_note_that_is_a_link_is_written_through(transactor: Transactor, folder: Path) -> None:
    (folder / "real").mkdir()
    (folder / "real" / "n.md").write_bytes(b"old")
    (folder / "link.md").symlink_to("real/n.md")
    do(transactor, WriteFile(P("link.md"), b"new"))
    assert (folder / "link.md").is_symlink()
    assert (folder / "real" / "n.md").read_bytes() == b"new"
    transactor.undo(1, actor="test")
    assert (folder / "real" / "n.md").read_bytes() == b"old"


def test_a_link_out_of_the_vault_is_never_written_through(
    transactor: Transactor, folder: Path, tmp_path: Path
) -> None:
    (tmp_path / "outside.md").write_bytes(b"mine")
    (folder / "link.md").symlink_to(tmp_path / "outside.md")
    (folder / "door").symlink_to(tmp_path)
    for path in ("link.md", "door/new.md"):
        with pytest.raises(PermissionDenied):
            do(transactor, WriteFile(P(path), b"new"))
    assert (tmp_path / "outside.md").read_bytes() == b"mine"
    assert not (tmp_path / "new.md").exists()


def test_a_move_needs_a_free_target_and_makes_its_folders(
    transactor: Transactor, folder: Path, snapshot: Snapshot
) -> None:
    (folder / "a.md").write_bytes(b"a")
    (folder / "b.md").write_bytes(b"b")
    with pytest.raises(EditRefused, match=r"B\.md already exists"):
        do(transactor, MoveFile(P("a.md"), P("B.md")))
    with pytest.raises(NoteNotFound):
        do(transactor, MoveFile(P("none.md"), P("c.md")))
    do(transactor, MoveFile(P("a.md"), P("X/Y/a.md")))
    assert snapshot() == {"X": None, "X/Y": None, "X/Y/a.md": b"a", "b.md": b"b"}
    transactor.undo(1, actor="test")
    assert snapshot() == {"a.md": b"a", "b.md": b"b"}


def test_only_the_case_of_a_name_may_change(transactor: Transactor, folder: Path, snapshot: Snapshot) -> None:
    (folder / "Dir").mkdir()
    (folder / "Dir" / "note.md").write_bytes(b"x")
    do(transactor, MoveFile(P("Dir/note.md"), P("Dir/Note.md")), MoveFolder(P("Dir"), P("dir")))
    assert snapshot() == {"dir": None, "dir/Note.md": b"x"}
    transactor.undo(1, actor="test")
    assert snapshot() == {"Dir": None, "Dir/note.md": b"x"}


def test_a_folder_moves_with_all_it_holds_and_writes_follow_it(
    transactor: Transactor, folder: Path, snapshot: Snapshot
) -> None:
    for name in ("Old/a.md", "Old/sub/b.md", "Old/.hidden", "Old/empty/keep"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(name.encode())
    (folder / "Old" / "empty" / "keep").unlink()
    before = snapshot()
    do(
        transactor,
        WriteFile(P("Old/a.md"), b"first"),
        MoveFolder(P("Old"), P("New/Place")),
        WriteFile(P("new/place/A.md"), b"second", content_hash(b"first")),
        WriteFile(P("New/Place/sub/b.md"), b"b2", content_hash(b"Old/sub/b.md")),
        WriteFile(P("New/Place/sub/c.md"), b"c", ABSENT),
        WriteFile(P("Old/again.md"), b"again", ABSENT),
    )
    assert snapshot() == {
        "New": None,
        "New/Place": None,
        "New/Place/.hidden": b"Old/.hidden",
        "New/Place/a.md": b"second",
        "New/Place/empty": None,
        "New/Place/sub": None,
        "New/Place/sub/b.md": b"b2",
        "New/Place/sub/c.md": b"c",
        "Old": None,
        "Old/again.md": b"again",
    }
    transactor.undo(1, actor="test")
    assert snapshot() == before


def test_chained_folder_moves_are_seen_through(
    transactor: Transactor, folder: Path, snapshot: Snapshot
) -> None:
    (folder / "A").mkdir()
    (folder / "A" / "n.md").write_bytes(b"n")
    before = snapshot()
    do(
        transactor,
        MoveFolder(P("A"), P("B")),
        MoveFolder(P("B"), P("C")),
        MoveFile(P("C/n.md"), P("C/m.md")),
        WriteFile(P("C/m.md"), b"m", content_hash(b"n")),
        MoveFolder(P("C"), P("A")),
    )
    assert snapshot() == {"A": None, "A/m.md": b"m"}
    transactor.undo(1, actor="test")
    assert snapshot() == before


def test_two_notes_swap_names_in_one_transaction(
    transactor: Transactor, folder: Path, snapshot: Snapshot
) -> None:
    (folder / "a.md").write_bytes(b"a")
    (folder / "b.md").write_bytes(b"b")
    do(
        transactor,
        MoveFile(P("a.md"), P("t.md")),
        MoveFile(P("b.md"), P("a.md")),
        MoveFile(P("t.md"), P("b.md")),
    )
    assert snapshot() == {"a.md": b"b", "b.md": b"a"}
    transactor.undo(1, actor="test")
    assert snapshot() == {"a.md": b"a", "b.md": b"b"}


def test_a_folder_cannot_be_moved_into_itself_or_onto_another(transactor: Transactor, folder: Path) -> None:
    (folder / "A").mkdir()
    (folder / "B").mkdir()
    (folder / "n.md").write_bytes(b"")
    for source, target, words in (
        ("A", "A/B", "into itself"),
        ("A", "b", "already exists"),
        ("n.md", "C", "is a file"),
    ):
        with pytest.raises(EditRefused, match=words):
            do(transactor, MoveFolder(P(source), P(target)))
    with pytest.raises(NoteNotFound, match="folder"):
        do(transactor, MoveFolder(P("none"), P("C")))


def test_a_file_where_a_folder_is_needed_is_refused(transactor: Transactor, folder: Path) -> None:
    (folder / "n.md").write_bytes(b"")
    with pytest.raises(EditRefused, match=r"n\.md is a file"):
        do(transactor, WriteFile(P("n.md/x.md"), b""))
    (folder / "dir.md").mkdir()
    with pytest.raises(EditRefused, match="is a folder"):
        do(transactor, WriteFile(P("dir.md"), b""))


@pytest.mark.parametrize("option", ["system", "local"])
def test_undoing_restores_a_trashed_note(
    transactor: Transactor, folder: Path, home: Path, snapshot: Snapshot, option: str
) -> None:
    (folder / "A").mkdir()
    (folder / "A" / "n.md").write_bytes(b"x")
    before = snapshot()
    do(transactor, TrashFile(P("A/n.md"), option))  # type: ignore[arg-type]
    can = folder / ".trash" if option == "local" else home / ".local" / "share" / "Trash" / "files"
    assert (can / "n.md").read_bytes() == b"x"
    assert not (folder / "A" / "n.md").exists()
    transactor.undo(1, actor="test")
    assert (folder / "A" / "n.md").read_bytes() == b"x"
    assert not (can / "n.md").exists()
    if option == "system":
        assert snapshot() == before
        assert list((can.parent / "info").iterdir()) == []
    transactor.undo(2, actor="test")
    assert (can / "n.md").read_bytes() == b"x"


def test_undoing_restores_a_note_even_after_the_trash_was_emptied(
    transactor: Transactor, folder: Path
) -> None:
    (folder / "n.md").write_bytes(b"x")
    (folder / "n.md").chmod(0o600)
    do(transactor, TrashFile(P("n.md"), "local"))
    (folder / ".trash" / "n.md").unlink()
    transactor.undo(1, actor="test")
    assert (folder / "n.md").read_bytes() == b"x"
    assert (folder / "n.md").stat().st_mode & 0o777 == 0o600


def test_a_folder_goes_to_the_trash_and_comes_back_whole(
    transactor: Transactor, folder: Path, snapshot: Snapshot
) -> None:
    (folder / "A" / "b").mkdir(parents=True)
    (folder / "A" / "b" / "n.md").write_bytes(b"x")
    before = snapshot()
    do(transactor, TrashFile(P("A"), "system"))
    assert snapshot() == {}
    transactor.undo(1, actor="test")
    assert snapshot() == before


def test_two_notes_of_one_name_fit_into_one_trash_at_once(transactor: Transactor, folder: Path) -> None:
    for name in ("A", "B"):
        (folder / name).mkdir()
        (folder / name / "n.md").write_bytes(name.encode())
    do(transactor, TrashFile(P("A/n.md"), "local"), TrashFile(P("B/n.md"), "local"))
    assert {item.name: item.read_bytes() for item in (folder / ".trash").iterdir()} == {
        "n.md": b"A",
        "n 2.md": b"B",
    }


def test_a_note_removed_for_good_stays_in_the_journal(
    transactor: Transactor, folder: Path, snapshot: Snapshot
) -> None:
    (folder / "n.md").write_bytes(b"x")
    do(transactor, TrashFile(P("n.md"), "none"))
    assert snapshot() == {}
    transactor.undo(1, actor="test")
    assert snapshot() == {"n.md": b"x"}


def test_a_file_that_is_not_downloaded_may_be_moved_and_trashed_but_not_written(
    transactor: Transactor, folder: Path
) -> None:
    with (folder / "far.md").open("wb") as file:
        file.truncate(5000)
    with pytest.raises(EngineFailure, match="not downloaded"):
        do(transactor, WriteFile(P("far.md"), b"x"))
    do(transactor, MoveFile(P("far.md"), P("moved.md")))
    do(transactor, TrashFile(P("moved.md"), "local"))
    assert (folder / ".trash" / "moved.md").stat().st_size == 5000
    transactor.undo(2, actor="test")
    transactor.undo(1, actor="test")
    assert (folder / "far.md").stat().st_blocks == 0, "nothing was read into it"


def test_folders_are_made_and_removed_only_when_empty(
    transactor: Transactor, folder: Path, snapshot: Snapshot
) -> None:
    do(transactor, MakeFolder(P("A/B/C")), MakeFolder(P("A/D")))
    (folder / "A" / "D" / "n.md").write_bytes(b"")
    before = snapshot()
    do(transactor, RemoveFolder(P("A")))
    assert snapshot() == {"A": None, "A/D": None, "A/D/n.md": b""}
    transactor.undo(2, actor="test")
    assert snapshot() == before
    with pytest.raises(EditRefused):
        do(transactor, RemoveFolder(VaultPath("")))


def test_undo_refuses_when_the_file_has_changed_since_unless_forced(
    transactor: Transactor, folder: Path
) -> None:
    (folder / "n.md").write_bytes(b"old")
    do(transactor, WriteFile(P("n.md"), b"new"))
    (folder / "n.md").write_bytes(b"mine")
    with pytest.raises(EditRefused, match=r"n\.md has changed since"):
        transactor.undo(1, actor="test")
    assert (folder / "n.md").read_bytes() == b"mine"
    transactor.undo(1, actor="test", force=True)
    assert (folder / "n.md").read_bytes() == b"old"
    assert (folder / "n.md").read_bytes() == b"old"


def test_undoing_a_move_refuses_when_the_file_has_changed_since_unless_forced(
    transactor: Transactor, folder: Path
) -> None:
    (folder / "n.md").write_bytes(b"x")
    (folder / "big.bin").write_bytes(b"x" * (2 << 20))
    do(transactor, MoveFile(P("n.md"), P("m.md")))
    do(transactor, MoveFile(P("big.bin"), P("large.bin")))
    (folder / "m.md").write_bytes(b"edited")
    with (folder / "large.bin").open("ab") as file:
        file.write(b"more")
    for number in (1, 2):
        with pytest.raises(EditRefused, match="changed since"):
            transactor.undo(number, actor="test")
        transactor.undo(number, actor="test", force=True)
    assert (folder / "n.md").read_bytes() == b"edited"
    assert (folder / "big.bin").read_bytes().endswith(b"more")


@pytest.mark.parametrize("force", [False, True])
def test_undoing_a_move_is_refused_when_the_file_is_gone(
    transactor: Transactor, folder: Path, force: bool
) -> None:
    (folder / "n.md").write_bytes(b"x")
    done = do(transactor, MoveFile(P("n.md"), P("m.md")))
    (folder / "m.md").unlink()
    with pytest.raises(EditRefused, match=r"m\.md is no longer there, so change 1 cannot be undone"):
        transactor.undo(done.id, actor="test", force=force)


@pytest.mark.parametrize("force", [False, True])
@pytest.mark.parametrize("new", ["Ñote.md", "ñote.md", "N\u0303ote.md", "n\u0303OTE.md"])
@pytest.mark.parametrize("step", [MoveFile(P("Ñote.md"), P("m.md")), TrashFile(P("Ñote.md"), "local")])
def test_undoing_says_which_file_has_taken_the_old_name(
    transactor: Transactor, folder: Path, snapshot: Snapshot, step: Step, new: str, force: bool
) -> None:
    """On a disk that stores both names, undoing is possible. It is refused all the same, like creating such a
    note: on other systems, and to links, they are one name."""
    (folder / "Ñote.md").write_bytes(b"x")
    done = do(transactor, step)
    (folder / new).write_bytes(b"y")
    before = snapshot()
    with pytest.raises(EditRefused) as refused:
        transactor.undo(done.id, actor="test", force=force)
    assert f"{new} " in str(refused.value).replace(".md.", ".md ")
    assert refused.value.hint == f"Rename or move {new} first. Undoing never replaces another file."
    assert snapshot() == before


def test_a_batch_is_undone_completely_or_not_at_all(
    transactor: Transactor, folder: Path, snapshot: Snapshot
) -> None:
    for name in "abc":
        (folder / f"{name}.md").write_bytes(name.encode())
    do(transactor, *(WriteFile(P(f"{name}.md"), b"new") for name in "abc"))
    (folder / "b.md").write_bytes(b"mine")
    before = snapshot()
    with pytest.raises(EditRefused):
        transactor.undo(1, actor="test")
    assert snapshot() == before


def test_a_change_is_undone_once_and_an_undo_can_be_undone(transactor: Transactor, folder: Path) -> None:
    do(transactor, WriteFile(P("n.md"), b"x"))
    undone = transactor.undo(1, actor="test")
    with pytest.raises(EditRefused, match=f"already been undone by change {undone.id}"):
        transactor.undo(1, actor="test")
    transactor.undo(undone.id, actor="test")
    assert (folder / "n.md").read_bytes() == b"x"
    transactor.undo(1, actor="test")
    assert not (folder / "n.md").exists()


def test_a_forced_undo_of_a_creation_and_move_leaves_nothing(
    transactor: Transactor, snapshot: Snapshot
) -> None:
    do(transactor, WriteFile(P("a.md"), b"x"), MoveFile(P("a.md"), P("b.md")))
    transactor.undo(1, actor="test", force=True)
    assert snapshot() == {}


def test_a_forced_undo_of_a_creation_that_is_gone_is_no_error(transactor: Transactor, folder: Path) -> None:
    do(transactor, WriteFile(P("a.md"), b"x"))
    (folder / "a.md").unlink()
    with pytest.raises(EditRefused, match=r"a\.md is no longer there"):
        transactor.undo(1, actor="test")
    transactor.undo(1, actor="test", force=True)


def test_a_read_only_note_is_refused_and_nothing_of_the_batch_happens(
    transactor: Transactor, folder: Path, snapshot: Snapshot
) -> None:
    (folder / "a.md").write_bytes(b"a")
    (folder / "n.md").write_bytes(b"n")
    (folder / "n.md").chmod(0o444)
    before = snapshot()
    with pytest.raises(PermissionDenied, match="read-only"):
        do(transactor, WriteFile(P("a.md"), b"new"), WriteFile(P("n.md"), b"new"))
    assert snapshot() == before


def test_a_save_in_the_last_moment_wins_over_the_batch(
    root: VaultFolder, folder: Path, cache: Path, trash: Trash, snapshot: Snapshot
) -> None:
    """Another program saves a note after it was checked and before it is swapped."""
    for name in "abc":
        (folder / f"{name}.md").write_bytes(name.encode())

    def interfere(point: str) -> None:
        if point == "done 0":
            (folder / "b.md").write_bytes(b"saved by a person")

    transactor = Transactor(root, cache, trash=trash, checkpoint=interfere)
    with pytest.raises(StaleWrite) as caught:
        do(transactor, *(WriteFile(P(f"{name}.md"), b"new", content_hash(name.encode())) for name in "abc"))
    assert caught.value.current == content_hash(b"saved by a person")
    assert snapshot() == {"a.md": b"a", "b.md": b"saved by a person", "c.md": b"c"}
    assert transactor.journal.history() == ()
    transactor.close()


LINKING = b"# Hub\n\nsee [[Old]]\nand more\nlast [[Old]]"


@pytest.mark.parametrize(
    "save",
    [
        lambda text: text + b"\nsaved below",
        lambda text: text + b", saved in the last line",
        lambda text: b"saved above\n" + text,
        lambda text: text.replace(b"and more\n", b"and more\nsaved between\n"),
        lambda text: text.replace(b"# Hub\n", b""),
        lambda text: text.replace(b"and more", b"\xc3\xa9 more"),
    ],
)
def test_a_rollback_takes_only_our_change_out_of_a_note_that_was_saved_since(
    root: VaultFolder, folder: Path, cache: Path, trash: Trash, save: Callable[[bytes], bytes]
) -> None:
    """Left as it was, the note would keep its links to a name that no note got."""
    (folder / "hub.md").write_bytes(LINKING)
    (folder / "Old.md").write_bytes(b"old")

    def interfere(point: str) -> None:
        if point == "done 0":
            hub = folder / "hub.md"
            with hub.open("r+b") as opened:
                text = save(opened.read())
                opened.seek(0)
                opened.write(text)
                opened.truncate()
            (folder / "Old.md").write_bytes(b"saved too")

    transactor = Transactor(root, cache, trash=trash, checkpoint=interfere)
    rewritten = LINKING.replace(b"[[Old]]", b"[[New]]")
    with pytest.raises(StaleWrite):
        do(
            transactor,
            WriteFile(P("hub.md"), rewritten),
            WriteFile(P("Old.md"), b"new", content_hash(b"old")),
        )
    assert (folder / "hub.md").read_bytes() == save(LINKING)
    assert (folder / "Old.md").read_bytes() == b"saved too"
    assert sorted(item.name for item in folder.iterdir()) == ["Old.md", "hub.md"]
    transactor.close()


def test_a_rollback_leaves_a_line_alone_that_both_changed(
    root: VaultFolder, folder: Path, cache: Path, trash: Trash
) -> None:
    (folder / "hub.md").write_bytes(LINKING)
    (folder / "Old.md").write_bytes(b"old")
    saved = LINKING.replace(b"see [[Old]]", b"look at [[New]]")

    def interfere(point: str) -> None:
        if point == "done 0":
            (folder / "hub.md").write_bytes(saved)
            (folder / "Old.md").write_bytes(b"saved too")

    transactor = Transactor(root, cache, trash=trash, checkpoint=interfere)
    rewritten = LINKING.replace(b"[[Old]]", b"[[New]]")
    with pytest.raises(EngineFailure, match=r"except for hub\.md"):
        do(
            transactor,
            WriteFile(P("hub.md"), rewritten),
            WriteFile(P("Old.md"), b"new", content_hash(b"old")),
        )
    assert (folder / "hub.md").read_bytes() == saved
    transactor.close()


def test_a_save_that_the_stat_does_not_show_is_noticed_too(
    root: VaultFolder, folder: Path, cache: Path, trash: Trash
) -> None:
    """Equal length, equal time stamp, same file: only reading it again shows the change."""
    place = folder / "n.md"
    place.write_bytes(b"aaaa")
    stamp = place.stat().st_mtime_ns

    def interfere(point: str) -> None:
        if point == "staged":
            place.write_bytes(b"bbbb")
            os.utime(place, ns=(stamp, stamp))

    transactor = Transactor(root, cache, trash=trash, checkpoint=interfere)
    with pytest.raises(StaleWrite):
        do(transactor, WriteFile(P("n.md"), b"new", content_hash(b"aaaa")))
    assert place.read_bytes() == b"bbbb"
    transactor.close()


@pytest.mark.parametrize("step", [WriteFile(P("new.md"), b"x", ABSENT), MoveFile(P("b.md"), P("new.md"))])
def test_a_name_taken_in_the_last_moment_is_not_replaced(
    root: VaultFolder, folder: Path, cache: Path, trash: Trash, snapshot: Snapshot, step: Step
) -> None:
    (folder / "a.md").write_bytes(b"a")
    (folder / "b.md").write_bytes(b"b")

    def interfere(point: str) -> None:
        if point == "done 0":
            (folder / "new.md").write_bytes(b"theirs")

    transactor = Transactor(root, cache, trash=trash, checkpoint=interfere)
    with pytest.raises(EditRefused, match="by another program during the change"):
        do(transactor, WriteFile(P("a.md"), b"new"), step)
    assert snapshot() == {"a.md": b"a", "b.md": b"b", "new.md": b"theirs"}
    transactor.close()


def test_a_note_deleted_in_the_last_moment_stays_deleted(
    root: VaultFolder, folder: Path, cache: Path, trash: Trash, snapshot: Snapshot
) -> None:
    (folder / "a.md").write_bytes(b"a")
    (folder / "b.md").write_bytes(b"b")

    def interfere(point: str) -> None:
        if point == "done 0":
            (folder / "b.md").unlink()

    transactor = Transactor(root, cache, trash=trash, checkpoint=interfere)
    with pytest.raises(StaleWrite, match="now gone"):
        do(transactor, WriteFile(P("a.md"), b"new"), WriteFile(P("b.md"), b"new"))
    assert snapshot() == {"a.md": b"a"}
    transactor.close()


def test_moving_a_note_that_was_just_deleted_is_refused(
    root: VaultFolder, folder: Path, cache: Path, trash: Trash, snapshot: Snapshot
) -> None:
    (folder / "a.md").write_bytes(b"a")
    (folder / "b.md").write_bytes(b"b")

    def interfere(point: str) -> None:
        if point == "done 0":
            (folder / "b.md").unlink()

    transactor = Transactor(root, cache, trash=trash, checkpoint=interfere)
    with pytest.raises(EditRefused, match="disappeared"):
        do(transactor, WriteFile(P("a.md"), b"new"), MoveFile(P("b.md"), P("c.md")))
    assert snapshot() == {"a.md": b"a"}
    transactor.close()


def test_an_interrupt_rolls_back_and_propagates(
    root: VaultFolder, folder: Path, cache: Path, trash: Trash, snapshot: Snapshot
) -> None:
    (folder / "a.md").write_bytes(b"a")

    def interrupt(point: str) -> None:
        if point == "done 1":
            raise KeyboardInterrupt

    transactor = Transactor(root, cache, trash=trash, checkpoint=interrupt)
    with pytest.raises(KeyboardInterrupt):
        do(
            transactor,
            WriteFile(P("a.md"), b"new"),
            WriteFile(P("A/b.md"), b"b"),
            TrashFile(P("a.md"), "local"),
        )
    assert snapshot() == {"a.md": b"a"}
    assert transactor.journal.pending() == ()
    transactor.close()


def test_a_second_writer_waits_for_a_limited_time(
    root: VaultFolder, cache: Path, trash: Trash, snapshot: Snapshot
) -> None:
    transactor = Transactor(root, cache, trash=trash, wait=0.05)
    with FileLock(cache / "writer.lock").hold(1, what="x"):
        assert transactor.recover() == (), "opening a vault does not wait when nothing is to be recovered"
        with pytest.raises(TimedOut, match="busy"):
            do(transactor, WriteFile(P("n.md"), b"x"))
    assert snapshot() == {}
    do(transactor, WriteFile(P("n.md"), b"x"))
    transactor.close()


def test_a_full_disk_is_reported_and_loses_nothing(
    folder: Path, cache: Path, tmp_path: Path, snapshot: Snapshot
) -> None:
    """The system's limit on a file's size stands in for a full disk: the write fails half way."""
    (folder / "a.md").write_bytes(b"a")
    (folder / "n.md").write_bytes(b"old")
    before = snapshot()
    code = """
        import resource, sys
        from pathlib import Path
        from vaultbridge.errors import EngineFailure
        from vaultbridge.vault.paths import VaultFolder, VaultPath
        from vaultbridge.vault.write.steps import WriteFile
        from vaultbridge.vault.write.transaction import Transactor
        from vaultbridge.vault.write.trash import Trash
        t = Transactor(VaultFolder(sys.argv[1]), Path(sys.argv[2]), trash=Trash({"HOME": sys.argv[3]}))
        resource.setrlimit(resource.RLIMIT_FSIZE, (400_000, 400_000))
        try:
            steps = [WriteFile(VaultPath("a.md"), b"new"), WriteFile(VaultPath("n.md"), b"x" * 500_000)]
            t.apply(steps, actor="t", label="t")
        except EngineFailure as error:
            print(error)
    """
    ran = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code), str(folder), str(cache), str(tmp_path)],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ran.stdout == "n.md could not be written: the disk is full. Nothing was changed.\n", ran.stderr
    assert snapshot() == before


def test_too_large_a_note_or_batch_is_refused_before_anything_happens(
    transactor: Transactor, snapshot: Snapshot
) -> None:
    with pytest.raises(EditRefused, match="bytes"):
        do(transactor, WriteFile(P("n.md"), bytes(16 * 1024 * 1024 + 1)))
    with pytest.raises(EngineFailure, match="256 MiB"):
        do(transactor, *(WriteFile(P(f"{n}.md"), bytes([n]) * (16 << 20)) for n in range(17)))
    assert snapshot() == {}


def test_no_temporary_file_is_left_by_anything_above(transactor: Transactor, folder: Path) -> None:
    for number in range(5):
        do(transactor, WriteFile(P("n.md"), str(number).encode()))
    assert [item.name for item in folder.iterdir()] == ["n.md"]


NAMES = ["a.md", "b.md", "A/c.md", "A/d.md", "A/B/e.md", "Ünïcode/ƒ.md", "x.png", "C/g.md"]


def draw_steps(choose: random.Random, folder: Path) -> list[Step]:
    """One or a few steps that fit the vault as it is."""
    files = sorted(
        str(place.relative_to(folder))
        for place in folder.rglob("*")
        if place.is_file() and not place.relative_to(folder).parts[0].startswith(".")
    )
    folders = sorted({str(Path(name).parent) for name in files} - {"."})
    kind = choose.choice(["write", "write", "create", "move", "trash", "remove", "folder", "batch"])
    data = choose.randbytes(choose.randrange(200)) + choose.choice([b"\r\n", b"\n", b""])
    free = [name for name in NAMES if name.lower() not in {file.lower() for file in files}]
    match kind:
        case "write" if files:
            return [WriteFile(P(choose.choice(files)), data)]
        case "move" if files and free:
            return [MoveFile(P(choose.choice(files)), P(choose.choice(free)))]
        case "trash" if files:
            return [TrashFile(P(choose.choice(files)), choose.choice(["system", "local"]))]
        case "remove" if files:
            return [RemoveFile(P(choose.choice(files)))]
        case "folder" if folders:
            return [MoveFolder(P(choose.choice(folders)), P(f"F{choose.randrange(10**9)}"))]
        case "batch" if len(files) > 1 and free:
            first, second = choose.sample(files, 2)
            return [
                WriteFile(P(first), data),
                MoveFile(P(first), P(choose.choice(free))),
                TrashFile(P(second), "system"),
            ]
    return [WriteFile(P(choose.choice(free or [f"n{choose.randrange(10**9)}.md"])), data)]


@pytest.mark.parametrize("seed", [1, 2])
def test_two_hundred_random_changes_and_their_undos_restore_identical_bytes(
    transactor: Transactor, folder: Path, snapshot: Snapshot, seed: int
) -> None:
    choose = random.Random(seed)
    for name in NAMES[:5]:
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(choose.randbytes(100))
        (folder / name).chmod(choose.choice([0o600, 0o644]))
    before = snapshot()
    modes = {name: (folder / name).stat().st_mode for name in NAMES[:5]}
    done: list[int] = []
    for _ in range(200):
        applied = transactor.apply(draw_steps(choose, folder), actor="test", label="random")
        if applied.id:
            done.append(applied.id)
    assert len(done) > 150
    for number in reversed(done):
        transactor.undo(number, actor="test")
    after = snapshot()
    after.pop(".trash", None)
    assert after == before
    assert {name: (folder / name).stat().st_mode for name in NAMES[:5]} == modes


def test_nothing_is_made_where_the_vault_was(
    transactor: Transactor, folder: Path, snapshot: Snapshot
) -> None:
    """Neither a note nor what a rolling back would bring back: a disk that comes back would lie above it."""
    (folder / "n.md").write_bytes(b"old")
    done = do(transactor, RemoveFile(P("n.md")), WriteFile(P("m.md"), b"new"))
    away = folder.with_name("away")
    folder.rename(away)
    for empty in (False, True):
        if empty:
            folder.mkdir()
        with pytest.raises(VaultNotFound, match="is not available"):
            do(transactor, WriteFile(P("A/n.md"), b"x", ABSENT))
        with pytest.raises(VaultNotFound, match="is not available"):
            transactor.undo(done.id, actor="test", force=True)
        assert snapshot() == {}
    assert sorted(place.name for place in folder.parent.iterdir()) == ["away", "cache", "home", "vault"]
    folder.rmdir()
    away.rename(folder)
    transactor.undo(done.id, actor="test")
    assert snapshot() == {"n.md": b"old"}


def test_a_rollback_waits_for_the_vault_to_return(
    root: VaultFolder, cache: Path, trash: Trash, folder: Path, snapshot: Snapshot
) -> None:
    (folder / "n.md").write_bytes(b"old")
    away = folder.with_name("away")

    def unplug(point: str) -> None:
        if point == "done 0":
            folder.rename(away)
            folder.mkdir()

    transactor = Transactor(root, cache, trash=trash, checkpoint=unplug)
    with pytest.raises(VaultNotFound, match="is not available"):
        do(transactor, RemoveFile(P("n.md")), WriteFile(P("m.md"), b"new"))
    assert snapshot() == {}
    with pytest.raises(VaultNotFound):
        transactor.recover()
    assert snapshot() == {}
    folder.rmdir()
    away.rename(folder)
    assert [recovery.kept for recovery in transactor.recover()] == [()]
    assert snapshot() == {"n.md": b"old"}
    transactor.close()


@pytest.mark.parametrize("point", ["recorded", "staged"])
@pytest.mark.parametrize(
    "step",
    [
        WriteFile(P("F/n.md"), b"new"),
        WriteFile(P("F/x.md"), b"new", ABSENT),
        MoveFile(P("F/n.md"), P("m.md")),
        MoveFile(P("a.md"), P("F/a.md")),
        TrashFile(P("F/n.md"), "local"),
        RemoveFile(P("F/n.md")),
    ],
)
def test_a_folder_replaced_by_a_link_out_of_the_vault_at_the_last_moment_is_not_used(
    root: VaultFolder, cache: Path, trash: Trash, folder: Path, tmp_path: Path, point: str, step: Step
) -> None:
    outside = tmp_path / "outside"
    for place in (outside, folder / "F"):
        place.mkdir()
        (place / "n.md").write_bytes(b"old")
    (folder / "a.md").write_bytes(b"a")

    def swap(reached: str) -> None:
        if reached == point:
            (folder / "F").rename(tmp_path / "was")
            (folder / "F").symlink_to(outside)

    transactor = Transactor(root, cache, trash=trash, checkpoint=swap)
    with pytest.raises(EditRefused, match="was replaced by another one during the change"):
        do(transactor, step)
    transactor.close()
    assert {place.name: place.read_bytes() for place in outside.iterdir()} == {"n.md": b"old"}
    assert (folder / "a.md").read_bytes() == b"a"
    assert (tmp_path / "was" / "n.md").read_bytes() == b"old"


@pytest.mark.parametrize("step", [MoveFile(P("n.md"), P("m.md")), TrashFile(P("n.md"), "local")])
def test_a_note_that_a_sync_replaces_at_the_last_moment_is_not_moved_unseen(
    root: VaultFolder, cache: Path, trash: Trash, folder: Path, step: Step
) -> None:
    (folder / "n.md").write_bytes(b"old")

    def sync(reached: str) -> None:
        if reached == "staged":
            (folder / ".sync").write_bytes(b"newer")
            (folder / ".sync").replace(folder / "n.md")

    transactor = Transactor(root, cache, trash=trash, checkpoint=sync)
    with pytest.raises(StaleWrite) as caught:
        do(transactor, step)
    assert (caught.value.expected, caught.value.current) == (content_hash(b"old"), content_hash(b"newer"))
    assert (folder / "n.md").read_bytes() == b"newer"
    transactor.close()
