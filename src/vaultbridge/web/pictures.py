"""Reads the width and height of a picture from its first bytes, so that a page leaves room for it.

Pure: bytes in, numbers out. Never raises: what is no picture of a known kind has no size.
"""

from __future__ import annotations

import struct
from typing import Final

START_BYTES: Final = 64 * 1024
"""How much of a picture is read: a JPEG file may hold a preview and a colour profile before its size."""

_JPEG_FRAMES: Final = frozenset({*range(0xC0, 0xD0)} - {0xC4, 0xC8, 0xCC})
"""The markers that begin a frame, which holds the size."""

_JPEG_ALONE: Final = frozenset({0x01, *range(0xD0, 0xD9)})
"""The markers without a length."""

Size = tuple[int, int]


def measure_picture(start: bytes) -> Size | None:
    """Return width and height of a PNG, GIF, JPEG, WebP or BMP file that begins with these bytes."""
    try:
        size = _measure(start)
    except (struct.error, IndexError):
        return None
    return size if size is not None and min(size) > 0 else None


def _measure(start: bytes) -> Size | None:
    if start.startswith(b"\x89PNG\r\n\x1a\n") and start[12:16] == b"IHDR":
        width, height = struct.unpack_from(">II", start, 16)
        return width, height
    if start[:6] in (b"GIF87a", b"GIF89a"):
        width, height = struct.unpack_from("<HH", start, 6)
        return width, height
    if start.startswith(b"BM"):
        width, height = struct.unpack_from("<ii", start, 18)
        return width, abs(height)
    if start.startswith(b"RIFF") and start[8:12] == b"WEBP":
        return _measure_webp(start)
    if start.startswith(b"\xff\xd8"):
        return _measure_jpeg(start)
    return None


def _measure_webp(start: bytes) -> Size | None:
    match start[12:16]:
        case b"VP8X":
            low_width, width, low_height, height = struct.unpack_from("<HBHB", start, 24)
            return (width << 16 | low_width) + 1, (height << 16 | low_height) + 1
        case b"VP8L":
            (bits,) = struct.unpack_from("<I", start, 21)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
        case b"VP8 ":
            width, height = struct.unpack_from("<HH", start, 26)
            return width & 0x3FFF, height & 0x3FFF
        case _:
            return None


def _measure_jpeg(start: bytes) -> Size | None:
    at = 2
    while at + 9 < len(start):
        if start[at] != 0xFF:
            return None
        marker = start[at + 1]
        if marker in _JPEG_FRAMES:
            height, width = struct.unpack_from(">HH", start, at + 5)
            return width, height
        if marker == 0xFF:
            at += 1
        elif marker in _JPEG_ALONE:
            at += 2
        else:
            (length,) = struct.unpack_from(">H", start, at + 2)
            at += 2 + length
    return None
