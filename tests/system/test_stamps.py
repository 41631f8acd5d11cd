"""Telling that a file is another than before."""

from __future__ import annotations

import os
from pathlib import Path

from vaultbridge.system import stamp_of


def test_a_file_that_is_rewritten_or_replaced_has_another_stamp(tmp_path: Path) -> None:
    file = tmp_path / "a.toml"
    assert stamp_of(file) is None
    file.write_text("one")
    os.utime(file, ns=(1, 1))
    first = stamp_of(file)
    assert first is not None and first == stamp_of(file)
    file.write_text("longer")
    os.utime(file, ns=(1, 1))
    second = stamp_of(file)
    other = tmp_path / "b.toml"
    other.write_text("longer")
    os.utime(other, ns=(1, 1))
    other.replace(file)
    assert len({first, second, stamp_of(file)}) == 3
    file.unlink()
    assert stamp_of(file) is None and stamp_of(file / "below") is None
