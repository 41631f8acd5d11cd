"""Reads the parameters of MCP requests, and renders values for a client's version.

Parameters are read strictly: the error for a wrong one names it, its type and the expected type. An empty
array is accepted as an empty object, because PHP and others write it that way.

Rendering takes the rich values of `values` and returns plain JSON objects with only what the client's version
has; no other module depends on which member was added in which version. Content that a version lacks is not
dropped but described in text, so that no answer arrives empty.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import msgspec

from vaultbridge.jsonrpc.codec import name_json_type
from vaultbridge.jsonrpc.messages import INVALID_PARAMS, Params, RpcError
from vaultbridge.protocols.mcp.provider import Offer
from vaultbridge.protocols.mcp.values import (
    AudioContent,
    Content,
    EmbeddedResource,
    PromptInfo,
    PromptResult,
    ResourceContents,
    ResourceInfo,
    ResourceLink,
    TemplateInfo,
    TextContent,
    ToolInfo,
    ToolResult,
)
from vaultbridge.protocols.mcp.versions import Version


def read_string(params: Params, name: str) -> str:
    value = params.get(name)
    if not isinstance(value, str):
        raise make_invalid_param(name, value, "a string")
    return value


def read_optional_string(params: Params, name: str) -> str:
    """Return a string, or "" if it is missing."""
    value = params.get(name)
    if value is None:
        return ""
    if not isinstance(value, str):
        raise make_invalid_param(name, value, "a string")
    return value


def read_object(params: Params, name: str, *, required: bool = False) -> dict[str, Any]:
    value = params.get(name)
    if value is None and not required:
        return {}
    if value == []:
        return {}
    if not isinstance(value, dict):
        raise make_invalid_param(name, value, "an object")
    return value


def read_strings(params: Params, name: str) -> dict[str, str]:
    """Return an object whose values are all strings; empty if it is missing. A null value counts as
    missing."""
    value = {key: member for key, member in read_object(params, name).items() if member is not None}
    for key, member in value.items():
        if not isinstance(member, str):
            raise make_invalid_param(f"{name}.{key}", member, "a string")
    return value


def make_invalid_param(name: str, value: object, expected: str) -> RpcError:
    actual = "nothing" if value is None else name_json_type(value)
    return RpcError(
        INVALID_PARAMS, f"Invalid params: {name} must be {expected}, not {actual}", {"argument": name}
    )


def render_server_info(offer: Offer, version: Version) -> dict[str, Any]:
    info: dict[str, Any] = {"name": offer.name, "version": offer.version}
    if version.titles and offer.title:
        info["title"] = offer.title
    if version.server_description:
        if offer.description:
            info["description"] = offer.description
        if offer.website:
            info["websiteUrl"] = offer.website
        if offer.icons:
            info["icons"] = msgspec.to_builtins(offer.icons)
    return info


def render_capabilities(offer: Offer, version: Version) -> dict[str, Any]:
    """Return the capabilities that the version has and the server offers."""
    capabilities: dict[str, Any] = {}
    if offer.tools:
        capabilities["tools"] = {"listChanged": True}
    if offer.resources:
        capabilities["resources"] = {"subscribe": offer.subscriptions, "listChanged": True}
    if offer.prompts:
        capabilities["prompts"] = {"listChanged": True}
    if offer.completions and version.completions_capability:
        capabilities["completions"] = {}
    if offer.logging:
        capabilities["logging"] = {}
    return capabilities


def render_item(
    item: ToolInfo | ResourceInfo | TemplateInfo | PromptInfo, version: Version
) -> dict[str, Any]:
    """A member of a list of tools, resources, templates or prompts."""
    form: dict[str, Any] = msgspec.to_builtins(item)
    _strip(form, version)
    if isinstance(item, ToolInfo):
        if not version.tool_annotations:
            form.pop("annotations", None)
        if not version.output_schemas:
            form.pop("outputSchema", None)
    elif not version.titles:
        for argument in form.get("arguments", ()):
            argument.pop("title", None)
    return form


def render_contents(items: Iterable[ResourceContents], version: Version) -> list[dict[str, Any]]:
    """The parts of a resource that was read."""
    return [_strip(msgspec.to_builtins(item), version) for item in items]


def render_content(item: Content, version: Version) -> dict[str, Any]:
    """One content block."""
    match item:
        case AudioContent() if not version.audio:
            return {"type": "text", "text": f"[audio, {item.mime_type}, {len(item.data)} bytes]"}
        case ResourceLink() if not version.resource_links:
            return {"type": "text", "text": f"[{item.title or item.name}]({item.uri})"}
        case TextContent(text=text, annotations=None, meta=None):
            # Nearly every answer is of this kind; building it by hand is faster.
            return {"type": "text", "text": text}
    form = _strip(msgspec.to_builtins(item), version)
    if isinstance(item, EmbeddedResource):
        _strip(form["resource"], version)
    return form


def render_tool_result(result: ToolResult, version: Version) -> dict[str, Any]:
    blocks = [render_content(item, version) for item in result.content]
    form: dict[str, Any] = {"content": blocks}
    if result.structured is not msgspec.UNSET:
        if version.output_schemas and (version.any_structured_content or isinstance(result.structured, dict)):
            form["structuredContent"] = result.structured
        if not blocks:
            # A client whose version has no structured content must not get an empty answer.
            blocks.append({"type": "text", "text": msgspec.json.encode(result.structured).decode()})
    if result.is_error:
        form["isError"] = True
    if result.meta:
        form["_meta"] = result.meta
    return form


def render_prompt_result(result: PromptResult, version: Version) -> dict[str, Any]:
    form: dict[str, Any] = {
        "messages": [
            {"role": message.role, "content": render_content(message.content, version)}
            for message in result.messages
        ]
    }
    if result.description:
        form["description"] = result.description
    return form


def _strip(form: dict[str, Any], version: Version) -> dict[str, Any]:
    """Remove the members that the version lacks and that any kind of value may have. Returns `form`."""
    if not version.titles:
        form.pop("title", None)
        annotations = form.get("annotations")
        if isinstance(annotations, dict):
            annotations.pop("lastModified", None)
    if not version.value_meta:
        form.pop("_meta", None)
    if not version.icons:
        form.pop("icons", None)
    return form
