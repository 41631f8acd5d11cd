"""`vaultbridge.vault.write.recovery`: the steps that take a recorded change back."""

from __future__ import annotations

import pytest

from vaultbridge.errors import EditRefused
from vaultbridge.vault.paths import vault_path
from vaultbridge.vault.write.journal import make_image
from vaultbridge.vault.write.journal_rows import JournalEntry
from vaultbridge.vault.write.recovery import invert
from vaultbridge.vault.write.steps import (
    ABSENT,
    Act,
    ContentImage,
    FolderMade,
    FolderRemoved,
    MakeFolder,
    Moved,
    MoveFile,
    MoveFolder,
    Removed,
    RemoveFile,
    RemoveFolder,
    Restored,
    RestoreFile,
    Step,
    Trashed,
    TrashFile,
    WriteFile,
    Written,
    affected_paths,
)

P = vault_path
OLD, NEW = make_image(b"old"), make_image(b"new")
TRASHED = Trashed(
    P("t.md"), "/v/t.md", "local", "/v/.trash/t.md", "", "", folder=False, image=None, mode=0o644
)


def recall(image: ContentImage) -> bytes:
    return {OLD.digest: b"old", NEW.digest: b"new"}[image.digest]


def make_entry(*acts: Act, state: str = "done", undone_by: int | None = None) -> JournalEntry:
    return JournalEntry(7, state, 0.0, "a", "l", None, undone_by, (), acts, {}, None)  # type: ignore[arg-type]


def test_steps_come_in_reverse() -> None:
    acts = (FolderMade(P("A"), "/v/A"), Written(P("A/n.md"), "/v/A/n.md", None, NEW, None, ""))
    assert invert(make_entry(*acts), recall, force=False) == (
        RemoveFile(P("A/n.md"), NEW.hash),
        RemoveFolder(P("A"), deep=False),
    )


@pytest.mark.parametrize(
    ("act", "step", "forced"),
    [
        (
            Written(P("n.md"), "/v/n.md", OLD, NEW, 0o644, ""),
            WriteFile(P("n.md"), b"old", NEW.hash, restores=True),
            WriteFile(P("n.md"), b"old", restores=True),
        ),
        (
            Written(P("n.md"), "/v/n.md", None, NEW, None, ""),
            RemoveFile(P("n.md"), NEW.hash),
            RemoveFile(P("n.md"), missing_ok=True),
        ),
        (
            Removed(P("n.md"), "/v/N.md", OLD, 0o600),
            WriteFile(P("n.md"), b"old", ABSENT, mode=0o600, stored_name="N.md", restores=True),
            WriteFile(P("n.md"), b"old", mode=0o600, stored_name="N.md", restores=True),
        ),
        (
            Moved(P("a.md"), P("b.md"), "/v/a.md", "/v/b.md", folder=False, hash="f00d"),
            MoveFile(P("b.md"), P("a.md"), "f00d", stored_name="a.md"),
            MoveFile(P("b.md"), P("a.md"), stored_name="a.md"),
        ),
        (
            Moved(P("A"), P("B"), "/v/A", "/v/B", folder=True),
            MoveFolder(P("B"), P("A"), "A"),
            MoveFolder(P("B"), P("A"), "A"),
        ),
        (TRASHED, RestoreFile(TRASHED), RestoreFile(TRASHED)),
        (Restored(TRASHED), TrashFile(P("t.md"), "local"), TrashFile(P("t.md"), "local")),
        (FolderRemoved(P("A"), "/v/A"), MakeFolder(P("A"), "A"), MakeFolder(P("A"), "A")),
    ],
)
def test_each_act_has_its_inverse_and_force_expects_nothing(act: Act, step: Step, forced: Step) -> None:
    assert invert(make_entry(act), recall, force=False) == (step,)
    assert invert(make_entry(act), recall, force=True) == (forced,)


def test_a_change_that_was_rolled_back_or_undone_cannot_be_undone() -> None:
    with pytest.raises(EditRefused, match="rolled back"):
        invert(make_entry(state="rolled-back"), recall, force=True)
    with pytest.raises(EditRefused, match="already been undone by change 9"):
        invert(make_entry(undone_by=9), recall, force=True)


def test_the_affected_paths_of_each_act() -> None:
    assert affected_paths(Moved(P("a.md"), P("b.md"), "", "", folder=False)) == ("a.md", "b.md")
    assert affected_paths(Restored(TRASHED)) == ("t.md",)
    assert affected_paths(FolderMade(P("A"), "")) == ("A",)
