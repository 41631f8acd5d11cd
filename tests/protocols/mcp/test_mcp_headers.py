"""Mirrored headers must say what the body says (2026-07-28, Streamable HTTP, Server Validation)."""

from __future__ import annotations

import base64
from typing import Any

import pytest

from vaultbridge.jsonrpc.messages import Request, RpcError
from vaultbridge.protocols.mcp.http.stateless import (
    check_arguments,
    check_routing,
    check_version,
    find_annotated,
)


def encode_header(text: str) -> str:
    return f"=?base64?{base64.b64encode(text.encode()).decode()}?="


def catch_refusal(check: Any, *args: Any) -> str:
    with pytest.raises(RpcError) as caught:
        check(*args)
    assert caught.value.error.code == -32020
    return caught.value.error.message


def test_the_version_must_be_there_and_agree() -> None:
    check_version({"MCP-Protocol-Version": "2026-07-28"}, "2026-07-28")
    assert "missing" in catch_refusal(check_version, {}, "2026-07-28")
    assert "2025" in catch_refusal(check_version, {"MCP-Protocol-Version": "2025-11-25"}, "2026-07-28")


CALL = Request(1, "tools/call", {"name": "tööl"})


def test_method_and_name_must_be_there_and_agree() -> None:
    good = {"Mcp-Method": "tools/call", "Mcp-Name": encode_header("tööl")}
    check_routing(good, CALL)
    check_routing({"Mcp-Method": "ping"}, Request(1, "ping", {}))
    check_routing(
        {"Mcp-Method": "resources/read", "Mcp-Name": "a:b"}, Request(1, "resources/read", {"uri": "a:b"})
    )
    catch_refusal(check_routing, {}, CALL)
    catch_refusal(check_routing, {"Mcp-Method": "TOOLS/CALL", "Mcp-Name": encode_header("tööl")}, CALL)
    catch_refusal(check_routing, {"Mcp-Method": "tools/call"}, CALL)
    catch_refusal(check_routing, good | {"Mcp-Name": "other"}, CALL)


@pytest.mark.parametrize(
    "value", ["=?base64?SGVsbG8?=", "=?base64?SGVs!!!bG8=?=", "=?base64?/w==?=", "a\x01b", "töö"]
)
def test_a_value_that_no_client_may_send_is_refused(value: str) -> None:
    catch_refusal(check_routing, {"Mcp-Method": "tools/call", "Mcp-Name": value}, CALL)


def test_half_a_wrapping_is_a_plain_value() -> None:
    for value in ("=?base64?eA==", "eA==?="):
        check_routing(
            {"Mcp-Method": "tools/call", "Mcp-Name": value}, Request(1, "tools/call", {"name": value})
        )


SCHEMA: dict[str, Any] = {
    "type": "object",
    "properties": {
        "region": {"type": "string", "x-mcp-header": "Region"},
        "deep": {"type": "object", "properties": {"n": {"type": "integer", "x-mcp-header": "Count"}}},
        "on": {"type": "boolean", "x-mcp-header": "On"},
        "plain": {"type": "string"},
    },
}


def test_marked_properties_are_found_at_their_path() -> None:
    assert dict(find_annotated(SCHEMA)) == {("region",): "Region", ("deep", "n"): "Count", ("on",): "On"}


def test_marked_arguments_must_agree_with_their_headers() -> None:
    arguments = {"region": "eu", "deep": {"n": 42}, "on": True, "plain": "x"}
    headers = {"Mcp-Param-Region": "eu", "Mcp-Param-Count": "42.0", "Mcp-Param-On": "true"}
    check_arguments(headers, SCHEMA, {"arguments": arguments})
    for name, wrong in (("Region", "us"), ("Count", "41"), ("Count", "x"), ("On", "True")):
        catch_refusal(
            check_arguments, headers | {f"Mcp-Param-{name}": wrong}, SCHEMA, {"arguments": arguments}
        )


def test_a_value_without_a_header_and_a_header_without_a_value_are_refused() -> None:
    check_arguments({}, SCHEMA, {})
    check_arguments({}, SCHEMA, {"arguments": {"region": None}})
    assert "missing" in catch_refusal(check_arguments, {}, SCHEMA, {"arguments": {"region": "eu"}})
    assert "no value" in catch_refusal(check_arguments, {"Mcp-Param-Region": "eu"}, SCHEMA, {"arguments": {}})


def test_a_value_that_cannot_be_a_header_never_agrees() -> None:
    catch_refusal(check_arguments, {"Mcp-Param-Region": "x"}, SCHEMA, {"arguments": {"region": ["x"]}})
