"""`vaultbridge.vault.read_cache`: which file systems answer at once."""

from __future__ import annotations

from pathlib import Path

import pytest

from vaultbridge.vault.read_cache import is_local_filesystem

TABLE = r"""22 1 8:1 / / rw,relatime shared:1 - ext4 /dev/sda1 rw
30 22 0:25 / /home rw shared:7 - btrfs /dev/sda2 rw,subvol=/home
31 30 0:40 / /home/far rw - nfs4 server:/export rw
32 31 8:9 / /home/far/near rw - xfs /dev/sdb1 rw
33 30 0:41 / /home/My\040Notes rw - fuse.sshfs host:/ rw
34 30 0:42 / /home/twice rw - ext4 /dev/sdc1 rw
35 30 0:43 / /home/twice rw - cifs //server/share rw
36 30 0:44 / /home/again rw - 9p drive rw
37 30 0:45 / /home/again rw master:1 propagate_from:2 - tmpfs tmpfs rw
a line that means nothing
"""


@pytest.mark.parametrize(
    ("folder", "expected"),
    [
        ("/vault", True),
        ("/home/notes", True),
        ("/home/far", False),
        ("/home/far/notes", False),
        ("/home/farther", True),
        ("/home/far/near/notes", True),
        ("/home/My Notes", False),
        ("/home/twice/notes", False),
        ("/home/again", True),
        ("/", True),
    ],
)
def test_the_innermost_and_latest_mount_decides(tmp_path: Path, folder: str, *, expected: bool) -> None:
    table = tmp_path / "mountinfo"
    table.write_text(TABLE, "utf-8")
    assert is_local_filesystem(Path(folder), mounts=table) is expected


def test_an_unknown_file_system_is_not_local(tmp_path: Path) -> None:
    assert not is_local_filesystem(tmp_path, mounts=tmp_path / "none")
    (tmp_path / "empty").write_bytes(b"")
    assert not is_local_filesystem(tmp_path, mounts=tmp_path / "empty")
