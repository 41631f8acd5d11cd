"""The MCP methods that all versions share, each a function of the server, the call and the client.

They read the parameters, call the provider, and render the result for the client's version. Methods that
depend on the connection (handshake, log level, subscriptions) are in `dialect`, which also adds what
2026-07-28 requires in every result.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from typing import Any, Final

from vaultbridge.jsonrpc.messages import INVALID_PARAMS, RpcError
from vaultbridge.protocols.dialect import Call
from vaultbridge.protocols.mcp import apps as mcp_apps
from vaultbridge.protocols.mcp import wire as mcp_wire
from vaultbridge.protocols.mcp.context import Client, McpContext
from vaultbridge.protocols.mcp.provider import Offer
from vaultbridge.protocols.mcp.server import LIST_TTL_MS, McpServer
from vaultbridge.protocols.mcp.values import (
    Page,
    PromptInfo,
    PromptRef,
    ResourceInfo,
    ResourceRef,
    TemplateInfo,
    ToolInfo,
)
from vaultbridge.tools.suggestions import NAME_CHARS, is_harmless, suggest_tool

MAX_COMPLETIONS: Final = 100
"""CompleteResult: "Must not exceed 100 items"."""

Result = dict[str, Any]
MethodHandler = Callable[[McpServer, Call, Client], Awaitable[Result]]


async def list_tools(server: McpServer, call: Call, client: Client) -> Result:
    if mcp_wire.read_optional_string(call.params, "cursor"):
        # All tools are on one page, so no cursor was ever issued.
        message = "Invalid params: cursor was not issued by this list"
        raise RpcError(INVALID_PARAMS, message, {"argument": "cursor"})
    tools = await server.tools()
    listed = [mcp_wire.render_item(tool, client.version) for tool in tools.values()]
    apps = await _find_apps(server, client)
    # The extension uses `_meta` in every version, even in those that have none on tools and resources.
    for form in listed:
        if (uri := apps.shown_by.get(form["name"])) is not None:
            form["_meta"] = mcp_apps.make_tool_meta(uri, "model", "app")
    for tool in apps.tools:
        form = mcp_wire.render_item(tool, client.version)
        listed.append({**form, "_meta": mcp_apps.make_tool_meta(apps.shown_by.get(tool.name, ""), "app")})
    return {"tools": listed}


async def _find_apps(server: McpServer, client: Client) -> mcp_apps.Apps:
    """The views for this client: none unless it shows them."""
    if not (server.offer.views and client.shows_views):
        return mcp_apps.NO_APPS
    return await (await server.provider()).list_apps()


async def call_tool(server: McpServer, call: Call, client: Client) -> Result:
    name = mcp_wire.read_string(call.params, "name")
    arguments = mcp_wire.read_object(call.params, "arguments")
    tools = await server.tools()
    if (
        name not in tools
        and name not in server.offer.unlisted_tools
        and not (await _find_apps(server, client)).has_tool(name)
        and not await (await server.provider()).withholds(name)
    ):
        raise RpcError(INVALID_PARAMS, describe_unknown_tool(name, tools), {"argument": "name"})
    context = McpContext(call, client, server.signer)
    result = await (await server.provider()).call_tool(name, arguments, context)
    return mcp_wire.render_tool_result(result, client.version)


def describe_unknown_tool(name: str, known: Mapping[str, ToolInfo]) -> str:
    hint = suggest_tool(name, {tool_name: is_harmless_tool(info) for tool_name, info in known.items()})
    return f"Unknown tool: {name[:NAME_CHARS]}" + (f". {hint}" if hint else "")


def is_harmless_tool(tool: ToolInfo) -> bool:
    """Whether the tool may be suggested to a caller that may have meant another one."""
    hints = tool.annotations
    if hints is None:
        return is_harmless(tool.name, reads=None, destroys=None)
    return is_harmless(tool.name, reads=hints.read_only_hint, destroys=hints.destructive_hint)


async def list_resources(server: McpServer, call: Call, client: Client) -> Result:
    cursor = mcp_wire.read_optional_string(call.params, "cursor")
    page = await (await server.provider()).list_resources(cursor)
    result = _render_page("resources", page, page.items, client)
    if not cursor:
        result["resources"][:0] = [
            {
                **mcp_wire.render_item(mcp_apps.make_view_info(view), client.version),
                "_meta": mcp_apps.VIEW_META,
            }
            for view in (await _find_apps(server, client)).views.values()
        ]
    return result


async def list_templates(server: McpServer, call: Call, client: Client) -> Result:
    page = await (await server.provider()).list_templates(
        mcp_wire.read_optional_string(call.params, "cursor")
    )
    return _render_page("resourceTemplates", page, page.items, client)


async def read_resource(server: McpServer, call: Call, client: Client) -> Result:
    uri = mcp_wire.read_string(call.params, "uri")
    if uri.startswith(mcp_apps.SCHEME):
        view = (await _find_apps(server, client)).views.get(uri)
        if view is not None:
            (form,) = mcp_wire.render_contents([mcp_apps.read_view(view)], client.version)
            return {"contents": [{**form, "_meta": mcp_apps.VIEW_META}]}
    context = McpContext(call, client, server.signer)
    contents = await (await server.provider()).read_resource(uri, context)
    return {"contents": mcp_wire.render_contents(contents, client.version)}


async def list_prompts(server: McpServer, call: Call, client: Client) -> Result:
    page = await (await server.provider()).list_prompts(mcp_wire.read_optional_string(call.params, "cursor"))
    return _render_page("prompts", page, page.items, client)


async def get_prompt(server: McpServer, call: Call, client: Client) -> Result:
    name = mcp_wire.read_string(call.params, "name")
    arguments = mcp_wire.read_strings(call.params, "arguments")
    context = McpContext(call, client, server.signer)
    result = await (await server.provider()).get_prompt(name, arguments, context)
    return mcp_wire.render_prompt_result(result, client.version)


async def complete(server: McpServer, call: Call, client: Client) -> Result:
    ref = mcp_wire.read_object(call.params, "ref", required=True)
    argument = mcp_wire.read_object(call.params, "argument", required=True)
    context = mcp_wire.read_object(call.params, "context")
    suggested = await (await server.provider()).complete(
        _read_reference(ref),
        mcp_wire.read_string(argument, "name"),
        mcp_wire.read_string(argument, "value"),
        mcp_wire.read_strings(context, "arguments"),
    )
    completion: Result = {"values": list(suggested.values[:MAX_COMPLETIONS])}
    if suggested.total is not None:
        completion["total"] = suggested.total
    completion["hasMore"] = suggested.has_more or len(suggested.values) > MAX_COMPLETIONS
    return {"completion": completion}


def _read_reference(ref: dict[str, Any]) -> PromptRef | ResourceRef:
    match ref.get("type"):
        case "ref/prompt":
            return PromptRef(mcp_wire.read_string(ref, "name"))
        case "ref/resource":
            return ResourceRef(mcp_wire.read_string(ref, "uri"))
        case other:
            raise mcp_wire.make_invalid_param("ref.type", other, '"ref/prompt" or "ref/resource"')


def _render_page(
    name: str,
    page: Page[ResourceInfo] | Page[TemplateInfo] | Page[PromptInfo],
    items: Iterable[ResourceInfo | TemplateInfo | PromptInfo],
    client: Client,
) -> Result:
    result: Result = {name: [mcp_wire.render_item(item, client.version) for item in items]}
    if page.next:
        result["nextCursor"] = page.next
    return result


METHODS: Final[dict[str, tuple[MethodHandler, Callable[[Offer], bool]]]] = {
    "tools/list": (list_tools, lambda offer: offer.tools),
    "tools/call": (call_tool, lambda offer: offer.tools),
    "resources/list": (list_resources, lambda offer: offer.resources),
    "resources/templates/list": (list_templates, lambda offer: offer.resources),
    "resources/read": (read_resource, lambda offer: offer.resources),
    "prompts/list": (list_prompts, lambda offer: offer.prompts),
    "prompts/get": (get_prompt, lambda offer: offer.prompts),
    "completion/complete": (complete, lambda offer: offer.completions),
}
"""Each method, and the part of the offer that it needs."""

MAY_REQUIRE_INPUT: Final = frozenset({"tools/call", "resources/read", "prompts/get"})
"""Multi Round-Trip Requests, Supported Requests: no other request may end with "input_required"."""

CACHE_MS: Final = {
    "server/discover": LIST_TTL_MS,
    "tools/list": LIST_TTL_MS,
    "prompts/list": LIST_TTL_MS,
    "resources/templates/list": LIST_TTL_MS,
    # Notes change at any time, so they are never cached.
    "resources/list": 0,
    "resources/read": 0,
}
"""Caching, Cacheable Results: exactly these carry `ttlMs` and `cacheScope`."""
