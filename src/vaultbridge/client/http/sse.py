"""Parses server-sent events. Pure: feed it chunks, cut anywhere; it returns the completed events."""

from __future__ import annotations

import msgspec

from vaultbridge.client.errors import InvalidMessage


class Event(msgspec.Struct, frozen=True):
    name: str
    data: str
    id: str | None


class EventReader:
    """`last_id` and `retry` (milliseconds) are the stream's latest, for resuming it."""

    def __init__(self, max_bytes: int) -> None:
        self.last_id: str | None = None
        self.retry: int | None = None
        self._max_bytes = max_bytes
        self._rest = b""
        self._held = 0
        self._data: list[str] = []
        self._name = ""
        self._id: str | None = None

    def feed(self, chunk: bytes) -> list[Event]:
        """Return the events that `chunk` completes. Raises InvalidMessage when an event exceeds the size
        limit; the stream cannot be read further then."""
        text = (self._rest + chunk).replace(b"\r\n", b"\n")
        # A carriage return at the end may be half of a CRLF: keep it for the next chunk.
        held_cr = text.endswith(b"\r")
        lines = (text[:-1] if held_cr else text).replace(b"\r", b"\n").split(b"\n")
        self._rest = lines.pop() + (b"\r" if held_cr else b"")
        events = [event for line in lines if (event := self._line(line)) is not None]
        if self._held + len(self._rest) > self._max_bytes:
            raise InvalidMessage(f"An event exceeded the limit of {self._max_bytes} bytes.")
        return events

    def _line(self, line: bytes) -> Event | None:
        if not line:
            return self._dispatch()
        self._held += len(line)
        field, _, value = line.partition(b":")
        text = value.removeprefix(b" ").decode("utf-8", "replace")
        match field:
            case b"data":
                self._data.append(text)
            case b"event":
                self._name = text
            case b"id" if "\0" not in text:
                self._id = text
            case b"retry" if text.isascii() and text.isdigit() and len(text) < 10:
                self.retry = int(text)
        return None

    def _dispatch(self) -> Event | None:
        if self._id is not None:
            self.last_id = self._id
        event = Event(self._name or "message", "\n".join(self._data), self.last_id) if self._data else None
        self._data, self._name, self._id, self._held = [], "", None, 0
        return event
