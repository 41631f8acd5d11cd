"""The values that an MCP server offers and returns, as the newest version has them.

Older versions get a part of each, which `wire` decides. Fields have Python names; on the wire they are in
camel case. Optional fields with their default value are not sent.
"""

from __future__ import annotations

from typing import Any, Generic, Literal, TypeVar

import msgspec

Role = Literal["user", "assistant"]
LoggingLevel = Literal["debug", "info", "notice", "warning", "error", "critical", "alert", "emergency"]


class _Value(msgspec.Struct, frozen=True, kw_only=True, rename="camel", omit_defaults=True):
    pass


class Icon(_Value, frozen=True, kw_only=True):
    src: str
    mime_type: str = ""
    sizes: tuple[str, ...] = ()


class Annotations(_Value, frozen=True, kw_only=True):
    """Whom a value is for (`audience`), how important it is (0 to 1), when it was modified (ISO 8601)."""

    audience: tuple[Role, ...] = ()
    priority: float | None = None
    last_modified: str = ""


class ToolAnnotations(_Value, frozen=True, kw_only=True):
    """Hints for the client. None leaves the protocol's default: not read-only, destructive, open world."""

    title: str = ""
    read_only_hint: bool | None = None
    destructive_hint: bool | None = None
    idempotent_hint: bool | None = None
    open_world_hint: bool | None = None


class ToolInfo(_Value, frozen=True, kw_only=True):
    name: str
    input_schema: dict[str, Any]
    title: str = ""
    description: str = ""
    output_schema: dict[str, Any] | None = None
    annotations: ToolAnnotations | None = None
    icons: tuple[Icon, ...] = ()
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class ResourceInfo(_Value, frozen=True, kw_only=True):
    uri: str
    name: str
    title: str = ""
    description: str = ""
    mime_type: str = ""
    size: int | None = None
    annotations: Annotations | None = None
    icons: tuple[Icon, ...] = ()
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class TemplateInfo(_Value, frozen=True, kw_only=True):
    uri_template: str
    name: str
    title: str = ""
    description: str = ""
    mime_type: str = ""
    annotations: Annotations | None = None
    icons: tuple[Icon, ...] = ()
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class PromptArgument(_Value, frozen=True, kw_only=True):
    name: str
    title: str = ""
    description: str = ""
    required: bool = False


class PromptInfo(_Value, frozen=True, kw_only=True):
    name: str
    title: str = ""
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()
    icons: tuple[Icon, ...] = ()
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class TextResource(_Value, frozen=True, kw_only=True):
    uri: str
    text: str
    mime_type: str = ""
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class BlobResource(_Value, frozen=True, kw_only=True):
    """The content of a file as bytes, in base64 on the wire."""

    uri: str
    blob: bytes
    mime_type: str = ""
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


ResourceContents = TextResource | BlobResource


class TextContent(_Value, frozen=True, kw_only=True, tag="text", tag_field="type"):
    text: str
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class ImageContent(_Value, frozen=True, kw_only=True, tag="image", tag_field="type"):
    data: bytes
    mime_type: str
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class AudioContent(_Value, frozen=True, kw_only=True, tag="audio", tag_field="type"):
    data: bytes
    mime_type: str
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class ResourceLink(_Value, frozen=True, kw_only=True, tag="resource_link", tag_field="type"):
    uri: str
    name: str
    title: str = ""
    description: str = ""
    mime_type: str = ""
    size: int | None = None
    annotations: Annotations | None = None
    icons: tuple[Icon, ...] = ()
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


class EmbeddedResource(_Value, frozen=True, kw_only=True, tag="resource", tag_field="type"):
    resource: ResourceContents
    annotations: Annotations | None = None
    meta: dict[str, Any] | None = msgspec.field(default=None, name="_meta")


Content = TextContent | ImageContent | AudioContent | ResourceLink | EmbeddedResource


class ToolResult(msgspec.Struct, frozen=True):
    """What a tool returns. `structured` is any JSON value; `is_error` tells the model that the tool
    failed."""

    content: tuple[Content, ...] = ()
    structured: Any = msgspec.UNSET
    is_error: bool = False
    meta: dict[str, Any] | None = None


class PromptMessage(msgspec.Struct, frozen=True):
    role: Role
    content: Content


class PromptResult(msgspec.Struct, frozen=True):
    messages: tuple[PromptMessage, ...]
    description: str = ""


class Completion(msgspec.Struct, frozen=True):
    """Suggestions, best first. `total` counts all there are, when that is known."""

    values: tuple[str, ...] = ()
    total: int | None = None
    has_more: bool = False


class PromptRef(msgspec.Struct, frozen=True):
    name: str


class ResourceRef(msgspec.Struct, frozen=True):
    """A resource template (or a resource) by its URI."""

    uri: str


T = TypeVar("T")


class Page(msgspec.Struct, Generic[T], frozen=True):
    """A part of a list. `next` is the opaque cursor of the following page, "" after the last one."""

    items: tuple[T, ...]
    next: str = ""


class ToolsChanged(msgspec.Struct, frozen=True):
    """The list of tools has changed. With `views`, only which view belongs to which tool, so that nothing
    changes for a client without views."""

    views: bool = False


class PromptsChanged(msgspec.Struct, frozen=True):
    pass


class ResourcesChanged(msgspec.Struct, frozen=True):
    pass


class ResourceUpdated(msgspec.Struct, frozen=True):
    uri: str


ProviderChange = ToolsChanged | PromptsChanged | ResourcesChanged | ResourceUpdated


class InputRequest(msgspec.Struct, frozen=True):
    """A question to the client: `elicitation/create`, `sampling/createMessage` or `roots/list`."""

    method: Literal["elicitation/create", "sampling/createMessage", "roots/list"]
    params: dict[str, Any]
