"""The JSON Schema of a tool's arguments, as short as possible, and the arguments that several tools share.

An assistant pays for every byte of a schema in every conversation, so whatever carries no information is left
out: titles, references, empty defaults. Types always stay, because the converters of several model APIs
refuse or drop a node without one.

Deriving all schemas takes ten milliseconds, more than the first `tools/list` may cost, so they are stored in
`schemas.json`. `make generate` renews it after a change to a tool's arguments.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta, Struct

from vaultbridge.limits import LARGEST_INTEGER

LIMIT: Final = 500
"""The most rows a caller may ask for at once; the size in characters has a separate limit."""


class Arguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The base of every tool's arguments. An unknown argument is refused, not ignored.

    `UNLISTED` names arguments that a call may give and docs/tools.md explains, but that the schema leaves
    out: hardly any call needs them, and every conversation would pay for them. `ITEMS` maps a list of objects
    to the Struct of its items, which are converted one by one, so that an error names the item."""

    UNLISTED: ClassVar[frozenset[str]] = frozenset()
    ITEMS: ClassVar[dict[str, type[Struct]]] = {}


NoteName = Annotated[str, Meta(description="Note name or path")]
FileName = Annotated[str, Meta(description="Note, file or folder/")]
ExpectedHash = Annotated[str, Meta(description="Hash it must have")]
DryRun = Annotated[bool, Meta(description="Diff only")]
Limit = Annotated[int, Meta(ge=1, le=LIMIT, description="Most rows")]
Offset = Annotated[int, Meta(ge=0, le=LARGEST_INTEGER, description="Rows to skip")]
Start = Annotated[int, Meta(ge=0, le=LARGEST_INTEGER, description="Continue here")]
MaxChars = Annotated[int, Meta(ge=1, le=90_000, description="Most characters")]
PropertyValues = Annotated[
    dict[str, Any],
    Meta(
        description="Properties by name",
        # Gemini refuses an object without named members, and every vault has tags.
        extra_json_schema={
            "properties": {
                "tags": {"type": "array", "items": {"type": "string"}, "description": "Tags"},
            }
        },
    ),
]

STORED_SCHEMAS: Final = Path(__file__).with_name("schemas.json")

_LEFT_OUT: Final = frozenset({"title", "$defs", "additionalProperties"})
"""Keywords that no assistant acts on; an unknown argument gets an error anyway. `additionalProperties: false`
is also one for which google-genai refuses the whole list of tools."""

ANY_VALUE: Final[dict[str, Any]] = {
    "anyOf": [
        {"type": "string"},
        {"type": "number"},
        {"type": "boolean"},
        {
            "type": "array",
            "items": {"anyOf": [{"type": "string"}, {"type": "number"}, {"type": "boolean"}]},
        },
        {"type": "object", "properties": {"name": {"type": "string", "description": "Any names"}}},
    ]
}
"""Any JSON value, for converters that want a type. `anyOf` and not a list of types: Gemini's schema has one
type for each node, and every converter we tried accepts `anyOf`. An object may have any members, but Gemini
refuses one that names none. Null is accepted too but not listed, because Gemini's converter turns it into a
node without a type. Lists contain plain values, because unlimited depth cannot be expressed without a
reference."""


def load_schema(arguments: type[Struct]) -> dict[str, Any]:
    """The schema of a tool's arguments: stored for our own tools, derived for any other."""
    stored = (
        _load_stored().get(arguments.__name__)
        if arguments.__module__.startswith("vaultbridge.tools.")
        else None
    )
    return derive_schema(arguments) if stored is None else stored


@cache
def _load_stored() -> dict[str, dict[str, Any]]:
    try:
        return msgspec.json.decode(STORED_SCHEMAS.read_bytes(), type=dict[str, dict[str, Any]])
    except FileNotFoundError:
        return {}


def derive_schema(arguments: type[Struct]) -> dict[str, Any]:
    whole = msgspec.json.schema(arguments)
    definitions: dict[str, Any] = whole.get("$defs", {})
    schema = add_types(_shorten(whole, definitions))
    for name, item in getattr(arguments, "ITEMS", {}).items():
        schema["properties"][name]["items"] = derive_schema(item)
    for name in getattr(arguments, "UNLISTED", ()):
        del schema["properties"][name]
    required = schema.pop("required", [])
    properties = schema.pop("properties", {})
    # Required arguments come first, because that is the order in which they are read.
    schema["properties"] = {name: properties[name] for name in [*required, *properties]}
    return {**schema, "required": required} if required else schema


def _shorten(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_shorten(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = definitions[node["$ref"].rpartition("/")[2]]
        # A Struct's docstring is written for readers of the source.
        inner = {key: value for key, value in target.items() if key != "description"}
        return _shorten({**inner, **{k: v for k, v in node.items() if k != "$ref"}}, definitions)
    short: dict[str, Any] = {}
    for key, value in node.items():
        if key in _LEFT_OUT or (key in ("required", "default") and not value):
            continue
        if key in ("minimum", "maximum") and abs(value) == LARGEST_INTEGER:
            continue
        if key == "properties":
            short[key] = {name: _shorten(inner, definitions) for name, inner in value.items()}
        else:
            short[key] = _shorten(value, definitions)
    return short


def add_types(schema: dict[str, Any]) -> dict[str, Any]:
    """The same schema with a type, or typed alternatives, in every node. msgspec gives no type to an enum or
    to a value of any type."""
    node = dict(schema)
    if "properties" in node:
        node["properties"] = {name: add_types(inner) for name, inner in node["properties"].items()}
    if "$defs" in node:
        node["$defs"] = {name: add_types(inner) for name, inner in node["$defs"].items()}
    for key in ("items", "additionalProperties"):
        if isinstance(node.get(key), dict):
            node[key] = add_types(node[key])
    for key in ("anyOf", "oneOf", "prefixItems"):
        if key in node:
            node[key] = [add_types(inner) for inner in node[key]]
    if "prefixItems" in node:
        # Converters know only lists whose items share a type; minItems and maxItems give the length.
        kinds = [kind for at, kind in enumerate(node["prefixItems"]) if kind not in node["prefixItems"][:at]]
        del node["prefixItems"]
        node["items"] = kinds[0] if len(kinds) == 1 else {"anyOf": kinds}
    if node.get("type") == "array" and not isinstance(node.get("items"), dict):
        node["items"] = ANY_VALUE
    if "enum" in node and "type" not in node:
        return _add_enum_type(node)
    if not node.keys() & {"type", "anyOf", "oneOf", "allOf", "$ref", "const"}:
        return {**ANY_VALUE, **node}
    return node


def _add_enum_type(node: dict[str, Any]) -> dict[str, Any]:
    names = {bool: "boolean", int: "integer", str: "string", type(None): "null"}
    kinds: dict[str, list[Any]] = {}
    for value in node["enum"]:
        kinds.setdefault(names[type(value)], []).append(value)
    if len(kinds) == 1:
        return {"type": next(iter(kinds)), **node}
    alternatives = [
        {"type": kind} if kind == "null" else {"type": kind, "enum": values} for kind, values in kinds.items()
    ]
    return {"anyOf": alternatives, **{key: value for key, value in node.items() if key != "enum"}}


def add_vault_argument(schema: dict[str, Any], vaults: tuple[str, ...]) -> dict[str, Any]:
    """The same schema with the argument that chooses among several open vaults."""
    vault = {"type": "string", "enum": list(vaults), "description": "Which vault"}
    properties = {**schema["properties"], "vault": vault}
    return {**schema, "properties": properties, "required": [*schema.get("required", []), "vault"]}
