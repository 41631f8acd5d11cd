"""Lists everything a server offers in one list: tools, resources, resource templates and prompts."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any, Final, Literal

import msgspec

from vaultbridge.client.errors import RpcError
from vaultbridge.client.messages import shorten
from vaultbridge.jsonrpc.messages import INTERNAL_ERROR, METHOD_NOT_FOUND

PAGES: Final = 1000
"""The most pages of one listing, so that a server whose cursors never end cannot occupy its caller
forever."""

PrimitiveType = Literal["tool", "resource", "template", "prompt"]


class Primitive(msgspec.Struct, frozen=True):
    """`name` is a tool's or prompt's name, or a resource's URI (or URI template); `value` the whole entry."""

    type: PrimitiveType
    name: str
    title: str
    description: str
    value: dict[str, Any]


async def list_primitives(client: Any) -> list[Primitive]:
    """List everything the server offers. A kind that the server does not have is left out.

    `client` is our own `Session` or the official SDK's `Client`. Raises what the client raises for any
    failure but "method not found".
    """
    listings: list[tuple[PrimitiveType, Any, str, str]] = [
        ("tool", client.list_tools, "tools", "name"),
        ("resource", client.list_resources, "resources", "uri"),
        ("template", client.list_resource_templates, "resourceTemplates", "uriTemplate"),
        ("prompt", client.list_prompts, "prompts", "name"),
    ]
    capabilities = _read_capabilities(client)
    primitives: list[Primitive] = []
    for kind, fetch, member, key in listings:
        capability = "resources" if kind == "template" else f"{kind}s"
        if capabilities is not None and capabilities.get(capability) is None:
            continue
        for entry in await fetch_all(fetch, member):
            name = entry.get(key) if isinstance(entry, dict) else None
            if not isinstance(name, str):
                text = f"The server's list of {member} holds an entry without a {key}."
                raise RpcError(INTERNAL_ERROR, text)
            primitives.append(
                Primitive(
                    kind,
                    name,
                    str(entry.get("title") or entry.get("name") or ""),
                    str(entry.get("description") or ""),
                    entry,
                )
            )
    return primitives


def _read_capabilities(client: Any) -> dict[str, Any] | None:
    """Return the server's capabilities; None if unknown (the SDK can adopt a version without asking)."""
    value = _to_dict(getattr(client, "server_capabilities", None))
    return value or None


async def fetch_all(fetch: Callable[..., Awaitable[Any]], member: str) -> list[dict[str, Any]]:
    """Fetch every page of one listing; empty when the server does not have the method. Raises RpcError for a
    cursor that repeats, and what the client raises."""
    entries: list[dict[str, Any]] = []
    cursor: str | None = None
    seen: list[object] = []
    for _ in range(PAGES):
        try:
            page = _to_dict(await fetch(cursor=cursor))
        except Exception as error:
            if _is_missing_method(error):
                return entries
            raise
        listed = page.get(member)
        entries.extend(listed if isinstance(listed, list) else ())
        cursor = page.get("nextCursor")
        if not cursor:
            return entries
        if cursor in seen:
            text = f"The server's list of {member} has no end: it gave the cursor {shorten(cursor)} twice."
            raise RpcError(INTERNAL_ERROR, text)
        seen.append(cursor)
    return entries


def _is_missing_method(error: Exception) -> bool:
    if isinstance(error, RpcError):
        return error.rpc_code == METHOD_NOT_FOUND
    # The official SDK's MCPError carries the JSON-RPC error object.
    return getattr(getattr(error, "error", None), "code", None) == METHOD_NOT_FOUND


def _to_dict(value: Any) -> dict[str, Any]:
    """Convert our own session's dict or a model of the official SDK."""
    if value is None:
        return {}
    if isinstance(value, dict):
        return value
    dumped: dict[str, Any] = value.model_dump(by_alias=True, mode="json", exclude_none=True)
    return dumped
