"""The hash over a list of tools, exactly as a JavaScript program would make it from the same list.

Bridge v1: the tools are sorted by name, their name, description and inputSchema are deep-sorted by object
key, the result is stringified as JSON and hashed with SHA-256. "Stringified" is ECMAScript's
`JSON.stringify`, so its rules for numbers, escapes and the order of keys count, not Python's.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping
from typing import Any, Final

ARRAY_INDEX_LIMIT: Final = 2**32 - 1
"""ECMAScript: a key that is a whole number below this is an array index, and an object lists those first."""

_INDEX: Final = re.compile(r"0|[1-9][0-9]{0,9}")
_SURROGATE: Final = re.compile("[\ud800-\udfff]")


def tools_hash(tools: Iterable[Mapping[str, Any]]) -> str:
    """`tools` as `GET /tools` lists them."""
    kept = [
        {key: tool[key] for key in ("name", "description", "inputSchema") if key in tool} for tool in tools
    ]
    kept.sort(key=lambda tool: _code_units(str(tool["name"])))
    return hashlib.sha256(stringify(kept).encode()).hexdigest()


def stringify(value: Any) -> str:
    """What `JSON.stringify` gives for a value whose objects were rebuilt with their keys sorted."""
    match value:
        case None | True | False:
            return {None: "null", True: "true", False: "false"}[value]
        case str():
            return _string(value)
        case int() | float():
            return _number(value)
        case list() | tuple():
            return f"[{','.join(map(stringify, value))}]"
        case dict():
            members = (f"{_string(key)}:{stringify(value[key])}" for key in sorted(value, key=_key_order))
            return f"{{{','.join(members)}}}"
        case _:
            raise TypeError(f"{type(value).__name__} is not a JSON value")


def _key_order(key: str) -> tuple[int, int, bytes]:
    """Sorted by code units; but however they were put in, an object lists its array indices first."""
    if _INDEX.fullmatch(key) and int(key) < ARRAY_INDEX_LIMIT:
        return (0, int(key), b"")
    return (1, 0, _code_units(key))


def _code_units(text: str) -> bytes:
    """ECMAScript compares strings by UTF-16 code unit, which differs above U+FFFF."""
    return text.encode("utf-16-be", "surrogatepass")


def _string(text: str) -> str:
    # Python escapes exactly what ECMAScript does, but for lone surrogates.
    return _SURROGATE.sub(lambda found: f"\\u{ord(found[0]):04x}", json.dumps(text, ensure_ascii=False))


def _number(value: float) -> str:
    """ECMAScript's Number::toString for the double that JSON.parse would make of it."""
    try:
        number = float(value)
    except OverflowError:
        return "null"
    if not math.isfinite(number):
        return "null"
    if number == 0:
        return "0"
    sign = "-" if number < 0 else ""
    mantissa, _, exponent = f"{abs(number)!r}".partition("e")
    whole, _, fraction = mantissa.partition(".")
    fraction = "" if fraction == "0" else fraction
    digits = (whole + fraction).lstrip("0")
    point = len(whole) + int(exponent or 0) - (len(whole + fraction) - len(digits))
    digits = digits.rstrip("0")
    return sign + _placed(digits, point)


def _placed(digits: str, point: int) -> str:
    """`digits` are the shortest that give the number, the decimal point stands after `point` of them."""
    count = len(digits)
    if count <= point <= 21:
        return digits + "0" * (point - count)
    if 0 < point <= 21:
        return f"{digits[:point]}.{digits[point:]}"
    if -6 < point <= 0:
        return f"0.{'0' * -point}{digits}"
    power = point - 1
    written = f"e{'+' if power > 0 else '-'}{abs(power)}"
    return (digits if count == 1 else f"{digits[0]}.{digits[1:]}") + written
