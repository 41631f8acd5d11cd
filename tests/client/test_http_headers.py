"""The headers beside a message."""

from __future__ import annotations

import base64

from vaultbridge.client.http_headers import header_value, marked_arguments, modern_headers, modern_version

META = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}


def request(method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, **META}}


def test_only_a_request_that_carries_its_version_has_headers() -> None:
    assert modern_version(request("x")) == "2026-07-28"
    assert modern_headers({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, {}) == {}
    assert modern_headers({"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"_meta": None}}, {}) == {}


def test_version_method_and_name_are_repeated() -> None:
    assert modern_headers(request("tools/call", name="add"), {}) == {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "add",
    }
    assert modern_headers(request("resources/read", uri="note://Ä"), {})["Mcp-Name"].startswith("=?base64?")
    assert "Mcp-Name" not in modern_headers(request("tools/list"), {})


def test_what_a_header_cannot_carry_is_wrapped() -> None:
    assert header_value("plain text") == "plain text"
    for text in ("Ä", " edge", "a\nb", "=?base64?eA==?="):
        wrapped = header_value(text)
        assert wrapped.startswith("=?base64?") and wrapped.endswith("?=")
        assert base64.b64decode(wrapped[9:-2]).decode() == text


def test_marked_arguments_become_headers() -> None:
    schema = {
        "properties": {
            "region": {"type": "string", "x-mcp-header": "Region"},
            "deep": {"properties": {"flag": {"type": "boolean", "x-mcp-header": "Flag"}}},
            "count": {"type": "integer", "x-mcp-header": "Count"},
            "other": {"type": "string"},
        }
    }
    marked = marked_arguments({"tools": [{"name": "t", "inputSchema": schema}, "nonsense"]})
    arguments = {"region": "eu", "deep": {"flag": True}, "count": 3, "other": "x"}
    headers = modern_headers(request("tools/call", name="t", arguments=arguments), marked)
    assert {k: v for k, v in headers.items() if k.startswith("Mcp-Param-")} == {
        "Mcp-Param-Region": "eu",
        "Mcp-Param-Flag": "true",
        "Mcp-Param-Count": "3",
    }
    without = modern_headers(request("tools/call", name="t", arguments={}), marked)
    assert not [k for k in without if k.startswith("Mcp-Param-")]


def test_nonsense_instead_of_a_listing_marks_nothing() -> None:
    assert marked_arguments(None) == {} and marked_arguments({"tools": 3}) == {}
