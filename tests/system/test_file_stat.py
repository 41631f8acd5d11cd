"""`vaultbridge.system.FileStat`: noticing that a file has changed."""

from __future__ import annotations

import os
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.system import LARGEST_STORED, FileStat, stat_file


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


@given(st.integers(0, 2**64 - 1), st.integers(-(2**63) // 10**9 - 5, 2**63 // 10**6), st.integers(0, 2**40))
def test_any_file_number_and_time_can_be_stored(number: int, seconds: int, size: int) -> None:
    """Some file systems number their files with all 64 bits, and a file may be dated in any year."""
    fields = (0o100644, number, 1, 1, 0, 0, size, seconds, seconds, seconds)
    found = FileStat.of(os.stat_result(fields, {"st_mtime_ns": seconds * 10**9}))
    assert all(abs(value) <= LARGEST_STORED for value in (found.mtime_ns, found.size, found.ino))
    assert number > LARGEST_STORED or found.ino == number
