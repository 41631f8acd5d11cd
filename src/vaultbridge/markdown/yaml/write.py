"""Writes values as YAML text that reads back as the same values.

A string is quoted exactly when it would otherwise be read as something else; `parse_yaml` decides that, so
the rule cannot drift from the reader's. Strings are quoted with `"` as in the app, or with `'` where that
avoids escapes. `markdown.edits.properties` decides where in a note the text goes.
"""

from __future__ import annotations

import json
import re
from typing import Any, Final

from vaultbridge.errors import InvalidArgument
from vaultbridge.markdown.yaml.core import parse_yaml

VALUE_DEPTH: Final = 16
"""The deepest nesting of a value that we write: the app's own editor offers one level."""

_WORDS: Final = frozenset(("null", "true", "false"))
_SURELY_PLAIN: Final = re.compile(r"[^\W\d_][\w-]*(?:[ /][\w-]+)*", re.ASCII)
_NEVER_PLAIN: Final = re.compile(
    r"^-|^[\s\-?:,\[\]{}#&*!|>'\"%@`]|\s$|[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]"
)
_NEVER_SINGLE: Final = re.compile(r"[\x00-\x1f\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")
_ESCAPED: Final = re.compile(r"[\x7f-\x9f\u2028\u2029\ufeff\ufffe\uffff]")


def check_value(value: Any, *, depth: int = 0) -> Any:
    """Return the value with tuples turned into lists. Raises InvalidArgument if a property cannot hold it."""
    if depth > VALUE_DEPTH:
        raise InvalidArgument(f"The value is nested deeper than {VALUE_DEPTH} levels.", argument="value")
    if value is None or isinstance(value, str | bool | int | float):
        return value
    if isinstance(value, list | tuple):
        return [check_value(item, depth=depth + 1) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: check_value(item, depth=depth + 1) for key, item in value.items()}
    raise InvalidArgument(
        f"A property cannot hold a {type(value).__name__}.",
        argument="value",
        hint="Use text, numbers, true or false, null, lists and maps of those.",
    )


def write_flow(value: Any, *, inside: bool = True) -> str:
    """Write the value on one line. `inside` is true within `[ ]` or `{ }`, where commas and brackets end a
    plain string."""
    match value:
        case str():
            return write_string(value, inside=inside)
        case None:
            return "null"
        case bool():
            return "true" if value else "false"
        case int():
            return str(value)
        case float():
            return _float_text(value)
        case list():
            return f"[{', '.join(map(write_flow, value))}]"
        case _:
            pairs = (f"{write_string(key)}: {write_flow(item)}" for key, item in value.items())
            return f"{{{', '.join(pairs)}}}"


def write_string(text: str, *, inside: bool = True, quote: str = "") -> str:
    """Write the string, quoted if necessary; `quote` asks for that kind of quotes where they can hold it."""
    if not quote and _reads_plain(text, inside=inside):
        return text
    single = "'" not in text and not _NEVER_SINGLE.search(text)
    if quote == "'":
        single = not _NEVER_SINGLE.search(text)
    elif quote == '"' or not ('"' in text or "\\" in text):
        single = False
    if single:
        return "'" + text.replace("'", "''") + "'"
    return _ESCAPED.sub(lambda match: f"\\u{ord(match.group()):04x}", json.dumps(text, ensure_ascii=False))


def write_key(name: str) -> str:
    """Write a key, without its colon."""
    if _SURELY_PLAIN.fullmatch(name):
        return name
    if not _NEVER_PLAIN.search(name) and parse_yaml(f"{name}: x").value == {name: "x"}:
        return name
    return write_string(name, quote='"')


def write_block(value: Any, indent: str, *, item_lead: str = "- ") -> list[str]:
    """Write a list or map below its key: the lines without their ends. Deeper values are written on one
    line."""
    if isinstance(value, list):
        return [f"{indent}{item_lead}{write_flow(item, inside=False)}" for item in value]
    return [f"{indent}{write_key(key)}: {write_flow(item, inside=False)}" for key, item in value.items()]


def _reads_plain(text: str, *, inside: bool) -> bool:
    if _SURELY_PLAIN.fullmatch(text):
        return text.lower() not in _WORDS
    if not text or _NEVER_PLAIN.search(text):
        return False
    written = f"[{text}]" if inside else f"- {text}"
    return bool(parse_yaml(written).value == [text])


def _float_text(value: float) -> str:
    if value != value:
        return ".nan"
    if value in (float("inf"), float("-inf")):
        return ".inf" if value > 0 else "-.inf"
    return repr(value)
