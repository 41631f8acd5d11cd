"""Every cap that more than one part must know, each with its reason.

A cap that only one module knows stands in that module, under the same rule: a name and a reason.
"""

from __future__ import annotations

from typing import Final

KIB: Final = 1024
MIB: Final = 1024 * KIB

NOTE_PARSE_BYTES: Final = 8 * MIB
"""A larger file is listed, linked and found by name, but its content is not parsed or indexed.
The largest hand-written notes are some hundred KiB; an 8 MiB one parses in a few seconds."""

NOTE_READ_BYTES: Final = 64 * MIB
"""The most that is read into memory from one note, attachment or canvas."""

NOTE_WRITE_BYTES: Final = 16 * MIB
"""The most that one write may put into one note: above any message a transport accepts."""

PATH_CHARS: Final = 1024
"""The longest vault path: below PATH_MAX of every system together with a vault's own folder."""

CALL_SECONDS: Final = 30.0
"""Seed 004: an operation that exceeds 30 s is answered with the timeout error."""

SWITCH_SECONDS: Final = 0.0005
"""How long a thread of a server may hold the interpreter while another wants it: beside an index that is
being built, an answer would else wait 5 ms for each turn, ten times what a read takes."""
