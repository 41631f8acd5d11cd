"""A dictionary as the program dictd has it, compressed in pieces."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Sequence
from pathlib import Path

DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"

PIECE = 64
"""So small that entries begin in one piece and end in the next."""


def write_dictionary(folder: Path, name: str, entries: Sequence[tuple[str, str]]) -> Path:
    """Writes the two files of a dictionary with these headwords and what is said of each; returns the
    compressed one."""
    folder.mkdir(parents=True, exist_ok=True)
    text, lines = b"", []
    for headword, said in (("00databaseinfo", "A dictionary for tests."), *entries):
        entry = f"{headword} /IPA/\n{said}\n".encode()
        lines.append(f"{headword}\t{write_number(len(text))}\t{write_number(len(entry))}\n")
        text += entry
    (folder / f"{name}.index").write_text("".join(sorted(lines)), "utf-8")
    file = folder / f"{name}.dict.dz"
    file.write_bytes(compress(text))
    return file


def write_number(number: int) -> str:
    digits = DIGITS[number % 64]
    while number := number // 64:
        digits = DIGITS[number % 64] + digits
    return digits


def compress(text: bytes, name: bytes = b"test.dict") -> bytes:
    """Compresses as dictzip does: each piece can be read without the others."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    pieces = [
        packer.compress(text[start : start + PIECE]) + packer.flush(zlib.Z_FULL_FLUSH)
        for start in range(0, len(text), PIECE)
    ]
    table = struct.pack(f"<HHH{len(pieces)}H", 1, PIECE, len(pieces), *map(len, pieces))
    extra = struct.pack("<2sH", b"RA", len(table)) + table
    header = b"\x1f\x8b\x08\x0c" + bytes(6) + struct.pack("<H", len(extra)) + extra + name + b"\0"
    end = packer.flush() + struct.pack("<II", zlib.crc32(text), len(text))
    return header + b"".join(pieces) + end
