"""Reads the dictionaries of the program dictd: English words in another language, as FreeDict publishes them.

A dictionary is two files. `freedict-eng-ita.index` has a line for each headword, with the place of its entry
and its length, in digits of base 64. `freedict-eng-ita.dict.dz` has the entries, compressed in pieces
(dictzip), so that one entry is read without the others. Only `.index` is held in memory. A file that is
damaged, too large or made up by somebody has no entries; what is read of one is limited."""

from __future__ import annotations

import re
import stat
import struct
import zlib
from functools import lru_cache
from pathlib import Path
from typing import Final

from msgspec import Struct

from vaultbridge.index.fold import split_words
from vaultbridge.index.ranking.dictionary import PHRASE_WORDS
from vaultbridge.index.ranking.function_words import WORDS

CODES: Final = {
    "ara": "arabic",
    "ces": "czech",
    "dan": "danish",
    "deu": "german",
    "ell": "greek",
    "fin": "finnish",
    "fra": "french",
    "hin": "hindi",
    "hun": "hungarian",
    "ind": "indonesian",
    "ita": "italian",
    "nld": "dutch",
    "pol": "polish",
    "por": "portuguese",
    "ron": "romanian",
    "rus": "russian",
    "spa": "spanish",
    "swe": "swedish",
    "tur": "turkish",
    "ukr": "ukrainian",
}
"""The languages whose notes are recognized (`function_words.MARKERS`), as files are named after them."""

INDEX_BYTES: Final = 32 << 20
"""The largest index that is read: the largest dictionary of FreeDict, German, has 11 MB."""

ENTRIES: Final = 8
ENTRY_BYTES: Final = 8192
"""The most entries that are read for a word, and the most of each."""

HELD: Final = 2
"""The most dictionaries that are held in memory, each up to the size of its index."""

CACHED_WORDS: Final = 512
"""The most words of a dictionary whose entries are remembered, because people ask about the same again."""

_DIGITS: Final = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_VALUES: Final = {digit: value for value, digit in enumerate(_DIGITS)}

_LINE: Final = re.compile(
    rb"^([A-Za-z][\w'-]{0,31}(?: [\w'-]{1,31}){0,2})(\t[A-Za-z0-9+/]{1,6}\t[A-Za-z0-9+/]{1,3})\r?$",
    re.MULTILINE,
)
"""A headword of at most PHRASE_WORDS in English letters, and where its entry is. What begins with a digit is
about the dictionary."""

_REMARK: Final = re.compile(r"\([^()]*\)|\[[^\]]*\]|<[^>]*>|\{[^}]*\}|^\d+\.")
_ABOUT: Final = re.compile(r'^\s*(?:[\w ]{1,20}:|["“])')
"""A line of an entry that refers to others (`Synonyms: …`, `see: …`) or is an example."""

_SEPARATOR: Final = re.compile(r"[,;/|]")

_GZIP_FIXED: Final = 10
_HAS_CHECKSUM, _HAS_EXTRA, _HAS_NAME, _HAS_COMMENT = 2, 4, 8, 16
_HEADER_BYTES: Final = 1 << 18
"""The longest beginning of a compressed file: the table of its pieces takes at most 64 KB."""


class Entries(Struct, frozen=True):
    """The compressed entries. Piece n has `piece` bytes when unpacked, and is from `starts[n]` to
    `starts[n + 1]` of the file."""

    file: Path
    piece: int
    starts: tuple[int, ...]

    def read(self, offset: int, length: int) -> bytes:
        """Returns what is there, or less. Raises OSError or zlib.error."""
        first, last = offset // self.piece, (offset + length - 1) // self.piece
        text = b""
        with self.file.open("rb") as file:
            for number in range(first, min(last + 1, len(self.starts) - 1)):
                file.seek(self.starts[number])
                packed = file.read(self.starts[number + 1] - self.starts[number])
                text += zlib.decompressobj(-zlib.MAX_WBITS).decompress(packed, self.piece)
        return text[offset - first * self.piece :][:length]


class Dictionary:
    """English words in one `language`. `lines` are those of the index, in lower case order."""

    def __init__(self, language: str, name: str, lines: bytes, entries: Entries) -> None:
        self.language = language
        self.name = name
        self._lines = lines
        self._entries = entries
        self.find = lru_cache(CACHED_WORDS)(self._find)

    def _find(self, word: str) -> tuple[str, ...]:
        """Returns the translations of a word or phrase as it is in the dictionary, folded like notes."""
        wanted = word.encode() + b"\t"
        found: dict[str, None] = {}
        at = self._find_line(wanted)
        for _ in range(ENTRIES):
            if not self._lines.startswith(wanted, at):
                break
            end = self._lines.index(b"\n", at)
            _, offset, length = self._lines[at:end].decode("ascii").split("\t")
            try:
                entry = self._entries.read(_read_number(offset), min(ENTRY_BYTES, _read_number(length)))
            except (OSError, zlib.error):
                break
            found.update(dict.fromkeys(read_translations(entry.decode("utf-8", "replace"), self.language)))
            at = end + 1
        return tuple(found)

    def _find_line(self, wanted: bytes) -> int:
        """Returns where the first line begins that is not before `wanted`. The lines stay one text, because
        each by itself would take five times the memory."""
        low, high = 0, len(self._lines)
        while low < high:
            begin = self._lines.rfind(b"\n", 0, (low + high) // 2) + 1
            end = self._lines.index(b"\n", begin) + 1
            if self._lines[begin:end] < wanted:
                low = end
            else:
                high = begin
        return low


def list_names(language: str) -> list[str]:
    """Returns how the files of a language's dictionary may be named, without their endings."""
    codes = [code for code, name in CODES.items() if name == language]
    return [name for code in codes for name in (f"freedict-eng-{code}", f"eng-{code}")]


def find_files(folders: tuple[Path, ...]) -> dict[str, Path]:
    """Returns the index file of the dictionary of each language."""
    found: dict[str, Path] = {}
    for folder in folders:
        for language in CODES.values():
            for name in list_names(language):
                file = folder / f"{name}.index"
                if language not in found and _is_file(file) and _is_file(file.with_suffix(".dict.dz")):
                    found[language] = file
    return found


def open_dictionary(language: str, folders: tuple[Path, ...]) -> Dictionary | None:
    """Returns the dictionary of a language, None if there is none that can be read."""
    file = find_files(folders).get(language)
    return _open(language, file) if file else None


@lru_cache(HELD)
def _open(language: str, file: Path) -> Dictionary | None:
    try:
        with file.open("rb") as opened:
            text = opened.read(INDEX_BYTES + 1)
        entries = read_header(file.with_suffix(".dict.dz"))
    except (OSError, ValueError, struct.error, IndexError):
        return None
    if len(text) > INDEX_BYTES:
        return None
    # Sorted, so that the lines of a word that is written in several ways are beside each other.
    lines = sorted(line[1].lower() + line[2] for line in _LINE.finditer(text))
    return Dictionary(language, file.stem, b"\n".join(lines) + b"\n", entries) if lines else None


def read_header(file: Path) -> Entries:
    """Reads where the pieces of a compressed file are. Raises OSError, or ValueError, struct.error or
    IndexError for a file that is not in this format."""
    with file.open("rb") as opened:
        header = opened.read(_HEADER_BYTES)
    if header[:3] != b"\x1f\x8b\x08" or not header[3] & _HAS_EXTRA:
        raise ValueError("not compressed in pieces")
    flags = header[3]
    (extra,) = struct.unpack_from("<H", header, _GZIP_FIXED)
    begin = at = _GZIP_FIXED + 2
    sizes: tuple[int, ...] = ()
    piece = 0
    while at + 4 <= begin + extra:
        kind, size = struct.unpack_from("<2sH", header, at)
        if kind == b"RA":
            _, piece, count = struct.unpack_from("<HHH", header, at + 4)
            sizes = struct.unpack_from(f"<{count}H", header, at + 10)
        at += 4 + size
    end = begin + extra
    for flag in (_HAS_NAME, _HAS_COMMENT):
        if flags & flag:
            end = header.index(b"\0", end) + 1
    end += 2 if flags & _HAS_CHECKSUM else 0
    if not piece or not sizes:
        raise ValueError("no table of pieces")
    starts = [end]
    for size in sizes:
        starts.append(starts[-1] + size)
    return Entries(file, piece, tuple(starts))


def read_translations(entry: str, language: str) -> list[str]:
    """Returns the words and short phrases of an entry, without its first line, which is the headword, and
    without the articles and pronouns that come with them."""
    function = WORDS.get(language, frozenset())
    found: list[str] = []
    for line in entry.split("\n")[1:]:
        if _ABOUT.match(line):
            continue
        for part in _SEPARATOR.split(_REMARK.sub(" ", line.strip())):
            words = split_words(part)
            content = [word for word in words if word not in function]
            if len(content) == 1:
                found.append(content[0])
            elif content and len(words) <= PHRASE_WORDS:
                found.append(" ".join(words))
    return list(dict.fromkeys(found))


def _read_number(digits: str) -> int:
    number = 0
    for digit in digits:
        number = number * len(_DIGITS) + _VALUES[digit]
    return number


def _is_file(path: Path) -> bool:
    """Whether it is a file, and not a pipe, on which one would wait forever."""
    try:
        return stat.S_ISREG(path.stat().st_mode)
    except (OSError, ValueError):
        return False
