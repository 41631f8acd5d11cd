"""Our client, as the official conformance suite starts it: `client.py URL`, the scenario in the environment.

Lists everything and calls each listed tool once, with arguments made from its schema or given by the suite.
"""

from __future__ import annotations

import asyncio
import json
import os
import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2] / "src"))

from vaultbridge.client.errors import RpcError
from vaultbridge.client.http.transport import StreamableHttpTransport
from vaultbridge.client.primitives import fetch_all
from vaultbridge.client.session import Session

SAMPLES: dict[str, Any] = {
    "string": "x",
    "integer": 1,
    "number": 2,
    "boolean": True,
    "array": [],
    "object": {},
}


def make_sample(schema: dict[str, Any]) -> dict[str, Any]:
    properties = schema.get("properties") or {}
    return {name: SAMPLES.get(properties[name].get("type"), "x") for name in schema.get("required") or ()}


async def act(session: Session, context: dict[str, Any]) -> None:
    tools = await fetch_all(session.list_tools, "tools")
    for call in context.get("toolCalls") or ():
        await session.call_tool(call["name"], call["arguments"])
    if context.get("toolCalls"):
        return
    schemas = {tool["name"]: tool["inputSchema"] for tool in tools}
    for name, schema in schemas.items():
        arguments = make_sample(schema)
        if name == "json_schema_echo":
            arguments = {"schema": schemas["json_schema_2020_12_tool"]}
        try:
            await session.call_tool(name, arguments)
        except RpcError as error:
            if error.rpc_code != -32601:  # one scenario lists a tool that cannot be called
                raise
    for method, member, key, use in (
        (session.list_resources, "resources", "uri", session.read_resource),
        (session.list_prompts, "prompts", "name", session.get_prompt),
    ):
        try:
            for entry in await fetch_all(method, member):
                await use(entry[key])
        except RpcError as error:
            if error.rpc_code != -32601:
                raise


async def answer(question: dict[str, Any]) -> dict[str, Any]:
    """As a person who accepts every form and changes nothing in it."""
    return {"action": "accept", "content": make_sample(question.get("requestedSchema") or {})}


async def main(url: str) -> None:
    context = json.loads(os.environ.get("MCP_CONFORMANCE_CONTEXT") or "{}")
    # "auto" is what a person gets; a version is given only where the suite's server has no discovery.
    wanted = os.environ.get("MCP_CONFORMANCE_PROTOCOL_VERSION", "auto")
    version = "auto" if wanted >= "2026" else wanted
    async with Session(StreamableHttpTransport(url), version=version, on_elicitation=answer) as session:
        await act(session, context)


asyncio.run(main(sys.argv[1]))
