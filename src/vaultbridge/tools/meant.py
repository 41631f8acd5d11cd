"""What a model meant that wrote a value in the wrong kind of JSON.

Models, and clients between them and us, write `"5"` or `5.0` for 5, `"true"` for true, 2026 for the text
"2026", and a list or an object as JSON text. Where the wanted kind leaves one reading, that is taken.
Everything else stays as it came, for the strict conversion to refuse: no default is guessed, nothing is cut
or rounded.
"""

from __future__ import annotations

import re
from typing import Any, Final

import msgspec
from msgspec import Struct, inspect

from vaultbridge.json_faults import JSON_FAULTS

_WHOLE: Final = re.compile(r"-?[0-9]{1,15}")
"""As many digits as a double carries exactly: whatever program wrote the text, it lost none."""

_WORDS: Final = {"true": True, "false": False}


def meant(given: dict[str, Any], wanted: type[Struct]) -> dict[str, Any]:
    """`given` with each value in the kind that `wanted` names for it, where it can be read so."""
    info = inspect.type_info(wanted)
    assert isinstance(info, inspect.StructType)
    kinds = {field.encode_name: field.type for field in info.fields}
    return {key: _read(value, kinds[key]) if key in kinds else value for key, value in given.items()}


def _read(value: Any, kind: inspect.Type) -> Any:
    if isinstance(kind, inspect.Metadata):
        return _read(value, kind.type)
    if isinstance(kind, inspect.UnionType):
        others = [one for one in kind.types if not isinstance(one, inspect.NoneType)]
        # Of several kinds nobody can tell which was meant.
        return _read(value, others[0]) if len(others) == 1 else value
    match kind:
        case inspect.IntType():
            return _whole(value)
        case inspect.BoolType() if isinstance(value, str):
            return _WORDS.get(value.strip().lower(), value)
        case inspect.StrType() if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        case inspect.ListType(item_type=item) | inspect.VarTupleType(item_type=item):
            items = _unpacked(value, list)
            return [_read(one, item) for one in items] if isinstance(items, list) else value
        case inspect.DictType() | inspect.StructType():
            return _unpacked(value, dict)
        case _:
            return value


def _whole(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value)
    return value


def _unpacked(value: Any, kind: type) -> Any:
    """A list or an object that came as JSON text; any other value as it is."""
    if not isinstance(value, str):
        return value
    try:
        inner = msgspec.json.decode(value)
    except JSON_FAULTS:
        return value
    return inner if isinstance(inner, kind) else value
