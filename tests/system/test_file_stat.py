"""`vaultbridge.system.FileStat`: noticing that a file has changed."""

from __future__ import annotations

import os
from pathlib import Path

from vaultbridge.system import stat_file


def test_a_file_that_is_rewritten_or_replaced_has_a_different_stat(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    assert stat_file(file) is None
    file.write_text("one")
    os.utime(file, ns=(1, 1))
    first = stat_file(file)
    assert first is not None and first == stat_file(file)
    file.write_text("longer")
    os.utime(file, ns=(1, 1))
    second = stat_file(file)
    other = tmp_path / "b.toml"
    other.write_text("longer")
    os.utime(other, ns=(1, 1))
    other.replace(file)
    assert len({first, second, stat_file(file)}) == 3
    file.unlink()
    assert stat_file(file) is None and stat_file(file / "below") is None
