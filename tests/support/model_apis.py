"""What the converters of model APIs want of a tool's schema, as rules over plain JSON.

The rules are those that OpenAI publishes for strict function calling and Google for function declarations.
`tests/tools/convert_schemas.py` holds the same schemas against the real converters."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Schema = dict[str, Any]

TYPES = {"object", "array", "string", "integer", "number", "boolean", "null"}
UNKNOWN_TO_GEMINI = {"$ref", "$defs", "allOf", "oneOf", "not", "const", "prefixItems", "patternProperties"}


def walk_schema(schema: Schema, place: str = "$") -> Iterator[tuple[str, Schema]]:
    """Every schema within a schema, with its place."""
    yield place, schema
    for name, inner in schema.get("properties", {}).items():
        yield from walk_schema(inner, f"{place}.{name}")
    for key in ("items", "additionalProperties"):
        if isinstance(schema.get(key), dict):
            yield from walk_schema(schema[key], f"{place}[{key}]")
    for key in ("anyOf", "oneOf", "allOf", "prefixItems"):
        for number, inner in enumerate(schema.get(key, ())):
            yield from walk_schema(inner, f"{place}.{key}[{number}]")
    for name, inner in schema.get("$defs", {}).items():
        yield from walk_schema(inner, f"{place}.$defs.{name}")


def find_untyped(schema: Schema) -> list[str]:
    """The places of nodes without exactly one type, or alternatives that have one each."""
    return [
        place
        for place, node in walk_schema(schema)
        if not (node.get("type") in TYPES if isinstance(node.get("type"), str) else node.get("anyOf"))
        and "$ref" not in node
    ]


def find_undescribed(schema: Schema) -> list[str]:
    return [
        f"{place}.{name}"
        for place, node in walk_schema(schema)
        for name, inner in node.get("properties", {}).items()
        if not inner.get("description", "").strip()
    ]


def find_refused_by_gemini(schema: Schema) -> list[str]:
    """Google: one type for each node, items for each array, members for each object, enums of strings. Where
    google-genai finds `additionalProperties`, it reads it as a schema: `false` fails, and with it the list of
    all tools."""
    problems = find_untyped(schema)
    for place, node in walk_schema(schema):
        problems += [f"{place}: {key}" for key in sorted(UNKNOWN_TO_GEMINI & node.keys())]
        if isinstance(node.get("additionalProperties"), bool):
            problems.append(f"{place}: additionalProperties that is no schema")
        if node.get("type") == "array" and not isinstance(node.get("items"), dict):
            problems.append(f"{place}: no items")
        if node.get("type") == "object" and place != "$" and not node.get("properties"):
            problems.append(f"{place}: an object without members")
        if "enum" in node and node.get("type") != "string":
            problems.append(f"{place}: an enum of {node.get('type')}")
        if "anyOf" in node and node.keys() - {"anyOf", "description", "nullable"}:
            problems.append(f"{place}: alternatives beside other keywords")
    return problems


def find_refused_by_openai(schema: Schema) -> list[str]:
    """OpenAI, strict: at most 5,000 properties, 10 levels, 1,000 enum values; no root alternatives, no object
    with members of any name, no references to be followed."""
    problems = find_untyped(schema)
    places = [place for place, _ in walk_schema(schema)]
    properties = sum(len(node.get("properties", ())) for _, node in walk_schema(schema))
    enums = sum(len(node.get("enum", ())) for _, node in walk_schema(schema))
    if schema.get("type") != "object" or "anyOf" in schema:
        problems.append("$: not an object")
    if properties > 5000 or enums > 1000 or max(place.count(".") for place in places) > 10:
        problems.append("$: too large")
    for place, node in walk_schema(schema):
        if node.get("additionalProperties") not in (None, False):
            problems.append(f"{place}: members of any name")
        missing = set(node.get("required", ())) - node.get("properties", {}).keys()
        problems += [f"{place}: requires {name}" for name in sorted(missing)]
    return problems
