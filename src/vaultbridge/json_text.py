"""Reads JSON into a tree that knows the position of every value, and edits the text through it.

For edits that must not change any other byte: set or remove members, delete entries. Code that needs only the
values uses a decoder. The JSON must be strict and is read in one pass; `BadJson` has the offset of what
cannot be read.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Final, TypeAlias

from msgspec import Struct

from vaultbridge.markdown.edits.change import Change

MAX_NESTING: Final = 100
"""The deepest nesting of arrays and objects. A canvas needs four levels; the scanner recurses once per
level."""

_BLANK: Final = r"[ \t\n\r]*"
_BLANKS: Final = re.compile(_BLANK)
_QUOTED: Final = r'"[^"\\\x00-\x1f]*(?:\\(?:["\\/bfnrt]|u[0-9A-Fa-f]{4})[^"\\\x00-\x1f]*)*"'
_STRING: Final = re.compile(_QUOTED)
_NUMBER: Final = re.compile(r"-?(?:0|[1-9]\d*)(\.\d+)?([eE][+-]?\d+)?", re.ASCII)
_MEMBER: Final = re.compile(
    rf"({_QUOTED}){_BLANK}:{_BLANK}(?:({_QUOTED})|(-?(?:0|[1-9][0-9]{{0,17}}))(?![0-9.eE]))?{_BLANK}"
)
"""A key, and its value if that is a string or an integer, as most in a canvas are. One match instead of
six makes reading three times as fast."""
_WORDS: Final = {"true": True, "false": False, "null": None}

_MAX_NUMBER_CHARS: Final = 400
"""The longest number we read: Python refuses to convert very long ones, and no coordinate is that long."""


class BadJson(Exception):
    """`reason` is for people; `offset` is where reading failed."""

    def __init__(self, reason: str, offset: int) -> None:
        super().__init__(reason, offset)
        self.reason = reason
        self.offset = offset


class JsonScalar(Struct, frozen=True, gc=False):
    """A string, number, true, false or null. The span of a string covers its quotes."""

    value: str | int | float | bool | None
    start: int
    end: int


class JsonArray(Struct, frozen=True, gc=False):
    items: tuple[JsonValue, ...]
    start: int
    end: int


class JsonMember(Struct, frozen=True, gc=False):
    """A key with its value; `key_start` is the offset of the key's opening quote."""

    key: str
    key_start: int
    value: JsonValue


class JsonObject(Struct, frozen=True, gc=False):
    """Members in the order of the text. Of two members with the same key the last one counts, as usual."""

    members: tuple[JsonMember, ...]
    start: int
    end: int

    def get(self, key: str) -> JsonValue | None:
        for member in reversed(self.members):
            if member.key == key:
                return member.value
        return None


JsonValue: TypeAlias = JsonScalar | JsonArray | JsonObject


def scan_json(text: str) -> JsonValue:
    """Read the whole of `text` as one value."""
    value, at = _read_value(text, _skip(text, 0), 0)
    at = _skip(text, at)
    if at < len(text):
        raise BadJson("there is text after the end of the JSON", at)
    return value


def to_plain_value(value: JsonValue) -> object:
    """Return the value without positions."""
    match value:
        case JsonScalar():
            return value.value
        case JsonArray():
            return [to_plain_value(item) for item in value.items]
        case JsonObject():
            return {member.key: to_plain_value(member.value) for member in value.members}


def _skip(text: str, at: int) -> int:
    match = _BLANKS.match(text, at)
    return match.end() if match else at


def _read_value(text: str, at: int, depth: int) -> tuple[JsonValue, int]:
    char = text[at : at + 1]
    if char == '"':
        scalar = _read_string(text, at)
        return scalar, scalar.end
    if char in ("{", "["):
        if depth >= MAX_NESTING:
            raise BadJson(f"nested deeper than {MAX_NESTING} levels", at)
        return _read_object(text, at, depth) if char == "{" else _read_array(text, at, depth)
    for word, value in _WORDS.items():
        if text.startswith(word, at):
            return JsonScalar(value, at, at + len(word)), at + len(word)
    match = _NUMBER.match(text, at)
    if match is None or match.end() - at > _MAX_NUMBER_CHARS:
        raise BadJson("a value is expected" if char else "the text ends too early", at)
    number = float(match.group()) if match[1] or match[2] else int(match.group())
    return JsonScalar(number, at, match.end()), match.end()


def _read_string(text: str, at: int) -> JsonScalar:
    match = _STRING.match(text, at)
    if match is None:
        raise BadJson("a string is expected, or this one is not closed or has a bad escape", at)
    return JsonScalar(_unquote(match.group()), at, match.end())


def _unquote(raw: str) -> str:
    return str(json.loads(raw)) if "\\" in raw else raw[1:-1]


def _read_array(text: str, start: int, depth: int) -> tuple[JsonArray, int]:
    items: list[JsonValue] = []
    at = _skip(text, start + 1)
    while not text.startswith("]", at):
        if items:
            at = _read_comma(text, at)
        item, at = _read_value(text, at, depth + 1)
        items.append(item)
        at = _skip(text, at)
    return JsonArray(tuple(items), start, at + 1), at + 1


def _read_object(text: str, start: int, depth: int) -> tuple[JsonObject, int]:
    members: list[JsonMember] = []
    at = _skip(text, start + 1)
    while not text.startswith("}", at):
        if members:
            at = _read_comma(text, at)
        match = _MEMBER.match(text, at)
        if match is None:
            at = _skip(text, _read_string(text, at).end)
            raise BadJson("a colon is expected", at)
        key, quoted, integer = match.groups()
        key_start = at
        at = match.end()
        value: JsonValue
        if quoted is not None:
            value = JsonScalar(_unquote(quoted), *match.span(2))
        elif integer is not None:
            value = JsonScalar(int(integer), *match.span(3))
        else:
            value, at = _read_value(text, at, depth + 1)
            at = _skip(text, at)
        members.append(JsonMember(_unquote(key), key_start, value))
    return JsonObject(tuple(members), start, at + 1), at + 1


def _read_comma(text: str, at: int) -> int:
    if not text.startswith(",", at):
        raise BadJson("a comma is expected" if at < len(text) else "the text ends too early", at)
    return _skip(text, at + 1)


FieldValue: TypeAlias = str | int | float | None


def encode_json(value: object) -> str:
    """Encode without blanks and without escaping Unicode, as the app does."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def update_members(entry: JsonObject, fields: Mapping[str, FieldValue]) -> tuple[Change, ...]:
    """Set each key to its value, in place or after the last member. None removes the key."""
    changes: list[Change] = []
    added: list[str] = []
    removed: list[int] = []
    for key, value in fields.items():
        place = next((n for n, member in enumerate(entry.members) if member.key == key), -1)
        if place < 0:
            added.extend([] if value is None else [f",{encode_json(key)}:{encode_json(value)}"])
        elif value is None:
            removed.append(place)
        else:
            old = entry.members[place].value
            changes.append(Change(old.start, old.end, encode_json(value)))
    spans = [(member.key_start, member.value.end) for member in entry.members]
    changes.extend(delete_entries(spans, removed, entry))
    if added:
        end = entry.members[-1].value.end
        changes.append(Change(end, end, "".join(added)))
    return tuple(changes)


def delete_entries(
    spans: Sequence[tuple[int, int]], places: Sequence[int], whole: JsonArray | JsonObject
) -> tuple[Change, ...]:
    """Delete entries with their commas. Entries before the first remaining one are deleted with what follows
    them, the others with what precedes them, so that no two deletions overlap."""
    if not places:
        return ()
    deleted = set(places)
    remaining = [place for place in range(len(spans)) if place not in deleted]
    if not remaining:
        return (Change(whole.start + 1, whole.end - 1, ""),)
    return tuple(
        Change(spans[place][0], spans[place + 1][0], "")
        if place < remaining[0]
        else Change(spans[place - 1][1], spans[place][1], "")
        for place in sorted(deleted)
    )
