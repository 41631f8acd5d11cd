"""The size of a picture from its first bytes. Real files of every format are measured in tests/browser."""

from __future__ import annotations

import struct

from hypothesis import given
from hypothesis import strategies as st

from vaultbridge.web.media import measure_picture

SIDE = st.integers(1, 16_383)


@given(SIDE, SIDE)
def test_formats_that_no_browser_writes(width: int, height: int) -> None:
    gif = b"GIF89a" + struct.pack("<HH", width, height) + b"\xf7\x00\x00"
    bmp = b"BM" + bytes(16) + struct.pack("<ii", width, -height) + bytes(10)
    assert measure_picture(gif) == measure_picture(bmp) == (width, height)


@given(
    SIDE, SIDE, st.lists(st.tuples(st.sampled_from([0xE0, 0xE1, 0xDB, 0xC4, 0xFE]), st.binary(max_size=40)))
)
def test_a_jpeg_says_its_size_after_any_segments(
    width: int, height: int, segments: list[tuple[int, bytes]]
) -> None:
    head = b"".join(
        bytes([0xFF, marker]) + struct.pack(">H", len(data) + 2) + data for marker, data in segments
    )
    frame = b"\xff\xc2\x00\x11\x08" + struct.pack(">HH", height, width) + bytes(10)
    assert measure_picture(b"\xff\xd8" + head + frame) == (width, height)


@given(
    st.sampled_from([b"", b"\x89PNG\r\n\x1a\n", b"GIF89a", b"BM", b"RIFF1234WEBPVP8 ", b"\xff\xd8"]),
    st.binary(),
)
def test_anything_else_has_no_size_or_one(start: bytes, rest: bytes) -> None:
    size = measure_picture(start + rest)
    assert size is None or min(size) > 0


@given(st.integers(1, 2**24), st.integers(1, 2**24), st.integers(0, 29))
def test_a_webp_file_with_a_header_of_its_own_is_measured_whole_or_not_at_all(
    width: int, height: int, cut: int
) -> None:
    sides = (width - 1).to_bytes(3, "little") + (height - 1).to_bytes(3, "little")
    file = b"RIFF1234WEBPVP8X" + struct.pack("<I", 10) + bytes(4) + sides
    assert measure_picture(file) == (width, height)
    assert measure_picture(file[:cut]) is None
