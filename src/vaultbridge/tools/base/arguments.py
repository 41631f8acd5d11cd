"""Turns the JSON arguments of a call into a tool's Struct, or raises an error that names the wrong argument.

Three things are forgiven, because models and the clients between us and them get them wrong:

- *Coercion*: `"5"` or `5.0` for 5, `"true"` for true, 2026 for the text "2026", a list or an object as JSON
  text. A value is coerced only if the wanted type leaves one reading; anything else is refused. Nothing is
  guessed, cut or rounded.
- *References*: a note may be named as a link names it, with the part it points to: `[[Note#Heading|text]]`,
  `Note#^block`. A name without brackets may itself contain a `#`, because files made outside Obsidian can; a
  caller that has the vault tries that one first.
- *Absolute paths*: which open vault they are in, and their path there. `vault.absolute` decides what such a
  path means.

Nothing here reads a vault: whether a note exists is for the engine to say.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from types import UnionType
from typing import TYPE_CHECKING, Annotated, Any, Final, TypeVar, Union, get_args, get_origin

import msgspec
from msgspec import Struct, UnsetType, inspect

from vaultbridge.errors import JSON_ERRORS, InvalidArgument, InvalidPath
from vaultbridge.vault.absolute import find_innermost

if TYPE_CHECKING:
    from vaultbridge.tools.base.tool import ToolContext

_WHOLE: Final = re.compile(r"-?[0-9]{1,15}")
"""As many digits as a double represents exactly, so that no program in between can have lost one."""

_WORDS: Final = {"true": True, "false": False}


def coerce(given: dict[str, Any], wanted: type[Struct]) -> dict[str, Any]:
    """`given`, with each value converted to the type that `wanted` has for it, where there is only one way to
    do so."""
    info = inspect.type_info(wanted)
    assert isinstance(info, inspect.StructType)
    kinds = {field.encode_name: field.type for field in info.fields}
    return {key: _coerce_value(value, kinds[key]) if key in kinds else value for key, value in given.items()}


def _coerce_value(value: Any, kind: inspect.Type) -> Any:
    if isinstance(kind, inspect.Metadata):
        return _coerce_value(value, kind.type)
    if isinstance(kind, inspect.UnionType):
        others = [other for other in kind.types if not isinstance(other, inspect.NoneType)]
        # With several types, the intended one cannot be known.
        return _coerce_value(value, others[0]) if len(others) == 1 else value
    match kind:
        case inspect.IntType():
            return _coerce_integer(value)
        case inspect.BoolType() if isinstance(value, str):
            return _WORDS.get(value.strip().lower(), value)
        case inspect.StrType() if isinstance(value, int) and not isinstance(value, bool):
            return str(value)
        case inspect.ListType(item_type=item_kind) | inspect.VarTupleType(item_type=item_kind):
            items = _coerce_container(value, list)
            return [_coerce_value(item, item_kind) for item in items] if isinstance(items, list) else value
        case inspect.DictType() | inspect.StructType():
            return _coerce_container(value, dict)
        case _:
            return value


def _coerce_integer(value: Any) -> Any:
    if isinstance(value, float) and value.is_integer():
        return int(value)
    if isinstance(value, str) and _WHOLE.fullmatch(value.strip()):
        return int(value)
    return value


def _coerce_container(value: Any, kind: type) -> Any:
    """A list or an object that was sent as JSON text; any other value unchanged."""
    if not isinstance(value, str):
        return value
    try:
        inner = msgspec.json.decode(value)
    except JSON_ERRORS:
        return value
    return inner if isinstance(inner, kind) else value


class NoteReference(Struct, frozen=True):
    """A note, or a part of one. At most one of `heading` and `block` is given; neither means the whole
    note."""

    name: str
    heading: str = ""
    block: str = ""

    @property
    def whole(self) -> bool:
        return not self.heading and not self.block


def is_link(text: str) -> bool:
    bare = text.strip()
    return bare.startswith(("[[", "![[")) and bare.endswith("]]")


def parse_reference(text: str) -> NoteReference:
    bare = text.strip()
    if is_link(text):
        bare = bare.removeprefix("!")[2:-2].partition("|")[0]
    name, _, part = (piece.strip() for piece in bare.partition("#"))
    return NoteReference(name, block=part[1:]) if part.startswith("^") else NoteReference(name, heading=part)


def require_whole_note(text: str, argument: str = "name") -> None:
    """Raises InvalidArgument for a link to a part of a note."""
    if is_link(text) and not parse_reference(text).whole:
        raise InvalidArgument(
            f"{argument} is a link to a part of a note, but this operation works on the whole note.",
            argument=argument,
            hint="Give only the note's name.",
        )


PATH_ARGUMENTS: Final = frozenset({"name", "names", "path", "to", "folder", "note", "file", "this"})
"""The arguments that contain paths or names of files."""


def name_path_argument(error: InvalidPath, arguments: dict[str, Any]) -> None:
    """Let an error about a path, which calls it `path`, name the argument that the caller gave it as."""
    if error.argument != "path" or "path" in arguments:
        return
    keys = [key for key in (*sorted(PATH_ARGUMENTS), "template") if _list_texts(arguments.get(key))]
    said = [
        key for key in keys if any(text and text in error.message for text in _list_texts(arguments[key]))
    ]
    if len(found := said or keys) == 1:
        error.argument = found[0]


def has_absolute_path(arguments: dict[str, Any]) -> bool:
    """Whether an argument may be an absolute path. Only then must the vault be known before conversion."""
    # Every call pays for this, so it is quick rather than exact. The last test is for a Windows drive.
    return any(text[:1] in ("/", "~") or text[1:2] == ":" for text in _list_paths(arguments))


def find_vault_of_paths(arguments: dict[str, Any], vault: str, context: ToolContext) -> str:
    """The name of the open vault that the absolute paths are in; `vault` if no open vault contains them.
    Raises InvalidPath if they are in several vaults, or not in the one that the call names."""
    if len(context.vaults) < 2:
        return vault
    names = {engine.root.folder: name for name, engine in context.engines.items()}
    holding: dict[str, str] = {}
    for text in _list_paths(arguments):
        if (folder := find_innermost(text, names)) is not None:
            holding.setdefault(names[folder], text)
    if len(holding) > 1:
        raise InvalidPath(
            f"The paths of this call are in several vaults: {', '.join(holding)}.",
            argument="path",
            hint="Make one call for each vault.",
        )
    for name, text in holding.items():
        if vault and name != vault:
            raise InvalidPath(
                f"The path {text[:200]!r} is in the vault {name}, not in {vault}.",
                argument="path",
                hint=f"Give vault={name!r}, or leave it out.",
            )
        return name
    return vault


def make_relative(arguments: dict[str, Any], make_vault_relative: Callable[[str], str]) -> dict[str, Any]:
    """The same arguments, with `make_vault_relative` applied to each that names something in the vault."""
    own = {
        key: _shorten(value, make_vault_relative) if key in PATH_ARGUMENTS else value
        for key, value in arguments.items()
    }
    if operations := _list_operations(arguments):
        short = iter([make_relative(item, make_vault_relative) for item in operations])
        own["operations"] = [
            next(short) if isinstance(item, dict) else item for item in arguments["operations"]
        ]
    return own


def _list_paths(arguments: dict[str, Any]) -> Iterator[str]:
    for fields in (arguments, *_list_operations(arguments)):
        for key in PATH_ARGUMENTS.intersection(fields):
            yield from _list_texts(fields[key])


def _list_operations(arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """The operations of a batch."""
    listed = arguments.get("operations")
    return [item for item in listed if isinstance(item, dict)] if isinstance(listed, list) else []


def _list_texts(value: Any) -> list[str]:
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]


def _shorten(value: Any, make_vault_relative: Callable[[str], str]) -> Any:
    if isinstance(value, list):
        return [_shorten(item, make_vault_relative) for item in value]
    return make_vault_relative(value) if isinstance(value, str) else value


QUOTED_CHARS: Final = 80
"""How much of a wrong value an error quotes: enough to recognize it."""

ERROR_PLACE: Final = re.compile(r" - at `\$\.?(?P<place>[^`]*)`$")
_FIELD: Final = re.compile(r"Object (?P<what>missing required|contains unknown) field `(?P<field>[^`]*)`")
WRONG_TYPE: Final = re.compile(r"Expected `(?P<wanted>[^`]*)`, got `(?P<came>[^`]*)`")
"""How msgspec says where an error is, what is wrong with a field, and which type it wants. Its errors are
only text, so the text has to be read."""

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


def convert(given: dict[str, Any], wanted: type[S], *, where: str = "", also: tuple[str, ...] = ()) -> S:
    """Convert `given` to the Struct `wanted`. For error messages, `where` is the place of `given` in the call
    and `also` lists arguments that were handled before. Raises InvalidArgument.

    Some callers must fill in every argument, and write null, 0 or something empty for the ones they would
    leave out. Such a blank counts as left out wherever the argument cannot be blank: a limit of 0, a kind
    of ""."""
    kept = {key: value for key, value in given.items() if value is not None or _accepts_null(wanted, key)}
    try:
        return msgspec.convert(kept, wanted)
    except msgspec.ValidationError:
        pass

    read = coerce(kept, wanted)
    while True:
        try:
            return msgspec.convert(read, wanted)
        except msgspec.ValidationError as error:
            refused = ERROR_PLACE.search(str(error))
            name = refused["place"] if refused else ""
            if name not in read or not is_blank(read[name]) or _is_required(wanted, name):
                raise _explain(str(error), read, wanted, where, also) from None
            del read[name]


def is_blank(value: Any) -> bool:
    """Whether a JSON value is null, false, 0, or an empty text, list or object."""
    return not value


def _is_required(wanted: type[Struct], name: str) -> bool:
    return any(field.required for field in msgspec.structs.fields(wanted) if field.name == name)


def merge_path_alias(given: dict[str, Any], note: str, *, where: str = "") -> dict[str, Any]:
    """Accept `path` as another name of the argument `note`; of the two, an empty one is dropped. Raises
    InvalidArgument if they differ. `where` is the place of `given` in the call, for the error."""
    if not note or "path" not in given:
        return given
    rest = {key: value for key, value in given.items() if key != "path"}
    if given["path"] in (None, "") and given.get(note):
        return rest
    if given.get(note) in (None, ""):
        return {note: given["path"], **{key: value for key, value in rest.items() if key != note}}
    if given[note] != given["path"]:
        raise InvalidArgument(
            f"{note} is {quote_value(given[note])}, but path is {quote_value(given['path'])}.",
            argument=f"{where}.path" if where else "path",
            hint=f"Give {note} or path, not both.",
        )
    return rest


def quote_value(value: Any) -> str:
    """A value as an error message quotes it."""
    text = msgspec.json.encode(value).decode() if _is_json(value) else repr(value)
    return text if len(text) <= QUOTED_CHARS else text[: QUOTED_CHARS - 1] + "…"


def _is_json(value: Any) -> bool:
    return value is None or isinstance(value, str | int | float | bool | list | dict)


def _accepts_null(wanted: type[Struct], key: str) -> bool:
    """Whether null is a value of the argument. Elsewhere null means "left out", as some clients send it."""
    field = next((field for field in msgspec.structs.fields(wanted) if field.name == key), None)
    if field is None:
        return True
    kinds = _alternatives(field.type)
    return Any in kinds or type(None) in kinds


def _alternatives(kind: Any) -> tuple[Any, ...]:
    """The alternatives of a union type. The members of a container, as in dict[str, Any], are not among
    them."""
    if get_origin(kind) is Annotated:
        return _alternatives(get_args(kind)[0])
    if get_origin(kind) in (Union, UnionType):
        return tuple(alternative for part in get_args(kind) for alternative in _alternatives(part))
    return (kind,)


def _explain(
    message: str, given: dict[str, Any], wanted: type[Struct], where: str, also: tuple[str, ...]
) -> InvalidArgument:
    place = ""
    if found := ERROR_PLACE.search(message):
        place, message = found["place"], message[: found.start()]
    known = list(dict.fromkeys((*(field.name for field in msgspec.structs.fields(wanted)), *also)))
    if found := _FIELD.match(message):
        name = ".".join(filter(None, (where, place, found["field"])))
        if found["what"].startswith("missing"):
            return InvalidArgument(
                f"{name} is missing.", argument=name, hint=_describe_wanted(wanted, found["field"])
            )
        from difflib import get_close_matches

        close = _find_words(found["field"], known) or get_close_matches(found["field"], known, n=1)
        guess = f"Did you mean {close[0]}? " if close else ""
        return InvalidArgument(
            f"There is no argument {name}.", argument=name, hint=f"{guess}Choose one of: {', '.join(known)}."
        )
    name = ".".join(filter(None, (where, place))) or where or "arguments"
    value = _find_value(given, place)
    came = f" is {quote_value(value)}" if value is not msgspec.UNSET else " is wrong"
    hint = "" if "[" in place or "." in place else _describe_wanted(wanted, place)
    if (types := WRONG_TYPE.match(message)) and not hint:
        hint = f"It should be {_describe_kinds(types['wanted'])}."
    return InvalidArgument(f"{name}{came}.", argument=name, hint=hint or f"{message}.")


_ALSO_CALLED: Final = {
    "replacement": "new",
    "body": "content",
    "markdown": "content",
    "pattern": "old",
    "frontmatter": "properties",
}
"""What other servers and other tools of an assistant call an argument, where no word of it is ours."""


def _find_words(name: str, known: list[str]) -> list[str]:
    """The known argument that one of the words of an unknown name is: `old` of `old_text` or `oldString`."""
    words = [word.lower() for word in re.findall(r"[A-Z]?[a-z]+", name)]
    words += [_ALSO_CALLED[word] for word in words if word in _ALSO_CALLED]
    return [word for word in words if word in known][:1]


def _describe_kinds(wanted: str) -> str:
    return " or ".join(_NAMES.get(kind, kind) for kind in wanted.split(" | ") if kind != "null")


def _find_value(given: Any, place: str) -> Any:
    """The value at the place that a message names (`limit`, `names[3]`); `[...]` is any item."""
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


def _describe_wanted(wanted: type[Struct], name: str) -> str:
    """What an argument accepts, in words, from its schema."""
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


def is_placeholder(value: Any) -> bool:
    """Whether a value is what a caller who must fill in every member of a schema leaves empty: nothing, a
    list of an empty text, or the one member that the schema of any object names (`schema.ANY_VALUE`)."""
    return is_blank(value) or value in ([""], {"name": ""}, {"name": None})


def drop_placeholders(properties: dict[str, Any]) -> dict[str, Any]:
    """The properties without the tags that a caller who must fill in every member of the schema leaves empty.
    Any other name is not in the schema, so that whoever gives one means its value, even an empty one."""
    return {name: value for name, value in properties.items() if name != "tags" or not is_placeholder(value)}


def is_given(value: Any) -> bool:
    """Whether an optional argument was given at all."""
    return not isinstance(value, UnsetType)
