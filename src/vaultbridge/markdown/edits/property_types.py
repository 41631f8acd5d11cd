"""Coerces a value to the type that the vault's `types.json` gives a property (docs/obsidian.md 5).

A number given as text, or one string for a list, is converted; a value that cannot be converted raises an
InvalidArgument that says what is accepted. Null is always accepted: the app shows it as empty.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date, datetime
from typing import Any, Final

from vaultbridge.errors import InvalidArgument
from vaultbridge.markdown.edits.tags import parse_tag_name
from vaultbridge.markdown.text import DATE, DATETIME
from vaultbridge.markdown.yaml import resolve_plain

_OF_THE_APP: Final = {"tags": "tags", "aliases": "aliases", "cssclasses": "multitext"}
"""Properties whose type the app fixes; `types.json` cannot change it."""


def property_type(name: str, types: Mapping[str, str]) -> str:
    """Return the type of a property: the app's own for some, else that of `types.json` (names in lower
    case)."""
    return _OF_THE_APP.get(name.lower()) or types.get(name.lower(), "")


def coerce_property(name: str, value: Any, types: Mapping[str, str], *, argument: str = "value") -> Any:
    """Convert the value to the form of the property's type in `types`; `property_type` says which. Raises
    InvalidArgument, which names the property and the `argument` that has the value."""
    try:
        return coerce_value(value, property_type(name, types))
    except InvalidArgument as error:
        error.message = f"{name}: {error.message}"
        error.argument = argument
        raise


def coerce_value(value: Any, kind: str) -> Any:
    """Convert the value to the form of a property of this type. An unknown type (a plugin's) accepts any
    value."""
    if value is None:
        return None
    match kind:
        case "text":
            return _coerce_text(value)
        case "number":
            return _coerce_number(value)
        case "checkbox":
            return _coerce_checkbox(value)
        case "date":
            return _coerce_date(value)
        case "datetime":
            return _coerce_datetime(value)
        case "multitext" | "aliases":
            return [_coerce_text(item) for item in _coerce_items(value, kind)]
        case "tags":
            return [parse_tag_name(_coerce_text(item)) for item in _coerce_items(value, kind)]
        case _:
            return value


def _mismatch(value: Any, what: str, hint: str) -> InvalidArgument:
    return InvalidArgument(
        f"{value!r} is not a {what}, which is this property's type in the vault.", argument="value", hint=hint
    )


def _coerce_text(value: Any) -> str:
    if isinstance(value, str):
        return value
    if isinstance(value, int | float) and not isinstance(value, bool):
        return str(value)
    raise _mismatch(value, "string", "Give a string.")


def _coerce_number(value: Any) -> int | float:
    if isinstance(value, str):
        value = resolve_plain(value.strip()) if value.strip() else value
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _mismatch(value, "number", "Give a number such as 12 or 3.5.")
    return value


def _coerce_checkbox(value: Any) -> bool:
    if isinstance(value, str) and value.strip().lower() in ("true", "false"):
        return value.strip().lower() == "true"
    if not isinstance(value, bool):
        raise _mismatch(value, "checkbox value", "Give true or false.")
    return value


def _coerce_date(value: Any) -> str:
    if isinstance(value, str) and DATE.fullmatch(value.strip()) and _exists(value.strip()):
        return value.strip()
    raise _mismatch(value, "date", "Write it as YYYY-MM-DD.")


def _coerce_datetime(value: Any) -> str:
    if isinstance(value, str):
        found = DATETIME.fullmatch(value.strip())
        if found:
            text = f"{found[1]}T{found[2]}{found[3] or ':00'}"
            if _exists(text):
                return text
    raise _mismatch(value, "date and time", "Write it as YYYY-MM-DDTHH:mm:ss.")


def _exists(text: str) -> bool:
    """Return whether the date and time exist."""
    try:
        datetime.fromisoformat(text) if "T" in text else date.fromisoformat(text)
    except ValueError:
        return False
    return True


def _coerce_items(value: Any, kind: str) -> list[Any]:
    if isinstance(value, list | tuple):
        return list(value)
    if isinstance(value, str):
        return [value]
    raise _mismatch(value, f"list of {'tags' if kind == 'tags' else 'strings'}", "Give a list of strings.")
