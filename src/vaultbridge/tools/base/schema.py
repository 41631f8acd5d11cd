"""A Struct's JSON Schema, as short as it can be said.

An assistant pays for every byte of a tool's schema in every conversation, so what tells it nothing is left
out: titles, references, and defaults that are empty. What must not be left out is a type: the converters of
several model APIs refuse a node without one, or drop it.

Deriving all of them takes ten milliseconds, more than the first listing may cost. So they are kept, derived,
in `schemas.json`; after a change of a tool's arguments write it anew:

    python -m vaultbridge.tools.generate

Arguments that several tools share, each described once and in few words.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Annotated, Any, ClassVar, Final

import msgspec
from msgspec import Meta, Struct

LIMIT: Final = 500
"""The most rows of one answer that a caller may ask for; the size in characters is bounded besides."""


class Arguments(Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The base of every tool's arguments: a word that a tool does not know is refused, not ignored.

    `UNLISTED` are arguments that a call may give and `docs/tools.md` explains, but that the schema leaves
    out: nearly no call needs them, and every conversation would pay for them. `ITEMS` are the Structs that
    the objects in a list follow, by the list's name: those are converted one by one, so that an error names
    the item."""

    UNLISTED: ClassVar[frozenset[str]] = frozenset()
    ITEMS: ClassVar[dict[str, type[Struct]]] = {}


NoteName = Annotated[str, Meta(description="Note name or path")]
FileName = Annotated[str, Meta(description="Note, file or folder/")]
Heading = Annotated[str, Meta(description="Heading, or A#B")]
CreateHeading = Annotated[bool, Meta(description="Make a missing heading")]
Block = Annotated[str, Meta(description="Block id")]
Expected = Annotated[str, Meta(description="Refuse if hash differs")]
DryRun = Annotated[bool, Meta(description="Diff only")]
Limit = Annotated[int, Meta(ge=1, le=LIMIT, description="Most rows")]
Offset = Annotated[int, Meta(ge=0, description="Rows to skip")]
Start = Annotated[int, Meta(ge=0, description="Go on from here")]
MaxChars = Annotated[int, Meta(ge=1, le=90_000, description="Most characters")]
PropertyValues = Annotated[
    dict[str, Any],
    Meta(
        description="Properties by name",
        # One that every vault knows: Gemini refuses an object of which no member is named.
        extra_json_schema={
            "properties": {
                "tags": {"type": "array", "items": {"type": "string"}, "description": "Tags"},
            }
        },
    ),
]

STORED_SCHEMAS: Final = Path(__file__).with_name("schemas.json")

_LEFT_OUT: Final = frozenset({"title", "$defs", "additionalProperties"})
"""Nothing an assistant acts on: that no other argument is taken is said by the error for one."""

ANY_VALUE: Final[dict[str, Any]] = {
    "anyOf": [
        {"type": "string"},
        {"type": "number"},
        {"type": "boolean"},
        {"type": "array", "items": {"type": "string"}},
    ]
}
"""Any JSON value, for readers that want kinds. Alternatives and not a list of types: Gemini's schema has one
type for each node, while every converter that we tried takes `anyOf`. Null is taken too but is no
alternative, because Gemini's converter makes of it a node without a type. Lists are of text because an
unlimited depth cannot be said without a reference."""


def load_schema(arguments: type[Struct]) -> dict[str, Any]:
    """The kept schema of our own tools' arguments; any other is derived."""
    kept = (
        _load_stored().get(arguments.__name__)
        if arguments.__module__.startswith("vaultbridge.tools.")
        else None
    )
    return derive_schema(arguments) if kept is None else kept


@cache
def _load_stored() -> dict[str, dict[str, Any]]:
    try:
        return msgspec.json.decode(STORED_SCHEMAS.read_bytes(), type=dict[str, dict[str, Any]])
    except FileNotFoundError:
        return {}


def derive_schema(arguments: type[Struct]) -> dict[str, Any]:
    whole = msgspec.json.schema(arguments)
    definitions: dict[str, Any] = whole.get("$defs", {})
    slim = add_types(_shorten(whole, definitions))
    for name, item in getattr(arguments, "ITEMS", {}).items():
        slim["properties"][name]["items"] = derive_schema(item)
    for name in getattr(arguments, "UNLISTED", ()):
        del slim["properties"][name]
    required = slim.pop("required", [])
    properties = slim.pop("properties", {})
    # What a call cannot do without comes first: that is how a reader meets it.
    slim["properties"] = {name: properties[name] for name in [*required, *properties]}
    return {**slim, "required": required} if required else slim


def _shorten(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_shorten(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = definitions[node["$ref"].rpartition("/")[2]]
        # A Struct's docstring is for its reader in the source.
        inner = {key: value for key, value in target.items() if key != "description"}
        return _shorten({**inner, **{k: v for k, v in node.items() if k != "$ref"}}, definitions)
    short: dict[str, Any] = {}
    for key, value in node.items():
        if key in _LEFT_OUT or (key in ("required", "default") and not value):
            continue
        if key == "properties":
            short[key] = {name: _shorten(inner, definitions) for name, inner in value.items()}
        else:
            short[key] = _shorten(value, definitions)
    return short


def add_types(schema: dict[str, Any]) -> dict[str, Any]:
    """The same with a type, or typed alternatives, in every node. `schema` says what it says in the way of
    msgspec, which leaves the type of an enum to its values and says nothing about a value of any kind."""
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
        # Converters know lists of one kind only; how many there are is said by minItems and maxItems.
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
    """With the argument that chooses among several open vaults."""
    vault = {"type": "string", "enum": list(vaults), "description": "Which vault"}
    properties = {**schema["properties"], "vault": vault}
    return {**schema, "properties": properties, "required": [*schema.get("required", []), "vault"]}
