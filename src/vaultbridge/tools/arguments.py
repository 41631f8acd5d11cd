"""From the JSON that a caller sent to a tool's filled-in arguments, or an error that names the wrong one."""

from __future__ import annotations

import re
from types import UnionType
from typing import Annotated, Any, Final, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Struct, UnsetType

from vaultbridge.errors import InvalidArgument

SHOWN_CHARS: Final = 80
"""How much of a wrong value an error repeats: enough to recognise it."""

_WHERE: Final = re.compile(r" - at `\$\.?(?P<place>[^`]*)`$")
_FIELD: Final = re.compile(r"Object (?P<what>missing required|contains unknown) field `(?P<field>[^`]*)`")
_TYPES: Final = re.compile(r"Expected `(?P<wanted>[^`]*)`, got `(?P<came>[^`]*)`")
_NAMES: Final = {
    "str": "text",
    "int": "a whole number",
    "float": "a number",
    "bool": "true or false",
    "array": "a list",
    "object": "an object",
    "null": "null",
}
_FORMATS: Final = {
    "date": "a date, such as 2026-07-28",
    "date-time": "a time, such as 2026-07-28T12:00:00Z",
    "time": "a time of day, such as 12:00:00",
    "uuid": "a UUID",
}

S = TypeVar("S", bound=Struct)


def converted(given: dict[str, Any], wanted: type[S], *, where: str = "", also: tuple[str, ...] = ()) -> S:
    """`where` names the place of `given` in the call and `also` are arguments that were taken before, both
    for messages. Raises InvalidArgument.

    Some callers must fill in every argument and write null, 0 or something empty for what they would leave
    out. Such a blank is as if left out wherever the argument cannot be blank: a limit of 0, a kind of ""."""
    kept = {key: value for key, value in given.items() if value is not None or _takes_null(wanted, key)}
    try:
        return msgspec.convert(kept, wanted)
    except msgspec.ValidationError:
        # Few calls come here, so only they pay for the import.
        from vaultbridge.tools.meant import meant

    read = meant(kept, wanted)
    while True:
        try:
            return msgspec.convert(read, wanted)
        except msgspec.ValidationError as error:
            refused = _WHERE.search(str(error))
            name = refused["place"] if refused else ""
            if name not in read or not is_blank(read[name]) or _is_required(wanted, name):
                raise _explained(str(error), read, wanted, where, also) from None
            del read[name]


def is_blank(value: Any) -> bool:
    """Whether a JSON value says nothing: null, false, 0, or an empty text, list or object."""
    return not value


def _is_required(wanted: type[Struct], name: str) -> bool:
    return any(field.required for field in msgspec.structs.fields(wanted) if field.name == name)


def one_note_name(given: dict[str, Any], note: str, *, where: str = "") -> dict[str, Any]:
    """`path` taken as another word for the argument `note`; of the two, an empty one is left out. Raises
    InvalidArgument when they disagree; `where` names the place of `given` in the call."""
    if not note or "path" not in given:
        return given
    rest = {key: value for key, value in given.items() if key != "path"}
    if given["path"] in (None, "") and given.get(note):
        return rest
    if given.get(note) in (None, ""):
        return {note: given["path"], **{key: value for key, value in rest.items() if key != note}}
    if given[note] != given["path"]:
        raise InvalidArgument(
            f"{note} is {shown(given[note])} and path is {shown(given['path'])}: they name two notes.",
            argument=f"{where}.path" if where else "path",
            hint=f"Give one of {note} and path.",
        )
    return rest


def shown(value: Any) -> str:
    """A value as a message repeats it."""
    text = msgspec.json.encode(value).decode() if _is_json(value) else repr(value)
    return text if len(text) <= SHOWN_CHARS else text[: SHOWN_CHARS - 1] + "…"


def _is_json(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool | list | dict)


def _takes_null(wanted: type[Struct], key: str) -> bool:
    """Some clients send null for what they leave out; only where null is itself a value does it count."""
    field = next((field for field in msgspec.structs.fields(wanted) if field.name == key), None)
    if field is None:
        return True
    kinds = _alternatives(field.type)
    return Any in kinds or type(None) in kinds


def _alternatives(kind: Any) -> tuple[Any, ...]:
    """The kinds that a type admits. What stands inside of one of them, as in dict[str, Any], is none."""
    if get_origin(kind) is Annotated:
        return _alternatives(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return tuple(one for part in get_args(kind) for one in _alternatives(part))
    return (kind,)


def _explained(
    message: str, given: dict[str, Any], wanted: type[Struct], where: str, also: tuple[str, ...]
) -> InvalidArgument:
    place = ""
    if found := _WHERE.search(message):
        place, message = found["place"], message[: found.start()]
    known = list(dict.fromkeys((*(field.name for field in msgspec.structs.fields(wanted)), *also)))
    if found := _FIELD.match(message):
        name = ".".join(filter(None, (where, place, found["field"])))
        if found["what"].startswith("missing"):
            return InvalidArgument(f"{name} is missing.", argument=name, hint=_wanted(wanted, found["field"]))
        from difflib import get_close_matches

        close = get_close_matches(found["field"], known, n=1)
        guess = f"Did you mean {close[0]}? " if close else ""
        return InvalidArgument(
            f"There is no argument {name}.", argument=name, hint=f"{guess}There are: {', '.join(known)}."
        )
    name = ".".join(filter(None, (where, place))) or where or "arguments"
    value = _value_at(given, place)
    came = f" is {shown(value)}" if value is not msgspec.UNSET else " is wrong"
    hint = "" if "[" in place or "." in place else _wanted(wanted, place)
    if (types := _TYPES.match(message)) and not hint:
        hint = f"It should be {_kinds(types['wanted'])}."
    return InvalidArgument(f"{name}{came}.", argument=name, hint=hint or f"{message}.")


def _kinds(wanted: str) -> str:
    return " or ".join(_NAMES.get(kind, kind) for kind in wanted.split(" | ") if kind != "null")


def _value_at(given: Any, place: str) -> Any:
    """The value that a message's place (`limit`, `names[3]`) points at; `[...]` is any item."""
    value = given
    for name, position in re.findall(r"([^.\[\]]+)|\[(\d+|\.\.\.)\]", place):
        try:
            if name:
                value = value[name]
            elif position == "...":
                return value
            else:
                value = value[int(position)]
        except (KeyError, IndexError, TypeError):
            return msgspec.UNSET
    return value


def _wanted(wanted: type[Struct], name: str) -> str:
    """What an argument takes, in words made from its schema."""
    definitions: dict[str, Any] = msgspec.json.schema(wanted)["$defs"]
    schema = definitions[wanted.__name__]["properties"].get(name)
    if schema is None:
        return ""
    if "$ref" in schema:
        schema = definitions[schema["$ref"].rpartition("/")[2]]
    if schema.get("format") in _FORMATS:
        return f"It should be {_FORMATS[schema['format']]}."
    if "enum" in schema:
        return f"It should be one of: {', '.join(map(str, schema['enum']))}."
    kinds = {"string": "text", "integer": "a whole number", "boolean": "true or false", "array": "a list"}
    kind = kinds.get(schema.get("type", ""), "an object" if schema.get("type") == "object" else "")
    bounds = ""
    if "minimum" in schema and "maximum" in schema:
        bounds = f" from {schema['minimum']} to {schema['maximum']}"
    elif "minimum" in schema:
        bounds = f" of at least {schema['minimum']}"
    elif "maxItems" in schema:
        bounds = f" of at most {schema['maxItems']}"
    return f"It should be {kind}{bounds}." if kind else ""


def given(value: Any) -> bool:
    """Whether an optional argument was given at all."""
    return not isinstance(value, UnsetType)
