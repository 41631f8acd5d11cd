"""`vaultbridge.vault.write.plan`: everything is decided before anything changes."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime
from pathlib import Path

import pytest

from vaultbridge.errors import InvalidArgument
from vaultbridge.system import FileStat
from vaultbridge.vault.paths import VaultFolder, vault_path
from vaultbridge.vault.write import plan as plan_module
from vaultbridge.vault.write.plan import WritePlan
from vaultbridge.vault.write.steps import (
    ContentImage,
    FolderMade,
    MakeFolder,
    Moved,
    MoveFile,
    MoveFolder,
    Trashed,
    TrashFile,
    WriteFile,
    Written,
)
from vaultbridge.vault.write.trash import Trash

P = vault_path


def fail_to_recall(image: ContentImage) -> bytes:
    raise AssertionError("these plans recall nothing")


@pytest.fixture
def plan(root: VaultFolder, trash: Trash) -> WritePlan:
    return WritePlan(root, trash, datetime(2024, 5, 6), fail_to_recall)


def test_planning_changes_nothing(
    plan: WritePlan, folder: Path, home: Path, snapshot: Callable[[], dict[str, bytes | None]]
) -> None:
    (folder / "a.md").write_bytes(b"a")
    (folder / "b.md").write_bytes(b"b")
    before = snapshot()
    plan.add([WriteFile(P("a.md"), b"x"), MoveFile(P("a.md"), P("N/a.md")), TrashFile(P("b.md"), "local")])
    assert snapshot() == before
    assert list(home.iterdir()) == []
    assert [type(act) for act in plan.acts] == [Written, FolderMade, Moved, Trashed]


def test_contents_before_and_after_are_stored_by_digest(plan: WritePlan, folder: Path) -> None:
    (folder / "a.md").write_bytes(b"before")
    plan.add([WriteFile(P("a.md"), b"after")])
    [act] = plan.acts
    assert isinstance(act, Written) and act.before is not None
    assert plan.contents == {act.before.digest: b"before", act.after.digest: b"after"}
    assert plan.seen == {0: FileStat.of((folder / "a.md").stat())}


def test_a_missing_folder_is_made_once_for_all_that_need_it(plan: WritePlan) -> None:
    plan.add([WriteFile(P("A/B/x.md"), b"x"), WriteFile(P("A/B/y.md"), b"y"), MakeFolder(P("a/b"))])
    assert [act.path for act in plan.acts if isinstance(act, FolderMade)] == ["A", "A/B"]


def test_content_is_staged_in_a_folder_that_stays(plan: WritePlan, folder: Path) -> None:
    (folder / "Old").mkdir()
    (folder / "Old" / "n.md").write_bytes(b"n")
    (folder / "Stay").mkdir()
    plan.add(
        [
            WriteFile(P("Old/n.md"), b"x"),
            MoveFolder(P("Old"), P("New")),
            WriteFile(P("New/m.md"), b"m"),
            WriteFile(P("Stay/s.md"), b"s"),
            WriteFile(P("Stay/deep/er/d.md"), b"d"),
        ]
    )
    staged = {act.path: Path(act.temporary).parent for act in plan.acts if isinstance(act, Written)}
    assert staged == {
        "Old/n.md": folder,
        "New/m.md": folder,
        "Stay/s.md": folder / "Stay",
        "Stay/deep/er/d.md": folder / "Stay",
    }


def test_a_moved_file_is_identified_by_inode_and_hash(plan: WritePlan, folder: Path) -> None:
    (folder / "a.md").write_bytes(b"a")
    plan.add([MoveFile(P("a.md"), P("b.md")), WriteFile(P("c.md"), b"c"), MoveFile(P("c.md"), P("d.md"))])
    first, _, second = plan.acts
    assert isinstance(first, Moved) and isinstance(second, Moved)
    assert first.ino == (folder / "a.md").stat().st_ino and len(first.hash) == 16
    assert second.written_by == 1


def test_too_many_steps_are_refused(plan: WritePlan, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(plan_module, "TRANSACTION_STEPS", 3)
    with pytest.raises(InvalidArgument, match="More than 3"):
        plan.add([MakeFolder(P(f"f{number}")) for number in range(4)])


def test_a_notice_says_when_another_trash_is_used(root: VaultFolder, folder: Path, home: Path) -> None:
    (folder / "a.md").write_bytes(b"a")
    plan = WritePlan(root, Trash({"HOME": str(home)}, platform="win32"), datetime(2024, 5, 6), fail_to_recall)
    plan.add([TrashFile(P("a.md"), "system")])
    assert "the vault's .trash was used" in plan.notices[0]
