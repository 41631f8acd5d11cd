"""`vaultbridge.cli.diffs`: what accepting a diff would do to the note as it is now."""

from __future__ import annotations

from pathlib import Path

import pytest

from vaultbridge.cli.diffs import CONFLICT, NO_NOTE, REBASED, rebase_proposal
from vaultbridge.errors import EngineFailure
from vaultbridge.vault.read import content_hash

OLD = "".join(f"{number}\n" for number in range(20))
NEW = OLD.replace("17\n", "seventeen\n")


@pytest.mark.parametrize(
    ("now", "becomes", "notice"),
    [
        (OLD, NEW, ""),
        (OLD.replace("\n", "\r\n"), NEW, ""),
        ("\ufeff" + OLD, NEW, ""),
        (OLD.replace("2\n", "mine\n", 1), NEW.replace("2\n", "mine\n", 1), REBASED),
        ("before\n" + OLD, "before\n" + NEW, REBASED),
        (NEW, NEW, REBASED),
        (OLD.replace("17\n", "mine\n"), NEW, CONFLICT),
        ("", NEW, CONFLICT),
    ],
)
def test_what_was_written_meanwhile_is_kept_or_reported(
    tmp_path: Path, now: str, becomes: str, notice: str
) -> None:
    data = now.encode()
    (tmp_path / "N.md").write_bytes(data)
    diff = {"id": "d1", "path": "N.md", "tabName": "t", "oldText": OLD, "newText": NEW}
    found = rebase_proposal(str(tmp_path), diff)
    assert (found.diff["newText"], found.notice, found.hash) == (becomes, notice, content_hash(data))
    assert found.diff["oldText"] == now.replace("\r\n", "\n").removeprefix("\ufeff")
    assert found.diff["id"] == "d1"


def test_a_proposal_that_changes_nothing_takes_nothing_away(tmp_path: Path) -> None:
    (tmp_path / "N.md").write_text("mine\n")
    found = rebase_proposal(str(tmp_path), {"path": "N.md", "oldText": "old\n", "newText": "old\n"})
    assert (found.diff["newText"], found.notice) == ("mine\n", REBASED)


def test_a_note_that_is_not_there_has_no_text(tmp_path: Path) -> None:
    new = {"path": "A/N.md", "oldText": "", "newText": "new\n"}
    assert rebase_proposal(str(tmp_path), new).notice == ""
    gone = rebase_proposal(str(tmp_path), {**new, "oldText": "old\n"})
    assert (gone.diff["oldText"], gone.diff["newText"], gone.hash) == ("", "new\n", NO_NOTE)
    assert gone.notice == CONFLICT


def test_two_proposals_for_the_same_new_note_are_reported(tmp_path: Path) -> None:
    (tmp_path / "N.md").write_text("mine\n")
    found = rebase_proposal(str(tmp_path), {"path": "N.md", "oldText": "", "newText": "theirs\n"})
    assert (found.diff["newText"], found.notice) == ("theirs\n", CONFLICT)


def test_a_note_behind_a_link_out_of_the_vault_is_looked_at(tmp_path: Path) -> None:
    """The bridge serves such notes when it is configured so."""
    (tmp_path / "vault").mkdir()
    (tmp_path / "outside.md").write_text("old\n")
    (tmp_path / "vault" / "N.md").symlink_to(tmp_path / "outside.md")
    diff = {"path": "N.md", "oldText": "old\n", "newText": "new\n"}
    assert rebase_proposal(str(tmp_path / "vault"), diff).notice == ""


def test_what_cannot_be_read_is_no_empty_note(tmp_path: Path) -> None:
    (tmp_path / "N.md").mkdir()
    with pytest.raises(EngineFailure):
        rebase_proposal(str(tmp_path), {"path": "N.md", "oldText": "", "newText": "new\n"})
