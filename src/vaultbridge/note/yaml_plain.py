"""The plain shapes that nearly all properties have, read without a YAML parser.

A C loader takes a hundred microseconds for what a few regular expressions do in ten, and importing it costs
more than a small vault's search. This reader knows `key: scalar`, one-line quoted strings without
escapes, one-line lists and indented lists of those; anything else makes it decline, and `yaml_core` decides.
It must decline whenever it is not certain: where it answers, both give the same (a property test holds it).
"""

from __future__ import annotations

import re
from typing import Any

from vaultbridge.note.yaml_core import YAML_CHARS, Leaf, Yaml, resolve_plain

KEY_CHARS = 100
"""Longer keys are left to the parser, which refuses simple keys beyond 1,024 characters."""

_UNSAFE = "\x00-\x1f\x7f-\x9f\u2028\u2029\ud800-\udfff\ufeff\ufffe\uffff"
# An unquoted scalar in block context: no indicator first, no ": ", no " #", nothing that could end it.
_PLAIN = (
    rf"(?:[^\s\-?:,\[\]{{}}#&*!|>'\"%@`{_UNSAFE}]|-(?=[\w.]))"
    rf"[^:#{_UNSAFE}]*+(?:(?::(?=[^\s:{_UNSAFE}])|(?<=[^\s])\#)[^:#{_UNSAFE}]*+)*"
)
_QUOTED = rf"\"[^\"\\{_UNSAFE}]*\"|'[^'{_UNSAFE}]*'"
_VALUE = rf"(?:(?P<flow>\[[^\[\]{{}}:#?{_UNSAFE}]*\])|(?P<quoted>{_QUOTED})|(?P<plain>{_PLAIN}))"
_KEY_LINE = re.compile(rf"(?P<key>[^\W\d][\w-]*(?:\ [\w-]+)*):(?:\ +{_VALUE})?\ *\Z")
_ITEM_LINE = re.compile(rf"(?P<indent>\ *)-(?:\ +(?:(?P<quoted>{_QUOTED})|(?P<plain>{_PLAIN})))?\ *\Z")
_SKIPPED_LINE = re.compile(rf"\ *(?:\#[^{_UNSAFE}]*)?\Z")
_FLOW_ITEM = re.compile(
    rf"(?P<quoted>{_QUOTED})\Z|(?P<plain>[^\s\-?:,\[\]{{}}#&*!|>'\"%@`{_UNSAFE}][^,\[\]{{}}:#?{_UNSAFE}]*)\Z"
)


def parse_plain(text: str) -> Yaml | None:
    """The same as `parse_yaml` for the shapes above, or None: then ask that."""
    if len(text) > YAML_CHARS:
        return None
    values: dict[str, Any] = {}
    leaves: list[Leaf] = []
    items: list[Any] | None = None  # the list that an indented item may extend
    key = indent = ""
    at = 0
    for line in text.split("\n"):
        start, at = at, at + len(line) + 1
        if line.endswith("\r"):
            line = line[:-1]
        match = _KEY_LINE.match(line)
        if match is not None:
            key = match["key"]
            if key in values or len(key) > KEY_CHARS:
                return None
            kind = match.lastgroup
            if kind == "plain":
                # The scalar may be followed by blanks that are not part of it.
                value: Any = _plain(key, match["plain"], start + match.start("plain"), 0, leaves)
            elif kind == "quoted":
                value = _quoted(key, match["quoted"], start + match.start("quoted"), 0, leaves)
            elif kind == "flow":
                value = _flow(key, match["flow"], start + match.start("flow"), leaves)
                if value is None:
                    return None
            else:
                value, indent = None, ""
            values[key] = value
            items = [] if kind == "key" else None
            continue
        match = _ITEM_LINE.match(line)
        if match is not None:
            if items is None:
                return None
            if not items:
                indent = match["indent"]
                values[key] = items
            elif match["indent"] != indent:
                return None
            if match["plain"] is not None:
                items.append(_plain(key, match["plain"], start + match.start("plain"), 1, leaves))
            elif match["quoted"] is not None:
                items.append(_quoted(key, match["quoted"], start + match.start("quoted"), 1, leaves))
            else:
                items.append(None)
            continue
        if _SKIPPED_LINE.match(line) is None:
            return None
    return Yaml(values or None, tuple(leaves))


def _plain(key: str, written: str, start: int, depth: int, leaves: list[Leaf]) -> Any:
    written = written.rstrip(" ")
    value = resolve_plain(written)
    if type(value) is str:
        leaves.append(Leaf(key, value, start, start + len(value), depth))
    return value


def _quoted(key: str, written: str, start: int, depth: int, leaves: list[Leaf]) -> str:
    value = written[1:-1]
    leaves.append(Leaf(key, value, start + 1, start + 1 + len(value), depth))
    return value


def _flow(key: str, written: str, start: int, leaves: list[Leaf]) -> list[Any] | None:
    inside = written[1:-1]
    if not inside.strip(" "):
        return []
    values: list[Any] = []
    at = start + 1
    for piece in inside.split(","):
        item = piece.strip(" ")
        where = at + len(piece) - len(piece.lstrip(" "))
        at += len(piece) + 1
        match = _FLOW_ITEM.match(item)
        if match is None:
            return None
        if match.lastgroup == "quoted":
            values.append(_quoted(key, item, where, 1, leaves))
        else:
            values.append(_plain(key, item, where, 1, leaves))
    return values
