"""Values in the shape of a version: nothing the version lacks, and nothing lost that it could carry."""

from __future__ import annotations

from typing import Any

import msgspec
import pytest

from vaultbridge.protocols.mcp import wire as mcp_wire
from vaultbridge.protocols.mcp.provider import Offer
from vaultbridge.protocols.mcp.values import (
    Annotations,
    AudioContent,
    BlobResource,
    EmbeddedResource,
    Icon,
    PromptArgument,
    PromptInfo,
    ResourceInfo,
    ResourceLink,
    TextContent,
    TextResource,
    ToolInfo,
    ToolResult,
)
from vaultbridge.protocols.mcp.versions import (
    V2024_11_05,
    V2025_03_26,
    V2025_06_18,
    V2025_11_25,
    V2026_07_28,
    VERSIONS,
    Version,
)

ICON = Icon(src="data:image/png;base64,", mime_type="image/png")
NOTED = Annotations(audience=("user",), priority=0.5, last_modified="2026-01-01T00:00:00Z")


def render_listed(item: Any, version: Version) -> Any:
    """As the client reads it."""
    return msgspec.json.decode(msgspec.json.encode(mcp_wire.render_item(item, version)))


def test_a_resource_keeps_its_annotations_but_not_later_additions() -> None:
    info = ResourceInfo(
        uri="a:b",
        name="b",
        title="B",
        size=3,
        mime_type="text/markdown",
        annotations=NOTED,
        icons=(ICON,),
        meta={"x/y": 1},
    )
    old = render_listed(info, V2024_11_05)
    assert old == {
        "uri": "a:b",
        "name": "b",
        "size": 3,
        "mimeType": "text/markdown",
        "annotations": {"audience": ["user"], "priority": 0.5},
    }
    new = render_listed(info, V2025_11_25)
    assert new["annotations"]["lastModified"] == "2026-01-01T00:00:00Z"
    assert new["icons"] == [{"src": "data:image/png;base64,", "mimeType": "image/png"}]
    assert new["_meta"] == {"x/y": 1}
    assert "icons" not in render_listed(info, V2025_06_18)


def test_a_schema_passes_through_unchanged() -> None:
    schema: dict[str, Any] = {
        "type": "object",
        "title": "T",
        "properties": {"title": {"type": "string"}},
        "$defs": {"x": {}},
    }
    for version in VERSIONS.values():
        assert render_listed(ToolInfo(name="t", input_schema=schema), version)["inputSchema"] == schema


def test_titles_of_arguments_go_with_the_other_titles() -> None:
    info = PromptInfo(name="p", arguments=(PromptArgument(name="a", title="A"),))
    assert render_listed(info, V2025_03_26)["arguments"] == [{"name": "a"}]
    assert render_listed(info, V2025_06_18)["arguments"] == [{"name": "a", "title": "A"}]


def test_content_a_version_lacks_is_said_in_text() -> None:
    audio = mcp_wire.render_content(AudioContent(data=b"12345", mime_type="audio/wav"), V2024_11_05)
    assert audio == {"type": "text", "text": "[audio, audio/wav, 5 bytes]"}
    link = mcp_wire.render_content(ResourceLink(uri="a:b", name="b", title="B"), V2025_03_26)
    assert link == {"type": "text", "text": "[B](a:b)"}


def test_bytes_travel_as_base64() -> None:
    inner = BlobResource(uri="a:b", blob=b"\x00\xff")
    assert (
        mcp_wire.render_content(EmbeddedResource(resource=inner), V2025_11_25)["resource"]["blob"] == "AP8="
    )


def test_embedded_values_lose_their_meta_too_where_there_is_none() -> None:
    inner = TextResource(uri="a:b", text="x", meta={"x/y": 1})
    block = EmbeddedResource(resource=inner, meta={"x/y": 1})
    assert mcp_wire.render_content(block, V2024_11_05) == {
        "type": "resource",
        "resource": {"uri": "a:b", "text": "x"},
    }
    assert mcp_wire.render_content(block, V2025_06_18)["resource"]["_meta"] == {"x/y": 1}


def test_annotated_text_keeps_its_annotations() -> None:
    assert (
        mcp_wire.render_content(TextContent(text="x", annotations=NOTED), V2025_11_25)["annotations"][
            "priority"
        ]
        == 0.5
    )


@pytest.mark.parametrize(
    ("structured", "in_2025", "in_2026"),
    [({"n": 1}, True, True), ([1], False, True), (None, False, True), ("x", False, True)],
)
def test_structured_content_is_an_object_before_2026(structured: Any, in_2025: bool, in_2026: bool) -> None:
    result = ToolResult((TextContent(text="t"),), structured=structured)
    assert ("structuredContent" in mcp_wire.render_tool_result(result, V2025_11_25)) == in_2025
    assert ("structuredContent" in mcp_wire.render_tool_result(result, V2026_07_28)) == in_2026


def test_a_result_with_only_structured_content_is_never_empty() -> None:
    for version in VERSIONS.values():
        form = mcp_wire.render_tool_result(ToolResult(structured={"n": 1}), version)
        assert form["content"] == [{"type": "text", "text": '{"n":1}'}]


def test_an_empty_result_is_an_empty_list() -> None:
    assert mcp_wire.render_tool_result(ToolResult(meta={"x/y": 1}), V2024_11_05) == {
        "content": [],
        "_meta": {"x/y": 1},
    }


def test_the_server_describes_itself_as_the_version_allows() -> None:
    offer = Offer(version="1", description="d", website="https://example.org", icons=(ICON,))
    assert mcp_wire.render_server_info(offer, V2025_03_26) == {"name": "obsidian-mcp", "version": "1"}
    assert mcp_wire.render_server_info(offer, V2025_06_18)["title"] == "vaultbridge"
    assert {"description", "websiteUrl", "icons"} <= set(mcp_wire.render_server_info(offer, V2025_11_25))
