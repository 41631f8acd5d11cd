"""The headers beside a message."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from vaultbridge.client.http.wire import check_tools, encode_value, make_headers, read_version

META = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}


def request(method: str, **params: object) -> dict[str, object]:
    return {"jsonrpc": "2.0", "id": 1, "method": method, "params": {**params, **META}}


def test_only_a_request_that_carries_its_version_has_headers() -> None:
    assert read_version(request("x")) == "2026-07-28"
    assert make_headers({"jsonrpc": "2.0", "id": 1, "method": "tools/list"}, {}) == {}
    assert make_headers({"jsonrpc": "2.0", "id": 1, "method": "x", "params": {"_meta": None}}, {}) == {}


def test_version_method_and_name_are_repeated() -> None:
    assert make_headers(request("tools/call", name="add"), {}) == {
        "MCP-Protocol-Version": "2026-07-28",
        "Mcp-Method": "tools/call",
        "Mcp-Name": "add",
    }
    assert make_headers(request("resources/read", uri="note://Ä"), {})["Mcp-Name"].startswith("=?base64?")
    assert "Mcp-Name" not in make_headers(request("tools/list"), {})


def test_what_a_header_cannot_carry_is_wrapped() -> None:
    assert encode_value("plain text") == "plain text"
    for text in ("Ä", " edge", "a\nb", "=?base64?eA==?="):
        wrapped = encode_value(text)
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
    marked = check_tools({"tools": [{"name": "t", "inputSchema": schema}, "nonsense"]}).marked
    arguments = {"region": "eu", "deep": {"flag": True}, "count": 3, "other": "x"}
    headers = make_headers(request("tools/call", name="t", arguments=arguments), marked)
    assert {k: v for k, v in headers.items() if k.startswith("Mcp-Param-")} == {
        "Mcp-Param-Region": "eu",
        "Mcp-Param-Flag": "true",
        "Mcp-Param-Count": "3",
    }
    without = make_headers(request("tools/call", name="t", arguments={}), marked)
    assert not [k for k in without if k.startswith("Mcp-Param-")]


def test_nonsense_instead_of_a_listing_marks_nothing() -> None:
    for result in (None, {"tools": 3}, [], "x"):
        assert check_tools(result) == (result, {}, {})


GOOD = {"type": "string", "x-mcp-header": "Region"}


@pytest.mark.parametrize(
    ("schema", "why"),
    [
        ({"properties": {"a": {"type": "string", "x-mcp-header": ""}}}, "not the name of a header"),
        ({"properties": {"a": {"type": "string", "x-mcp-header": "a b"}}}, "not the name of a header"),
        ({"properties": {"a": {"type": "string", "x-mcp-header": "a:b"}}}, "not the name of a header"),
        ({"properties": {"a": {"type": "string", "x-mcp-header": "é"}}}, "not the name of a header"),
        ({"properties": {"a": {"type": "string", "x-mcp-header": "a\n"}}}, "not the name of a header"),
        ({"properties": {"a": {"type": "string", "x-mcp-header": 3}}}, "not the name of a header"),
        ({"properties": {"a": {"type": "number", "x-mcp-header": "A"}}}, "not a string"),
        ({"properties": {"a": {"type": "object", "x-mcp-header": "A"}}}, "not a string"),
        ({"properties": {"a": {"x-mcp-header": "A"}}}, "not a string"),
        ({"properties": {"a": {"type": ["string", "integer"], "x-mcp-header": "A"}}}, "not a string"),
        ({"properties": {"a": GOOD, "b": {**GOOD, "x-mcp-header": "rEGION"}}}, "two arguments share"),
        ({"properties": {"a": {"properties": {"b": GOOD}}, "c": GOOD}}, "two arguments share"),
        ({"x-mcp-header": "A", "type": "string"}, "is not on an argument"),
        ({"properties": {"a": {"type": "array", "items": GOOD}}}, "is not on an argument"),
        ({"properties": {"a": {"anyOf": [{"properties": {"b": GOOD}}]}}}, "is not on an argument"),
        ({"$defs": {"a": {"properties": {"b": GOOD}}}}, "is not on an argument"),
        ({"if": {"properties": {"a": GOOD}}}, "is not on an argument"),
    ],
)
def test_a_tool_with_a_wrong_mark_is_left_out_and_the_others_stay(schema: dict[str, Any], why: str) -> None:
    good = {"name": "good", "inputSchema": {"properties": {"a": {**GOOD, "type": ["string", "null"]}}}}
    checked = check_tools({"tools": [{"name": "bad", "inputSchema": schema}, good], "nextCursor": "c"})
    assert checked.result == {"tools": [good], "nextCursor": "c"}
    assert checked.marked == {"good": {("a",): "Region"}}
    assert why in checked.refused["bad"]


@pytest.mark.parametrize(
    "schema",
    [
        {"properties": {"x-mcp-header": {"type": "object"}}},
        {"properties": {"a": {"default": {"x-mcp-header": ""}, "enum": [{"x-mcp-header": 1}]}}},
        {"properties": {"a": True}, "additionalProperties": False},
        None,
    ],
)
def test_a_schema_without_a_header_mark_marks_no_argument(schema: Any) -> None:
    result = {"tools": [{"name": "t", "inputSchema": schema}]}
    assert check_tools(result) == (result, {"t": {}}, {})
