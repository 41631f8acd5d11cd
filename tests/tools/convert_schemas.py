"""Runs our tools' schemas through the real converters of model APIs and agent libraries. Not part of the
suite: the converters are large packages and need an environment of their own.

    python -m venv /tmp/converters
    /tmp/converters/bin/pip install google-genai openai openai-agents langchain-google-genai pydantic-ai-slim
    vaultbridge call "vaultbridge stdio VAULT" --json > /tmp/tools.json     # or the result of tools/list
    /tmp/converters/bin/python tests/tools/convert_schemas.py /tmp/tools.json

Every installed converter converts every tool. It must not fail, and every property must still be there
afterwards, with its type and its enum."""

from __future__ import annotations

import copy
import json
import sys
from collections.abc import Callable, Iterator
from typing import Any

Convert = Callable[[str, dict[str, Any]], Any]


def load_converters() -> Iterator[tuple[str, Convert]]:
    try:
        from google.genai import types

        def convert_to_gemini(name: str, schema: dict[str, Any]) -> Any:
            return types.Schema.from_json_schema(json_schema=types.JSONSchema.model_validate(schema))

        yield (
            "google-genai from_json_schema",
            lambda n, s: convert_to_gemini(n, s).model_dump(exclude_none=True),
        )
        yield "google-genai Schema", lambda n, s: types.Schema.model_validate(s).model_dump(exclude_none=True)
    except ImportError:
        print("google-genai is not installed")
    try:
        from openai.lib._pydantic import _ensure_strict_json_schema

        yield "openai strict", lambda n, s: _ensure_strict_json_schema(s, path=(), root=s)
    except ImportError:
        print("openai is not installed")
    try:
        from agents.strict_schema import ensure_strict_json_schema

        yield "openai-agents strict", lambda n, s: ensure_strict_json_schema(s)
    except ImportError:
        print("openai-agents is not installed")
    try:
        from langchain_google_genai._function_utils import convert_to_genai_function_declarations

        def declare(name: str, schema: dict[str, Any]) -> Any:
            tool = {"name": name, "description": name, "parameters": schema}
            [converted] = convert_to_genai_function_declarations([tool])
            parameters = converted.function_declarations[0].parameters
            # The converter gives none to a tool without arguments.
            return parameters.model_dump(exclude_none=True) if parameters else {"type": "object"}

        yield "langchain-google-genai", declare
    except ImportError:
        print("langchain-google-genai is not installed")
    try:
        from pydantic_ai.profiles.google import GoogleJsonSchemaTransformer
        from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer

        yield "pydantic-ai google", lambda n, s: GoogleJsonSchemaTransformer(s).walk()
        yield "pydantic-ai openai", lambda n, s: OpenAIJsonSchemaTransformer(s, strict=True).walk()
    except ImportError:
        print("pydantic-ai is not installed")


def find_losses(before: dict[str, Any], after: dict[str, Any], place: str = "$") -> Iterator[str]:
    """The properties, types, enums and alternatives that a conversion dropped."""
    if "anyOf" in before:
        kept = after.get("anyOf") or after.get("any_of") or ()
        if len(kept) != len(before["anyOf"]):
            yield f"{place}: alternatives"
        return
    if not (after.get("type") or after.get("anyOf") or after.get("any_of")):
        yield f"{place}: type"
    if len(after.get("enum", ())) != len(before.get("enum", ())):
        yield f"{place}: enum"
    for name, inner in before.get("properties", {}).items():
        if name not in after.get("properties", {}):
            yield f"{place}.{name}"
        else:
            yield from find_losses(inner, after["properties"][name], f"{place}.{name}")
    if "items" in before:
        yield from find_losses(before["items"], after.get("items") or {}, f"{place}[]")


def main(argv: list[str]) -> int:
    with open(argv[0], encoding="utf-8") as file:
        answer = json.load(file)
    tools = answer.get("tools") or [
        primitive for primitive in answer["primitives"] if primitive["type"] == "tool"
    ]
    wrong = 0
    for name, convert in load_converters():
        found: list[str] = []
        for tool in tools:
            schema = tool["inputSchema"]
            try:
                found += [
                    f"{tool['name']} {loss}"
                    for loss in find_losses(schema, convert(tool["name"], copy.deepcopy(schema)))
                ]
            except Exception as error:
                found.append(f"{tool['name']}: {type(error).__name__}: {error}")
        print(f"{name}: {len(tools)} tools, {len(found)} problems")
        for loss in found:
            print(f"    {loss}")
        wrong += len(found)
    return 1 if wrong else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
