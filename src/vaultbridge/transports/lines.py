"""Bytes into lines, with a bound: the framing of the stdio transport, without I/O.

A message is a line; its end is a newline, with or without a carriage return before it. A byte order mark
before it is no part of it (RFC 8259, section 8.1, lets a reader ignore one). A line longer than the bound is
thrown away as it comes, reported once as `TooLong`, and reading goes on after its end.
"""

from __future__ import annotations

from typing import Final

from vaultbridge.limits import MIB

LINE_BYTES: Final = 16 * MIB
"""The longest message on stdio: an attachment of some ten megabytes as base64 still fits, and it equals
the most that one write may put into a note."""

_BYTE_ORDER_MARK: Final = b"\xef\xbb\xbf"


class TooLong:
    """Stands in the place of a line that was thrown away."""


TOO_LONG: Final = TooLong()


class LineSplitter:
    def __init__(self, bound: int = LINE_BYTES) -> None:
        self._bound = bound
        self._parts: list[bytes] = []
        self._held = 0
        self._skipping = False

    def feed(self, data: bytes) -> list[bytes | TooLong]:
        """The lines that `data` completes, without their ends; empty lines are no messages and are left
        out."""
        lines: list[bytes | TooLong] = []
        start = 0
        while (end := data.find(b"\n", start)) >= 0:
            self._add(data[start:end])
            lines.extend(self._take())
            start = end + 1
        self._add(data[start:])
        return lines

    def finish(self) -> list[bytes | TooLong]:
        """At the end of input: a last line without its end is still a message."""
        return self._take()

    def _add(self, part: bytes) -> None:
        self._held += len(part)
        if self._held > self._bound:
            self._skipping = True
            self._parts.clear()
        elif part:
            self._parts.append(part)

    def _take(self) -> list[bytes | TooLong]:
        line, skipped = b"".join(self._parts), self._skipping
        self._parts.clear()
        self._held = 0
        self._skipping = False
        if skipped:
            return [TOO_LONG]
        line = line.removeprefix(_BYTE_ORDER_MARK).removesuffix(b"\r")
        return [line] if line.strip() else []
