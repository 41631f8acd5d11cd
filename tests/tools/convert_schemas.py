"""Runs our tools' schemas through the real converters of model APIs and agent libraries. Not part of the
suite: the converters are large packages and need environments of their own.

    python tests/tools/convert_schemas.py --install /tmp/converters

makes them in that folder, with several released versions of each package, converts the tools of this checkout
with every one, and prints what each refused or lost. It takes about ten minutes and 3 GB. Again with the same
folder, it only converts. With the result of a `tools/list` instead,

    /tmp/converters/base/bin/python tests/tools/convert_schemas.py TOOLS.json

every converter that this Python has converts every tool. It must not fail, and every property must still be
there afterwards, with its type and its enum. What was learned is held by `tests/support/model_apis.py`, which
the suite checks every schema against."""

from __future__ import annotations

import argparse
import copy
import json
import os
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

Convert = Callable[[str, dict[str, Any]], Any]

BASES = {
    "base": (
        "google-genai openai openai-agents anthropic pydantic-ai-slim langchain-google-genai "
        "langchain-openai langchain-anthropic langchain-mcp-adapters llama-index-tools-mcp"
    ),
    "agents": "google-adk",
    "adapters": "mcpadapt smolagents jambo mcp<2",
    "more": "semantic-kernel strands-agents mcp",
}
"""Packages that can be installed together, by the name of their environment."""

RELEASES = {
    "google-genai": 20,
    "openai": 4,
    "openai-agents": 8,
    "anthropic": 4,
    "pydantic-ai-slim": 6,
    "langchain-google-genai": 6,
    "langchain-mcp-adapters": 4,
    "llama-index-tools-mcp": 3,
}
"""How many older releases of each package are tried, spread over the newest ones, each alone on top of the
environment `base`: a year of google-genai is about ninety releases."""

RELEASES_OF_A_YEAR = 90

ROOT = Path(__file__).resolve().parents[2]


EMPTY: dict[str, Any] = {"name": "empty", "inputSchema": {"type": "object", "properties": {}}}
"""A tool without arguments, as a plugin may add one."""


def load_converters() -> Iterator[tuple[str, Convert]]:
    for load in (
        _load_google, _load_openai, _load_openai_agents, _load_anthropic, _load_pydantic_ai, _load_langchain,
        _load_llama_index, _load_mcpadapt, _load_google_adk, _load_semantic_kernel, _load_strands,
    ):  # fmt: skip
        name = load.__name__.removeprefix("_load_")
        try:
            yield from load()
        except (AttributeError, ImportError) as error:  # Releases that do not fit together.
            if os.environ.get("CONVERT_VERBOSE"):
                print(f"{name}: {error}")


def _as_mcp(name: str, schema: dict[str, Any]) -> Any:
    from mcp.types import Tool

    return Tool(name=name, description=name, inputSchema=schema)


def _dump(model: Any) -> Any:
    return model.model_dump(exclude_none=True) if model is not None else {"type": "object"}


def _load_google() -> Iterator[tuple[str, Convert]]:
    from google.genai import _mcp_utils, types

    def from_mcp(name: str, schema: dict[str, Any]) -> Any:
        [declared] = _mcp_utils.mcp_to_gemini_tool(_as_mcp(name, schema)).function_declarations
        if getattr(declared, "parameters_json_schema", None):
            return declared.parameters_json_schema
        return _dump(declared.parameters)

    yield "google-genai mcp_to_gemini_tool", from_mcp
    yield (
        "google-genai from_json_schema",
        lambda n, s: _dump(types.Schema.from_json_schema(json_schema=types.JSONSchema.model_validate(s))),
    )
    yield "google-genai Schema", lambda n, s: _dump(types.Schema.model_validate(s))


def _load_openai() -> Iterator[tuple[str, Convert]]:
    from openai.lib._pydantic import _ensure_strict_json_schema

    yield "openai strict", lambda n, s: _ensure_strict_json_schema(s, path=(), root=s)


def _load_openai_agents() -> Iterator[tuple[str, Convert]]:
    from agents.strict_schema import ensure_strict_json_schema

    yield "openai-agents strict", lambda n, s: ensure_strict_json_schema(s)


def _load_anthropic() -> Iterator[tuple[str, Convert]]:
    from anthropic import transform_schema
    from anthropic.lib.tools.mcp import async_mcp_tool

    yield "anthropic mcp_tool", lambda n, s: async_mcp_tool(_as_mcp(n, s), None).to_dict()["input_schema"]
    # Its strict form moves bounds and defaults into descriptions, which is all right.
    yield "anthropic transform_schema", lambda n, s: transform_schema(s)


def _load_pydantic_ai() -> Iterator[tuple[str, Convert]]:
    from pydantic_ai.profiles.google import GoogleJsonSchemaTransformer
    from pydantic_ai.profiles.openai import OpenAIJsonSchemaTransformer

    yield "pydantic-ai google", lambda n, s: GoogleJsonSchemaTransformer(s).walk()
    yield "pydantic-ai openai", lambda n, s: OpenAIJsonSchemaTransformer(s, strict=True).walk()


def _load_langchain() -> Iterator[tuple[str, Convert]]:
    from langchain_core.utils.function_calling import convert_to_openai_tool
    from langchain_mcp_adapters.tools import convert_mcp_tool_to_langchain_tool

    def adapt(name: str, schema: dict[str, Any]) -> Any:
        return convert_mcp_tool_to_langchain_tool(None, _as_mcp(name, schema), connection={})  # type: ignore[arg-type]

    def declare(name: str, schema: dict[str, Any], **options: Any) -> Any:
        made = convert_to_openai_tool(adapt(name, schema), **options)
        return made["function"].get("parameters", {"type": "object"})

    yield "langchain-mcp-adapters openai", declare
    yield "langchain-mcp-adapters openai strict", lambda n, s: declare(n, s, strict=True)
    from langchain_anthropic.chat_models import convert_to_anthropic_tool

    yield (
        "langchain-mcp-adapters anthropic",
        lambda n, s: convert_to_anthropic_tool(adapt(n, s))["input_schema"],
    )
    from langchain_google_genai._function_utils import convert_to_genai_function_declarations

    def declare_to_google(name: str, schema: dict[str, Any]) -> Any:
        [converted] = convert_to_genai_function_declarations([adapt(name, schema)])
        [declared] = converted.function_declarations
        # Newer versions pass the schema on as it is; none gives parameters to a tool without arguments.
        return getattr(declared, "parameters_json_schema", None) or _dump(declared.parameters)

    yield "langchain-google-genai", declare_to_google


def _load_llama_index() -> Iterator[tuple[str, Convert]]:
    from llama_index.tools.mcp import McpToolSpec

    def make(name: str, schema: dict[str, Any]) -> Any:
        model = McpToolSpec(client=None).create_model_from_json_schema(schema, model_name=name)  # type: ignore[arg-type]
        return model.model_json_schema()

    yield "llama-index-tools-mcp", make


def _load_mcpadapt() -> Iterator[tuple[str, Convert]]:
    from mcpadapt.smolagents_adapter import SmolAgentsAdapter

    def adapt(name: str, schema: dict[str, Any]) -> Any:
        tool = SmolAgentsAdapter().adapt(lambda _: None, _as_mcp(name, schema))  # type: ignore[arg-type, return-value]
        return {"type": "object", "properties": tool.inputs}

    yield "mcpadapt smolagents", adapt
    from mcpadapt.utils.modeling import create_model_from_json_schema

    def model(name: str, schema: dict[str, Any]) -> Any:
        # It keeps no type of any argument that may be left out, so only names can be compared.
        made = create_model_from_json_schema(copy.deepcopy(schema)).model_json_schema()
        kept = {name: value for name, value in schema["properties"].items() if name in made["properties"]}
        return {**schema, "properties": kept}

    yield "mcpadapt models (crewai)", model


def _load_google_adk() -> Iterator[tuple[str, Convert]]:
    from google.adk.tools._gemini_schema_util import _to_gemini_schema

    yield "google-adk", lambda n, s: _dump(_to_gemini_schema(s))


def _load_semantic_kernel() -> Iterator[tuple[str, Convert]]:
    from semantic_kernel.connectors.mcp import get_parameters_from_tool

    def list_parameters(name: str, schema: dict[str, Any]) -> Any:
        found = get_parameters_from_tool(_as_mcp(name, schema))
        return {
            "type": "object",
            "properties": {parameter.name: parameter.schema_data for parameter in found},
        }

    yield "semantic-kernel", list_parameters


def _load_strands() -> Iterator[tuple[str, Convert]]:
    from strands.tools.mcp.mcp_agent_tool import MCPAgentTool
    from strands.tools.tools import normalize_schema

    yield (
        "strands-agents",
        lambda n, s: MCPAgentTool(_as_mcp(n, s), None).tool_spec["inputSchema"]["json"],  # type: ignore[arg-type]
    )
    yield "strands-agents normalize_schema", lambda n, s: normalize_schema(s)


def find_losses(before: dict[str, Any], after: dict[str, Any], place: str = "$") -> Iterator[str]:
    """The properties, types, enums and alternatives that a conversion dropped."""
    after = _without_null(after)
    if "anyOf" in before:
        kept = after.get("anyOf") or after.get("any_of") or ()
        # A node without a type takes any value, which is what the alternatives say; so does "any".
        if len(kept) < len(before["anyOf"]) and after.get("type", "any") != "any":
            yield f"{place}: alternatives"
        return
    if place != "$" and after.get("additionalProperties") is True and not after.get("properties"):
        return  # An object with any members: llama-index keeps no inner ones.
    if not (after.get("type") or after.get("anyOf") or after.get("any_of") or after.get("enum")):
        yield f"{place}: type"
    if len(after.get("enum") or ()) != len(before.get("enum", ())):
        yield f"{place}: enum"
    for name, inner in before.get("properties", {}).items():
        if name not in (after.get("properties") or {}):
            yield f"{place}.{name}"
        else:
            yield from find_losses(inner, after["properties"][name], f"{place}.{name}")
    if "items" in before:
        yield from find_losses(before["items"], after.get("items") or {}, f"{place}[]")


def _resolve(node: Any, definitions: dict[str, Any]) -> Any:
    """Converters that make models of a schema name the inner ones and refer to them."""
    if isinstance(node, list):
        return [_resolve(inner, definitions) for inner in node]
    if not isinstance(node, dict):
        return node
    if "$ref" in node:
        return _resolve(definitions[node["$ref"].rpartition("/")[2]], definitions)
    return {key: _resolve(inner, definitions) for key, inner in node.items()}


def _without_null(node: dict[str, Any]) -> dict[str, Any]:
    """Converters say `X or null` of what may be left out."""
    alternatives = node.get("anyOf") or node.get("any_of")
    if not alternatives:
        return node
    rest = [inner for inner in alternatives if inner.get("type") not in ("null", "NULL")]
    if len(rest) == 1:
        return {**{key: value for key, value in node.items() if key not in ("anyOf", "any_of")}, **rest[0]}
    return {**node, "anyOf": rest}


def convert_all(tools: list[dict[str, Any]]) -> int:
    wrong = 0
    for name, convert in load_converters():
        found: list[str] = []
        for tool in [*tools, EMPTY]:
            schema = tool["inputSchema"]
            try:
                made = convert(tool["name"], copy.deepcopy(schema))
                losses = find_losses(schema, _resolve(made, made.get("$defs", {})))
                found += [f"{tool['name']} {loss}" for loss in losses]
            except Exception as error:
                found.append(f"{tool['name']}: {type(error).__name__}: {str(error)[:200]}")
        print(f"  {name}: {len(found)} problems")
        for loss in found[:10]:
            print(f"      {loss}")
        wrong += len(found)
    return wrong


def install_and_convert(folder: Path) -> int:
    folder.mkdir(parents=True, exist_ok=True)
    listed = folder / "tools.json"
    sys.path.insert(0, str(ROOT / "src"))
    from vaultbridge.tools.standard import standard_catalog

    listed.write_text(json.dumps({"tools": [tool.wire() for tool in standard_catalog().list_tools()]}))
    failed = 0
    for name, packages in BASES.items():
        python = folder / name / "bin" / "python"
        if not python.exists():
            subprocess.run([sys.executable, "-m", "venv", str(folder / name)], check=True)
            _pip(python, "install", *packages.split())
        failed += _convert_with(python, listed, name)
    python = folder / "base" / "bin" / "python"
    for package, count in RELEASES.items():
        for version in _choose_releases(python, package, count):
            over = folder / "releases" / f"{package}-{version}"
            if not over.exists() and not _pip(
                python, "install", "--no-deps", "--target", str(over), f"{package}=={version}"
            ):
                continue
            failed += _convert_with(python, listed, f"{package} {version}", over)
    print(f"{failed} environments with problems")
    return 1 if failed else 0


def _choose_releases(python: Path, package: str, count: int) -> list[str]:
    done = subprocess.run(
        [python, "-m", "pip", "index", "versions", package], capture_output=True, text=True, check=False
    )
    line = next((row for row in done.stdout.splitlines() if row.startswith("Available versions:")), "")
    versions = [version.strip() for version in line.partition(":")[2].split(",") if version.strip()]
    recent = versions[:RELEASES_OF_A_YEAR]
    step = max(1, len(recent) // count)
    return recent[::step]


def _pip(python: Path, *arguments: str) -> bool:
    done = subprocess.run(
        [python, "-m", "pip", "--quiet", *arguments], capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(f"not installed: {' '.join(arguments[1:])}: {done.stderr.strip().splitlines()[-1:]}")
    return not done.returncode


def _convert_with(python: Path, listed: Path, title: str, over: Path | None = None) -> int:
    print(title, flush=True)
    environment = {**os.environ, **({"PYTHONPATH": str(over)} if over is not None else {})}
    done = subprocess.run([python, __file__, str(listed)], env=environment, check=False)
    return int(bool(done.returncode))


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("tools", nargs="?", metavar="TOOLS.json")
    parser.add_argument("--install", type=Path, metavar="FOLDER")
    args = parser.parse_args(argv)
    if args.install is not None:
        return install_and_convert(args.install)
    with open(args.tools, encoding="utf-8") as file:
        answer = json.load(file)
    return 1 if convert_all(answer["tools"]) else 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
