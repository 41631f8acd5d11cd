"""Changes reach whoever wants them, and nobody else."""

from __future__ import annotations

from typing import Any

import pytest

from support.wire import HANDSHAKE, MODERN, Wire, make_fixture_server, make_meta
from vaultbridge.protocols.mcp.dialect import mcp_dialect
from vaultbridge.protocols.mcp.provider import Offer
from vaultbridge.protocols.mcp.subscriptions import MAX_LISTENING, MAX_WATCHED

KEY = "io.modelcontextprotocol/subscriptionId"


async def connect_two(version: str, other: str) -> tuple[Wire, Wire, Any]:
    """Two connections to one server, and its provider."""
    server, fixture = make_fixture_server()
    wires = []
    for name in (version, other):
        wire = Wire(mcp_dialect(server), version=name)
        if name != MODERN:
            await wire.initialize()
        wires.append(wire)
    return wires[0], wires[1], fixture


async def listen(wire: Wire, **notifications: Any) -> int:
    id_ = await wire.start("subscriptions/listen", {"notifications": notifications})
    acknowledged = await wire.notification("notifications/subscriptions/acknowledged")
    assert acknowledged["_meta"] == {KEY: id_}
    return id_


@pytest.mark.parametrize("version", HANDSHAKE)
async def test_a_changed_list_is_announced_on_every_connection(version: str) -> None:
    first, second, _ = await connect_two(version, "2025-11-25")
    await first.result("tools/call", {"name": "test_trigger_tool_change"})
    await first.result("tools/call", {"name": "test_trigger_prompt_change"})
    for wire in (first, second):
        await wire.notification("notifications/tools/list_changed")
        await wire.notification("notifications/prompts/list_changed")
    names = [tool["name"] for tool in (await second.result("tools/list"))["tools"]]
    assert "test_added_1" in names


@pytest.mark.parametrize("version", HANDSHAKE)
async def test_an_update_is_sent_to_subscribers_until_they_unsubscribe(version: str) -> None:
    first, second, fixture = await connect_two(version, "2025-11-25")
    uri = "test://watched-resource"
    assert await first.result("resources/subscribe", {"uri": uri}) == {}
    assert await first.result("resources/subscribe", {"uri": uri}) == {}
    assert fixture.watched == {uri}
    await first.result("tools/call", {"name": "test_trigger_resource_update"})
    assert await first.notification("notifications/resources/updated") == {"uri": uri}
    assert second.messages == []
    assert await first.result("resources/unsubscribe", {"uri": uri}) == {}
    assert fixture.watched == set()
    await first.result("tools/call", {"name": "test_trigger_resource_update"})
    assert first.messages == []


async def test_unsubscribing_from_nothing_does_nothing() -> None:
    wire, _, _ = await connect_two("2025-11-25", "2025-11-25")
    assert await wire.result("resources/unsubscribe", {"uri": "test://x"}) == {}


async def test_an_unknown_resource_cannot_be_watched() -> None:
    wire, _, fixture = await connect_two("2025-11-25", "2025-11-25")
    error = await wire.error("resources/subscribe", {"uri": "http://elsewhere"})
    assert error["data"]["errorCode"] == "FILE_NOT_FOUND"
    assert fixture.watched == set()


async def test_the_first_and_the_last_subscriber_are_passed_on_to_the_provider() -> None:
    first, second, fixture = await connect_two("2025-11-25", "2025-06-18")
    uri = "test://watched-resource"
    await first.result("resources/subscribe", {"uri": uri})
    await second.result("resources/subscribe", {"uri": uri})
    await first.connection.close()
    assert fixture.watched == {uri}
    await second.connection.close()
    assert fixture.watched == set()


async def test_listening_is_acknowledged_first_and_every_message_is_tagged() -> None:
    first, second, fixture = await connect_two(MODERN, MODERN)
    id_ = await listen(first, toolsListChanged=True, resourceSubscriptions=["test://watched-resource"])
    assert fixture.watched == {"test://watched-resource"}
    await second.result("tools/call", {"name": "test_trigger_tool_change"})
    await second.result("tools/call", {"name": "test_trigger_prompt_change"})
    await second.result("tools/call", {"name": "test_trigger_resource_update"})
    assert await first.notification("notifications/tools/list_changed") == {"_meta": {KEY: id_}}
    updated = await first.notification("notifications/resources/updated")
    assert updated == {"uri": "test://watched-resource", "_meta": {KEY: id_}}
    assert first.messages == [], "prompts were not asked for"
    assert second.messages == [], "it does not listen"


async def test_the_acknowledgement_names_only_what_will_be_honoured() -> None:
    server, _ = make_fixture_server(offer=Offer())
    wire = Wire(mcp_dialect(server), version=MODERN)
    await wire.start(
        "subscriptions/listen",
        {
            "notifications": {
                "toolsListChanged": True,
                "promptsListChanged": True,
                "resourceSubscriptions": ["a:b"],
            }
        },
    )
    acknowledged = await wire.notification("notifications/subscriptions/acknowledged")
    assert acknowledged["notifications"] == {"toolsListChanged": True}


async def test_a_listener_gets_nothing_after_it_cancelled() -> None:
    first, second, fixture = await connect_two(MODERN, MODERN)
    id_ = await listen(first, toolsListChanged=True, resourceSubscriptions=["test://watched-resource"])
    await first.notify("notifications/cancelled", requestId=id_)
    await first.settle()
    await second.result("tools/call", {"name": "test_trigger_tool_change"})
    assert first.messages == []
    assert fixture.watched == set()


async def test_the_end_of_the_connection_ends_listening_with_a_result() -> None:
    """Subscriptions, Graceful Closure."""
    wire, _, _ = await connect_two(MODERN, MODERN)
    id_ = await listen(wire, toolsListChanged=True)
    await wire.connection.drain()
    (answer,) = wire.messages
    assert answer["id"] == id_
    assert answer["result"]["_meta"][KEY] == id_
    assert answer["result"]["resultType"] == "complete"


async def test_several_subscriptions_are_distinguished() -> None:
    first_wire, second_wire, _ = await connect_two(MODERN, MODERN)
    first, second = (
        await listen(first_wire, toolsListChanged=True),
        await listen(first_wire, toolsListChanged=True),
    )
    await second_wire.result("tools/call", {"name": "test_trigger_tool_change"})
    tags = {
        (await first_wire.notification("notifications/tools/list_changed"))["_meta"][KEY] for _ in range(2)
    }
    assert tags == {first, second}


async def test_listening_is_not_under_the_time_limit() -> None:
    server, _ = make_fixture_server()
    wire = Wire(mcp_dialect(server), version=MODERN, call_seconds=0.01)
    await listen(wire, toolsListChanged=True)
    assert (await wire.result("tools/call", {"name": "test_wait"}))["isError"] is True
    await wire.result("tools/call", {"name": "test_trigger_tool_change"})
    assert await wire.notification("notifications/tools/list_changed")


@pytest.mark.parametrize("wrong", [None, 5, {"resourceSubscriptions": "x"}, {"resourceSubscriptions": [5]}])
async def test_a_wrong_filter_is_refused(wrong: Any) -> None:
    server, _ = make_fixture_server()
    wire = Wire(mcp_dialect(server), version=MODERN)
    error = await wire.error("subscriptions/listen", {"notifications": wrong, "_meta": make_meta()})
    assert error["code"] == -32602
    assert "notifications" in error["message"]


async def test_watching_and_listening_are_bounded() -> None:
    first, second, _ = await connect_two("2025-11-25", MODERN)
    for n in range(MAX_WATCHED):
        await first.result("resources/subscribe", {"uri": f"test://{n}"})
    assert (await first.error("resources/subscribe", {"uri": "test://more"}))["code"] == -32602
    for uris in ([f"test://{n}" for n in range(MAX_WATCHED - 1)], ["test://last"]):
        await listen(second, resourceSubscriptions=uris)
    more = {"notifications": {"resourceSubscriptions": ["test://more"]}}
    assert (await second.error("subscriptions/listen", more))["code"] == -32602
    for _ in range(MAX_LISTENING - 2):
        await listen(second, toolsListChanged=True)
    assert (await second.error("subscriptions/listen", {"notifications": {}}))["code"] == -32602
