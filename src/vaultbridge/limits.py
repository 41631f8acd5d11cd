"""The limits that several parts share, each with its reason.

A limit that only one module needs is defined in that module, by the same rule: a name and a reason.
"""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

NOTE_PARSE_BYTES: Final = 8 * MIB
"""A larger file is listed, linked and found by name, but its content is not parsed or indexed. The largest
hand-written notes are some hundred KiB; an 8 MiB one parses in a few seconds."""

NOTE_READ_BYTES: Final = 64 * MIB
"""The most that is read into memory from one note, attachment or canvas."""

NOTE_WRITE_BYTES: Final = 16 * MIB
"""The largest content that one write may put into a note: above any message that a transport accepts."""

BASE_CHARS: Final = 128 * KIB
"""The longest base we read: people's largest have about ten KiB, and YAML is slow to read."""

PATH_CHARS: Final = 1024
"""The longest vault path: together with the vault's own folder it stays below PATH_MAX on every system."""

CALL_SECONDS: Final = 30.0
"""An operation that takes longer is answered with the timeout error: the stdio contract (Bridge v1) says 30
s."""

SWITCH_SECONDS: Final = 0.0005
"""How long a server's thread may keep the interpreter while another waits for it. With Python's default of 5
ms, a reply would wait ten times as long as a read takes at each turn while an index is being built."""

LARGEST_INTEGER: Final = 2**53 - 1
"""The largest whole number in a call: every JSON reader represents it exactly (RFC 8259), and SQLite can
store it. A schema does not mention it."""

VAULTS: Final = 32
"""The most vaults of one server: each costs a watch and an index, and people have a handful."""

HASH_DIGITS_SHOWN: Final = 8
"""How many of the 16 digits of a note's hash an answer shows, and `expected` needs at least: an assistant
pays for each. Two versions of a note share these eight once in four thousand million times."""
