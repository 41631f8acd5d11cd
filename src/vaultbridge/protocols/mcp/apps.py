"""MCP Apps: views that a client shows within the chat, as `ui://` resources (`io.modelcontextprotocol/ui`).

The extension is SEP-1865 of 2026-01-26. A client that can show views declares this in its capabilities. Only
such a client sees them in the list of tools and the list of resources and can read them. For every other
client views do not exist, and its answers have the same bytes as without this module.

The data for a view is in the `_meta` of a tool's result, under `VIEW_KEY`. Clients pass that to the view and
not to the model: "not intended for model context" (Data Passing, Best Practices).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Final, Literal

from msgspec import Struct

from vaultbridge.protocols.mcp.values import ResourceInfo, TextResource, ToolInfo

EXTENSION: Final = "io.modelcontextprotocol/ui"
MEDIA_TYPE: Final = "text/html;profile=mcp-app"
SCHEME: Final = "ui://"

VIEW_KEY: Final = "vaultbridge/view"
"""Where the data for a view is in a result."""

VIEW_META: Final[dict[str, Any]] = {
    # A view loads nothing from any address: its own text has all that it needs.
    "ui": {
        "csp": {"connectDomains": [], "resourceDomains": [], "frameDomains": [], "baseUriDomains": []},
        "prefersBorder": True,
    }
}


class ChatView(Struct, frozen=True, kw_only=True):
    """A page for the chat. `read` returns its HTML."""

    uri: str
    title: str
    description: str
    read: Callable[[], str]

    @property
    def name(self) -> str:
        return self.uri.rpartition("/")[2]


class Apps(Struct, frozen=True):
    """What a server offers to clients that show views. `views` are by URI; `shown_by` maps a tool to the view
    that shows its results. `tools` are only for views: a client must not offer them to its model."""

    views: Mapping[str, ChatView] = {}
    shown_by: Mapping[str, str] = {}
    tools: tuple[ToolInfo, ...] = ()

    def has_tool(self, name: str) -> bool:
        return any(tool.name == name for tool in self.tools)


NO_APPS: Final = Apps()


def can_show(capabilities: Mapping[str, Any]) -> bool:
    """Return whether a client with these capabilities shows our views. The key alone does not mean that: a
    later version may show only other kinds."""
    extensions = capabilities.get("extensions")
    declared = extensions.get(EXTENSION) if isinstance(extensions, dict) else None
    kinds = declared.get("mimeTypes") if isinstance(declared, dict) else None
    return isinstance(kinds, list) and MEDIA_TYPE in kinds


def describe_extension() -> dict[str, Any]:
    """Return what the server declares to a client that shows views."""
    return {EXTENSION: {"mimeTypes": [MEDIA_TYPE]}}


def make_tool_meta(uri: str, *visible_to: Literal["model", "app"]) -> dict[str, Any]:
    """The `_meta` of a tool whose results the view at `uri` shows; "" for none."""
    ui: dict[str, Any] = {"visibility": list(visible_to)}
    return {"ui": {"resourceUri": uri, **ui} if uri else ui}


def make_view_info(view: ChatView) -> ResourceInfo:
    """A view as a member of a list of resources."""
    return ResourceInfo(
        uri=view.uri,
        name=view.name,
        title=view.title,
        description=view.description,
        mime_type=MEDIA_TYPE,
        meta=VIEW_META,
    )


def read_view(view: ChatView) -> TextResource:
    """A view as the content of a resource that was read."""
    return TextResource(uri=view.uri, text=view.read(), mime_type=MEDIA_TYPE, meta=VIEW_META)
