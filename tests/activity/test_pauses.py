"""Which assistants are paused, across processes: here two readers of the same folder."""

from __future__ import annotations

from pathlib import Path

import pytest

from vaultbridge.activity.pauses import FILE_NAME, PAUSES, Pauses
from vaultbridge.errors import EngineFailure


def test_a_pause_made_by_one_process_holds_in_the_other_and_after_both(tmp_path: Path) -> None:
    first, second = (Pauses([tmp_path / "a", tmp_path / "b"]) for _ in range(2))
    assert not second.is_paused("ide||x")
    first.pause([("ide||x", "Claude Code")])
    assert first.is_paused("ide||x"), "at once where it was made"
    assert second.is_paused("ide||x"), "and at once in every other process"
    assert not second.is_paused("ide||y")
    again = Pauses([tmp_path / "b"])
    assert again.is_paused("ide||x") and again.identities == {"ide||x": "Claude Code"}
    second.resume(["ide||x"])
    assert not first.is_paused("ide||x")
    assert not (tmp_path / "a" / FILE_NAME).exists(), "nobody is paused: nothing is left behind"


def test_pausing_everyone_includes_clients_that_connect_later(tmp_path: Path) -> None:
    pauses = Pauses([tmp_path])
    pauses.pause([("a", "A")])
    pauses.pause_everyone()
    assert pauses.everyone and pauses.is_paused("never seen")
    pauses.resume(["b"])
    assert not pauses.everyone and pauses.is_paused("a") and not pauses.is_paused("never seen")
    pauses.pause_everyone()
    pauses.resume_everyone()
    assert not pauses.everyone and not pauses.is_paused("a")


@pytest.mark.parametrize("damage", [b"", b"{", b"[]", b'{"everyone": 1}', b"\xff", b"[" * 100_000])
def test_a_damaged_file_changes_no_pause(tmp_path: Path, damage: bytes) -> None:
    pauses = Pauses([tmp_path])
    pauses.pause([("a", "A")])
    (tmp_path / FILE_NAME).write_bytes(damage)
    assert pauses.is_paused("a") and not pauses.is_paused("b")


@pytest.mark.parametrize("damage", [b"", b"{", b"\xff", "folder"])
def test_a_process_that_finds_a_damaged_file_pauses_everyone_until_a_person_resumes(
    tmp_path: Path, damage: bytes | str
) -> None:
    """Nobody was paused then: a restart let an assistant go on whom a person had paused."""
    Pauses([tmp_path]).pause([("a", "A")])
    file = tmp_path / FILE_NAME
    if isinstance(damage, bytes):
        file.write_bytes(damage)
    else:
        file.unlink()
        file.mkdir()
    pauses = Pauses([tmp_path])
    assert pauses.everyone and pauses.is_paused("a") and pauses.is_paused("b")
    if isinstance(damage, bytes):
        pauses.resume_everyone()
        assert not Pauses([tmp_path]).is_paused("a")


def test_the_list_is_private_and_bounded(tmp_path: Path) -> None:
    pauses = Pauses([tmp_path])
    pauses.pause([(f"id {number}", "語" * 10) for number in range(PAUSES)])
    assert (tmp_path / FILE_NAME).stat().st_mode & 0o077 == 0
    with pytest.raises(EngineFailure, match="pause all at once"):
        pauses.pause([("one more", "")])
    assert pauses.is_paused("id 0") and not pauses.is_paused("one more")


def test_a_pause_that_cannot_be_stored_is_reported(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(EngineFailure, match="cannot be stored"):
        Pauses([tmp_path / "file" / "cache"]).pause_everyone()
