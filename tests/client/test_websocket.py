"""The life of a WebSocket transport, in virtual time over connections in memory.

What needs a real network is in test_connection.py, what needs the official SDK in test_sdk.py; the
random schedules are in test_faults.py.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Coroutine
from functools import wraps
from pathlib import Path
from typing import Any

import pytest

from client.user import TransportUser
from client.virtual import MemoryConnection, World, copy_database, run_virtually
from vaultbridge.client.errors import (
    ConnectFailed,
    ConnectionLost,
    InvalidMessage,
    MessagesDiscarded,
    MessagesUnconfirmed,
    NotRenewed,
    QueueFull,
    TransportClosed,
    UnknownAnswer,
)
from vaultbridge.client.websocket.transport import WebSocketTransport
from vaultbridge.client.websocket.unacknowledged import CONFIRM_EVERY
from vaultbridge.errors import EngineFailure, TimedOut


def in_virtual_time(test: Callable[..., Coroutine[Any, Any, None]]) -> Callable[..., None]:
    """Run a test in virtual time; no task may outlive it."""

    @wraps(test)
    def run(*args: Any, **kwargs: Any) -> None:
        run_virtually(test(*args, **kwargs))

    return run


class User(TransportUser[WebSocketTransport]):
    def __init__(self, world: World, **options: Any) -> None:
        self.world = world
        super().__init__(WebSocketTransport("ws://memory", dial=world.dial, **options))

    async def send(self, method: str = "m", request_id: Any = None, **params: Any) -> None:
        message: dict[str, Any] = {"jsonrpc": "2.0", "method": method, "params": params}
        if request_id is not None:
            message["id"] = request_id
        await self.transport.send(message)

    def answer(self, request_id: Any) -> dict[str, Any]:
        (found,) = [m for m in self.messages if m.get("id") == request_id and "method" not in m]
        return found

    def error(self, kind: type[Exception]) -> Any:
        (found,) = [e for e in self.errors if type(e) is kind]
        return found

    async def initialize(self) -> None:
        await self.send("initialize", "init", protocolVersion="2025-11-25")
        await asyncio.sleep(1)
        assert "result" in self.answer("init")
        await self.transport.send({"jsonrpc": "2.0", "method": "notifications/initialized"})
        await asyncio.sleep(1)


# Starting and closing.


@in_virtual_time
async def test_start_connects_and_close_ends_with_one_on_close() -> None:
    user = User(World())
    assert user.transport.state == "disconnected" and not user.transport.is_connected
    await user.transport.start()
    assert user.transport.is_connected and user.transport.subprotocol == "mcp"
    await user.transport.close()
    await user.transport.close()
    assert user.closed == 1 and not user.transport.is_connected
    assert user.states == ["connecting", "connected", "disconnecting", "disconnected"]
    assert user.world.open_connections == 0


@in_virtual_time
async def test_a_failed_first_connect_raises_and_does_not_go_on_in_the_background() -> None:
    world = World()
    world.refusals = 1
    user = User(world)
    with pytest.raises(ConnectFailed, match="connection refused"):
        await user.transport.start()
    await asyncio.sleep(100)
    assert world.dials == 1 and user.closed == 0
    assert user.error(ConnectFailed), "reported to on_error as well"
    assert user.states == ["connecting", "disconnected"]
    await user.transport.start()  # the caller may try again
    await user.transport.close()


@in_virtual_time
async def test_a_connect_without_an_end_times_out() -> None:
    async def dial() -> Any:
        await asyncio.sleep(1000)

    transport = WebSocketTransport("ws://memory", dial=dial, connect_timeout=3)
    before = asyncio.get_running_loop().time()
    with pytest.raises(TimedOut, match="within 3 s"):
        await transport.start()
    assert asyncio.get_running_loop().time() - before == pytest.approx(3)


@in_virtual_time
async def test_start_may_not_be_called_twice_or_after_the_end() -> None:
    async with User(World()) as user:
        with pytest.raises(TransportClosed, match="already been started"):
            await user.transport.start()
    with pytest.raises(TransportClosed, match="has ended"):
        await user.transport.start()


@in_virtual_time
async def test_closing_while_connecting_ends_both() -> None:
    user = User(World(delay=5))
    starting = asyncio.create_task(user.transport.start())
    await asyncio.sleep(1)
    await user.transport.close()
    with pytest.raises(TransportClosed, match="while it was connecting"):
        await starting
    await asyncio.sleep(20)
    assert user.closed == 1 and user.world.open_connections == 0


@in_virtual_time
async def test_a_cancelled_start_leaves_nothing_behind() -> None:
    user = User(World(delay=5))
    starting = asyncio.create_task(user.transport.start())
    await asyncio.sleep(1)
    starting.cancel()
    with pytest.raises(asyncio.CancelledError):
        await starting
    assert user.states == ["connecting", "disconnected"] and user.world.open_connections == 0


@in_virtual_time
async def test_close_before_start_still_ends_the_transport() -> None:
    user = User(World())
    await user.send(request_id=1)
    await user.transport.close()
    assert user.closed == 1 and "never sent" in user.answer(1)["error"]["message"]


@in_virtual_time
async def test_a_callback_may_close_the_transport() -> None:
    user = User(World())
    user.transport.on_message = lambda message: user.transport.close()
    await user.transport.start()
    await user.send(request_id=1)
    await user.send("silent")
    await asyncio.sleep(5)
    assert user.closed == 1 and user.world.open_connections == 0


@in_virtual_time
async def test_a_server_that_does_not_answer_the_close_frame_is_cut_after_the_close_timeout() -> None:
    user = User(World(), close_timeout=2)
    await user.transport.start()
    user.world.connection.half_open = True
    before = asyncio.get_running_loop().time()
    await user.transport.close()
    assert asyncio.get_running_loop().time() - before == pytest.approx(2)
    assert user.world.open_connections == 0


# Sending and receiving.


@in_virtual_time
async def test_messages_go_out_in_order_and_answers_come_back() -> None:
    async with User(World()) as user:
        for n in range(20):
            await user.send(request_id=n, n=n)
        await asyncio.sleep(1)
        assert [m["params"]["n"] for m in user.world.log] == list(range(20))
        assert [user.answer(n)["result"]["echo"]["n"] for n in range(20)] == list(range(20))


@in_virtual_time
async def test_an_invalid_message_is_not_sent_and_the_reason_is_reported() -> None:
    async with User(World()) as user:
        with pytest.raises(InvalidMessage, match="both"):
            await user.transport.send({"jsonrpc": "2.0", "id": 1, "result": 1, "error": {}})
        assert "both" in str(user.errors[0])
        await asyncio.sleep(1)
        assert user.world.log == [] and user.transport.is_connected


@in_virtual_time
async def test_invalid_messages_from_the_server_are_reported_and_do_not_end_the_connection() -> None:
    async with User(World()) as user:
        for bad in ("{", "[]", '{"jsonrpc":"2.0","method":"x","result":1}', b"\xff"):
            user.world.connection.push(bad)
        user.world.connection.say({"jsonrpc": "2.0", "method": "good"})
        await asyncio.sleep(1)
        assert len(user.errors) == 4 and all(isinstance(e, InvalidMessage) for e in user.errors)
        assert [m["method"] for m in user.messages] == ["good"] and user.transport.is_connected


@in_virtual_time
async def test_a_request_whose_answer_is_refused_fails_instead_of_hanging() -> None:
    async with User(World()) as user:
        user.world.answer = lambda connection, request: None
        await user.send(request_id=5)
        user.world.connection.push('{"jsonrpc":"2.0","id":5,"result":1,"error":{"code":1,"message":"x"}}')
        await asyncio.sleep(1)
        assert "was refused" in user.answer(5)["error"]["message"]


@in_virtual_time
async def test_a_request_whose_answer_has_its_id_as_a_float_fails_instead_of_hanging() -> None:
    async with User(World()) as user:
        user.world.answer = lambda connection, request: None
        await user.send(request_id=5)
        user.world.connection.push('{"jsonrpc":"2.0","id":5.0,"result":{}}')
        await asyncio.sleep(1)
        assert "was refused" in user.answer(5)["error"]["message"]


@in_virtual_time
@pytest.mark.parametrize("wrong_id", ["9" * 5000, '"' + "x" * 100_000 + '"'])
async def test_an_id_of_any_length_ends_nothing_and_fills_no_log(wrong_id: str) -> None:
    async with User(World()) as user:
        user.world.connection.push(f'{{"jsonrpc":"2.0","id":{wrong_id},"result":{{}}}}')
        await asyncio.sleep(1)
        assert len(user.errors) == 1 and len(str(user.errors[0])) < 200
        await user.send(request_id=1)
        await asyncio.sleep(1)
        assert "result" in user.answer(1)


@in_virtual_time
async def test_a_request_id_in_use_is_refused_and_free_again_after_the_answer() -> None:
    async with User(World()) as user:
        await user.send(request_id=1)
        with pytest.raises(InvalidMessage, match="in use"):
            await user.send(request_id=1)
        await user.send(request_id="1")  # another id: JSON-RPC tells strings and numbers apart
        await asyncio.sleep(1)
        await user.send(request_id=1)
        await asyncio.sleep(1)
        assert len(user.messages) == 3


@in_virtual_time
async def test_an_answer_to_no_request_is_reported_and_not_delivered() -> None:
    async with User(World()) as user:
        await user.send(request_id=1)
        await asyncio.sleep(1)
        user.world.connection.say({"jsonrpc": "2.0", "id": 1, "result": "again"})
        await asyncio.sleep(1)
        assert len(user.messages) == 1
        assert user.error(UnknownAnswer)


@in_virtual_time
async def test_messages_above_the_limit_are_refused_both_ways_and_only_their_request_fails() -> None:
    async with User(World(), max_message_bytes=200) as user:
        with pytest.raises(InvalidMessage, match="the limit is 200"):
            await user.send(text="x" * 200)
        user.world.answer = lambda connection, request: "y" * 300
        await user.send(request_id=1)
        await asyncio.sleep(1)
        assert "limit is 200" in user.answer(1)["error"]["message"]
        assert user.transport.is_connected


@in_virtual_time
async def test_binary_frames_with_json_are_understood() -> None:
    async with User(World()) as user:
        user.world.connection.push(b'{"jsonrpc":"2.0","method":"binary"}')
        await asyncio.sleep(1)
        assert user.messages == [{"jsonrpc": "2.0", "method": "binary"}]


@in_virtual_time
async def test_a_callback_that_raises_harms_nobody_else() -> None:
    user = User(World())
    seen = []

    def on_message(message: dict[str, Any]) -> None:
        seen.append(message)
        raise ValueError("the user's own mistake")

    user.transport.on_message = on_message
    async with user:
        await user.send(request_id=1)
        await user.send(request_id=2)
        await asyncio.sleep(1)
        assert len(seen) == 2 and [str(e) for e in user.errors] == ["the user's own mistake"] * 2


@in_virtual_time
async def test_an_awaitable_callback_holds_back_the_next_message() -> None:
    user = User(World())
    running = peak = 0

    async def handle_slowly(message: dict[str, Any]) -> None:
        nonlocal running, peak
        running += 1
        peak = max(peak, running)
        await asyncio.sleep(1)
        running -= 1

    user.transport.on_message = handle_slowly
    async with user:
        for n in range(5):
            await user.send(request_id=n)
        await asyncio.sleep(10)
        assert peak == 1


# Losing the connection.


@in_virtual_time
async def test_requests_in_flight_fail_at_once_and_are_never_sent_again() -> None:
    world = World()
    async with User(world, reconnect_delay=50) as user:
        world.answer = lambda connection, request: None
        await user.send("tools/call", 1)
        await asyncio.sleep(1)
        lost_at = asyncio.get_running_loop().time()
        world.refusals = 1
        world.connection.break_off()
        await asyncio.sleep(0.001)
        error = user.answer(1)["error"]
        assert asyncio.get_running_loop().time() - lost_at < 0.01
        assert (
            error["data"] == {"reason": "connection-lost", "sent": True} and "tools/call" in error["message"]
        )
        await asyncio.sleep(200)
        assert user.transport.is_connected and len(world.list_received(method="tools/call")) == 1


@in_virtual_time
async def test_attempts_come_at_once_and_then_after_the_seed_s_delays() -> None:
    world = World(delay=0)
    async with User(world, reconnect_attempts=4, reconnect_delay=1.0) as user:
        world.dial_times.clear()
        world.refusals = 4
        world.connection.break_off()
        lost_at = asyncio.get_running_loop().time()
        await asyncio.sleep(100)
        assert [round(t - lost_at, 6) for t in world.dial_times] == [0, 1, 3, 7]
        assert user.closed == 1


@in_virtual_time
async def test_on_close_comes_once_after_the_attempts_are_spent() -> None:
    world = World()
    user = User(world, reconnect_attempts=3)
    await user.transport.start()
    world.refusals = 99
    world.connection.break_off()
    await asyncio.sleep(100)
    assert user.closed == 1 and world.dials == 4
    assert user.states == ["connecting", "connected", "reconnecting", "disconnected"]
    assert sum(isinstance(e, ConnectFailed) for e in user.errors) == 3
    with pytest.raises(TransportClosed):
        await user.send()
    await user.transport.close()
    assert user.closed == 1


@in_virtual_time
async def test_without_attempts_a_lost_connection_is_the_end() -> None:
    user = User(World(), reconnect_attempts=0)
    await user.transport.start()
    user.world.connection.break_off()
    await asyncio.sleep(10)
    assert user.closed == 1 and user.world.dials == 1


@in_virtual_time
async def test_a_stable_connection_gives_all_attempts_back_and_an_unstable_one_does_not() -> None:
    world = World(delay=0)
    user = User(world, reconnect_attempts=2, reconnect_delay=0.1, stable_after=5)
    await user.transport.start()
    for _ in range(10):
        await asyncio.sleep(6)
        world.connection.break_off()
        await asyncio.sleep(1)
        assert user.transport.is_connected
    for _ in range(3):  # the connection of before the first of these had been stable
        world.connection.break_off()
        await asyncio.sleep(1)
    assert user.closed == 1, "a server that accepts and drops at once is not called for ever"


@in_virtual_time
async def test_jitter_comes_from_the_given_source() -> None:
    world = World(delay=0)
    transport = WebSocketTransport(
        "ws://m", dial=world.dial, jitter=1.0, random=lambda: 0.0, reconnect_attempts=3
    )
    await transport.start()
    world.refusals, lost_at = 2, asyncio.get_running_loop().time()
    world.dial_times.clear()
    world.connection.break_off()
    await asyncio.sleep(10)
    assert [round(t - lost_at, 6) for t in world.dial_times] == [0, 0.5, 1.5]
    await transport.close()


@in_virtual_time
async def test_messages_sent_meanwhile_wait_and_go_out_in_order_afterwards() -> None:
    world = World()
    async with User(world, reconnect_delay=1) as user:
        world.refusals = 1
        world.connection.break_off()
        await asyncio.sleep(0.1)
        for n in range(10):
            await user.send(request_id=n, n=n)
        assert user.transport.queue_size == 10 and user.transport.state == "reconnecting"
        await asyncio.sleep(10)
        assert user.transport.queue_size == 0
        assert [m["params"]["n"] for m in world.log] == list(range(10))
        assert all("result" in user.answer(n) for n in range(10))


@in_virtual_time
async def test_messages_before_start_wait_too() -> None:
    user = User(World())
    await user.send(n=1)
    assert user.transport.queue_size == 1
    async with user:
        await asyncio.sleep(1)
        assert [m["params"]["n"] for m in user.world.log] == [1]


@in_virtual_time
async def test_a_full_queue_refuses_with_an_error() -> None:
    user = User(World(), max_queue_messages=2)
    await user.send()
    await user.send()
    with pytest.raises(QueueFull, match="raise max_queue_messages"):
        await user.send()
    assert user.error(QueueFull) and user.transport.queue_size == 2
    await user.transport.close()


@in_virtual_time
async def test_close_clears_the_queue_and_reports_what_was_in_it() -> None:
    user = User(World())
    await user.send("note")
    await user.send("ask", 1)
    await user.transport.close()
    assert user.transport.queue_size == 0
    assert [m["method"] for m in user.error(MessagesDiscarded).messages] == ["note"]
    assert user.answer(1)["error"]["data"] == {"reason": "not-sent", "sent": False}


@in_virtual_time
async def test_a_notification_that_may_not_have_arrived_is_reported_with_its_content() -> None:
    world = World(delay=1)
    async with User(world) as user:
        await user.send("note", n=7)
        world.connection.break_off()
        await asyncio.sleep(20)
        assert user.error(MessagesUnconfirmed).messages[0]["params"] == {"n": 7}
        assert isinstance(user.error(ConnectionLost), ConnectionLost)
        assert world.log == []


@in_virtual_time
async def test_a_notification_proved_by_a_later_answer_is_not_reported() -> None:
    world = World()
    async with User(world) as user:
        await user.send("note")
        await user.send("ask", 1)
        await asyncio.sleep(1)
        world.connection.break_off()
        await asyncio.sleep(20)
        assert not [e for e in user.errors if isinstance(e, MessagesUnconfirmed)]


@in_virtual_time
async def test_an_answered_close_frame_proves_everything() -> None:
    user = User(World())
    await user.transport.start()
    await user.send("note")
    await user.transport.close()
    assert user.errors == [] and len(user.world.log) == 1


@in_virtual_time
async def test_many_notifications_are_confirmed_by_pings_without_a_heartbeat() -> None:
    world = World()
    async with User(world, heartbeat=None) as user:
        for n in range(CONFIRM_EVERY + 10):
            await user.send(n=n)
        await asyncio.sleep(5)
        world.connection.break_off()
        await asyncio.sleep(0.1)
        assert len(user.error(MessagesUnconfirmed).messages) == 10


@in_virtual_time
async def test_requests_beyond_the_limit_in_flight_wait_for_answers() -> None:
    world = World(delay=1)
    async with User(world, max_in_flight=2, heartbeat=None) as user:
        for n in range(6):
            await user.send(request_id=n)
        assert user.transport.metrics().in_flight == 2 and user.transport.queue_size == 4
        await asyncio.sleep(60)
        assert all("result" in user.answer(n) for n in range(6))


@in_virtual_time
async def test_a_cancelled_request_without_an_answer_keeps_no_place() -> None:
    world = World()
    world.answer = lambda connection, request: None
    async with User(world, max_in_flight=2, heartbeat=None) as user:
        for n in range(3):
            await user.send(request_id=n)
        assert user.transport.queue_size == 1
        params = {"requestId": 0, "reason": "no longer needed"}
        await user.transport.send({"jsonrpc": "2.0", "method": "notifications/cancelled", "params": params})
        await asyncio.sleep(1)
        assert user.transport.queue_size == 0
        # Should the server answer all the same, that is an answer like any other.
        world.connection.say({"jsonrpc": "2.0", "id": 0, "result": {}})
        await asyncio.sleep(1)
        assert "result" in user.answer(0) and user.transport.metrics().in_flight == 2


@in_virtual_time
async def test_an_answer_to_a_request_of_a_lost_connection_is_not_sent_over_another() -> None:
    world = World()
    async with User(world) as user:
        world.connection.say({"jsonrpc": "2.0", "id": 1, "method": "roots/list"})
        await asyncio.sleep(1)
        world.connection.break_off()
        await asyncio.sleep(1)
        with pytest.raises(ConnectionLost, match="nobody needs the answer"):
            await user.transport.send({"jsonrpc": "2.0", "id": 1, "result": {}})
        with pytest.raises(ConnectionLost, match="nobody needs the answer"):
            await user.transport.send({"jsonrpc": "2.0", "id": 1, "result": {}})  # nor at the second try
        world.connection.say({"jsonrpc": "2.0", "id": 1, "method": "roots/list"})
        await asyncio.sleep(1)
        await user.transport.send({"jsonrpc": "2.0", "id": 1, "result": {}})  # asked again
        await asyncio.sleep(1)
        assert world.wrong == [] and len(world.log) == 1


# Sessions with a handshake.


@in_virtual_time
async def test_the_handshake_is_repeated_before_the_queue_is_flushed() -> None:
    world = World(handshake=True)
    async with User(world, reconnect_delay=1) as user:
        await user.initialize()
        world.log.clear()
        world.refusals = 1
        world.connection.break_off()
        await asyncio.sleep(0.1)
        await user.send("queued", 1)
        await asyncio.sleep(10)
        assert [m["method"] for m in world.log] == ["initialize", "notifications/initialized", "queued"]
        assert world.log[0]["params"]["protocolVersion"] == "2025-11-25"
        assert len([m for m in user.messages if "protocolVersion" in (m.get("result") or {})]) == 1
        assert world.wrong == []


@in_virtual_time
async def test_a_confirmation_that_waited_in_the_queue_is_not_sent_twice() -> None:
    world = World(handshake=True)
    async with User(world, reconnect_delay=1) as user:
        await user.send("initialize", "init", protocolVersion="2025-11-25")
        await asyncio.sleep(1)
        world.log.clear()
        world.refusals = 1
        world.connection.break_off()
        await asyncio.sleep(0.1)
        await user.send("notifications/initialized")
        await asyncio.sleep(10)
        assert [m["method"] for m in world.log] == ["initialize", "notifications/initialized"]


@in_virtual_time
async def test_a_handshake_that_was_queued_while_a_connection_was_lost_is_followed() -> None:
    world = World(handshake=True)
    user = User(world, reconnect_delay=1)
    lost: list[str] = []

    def on_state(state: str) -> None:
        if state == "connected" and not lost:
            lost.append(state)
            world.connection.break_off()

    user.transport.on_state = on_state
    await user.send("initialize", "init", protocolVersion="2025-11-25")
    async with user:
        await asyncio.sleep(5)
        assert "result" in user.answer("init") and world.dials == 2
        world.log.clear()
        world.connection.break_off()
        await asyncio.sleep(10)
        assert [m["method"] for m in world.log] == ["initialize"]


@in_virtual_time
async def test_subscriptions_and_the_log_level_are_asked_for_again_after_the_handshake() -> None:
    world = World(handshake=True)
    async with User(world, reconnect_delay=1) as user:
        await user.initialize()
        await user.send("resources/subscribe", 1, uri="a:kept")
        await user.send("resources/subscribe", 2, uri="a:gone")
        await user.send("logging/setLevel", 3, level="debug")
        await asyncio.sleep(1)
        await user.send("resources/unsubscribe", 4, uri="a:gone")
        await asyncio.sleep(1)
        for _ in range(2):
            world.log.clear()
            answers = len(user.messages)
            errors = len(user.errors)
            world.refusals = 1
            world.connection.break_off()
            await asyncio.sleep(0.1)
            await user.send("queued", 100 + world.dials)
            await asyncio.sleep(10)
            assert [(m["method"], (m.get("params") or {}).get("uri")) for m in world.log] == [
                ("initialize", None),
                ("notifications/initialized", None),
                ("resources/subscribe", "a:kept"),
                ("logging/setLevel", None),
                ("queued", None),
            ]
            # Their answers are nobody's but ours.
            assert len(user.messages) == answers + 1
            assert [type(e) for e in user.errors[errors:]] == [ConnectionLost, ConnectFailed]
        assert world.wrong == []


@in_virtual_time
async def test_a_subscription_that_the_server_now_refuses_is_reported_and_not_requested_again() -> None:
    world = World(handshake=True)
    async with User(world, reconnect_delay=1) as user:
        await user.initialize()
        await user.send("resources/subscribe", 1, uri="a:1")
        await asyncio.sleep(1)

        class Forgetful(MemoryConnection):
            def _serve(self, message: dict[str, Any]) -> None:
                if message.get("method") == "resources/subscribe":
                    world.log.append(message)
                    error = {"code": -32002, "message": "no such resource"}
                    self.say({"jsonrpc": "2.0", "id": message["id"], "error": error})
                else:
                    super()._serve(message)

        world.kind = Forgetful
        for refused in (1, 0):
            world.log.clear()
            user.errors.clear()
            world.connection.break_off()
            await asyncio.sleep(10)
            listed = [e for e in user.errors if isinstance(e, NotRenewed)]
            assert len(listed) == len(world.list_received(method="resources/subscribe")) == refused
            if listed:
                assert "a:1" in str(listed[0]) and "no such resource" in str(listed[0])
                assert listed[0].request["id"] == 1
        assert user.transport.is_connected


@in_virtual_time
async def test_a_modern_session_repeats_nothing() -> None:
    world = World()
    async with User(world) as user:
        meta = {"_meta": {"io.modelcontextprotocol/protocolVersion": "2026-07-28"}}
        await user.send("server/discover", 1, **meta)
        await asyncio.sleep(1)
        world.log.clear()
        world.connection.break_off()
        await asyncio.sleep(1)
        await user.send("tools/list", 2, **meta)
        await asyncio.sleep(1)
        assert [m["method"] for m in world.log] == ["tools/list"]


@in_virtual_time
async def test_a_server_that_refuses_the_repeated_handshake_counts_as_a_failed_attempt() -> None:
    world = World(handshake=True)
    user = User(world, reconnect_attempts=2, reconnect_delay=1)
    await user.transport.start()
    await user.initialize()

    class Refusing(MemoryConnection):
        def _serve(self, message: dict[str, Any]) -> None:
            self.say(
                {"jsonrpc": "2.0", "id": message["id"], "error": {"code": -32602, "message": "never again"}}
            )

    world.kind = Refusing
    world.connection.break_off()
    await asyncio.sleep(30)
    assert user.closed == 1 and world.open_connections == 0
    assert sum("never again" in str(e) for e in user.errors) == 2


@in_virtual_time
async def test_a_handshake_that_is_not_repeated_in_time_counts_as_a_failed_attempt() -> None:
    world = World(handshake=True)
    user = User(world, reconnect_attempts=1, connect_timeout=2)
    await user.transport.start()
    await user.initialize()

    class HalfOpen(MemoryConnection):
        def __init__(self, world: World) -> None:
            super().__init__(world)
            self.half_open = True

    world.kind = HalfOpen
    world.connection.break_off()
    await asyncio.sleep(30)
    assert user.closed == 1
    assert "again within 2 s" in str(user.error(TimedOut))


# Clocks.


@in_virtual_time
async def test_a_half_open_connection_is_found_by_the_heartbeat_and_replaced() -> None:
    world = World()
    async with User(world, heartbeat=10, heartbeat_timeout=5) as user:
        await user.send(request_id=1)
        await asyncio.sleep(1)
        world.connection.half_open = True
        await user.send(request_id=2)
        await asyncio.sleep(20)
        assert "heartbeat within 5 s" in str(user.error(ConnectionLost))
        assert user.answer(2)["error"]["data"]["reason"] == "connection-lost"
        assert user.transport.is_connected and world.dials == 2


@in_virtual_time
async def test_the_heartbeat_ends_with_its_connection() -> None:
    """One that went on would ping a dead connection for as long as the transport lives: one more for every
    loss."""
    world = World()
    async with User(world, heartbeat=10, heartbeat_timeout=5, stable_after=0) as user:
        await asyncio.sleep(1)
        running = len(asyncio.all_tasks())
        for losses in range(1, 4):
            world.connection.break_off()
            await asyncio.sleep(1)
            assert user.transport.is_connected and world.dials == losses + 1
            assert len(asyncio.all_tasks()) == running


@in_virtual_time
async def test_a_server_that_answers_pings_is_left_alone() -> None:
    async with User(World(), heartbeat=1, heartbeat_timeout=1) as user:
        await asyncio.sleep(100)
        assert user.errors == [] and user.world.dials == 1


@in_virtual_time
async def test_a_slow_callback_is_not_taken_for_the_server_s_silence() -> None:
    """While the user holds back the next message, pongs are not read either: nobody has listened."""
    world = World()
    async with User(world, heartbeat=1, heartbeat_timeout=1) as user:

        async def handle_slowly(message: dict[str, Any]) -> None:
            await asyncio.sleep(60)
            user.messages.append(message)

        user.transport.on_message = handle_slowly
        await user.send(request_id=1)
        await asyncio.sleep(61)
        assert "result" in user.answer(1)
        assert user.errors == [] and world.dials == 1
        world.connection.half_open = True
        await asyncio.sleep(10)
        assert "heartbeat" in str(user.error(ConnectionLost)), "and listening again, silence counts again"


@in_virtual_time
async def test_without_a_heartbeat_silence_is_no_reason() -> None:
    async with User(World(), heartbeat=None) as user:
        user.world.connection.half_open = True
        await asyncio.sleep(1000)
        assert user.errors == [] and user.transport.is_connected
        user.world.connection.break_off()
        await asyncio.sleep(1)


@in_virtual_time
async def test_a_request_without_an_answer_times_out_and_is_cancelled_at_the_server() -> None:
    world = World()
    async with User(world, request_timeout=5) as user:
        world.answer = lambda connection, request: None
        await user.send("slow", 1)
        await asyncio.sleep(6)
        error = user.answer(1)["error"]
        assert error["code"] == -32001 and error["data"] == {"reason": "timeout", "sent": True}
        assert world.list_received(method="notifications/cancelled")[0]["params"]["requestId"] == 1
        world.connection.say({"jsonrpc": "2.0", "id": 1, "result": "late"})
        await asyncio.sleep(1)
        assert len(user.messages) == 1 and user.errors == [], "a late answer is neither news nor an error"


@in_virtual_time
async def test_a_queued_request_times_out_too_and_is_then_not_sent() -> None:
    world = World()
    async with User(world, request_timeout=5, reconnect_delay=20) as user:
        world.refusals = 1
        world.connection.break_off()
        await asyncio.sleep(0.1)
        await user.send("late", 1)
        await asyncio.sleep(60)
        assert user.answer(1)["error"]["data"] == {"reason": "timeout", "sent": False}
        assert world.list_received(method="late") == []


@in_virtual_time
async def test_an_initialize_that_times_out_is_not_cancelled() -> None:
    world = World()
    async with User(world, request_timeout=1) as user:
        world.connection.half_open = True
        await user.send("initialize", 0, protocolVersion="2025-11-25")
        await asyncio.sleep(3)
        assert user.answer(0)["error"]["code"] == -32001
        assert user.transport.metrics().messages_sent == 1


@in_virtual_time
async def test_is_alive_asks_the_server() -> None:
    user = User(World())
    assert not await user.transport.is_alive()
    async with user:
        assert await user.transport.is_alive()
        user.world.connection.half_open = True
        assert not await user.transport.is_alive(2)


@in_virtual_time
async def test_flush_waits_until_the_queue_is_empty_or_the_transport_has_ended() -> None:
    world = World(delay=1)
    async with User(world, max_in_flight=1, heartbeat=None) as user:
        for n in range(4):
            await user.send(request_id=n)
        before = asyncio.get_running_loop().time()
        await user.transport.flush()
        assert user.transport.queue_size == 0 and asyncio.get_running_loop().time() > before
        await user.transport.flush()
        world.connection.break_off()
        await asyncio.sleep(0)
        await user.send("late")
        waiting = asyncio.create_task(user.transport.flush())
        await asyncio.sleep(0)
        await user.transport.close()
        await waiting


# Metrics.


@in_virtual_time
async def test_metrics_count_messages_bytes_errors_reconnects_and_latency() -> None:
    world = World(delay=0.1)
    async with User(world) as user:
        await user.send(request_id=1)
        await asyncio.sleep(1)
        world.connection.break_off()
        await asyncio.sleep(1)
        taken = user.transport.metrics()
        assert (taken.messages_sent, taken.messages_received, taken.connects, taken.reconnects) == (
            1,
            1,
            2,
            1,
        )
        assert taken.bytes_sent == len(json.dumps(world.log[0], separators=(",", ":")))
        assert taken.errors == {"connection-lost": 1} and taken.state == "connected"
        assert taken.latency.count == 1 and 0.1 <= taken.latency.mean <= 0.3
        assert "vaultbridge_client_reconnects_total 1" in user.transport.prometheus()


# The queue file.


@in_virtual_time
async def test_a_queue_survives_the_process_and_goes_out_after_the_new_handshake(tmp_path: Path) -> None:
    file = tmp_path / "queue.sqlite"
    first = User(World(), queue_file=file)
    await first.send("note", n=1)
    await first.send("ask", 1, n=2)
    await first.transport.close(keep_queue=True)
    assert "stays in the queue file" in first.answer(1)["error"]["message"]

    world = World(handshake=True)
    async with User(world, queue_file=file) as user:
        assert user.transport.queue_size == 2
        await asyncio.sleep(1)
        assert world.log == [], "nothing goes out before the session is known"
        await user.initialize()
        methods = [m["method"] for m in world.log]
        assert methods == ["initialize", "notifications/initialized", "note", "ask"]
        (new_id,) = user.transport.restored
        assert user.transport.restored[new_id]["id"] == 1
        assert user.answer(new_id)["result"]["echo"] == {"n": 2}
        assert world.wrong == []


@in_virtual_time
async def test_messages_for_other_addresses_are_counted_and_said(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    """A queue that seems empty may be another server's: a changed address must not hide it."""
    file = tmp_path / "queue.sqlite"
    first = User(World(), queue_file=file)
    await first.send("note", n=1)
    await first.send("ask", 1, n=2)
    assert first.transport.queued_for_others == 0
    await first.transport.close(keep_queue=True)
    other = WebSocketTransport("ws://other.example", queue_file=file)
    assert (other.queue_size, other.queued_for_others) == (0, 2)
    assert "The queue file has 2 message(s) for other addresses" in caplog.text
    assert "other.example" not in caplog.text
    await other.close()
    again = User(World(), queue_file=file)
    assert (again.transport.queue_size, again.transport.queued_for_others) == (2, 0)
    await again.transport.close()


@in_virtual_time
async def test_the_handshake_of_an_earlier_process_is_reported_and_never_sent(tmp_path: Path) -> None:
    """It would begin a second session in the middle of the new one."""
    file = tmp_path / "queue.sqlite"
    first = User(World(), queue_file=file)
    await first.send("initialize", 1, protocolVersion="2025-11-25")
    await first.send("notifications/initialized")
    await first.send("note")
    await first.transport.close(keep_queue=True)
    world = World(handshake=True)
    async with User(world, queue_file=file) as user:
        listed = user.error(MessagesUnconfirmed).messages
        assert [m["method"] for m in listed] == ["initialize", "notifications/initialized"]
        await user.initialize()
        assert [m["method"] for m in world.log] == ["initialize", "notifications/initialized", "note"]


@in_virtual_time
async def test_without_a_handshake_the_restored_messages_go_before_the_first_new_one(tmp_path: Path) -> None:
    file = tmp_path / "queue.sqlite"
    first = User(World(), queue_file=file)
    await first.send("old")
    await first.transport.close(keep_queue=True)
    async with User(World(), queue_file=file) as user:
        await user.send("new")
        await asyncio.sleep(1)
        assert [m["method"] for m in user.world.log] == ["old", "new"]


@in_virtual_time
async def test_close_clears_the_queue_file_unless_asked_to_keep_it(tmp_path: Path) -> None:
    file = tmp_path / "queue.sqlite"
    first = User(World(), queue_file=file)
    await first.send("old")
    await first.transport.close()
    second = User(World(), queue_file=file)
    assert second.transport.queue_size == 0
    await second.transport.close()


@in_virtual_time
async def test_what_was_sent_but_not_confirmed_is_reported_by_the_next_process_and_never_sent_again(
    tmp_path: Path,
) -> None:
    file = tmp_path / "queue.sqlite"
    world = World(delay=5)
    first = User(world, queue_file=file)
    await first.transport.start()
    await first.send("handed", n=1)
    file = Path(copy_database(str(file)))  # the process dies here
    await first.transport.close()

    later = World()
    async with User(later, queue_file=file) as user:
        assert user.error(MessagesUnconfirmed).messages[0]["method"] == "handed"
        user.transport.flush_restored()
        await asyncio.sleep(5)
        assert later.log == []
    async with User(later, queue_file=file) as user:
        assert user.errors == [], "reported once"


@in_virtual_time
async def test_when_the_attempts_are_spent_notifications_stay_in_the_file_and_requests_do_not(
    tmp_path: Path,
) -> None:
    """A caller who was listed that a request failed must not find it carried out later."""
    file = tmp_path / "queue.sqlite"
    world = World()
    user = User(world, queue_file=file, reconnect_delay=1)
    await user.transport.start()
    world.refusals = 99
    world.connection.break_off()
    await asyncio.sleep(0.1)
    await user.send("note")
    await user.send("ask", 1)
    await asyncio.sleep(60)
    assert user.closed == 1 and "error" in user.answer(1)
    async with User(World(), queue_file=file) as later:
        later.transport.flush_restored()
        await asyncio.sleep(1)
        assert [m["method"] for m in later.world.log] == ["note"]


@in_virtual_time
async def test_a_queue_file_is_used_by_one_transport_at_a_time(tmp_path: Path) -> None:
    file = tmp_path / "queue.sqlite"
    first = User(World(), queue_file=file)
    with pytest.raises(EngineFailure, match="in use by another transport"):
        User(World(), queue_file=file)
    await first.transport.close()
    second = User(World(), queue_file=file)
    await second.transport.close()
