"""A few injections of each fault; `python tests/faults/run.py` makes thousands."""

from __future__ import annotations

import contextlib
import subprocess
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from faults.assistant import Assistant
from faults.environment import (
    break_cache,
    link_to_denied,
    pin_to_hidden,
    shift_clock,
    use_up_watches,
)
from faults.injections import Result, kill_server, read_history, save_outside, swap_for_link
from faults.several import write_from_everywhere

pytestmark = pytest.mark.long


@pytest.mark.parametrize("how", ["in-place", "closing", "pieces", "mapped", "backup"])
def test_an_edit_never_builds_on_a_note_that_another_program_is_saving_in_place(
    tmp_path: Path, how: str
) -> None:
    slow = save_outside(tmp_path / "slow", how, 4, 0.3)
    assert slow.lost == []
    assert slow.done
    quick = save_outside(tmp_path / "quick", how, 60, 0.01)
    assert quick.lost == []


SAVING_SECONDS = 0.7
"""How long the other program may take to write what it emptied: less than an edit waits for it."""


@pytest.mark.parametrize("closing", [False, True])
def test_an_edit_waits_until_another_program_has_written_what_it_emptied(
    tmp_path: Path, *, closing: bool
) -> None:
    """The edit was made to the empty file: its answer was a success, and the text before it was gone."""
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Other.md").write_text("beside\n")
    took = SAVING_SECONDS
    with Assistant(vault, tmp_path / "home") as assistant:
        while took >= SAVING_SECONDS:  # A machine that is so busy proves nothing.
            note = vault / f"Note {time.monotonic_ns()}.md"
            note.write_text("old text\n")
            assert assistant.call("read_note", name=note.name)[0]
            with note.open("r+") as opened:
                emptied = time.monotonic()
                opened.truncate(0)
                if closing:
                    opened.close()
                number = assistant.begin("edit_note", name=note.name, op="append", content="ours")
                # The edit has had its turn when as many later calls are answered as there are workers.
                for _ in range(20):
                    assert assistant.call("read_note", name="Other.md")[0]
                if closing:
                    note.write_text("new text\n")
                else:
                    opened.write("new text\n")
                took = time.monotonic() - emptied
            done, answer = assistant.finish(number)
        assert done, answer
        assert note.read_text() == "new text\nours\n"
    assert "new text\n" in read_history(tmp_path / "home" / "cache").splitlines(keepends=True)


@pytest.mark.parametrize("named", ["note", "folder", "batch"])
def test_a_deletion_waits_until_another_program_has_written_what_it_emptied(
    tmp_path: Path, named: str
) -> None:
    """The empty file went to the trash: neither the text before nor the one after it was anywhere."""
    vault = tmp_path / "vault"
    (vault / ".obsidian").mkdir(parents=True)
    (vault / ".obsidian" / "app.json").write_text('{"trashOption": "local"}')
    (vault / "Other.md").write_text("beside\n")
    took = SAVING_SECONDS
    with Assistant(vault, tmp_path / "home") as assistant:
        assert assistant.call("edit_note", name="Other.md", op="append", content="ready")[0]
        while took >= SAVING_SECONDS:  # A machine that is so busy proves nothing.
            note = vault / f"Folder {time.monotonic_ns()}" / "Note.md"
            note.parent.mkdir()
            note.write_text("old text\n")
            name = note.relative_to(vault).as_posix()
            assert assistant.call("read_note", name=name)[0]
            emptied = time.monotonic()
            note.write_text("")
            if named == "batch":
                number = assistant.begin("batch", operations=[{"op": "delete", "name": name}])
            else:
                what = name if named == "note" else f"{note.parent.name}/"
                number = assistant.begin("delete_note", name=what)
            # One that does not wait needs a moment too: then the note would be gone below.
            while time.monotonic() - emptied < SAVING_SECONDS / 2:
                assert assistant.call("list_files")[0]
            took = time.monotonic() - emptied
            if took < SAVING_SECONDS:
                assert note.exists()
                note.write_text("new text\n")
            done, answer = assistant.finish(number)
        assert done, answer
        assert not note.exists()
        trash = vault / ".trash" / (f"{note.parent.name}/Note.md" if named == "folder" else "Note.md")
        assert trash.read_text() == "new text\n"


@pytest.mark.parametrize("how", ["replace", "append"])
def test_no_save_of_another_program_is_lost_to_an_edit(tmp_path: Path, how: str) -> None:
    result = save_outside(tmp_path, how, 300, 0)
    assert result.lost == []
    assert result.done


def test_a_server_that_is_killed_during_a_change_loses_nothing(tmp_path: Path) -> None:
    result = kill_server(tmp_path, 8)
    assert result.lost == []
    assert result.done >= 8


def test_writers_over_every_protocol_at_once_lose_nothing_and_leave_every_link_right(tmp_path: Path) -> None:
    result = write_from_everywhere(tmp_path, 25)
    assert result.lost == []
    assert result.done


@pytest.mark.parametrize("denied", [False, True])
@pytest.mark.parametrize("what", ["file", "folder"])
def test_a_file_or_folder_that_becomes_a_link_is_never_followed(
    tmp_path: Path, what: str, *, denied: bool
) -> None:
    result = swap_for_link(tmp_path, what, 100, denied=denied)
    assert result.lost == []
    assert result.injected


@pytest.mark.parametrize(
    ("inject", "count"),
    [(link_to_denied, 6), (pin_to_hidden, 3), (break_cache, 1), (shift_clock, 4)],
)
def test_a_fault_of_the_system_loses_and_reveals_nothing(
    tmp_path: Path, inject: Callable[[Path, int], Result], count: int
) -> None:
    result = inject(tmp_path, count)
    assert result.lost == []
    assert result.injected >= count
    assert result.done


@pytest.mark.parametrize(("limit", "allowed"), [("watches", 9), ("watches", 3), ("instances", 0)])
def test_folders_that_cannot_be_watched_are_compared_and_reported(
    tmp_path: Path, limit: str, allowed: int
) -> None:
    """Folders beyond the limit were left unwatched without a word, and what other programs wrote there was
    found minutes later."""
    try:
        result = use_up_watches(tmp_path, 6, limit, allowed)
    except (OSError, subprocess.CalledProcessError):
        pytest.skip("user namespaces are not allowed here")
    assert result.lost == []
    assert result.done == 12


def test_in_a_vault_that_is_mounted_separately_notes_are_deleted_and_moved(tmp_path: Path) -> None:
    """Two mounts of one device, as in a container: the user's trash seemed to be near enough, and every
    deletion failed with "Invalid cross-device link"."""
    vault, inner, elsewhere = tmp_path / "vault", tmp_path / "vault" / "Inner", tmp_path / "elsewhere"
    inner.mkdir(parents=True)
    elsewhere.mkdir()
    (vault / "Note.md").write_text("alpha\n")
    (elsewhere / "There.md").write_text("[[Note]]\n")
    with contextlib.ExitStack() as stack:
        for source, place in ((vault, vault), (elsewhere, inner)):
            try:
                subprocess.run(["mount", "--bind", source, place], check=True, capture_output=True)
            except (OSError, subprocess.CalledProcessError):
                pytest.skip("a folder can only be mounted by the administrator")
            stack.callback(subprocess.run, ["umount", "-l", place], check=False)
        with Assistant(vault, tmp_path / "home") as assistant:
            done, text = assistant.call("delete_note", name="Note")
            assert done, text
            assert (vault / ".trash" / "Note.md").read_text() == "alpha\n"
            assert assistant.call("undo")[0]
            assert (vault / "Note.md").read_text() == "alpha\n"
            moved = {"op": "move", "name": "Note", "to": "New/Deep/Other"}
            deleted = {"op": "delete", "name": "New/Deep/Other"}
            done, text = assistant.call("batch", operations=[moved, deleted])
            assert done, text
            assert assistant.call("undo")[0]
            for tool, arguments in (("move_note", {"to": "/There"}), ("delete_note", {})):
                done, text = assistant.call(tool, name="Inner/There", **arguments)
                assert not done
                assert "is on another disk or is mounted separately" in text
        assert (inner / "There.md").read_text() == "[[Note]]\n"


def test_a_folder_in_the_journals_place_stops_changes_but_not_reading(tmp_path: Path) -> None:
    vault = tmp_path / "vault"
    vault.mkdir()
    (vault / "Note.md").write_text("alpha\n")
    with Assistant(vault, tmp_path / "home") as assistant:
        assert assistant.call("read_note", name="Note")[0]
    (journal,) = (tmp_path / "home").rglob("journal.sqlite")
    for file in journal.parent.glob("journal.sqlite*"):
        file.unlink()
    journal.mkdir()
    with Assistant(vault, tmp_path / "home") as assistant:
        assert "alpha" in assistant.call("read_note", name="Note")[1]
        assert "Note.md" in assistant.call("search", query="alpha")[1]
        done, text = assistant.call("edit_note", name="Note", op="append", content="beta")
        assert not done
        assert "is a folder, not a file. Move that folder away." in text
    assert (vault / "Note.md").read_text() == "alpha\n"
