"""Whatever a client sends, the outcome is a documented one: one answer per request, a known code, a
connection that lives."""

from __future__ import annotations

import asyncio
from collections import Counter
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from support.wire import EVERY_VERSION, HANDSHAKE, MODERN, Wire, make_meta, open_fixture_wire

CODES = {-32700, -32600, -32601, -32602, -32021, -32022, *range(-32006, -31999)}
"""Every error that a client may get here. -32603 would be a bug of ours."""

METHODS = [
    "initialize",
    "ping",
    "server/discover",
    "tools/list",
    "tools/call",
    "resources/list",
    "resources/templates/list",
    "resources/read",
    "resources/subscribe",
    "resources/unsubscribe",
    "prompts/list",
    "prompts/get",
    "completion/complete",
    "logging/setLevel",
    "notifications/cancelled",
    "notifications/initialized",
    "no/such",
]

scalars = (
    st.none()
    | st.booleans()
    | st.integers(-5, 5)
    | st.floats(allow_nan=False, allow_infinity=False)
    | st.text(max_size=5)
)
names = st.sampled_from(
    [
        "test_echo",
        "test_structured",
        "test_error_handling",
        "test_simple_prompt",
        "test_prompt_with_arguments",
        "test_input_required_result_multi_round",
        "test_sampling",
        "test://static-text",
        "test://watched-resource",
    ]
)
values = st.recursive(
    scalars | names,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["name", "value", "type", "uri", "n", "arguments", "step1", "action", "content"]),
            inner,
            max_size=3,
        )
    ),
    max_leaves=8,
)
metas = st.one_of(
    st.just(make_meta()),
    st.just(make_meta({"elicitation": {}, "sampling": {}})),
    st.builds(lambda version: {"io.modelcontextprotocol/protocolVersion": version}, scalars),
    st.builds(lambda token: {"progressToken": token}, scalars),
    values,
)
params = st.dictionaries(
    st.sampled_from(
        [
            "name",
            "arguments",
            "uri",
            "cursor",
            "level",
            "ref",
            "argument",
            "context",
            "protocolVersion",
            "capabilities",
            "inputResponses",
            "requestState",
            "requestId",
            "notifications",
        ]
    ),
    values,
    max_size=4,
).flatmap(lambda members: metas.map(lambda meta: members | {"_meta": meta}) | st.just(members))
messages = st.fixed_dictionaries(
    {"jsonrpc": st.just("2.0"), "method": st.sampled_from(METHODS)},
    optional={"id": st.integers(0, 9) | st.text(max_size=2) | values, "params": params | values},
)


async def converse(version: str, sent: list[dict[str, Any]]) -> None:
    wire = await open_fixture_wire(version)
    # Of what is sent here the wire cannot know which version answers it.
    wire.version = ""
    owed: Counter[Any] = Counter()
    for message in sent:
        id_ = message.get("id")
        if isinstance(id_, str | int | float) and not isinstance(id_, bool):
            owed[repr(id_)] += 1
        await wire.raw(msgspec.json.encode(message))
    async with asyncio.timeout(60):
        await wire.connection.drain()
    answers = [message for message in wire.messages if "method" not in message]
    for answer in answers:
        if "error" in answer:
            assert answer["error"]["code"] in CODES, answer
            assert "Traceback" not in answer["error"]["message"]
    found = Counter(repr(answer["id"]) for answer in answers if answer["id"] is not None)
    assert all(found[id_] <= count for id_, count in owed.items())
    assert set(found) <= set(owed)


@pytest.mark.parametrize("version", [HANDSHAKE[0], HANDSHAKE[3], MODERN])
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(sent=st.lists(messages, max_size=6))
def test_every_conversation_has_a_documented_outcome(version: str, sent: list[dict[str, Any]]) -> None:
    asyncio.run(converse(version, sent))


@pytest.mark.parametrize("version", EVERY_VERSION)
async def test_random_bytes_between_good_messages_do_no_harm(version: str) -> None:
    wire: Wire = await open_fixture_wire(version)
    for junk, code in (
        (b"\x00", -32700),
        (b"}{", -32700),
        (b"[" * 5000, -32700),
        (b'{"jsonrpc":"2.0","id":{}}', -32600),
        (b"\xff\xfe", -32700),
        (b'"' * 99, -32700),
        (b"null", -32600),
        (b"1e9999", -32600),
    ):
        await wire.raw(junk)
        error = await wire.until(lambda message: message.get("id") is None)
        assert error["error"]["code"] == code, junk
        assert (await wire.result("tools/list"))["tools"]
