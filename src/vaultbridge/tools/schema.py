"""A Struct's JSON Schema, as short as it can be said.

An assistant pays for every byte of a tool's schema in every conversation, so what tells it nothing is left
out: titles, defaults, references, bounds. What the schema leaves out is still checked when a call comes.

Deriving all of them takes ten milliseconds, more than the first listing may cost. So they are kept, derived,
in `schemas.json`; after a change of a tool's arguments write it anew:

    python -m vaultbridge.tools.keep_schemas
"""

from __future__ import annotations

from functools import cache
from pathlib import Path
from typing import Any, Final

import msgspec
from msgspec import Struct

KEPT: Final = Path(__file__).with_name("schemas.json")

_LEFT_OUT: Final = frozenset(
    {"title", "default", "$defs", "additionalProperties", "minimum", "maximum", "maxItems"}
)
"""Nothing an assistant acts on: a bound that matters is told by the error that meets it."""


def input_schema(arguments: type[Struct]) -> dict[str, Any]:
    """The kept schema of our own tools' arguments; any other is derived."""
    kept = _kept().get(arguments.__name__) if arguments.__module__.startswith("vaultbridge.tools.") else None
    return derived_schema(arguments) if kept is None else kept


@cache
def _kept() -> dict[str, dict[str, Any]]:
    try:
        return msgspec.json.decode(KEPT.read_bytes(), type=dict[str, dict[str, Any]])
    except FileNotFoundError:
        return {}


def derived_schema(arguments: type[Struct]) -> dict[str, Any]:
    whole = msgspec.json.schema(arguments)
    definitions: dict[str, Any] = whole.get("$defs", {})
    slim = _slim(whole, definitions)
    assert isinstance(slim, dict), "a Struct is an object"
    required = slim.pop("required", [])
    properties = slim.pop("properties", {})
    # What a call cannot do without comes first: that is how a reader meets it.
    slim["properties"] = {name: properties[name] for name in [*required, *properties]}
    return {**slim, "required": required} if required else slim


def _slim(node: Any, definitions: dict[str, Any]) -> Any:
    if isinstance(node, list):
        return [_slim(item, definitions) for item in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        target = definitions[node["$ref"].rpartition("/")[2]]
        inner = {key: value for key, value in target.items() if key != "description"}
        return _slim({**inner, **{k: v for k, v in node.items() if k != "$ref"}}, definitions)
    short: dict[str, Any] = {}
    for key, value in node.items():
        if key in _LEFT_OUT or (key == "required" and not value):
            continue
        if key == "properties":
            short[key] = {name: _slim(inner, definitions) for name, inner in value.items()}
        elif key == "description" and node.get("type") == "object" and "properties" in node:
            continue  # A Struct's docstring is for its reader in the source.
        else:
            short[key] = _slim(value, definitions)
    if "enum" in short:
        short.pop("type", None)  # The values show it.
    return short


def with_path(schema: dict[str, Any], note: str) -> dict[str, Any]:
    """With `path` beside the argument that names a note, where that one may be left out: an exact path will
    do for it everywhere, but what a schema requires it must require."""
    if not note or note in schema.get("required", ()):
        return schema
    properties: dict[str, Any] = {}
    for name, inner in schema["properties"].items():
        properties[name] = inner
        if name == note:
            properties["path"] = {"type": "string"}
    return {**schema, "properties": properties}


def with_vault(schema: dict[str, Any], vaults: tuple[str, ...]) -> dict[str, Any]:
    """With the argument that chooses among several open vaults."""
    properties = {**schema["properties"], "vault": {"enum": list(vaults)}}
    return {**schema, "properties": properties, "required": [*schema.get("required", []), "vault"]}
