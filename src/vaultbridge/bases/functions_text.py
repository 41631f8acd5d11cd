"""The functions of texts and of regular expressions."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Final

from vaultbridge.bases.context import Surroundings
from vaultbridge.bases.method import ANY_NUMBER, Arguments, Method, index_argument, text_argument
from vaultbridge.bases.regex_match import Match, Regex
from vaultbridge.bases.values import (
    MAX_LIST_ITEMS,
    MAX_TEXT_CHARS,
    FormulaError,
    Value,
    checked_text,
    to_text,
)

_WORD_START: Final = re.compile(r"(?:^|(?<=\s))\w")
_REFERENCE: Final = re.compile(r"\$(\$|&|\d{1,2}|<[^>]*>)")


def _contains(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    return arguments[0] is not None and text_argument(arguments, 0) in to_text(target)


def _contains_all(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    return all(_contains(world, target, (value,)) for value in arguments)


def _contains_any(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    return any(_contains(world, target, (value,)) for value in arguments)


def _starts_with(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    return to_text(target).startswith(text_argument(arguments, 0))


def _ends_with(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    return to_text(target).endswith(text_argument(arguments, 0))


def _lower(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    return to_text(target).lower()


def _title(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    return _WORD_START.sub(lambda match: match.group().upper(), to_text(target))


def _trim(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    return to_text(target).strip()


def _reverse(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    return to_text(target)[::-1]


def _repeat(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    text, count = to_text(target), index_argument(arguments, 0, "repeat")
    if count < 0:
        raise FormulaError("repeat() wants a count of 0 or more.")
    if len(text) * count > MAX_TEXT_CHARS:
        raise FormulaError(f"A text of more than {MAX_TEXT_CHARS} characters.")
    return text * count


def _slice(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    start = index_argument(arguments, 0, "slice")
    end = index_argument(arguments, 1, "slice") if len(arguments) > 1 else None
    return to_text(target)[start:end]


def _matches_of(world: Surroundings, regex: Regex, text: str, *, every: bool) -> Iterator[Match]:
    """The matches from left to right; after an empty one the search goes on one character further."""
    at = 0
    while at <= len(text):
        match = world.search(regex, text, at)
        if match is None:
            return
        yield match
        if not every:
            return
        at = match.end if match.end > match.start else match.end + 1


def _replace(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    text, pattern, new = to_text(target), arguments[0], text_argument(arguments, 1)
    if not isinstance(pattern, Regex):
        old = to_text(pattern)
        if len(text) + text.count(old) * max(0, len(new) - len(old)) > MAX_TEXT_CHARS:
            raise FormulaError(f"A text of more than {MAX_TEXT_CHARS} characters.")
        return text.replace(old, new)
    parts: list[str] = []
    size = done = 0
    for match in _matches_of(world, pattern, text, every="g" in pattern.flags):
        piece = text[done : match.start] + _expanded(new, match, pattern)
        parts.append(piece)
        size += len(piece)
        done = match.end
        if size > MAX_TEXT_CHARS:
            break
    return checked_text("".join(parts) + text[done:])


def _expanded(template: str, match: Match, regex: Regex) -> str:
    """`$1`, `$&`, `$<name>` and `$$` of a replacement; a reference to no group stays as it is written."""

    def group(reference: re.Match[str]) -> str:
        key = reference[1]
        if key == "$":
            return "$"
        if key == "&":
            return match.groups[0] or ""
        number = regex.names.get(key[1:-1], -1) if key.startswith("<") else int(key)
        if 1 <= number < len(match.groups):
            return match.groups[number] or ""
        if len(key) == 2 and key.isdigit() and 1 <= int(key[0]) < len(match.groups):
            return (match.groups[int(key[0])] or "") + key[1]
        return reference.group()

    return _REFERENCE.sub(group, template)


def _split(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    text, separator = to_text(target), arguments[0]
    most = index_argument(arguments, 1, "split") if len(arguments) > 1 else MAX_LIST_ITEMS
    if isinstance(separator, Regex):
        pieces = _split_by(world, text, separator)
    else:
        mark = to_text(separator)
        pieces = list(text) if mark == "" else text.split(mark)
    if len(pieces) > MAX_LIST_ITEMS:
        raise FormulaError(f"A list of more than {MAX_LIST_ITEMS} elements.")
    return tuple(pieces[: max(0, most)])


def _split_by(world: Surroundings, text: str, separator: Regex) -> list[str]:
    pieces: list[str] = []
    done = 0
    for match in _matches_of(world, separator, text, every=True):
        if match.end == match.start and match.start in (0, len(text)):
            continue  # nothing between: no cut at the very ends
        pieces.append(text[done : match.start])
        pieces.extend(group or "" for group in match.groups[1:])
        done = match.end
    pieces.append(text[done:])
    return pieces


def _regexp_matches(world: Surroundings, target: Value, arguments: Arguments) -> Value:
    assert isinstance(target, Regex)
    return world.search(target, text_argument(arguments, 0)) is not None


STRING: Final = {
    "contains": Method(_contains, 1, 1),
    "containsAll": Method(_contains_all, 1, ANY_NUMBER),
    "containsAny": Method(_contains_any, 1, ANY_NUMBER),
    "endsWith": Method(_ends_with, 1, 1),
    "lower": Method(_lower),
    "repeat": Method(_repeat, 1, 1),
    "replace": Method(_replace, 2, 2),
    "reverse": Method(_reverse),
    "slice": Method(_slice, 1, 2),
    "split": Method(_split, 1, 2),
    "startsWith": Method(_starts_with, 1, 1),
    "title": Method(_title),
    "trim": Method(_trim),
}

REGEXP: Final = {"matches": Method(_regexp_matches, 1, 1)}
