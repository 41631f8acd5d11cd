"""The driver: tasks, bounds, cancellation, the end."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.waiting import BOUND
from support.wire import Wire
from vaultbridge.jsonrpc.messages import PeerDisconnected
from vaultbridge.protocols import connection
from vaultbridge.protocols.dialect import Call, MethodTable
from vaultbridge.protocols.mcp import stdio
from vaultbridge.protocols.request_queue import MAX_RUNNING, MAX_WAITING


class Gate:
    """A handler that waits until it is opened, and counts."""

    def __init__(self) -> None:
        self.opened = asyncio.Event()
        self.running = 0
        self.most = 0
        self.cancelled = 0

    async def __call__(self, call: Call) -> str:
        self.running += 1
        self.most = max(self.most, self.running)
        try:
            await self.opened.wait()
        except asyncio.CancelledError:
            self.cancelled += 1
            raise
        finally:
            self.running -= 1
        return "through"


def make_gated() -> tuple[Gate, Wire]:
    gate = Gate()
    return gate, Wire(lambda _: MethodTable({"gate": gate, "ping": _ping}))


async def _ping(call: Call) -> dict[str, Any]:
    return {}


async def test_a_slow_request_does_not_hold_up_the_others() -> None:
    gate, wire = make_gated()
    slow = await wire.start("gate")
    assert (await wire.ask("ping"))["result"] == {}
    gate.opened.set()
    assert (await wire.until(lambda message: message["id"] == slow))["result"] == "through"


async def test_only_so_many_run_at_once_and_the_rest_wait_their_turn() -> None:
    gate, wire = make_gated()
    ids = [await wire.start("gate") for _ in range(MAX_RUNNING * 2)]
    await wire.settle()
    assert gate.running == MAX_RUNNING
    gate.opened.set()
    for id_ in ids:
        await wire.until(lambda message, id_=id_: message["id"] == id_)
    assert gate.most == MAX_RUNNING


async def test_reading_stops_when_too_many_wait_and_goes_on_when_there_is_room() -> None:
    gate, wire = make_gated()
    total = MAX_RUNNING + MAX_WAITING
    for _ in range(total - 1):
        await wire.start("gate")
    blocked = asyncio.ensure_future(wire.start("gate"))
    await wire.settle()
    assert not blocked.done()
    gate.opened.set()
    await asyncio.wait_for(blocked, BOUND)
    await wire.until(lambda message: message["id"] == total)


async def test_a_receive_that_waits_for_room_returns_at_the_end() -> None:
    _, wire = make_gated()
    for _ in range(MAX_RUNNING + MAX_WAITING - 1):
        await wire.start("gate")
    blocked = asyncio.ensure_future(wire.start("gate"))
    await wire.settle()
    await wire.connection.close()
    await asyncio.wait_for(blocked, BOUND)


async def test_a_waiting_request_can_be_cancelled_and_never_starts() -> None:
    gate, wire = make_gated()
    for _ in range(MAX_RUNNING):
        await wire.start("gate")
    waiting = await wire.start("gate")
    await wire.notify("notifications/cancelled", requestId=waiting)
    gate.opened.set()
    await wire.until(lambda message: message["id"] == MAX_RUNNING)
    await wire.settle()
    assert all(message["id"] != waiting for message in wire.messages)


async def test_a_cancelled_handler_is_stopped_and_not_answered() -> None:
    gate, wire = make_gated()
    id_ = await wire.start("gate")
    await wire.settle()
    await wire.notify("notifications/cancelled", requestId=id_)
    await wire.settle()
    assert gate.cancelled == 1
    assert wire.messages == []


async def test_the_id_of_a_cancelled_request_may_be_used_again_at_once() -> None:
    _, wire = make_gated()
    id_ = await wire.start("gate")
    await wire.settle()
    await wire.notify("notifications/cancelled", requestId=id_)
    await wire.post({"jsonrpc": "2.0", "id": id_, "method": "ping"})
    assert (await wire.until(lambda message: message["id"] == id_))["result"] == {}


async def test_a_waiting_request_that_was_cancelled_does_not_run_under_an_id_used_again() -> None:
    gate, wire = make_gated()
    for _ in range(MAX_RUNNING):
        await wire.start("gate")
    waiting = await wire.start("gate")
    await wire.notify("notifications/cancelled", requestId=waiting)
    await wire.post({"jsonrpc": "2.0", "id": waiting, "method": "ping"})
    gate.opened.set()
    assert (await wire.until(lambda message: message["id"] == waiting))["result"] == {}


async def test_requests_cancelled_before_they_begin_let_those_that_wait_begin() -> None:
    gate, wire = make_gated()
    ids = [await wire.start("gate") for _ in range(MAX_RUNNING)]
    # No turn of the event loop between: none of them has begun.
    waiting = [await wire.start("gate") for _ in range(3)]
    for id_ in ids:
        await wire.notify("notifications/cancelled", requestId=id_)
    gate.opened.set()
    await asyncio.wait_for(wire.connection.drain(), BOUND)
    assert [message["id"] for message in wire.messages] == waiting


async def test_a_handler_beyond_its_time_is_stopped_and_answered() -> None:
    gate = Gate()
    wire = Wire(lambda _: MethodTable({"gate": gate}), call_seconds=0.02)
    error = await wire.error("gate")
    assert (error["code"], error["data"]["errorCode"]) == (-32006, "TIMEOUT")
    assert gate.cancelled == 1


async def test_each_of_several_calls_has_a_time_limit_of_its_own() -> None:
    gate, lifted = Gate(), asyncio.Event()

    async def wait_for_a_person(call: Call) -> str:
        call.lift_time_limit()
        await lifted.wait()
        return "decided"

    async def answer(call: Call) -> str:
        await asyncio.sleep(0)
        return "at once"

    methods = {"gate": gate, "person": wait_for_a_person, "answer": answer}
    wire = Wire(lambda _: MethodTable(methods), call_seconds=0.02)
    person = await wire.start("person")
    stuck = []
    for _ in range(3):
        stuck.append(await wire.start("gate"))
        assert await wire.result("answer") == "at once"
        await asyncio.sleep(0.005)
    for id_ in stuck:
        failed = await wire.until(lambda message, id_=id_: message["id"] == id_)  # type: ignore[misc]
        assert failed["error"]["data"]["errorCode"] == "TIMEOUT"
    assert gate.cancelled == 3
    # The timer is set again for calls that come later.
    assert (await wire.error("gate"))["data"]["errorCode"] == "TIMEOUT"
    lifted.set()
    assert (await wire.until(lambda message: message["id"] == person))["result"] == "decided"


async def test_a_handler_that_finishes_in_spite_of_its_time_limit_is_answered() -> None:
    async def ignore_cancel(call: Call) -> str:
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
        return "done all the same"

    wire = Wire(lambda _: MethodTable({"m": ignore_cancel}), call_seconds=0.01)
    assert await wire.result("m") == "done all the same"


async def test_a_timeout_of_the_handlers_own_is_not_ours() -> None:
    async def cancel_itself(call: Call) -> None:
        raise TimeoutError("a socket of mine")

    wire = Wire(lambda _: MethodTable({"m": cancel_itself}))
    assert (await wire.error("m"))["code"] == -32603


async def test_draining_finishes_and_answers_what_is_in_flight() -> None:
    gate, wire = make_gated()
    ids = {await wire.start("gate") for _ in range(MAX_RUNNING + 3)}
    draining = asyncio.ensure_future(wire.connection.drain())
    await wire.settle()
    gate.opened.set()
    await asyncio.wait_for(draining, BOUND)
    assert {message["id"] for message in wire.messages} == ids


async def test_draining_has_a_bound() -> None:
    gate, wire = make_gated()
    await wire.start("gate")
    await asyncio.wait_for(wire.connection.drain(0.02), BOUND)
    assert gate.cancelled == 1
    assert wire.messages == []


async def test_draining_ends_questions_to_a_client_that_can_no_longer_answer() -> None:
    async def ask(call: Call) -> str:
        try:
            await call.ask("roots/list", {})
        except PeerDisconnected as gone:
            return str(gone)
        return "answered"

    wire = Wire(lambda _: MethodTable({"m": ask}))
    id_ = await wire.start("m")
    await wire.request("roots/list")
    await asyncio.wait_for(wire.connection.drain(), BOUND)
    (answer,) = [message for message in wire.messages if message.get("id") == id_]
    assert "closed before" in answer["result"]


async def test_closing_stops_everything_and_sends_nothing_more() -> None:
    gate, wire = make_gated()
    await wire.start("gate")
    beside = asyncio.Event()

    async def work() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            beside.set()

    wire.connection.spawn(work())
    await wire.settle()
    await wire.connection.close()
    await wire.connection.close()
    assert beside.is_set()
    assert gate.cancelled == 1
    wire.connection.notify("late", {})
    await wire.post({"jsonrpc": "2.0", "id": 99, "method": "ping"})
    await wire.settle()
    assert wire.messages == []
    with pytest.raises(PeerDisconnected):
        await wire.connection.request("roots/list", {})


async def test_a_result_that_is_not_json_is_an_internal_error() -> None:
    async def answer_badly(call: Call) -> object:
        return {"x": object()}

    wire = Wire(lambda _: MethodTable({"m": answer_badly}))
    assert (await wire.error("m"))["code"] == -32603
    assert (await wire.error("m"))["code"] == -32603


async def test_a_notification_that_fails_is_logged_and_harms_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    def fail(params: dict[str, Any]) -> None:
        raise KeyError("oops")

    wire = Wire(lambda _: MethodTable({"ping": _ping}, {"n": fail}))
    await wire.notify("n")
    assert "oops" in caplog.text
    assert (await wire.ask("ping"))["result"] == {}


async def test_a_background_task_that_fails_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    async def work() -> None:
        raise KeyError("oops")

    wire = Wire(lambda _: MethodTable({}))
    wire.connection.spawn(work())
    await wire.settle()
    assert "oops" in caplog.text


async def test_a_slow_client_holds_back_new_work() -> None:
    gate, wire = make_gated()
    gate.opened.set()
    wire.slow.clear()
    for _ in range(MAX_RUNNING + 5):
        await wire.start("gate")
    await wire.settle()
    assert len(wire.messages) == MAX_RUNNING, (
        "each answered request keeps its place until the client has read"
    )
    wire.slow.set()
    await wire.until(lambda message: message["id"] == MAX_RUNNING + 5)


async def test_ten_thousand_requests_leave_nothing_behind() -> None:
    _, wire = make_gated()
    before = len(asyncio.all_tasks())
    for n in range(10_000):
        await wire.post({"jsonrpc": "2.0", "id": n, "method": "ping" if n % 3 else "no/such"})
        if n % 7 == 0:
            await wire.notify("notifications/cancelled", requestId=n)
    await asyncio.wait_for(wire.connection.drain(), 60)
    assert wire.connection.session.in_flight == 0
    answered = [message["id"] for message in wire.messages]
    assert len(answered) == len(set(answered))
    assert set(range(10_000)) - set(answered) <= set(range(0, 10_000, 7))
    assert len(asyncio.all_tasks()) == before


async def test_a_handler_that_ignores_its_cancellation_does_not_hold_up_the_end(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(connection, "CLOSE_SECONDS", 0.01)
    let_go = asyncio.Event()

    async def ignore_cancel(call: Call) -> None:
        while not let_go.is_set():
            try:
                await let_go.wait()
            except asyncio.CancelledError:
                continue

    wire = Wire(lambda _: MethodTable({"m": ignore_cancel}))
    await wire.start("m")
    await wire.settle()
    await asyncio.wait_for(wire.connection.close(), BOUND)
    assert "ignore their cancellation" in caplog.text
    let_go.set()
    await wire.settle()


async def test_a_dialect_that_fails_to_find_a_handler_answers_with_an_internal_error(
    caplog: pytest.LogCaptureFixture,
) -> None:
    class Broken(MethodTable):
        def find_handler(self, request: Any) -> Any:
            raise KeyError("oops")

    wire = Wire(lambda _: Broken({}))
    assert (await wire.error("m"))["code"] == -32603
    assert "oops" in caplog.text


class Changes(MethodTable):
    """`change` requests wait until `let` releases them; `begun` and `ended` record their numbers."""

    def __init__(self) -> None:
        super().__init__({"change": self._change, "person": self._ask_person, "ping": _ping})
        self.begun: list[int] = []
        self.ended: list[int] = []
        self._gates: dict[int, asyncio.Event] = {}

    def is_change(self, request: Any) -> bool:
        return request.method in ("change", "person")

    def let(self, number: int) -> None:
        self._gates.setdefault(number, asyncio.Event()).set()

    async def _change(self, call: Call) -> int:
        number: int = call.params["number"]
        self.begun.append(number)
        await self._gates.setdefault(number, asyncio.Event()).wait()
        self.ended.append(number)
        return number

    async def _ask_person(self, call: Call) -> int:
        call.lift_time_limit()
        return await self._change(call)


def make_changing() -> tuple[Changes, Wire]:
    dialect = Changes()
    return dialect, Wire(lambda _: dialect)


@given(st.data())
async def test_changes_run_one_after_another_in_order_whatever_is_cancelled(data: st.DataObject) -> None:
    dialect, wire = make_changing()
    total = data.draw(st.integers(2, 12))
    ids = {number: await wire.start("change", {"number": number}) for number in range(total)}
    cancelled: set[int] = set()
    for number in data.draw(st.permutations(range(total))):
        if data.draw(st.booleans()) and number not in dialect.ended:
            cancelled.add(number)
            await wire.notify("notifications/cancelled", requestId=ids[number])
        else:
            dialect.let(number)
        await wire.settle()
        assert (await wire.ask("ping"))["result"] == {}, "a change holds up something else"
        assert len(dialect.begun) - len(dialect.ended) - len(cancelled.intersection(dialect.begun)) <= 1
    done = [number for number in range(total) if number not in cancelled]
    await wire.settle()
    assert [number for number in dialect.ended if number not in cancelled] == done
    assert dialect.begun == sorted(dialect.begun)
    await asyncio.wait_for(wire.connection.drain(), BOUND)


async def test_a_change_that_waits_for_a_person_lets_the_next_one_begin() -> None:
    dialect, wire = make_changing()
    waiting = await wire.start("person", {"number": 1})
    dialect.let(2)
    assert (await wire.ask("change", {"number": 2}))["result"] == 2
    dialect.let(1)
    assert (await wire.until(lambda message: message["id"] == waiting))["result"] == 1
    assert dialect.ended == [2, 1]


async def test_more_changes_than_may_run_leave_room_for_everything_else() -> None:
    dialect, wire = make_changing()
    for number in range(MAX_RUNNING * 2):
        await wire.start("change", {"number": number})
    assert (await wire.ask("ping"))["result"] == {}
    assert dialect.begun == [0]
    await wire.connection.close()


async def test_reading_stops_when_too_many_changes_wait() -> None:
    dialect, wire = make_changing()
    for number in range(MAX_WAITING):
        await wire.start("change", {"number": number})
    blocked = asyncio.ensure_future(wire.start("change", {"number": MAX_WAITING}))
    await wire.settle()
    assert not blocked.done()
    dialect.let(0)
    await asyncio.wait_for(blocked, BOUND)
    await wire.connection.close()


async def _wait_until_stuck(wire: Wire, requests: int) -> None:
    wire.slow.clear()
    for _ in range(requests):
        await wire.start("ping")
    await wire.settle()


@pytest.mark.parametrize("requests", [1, MAX_RUNNING + 10])
async def test_a_process_told_to_stop_does_not_wait_for_a_peer_that_does_not_read(
    monkeypatch: pytest.MonkeyPatch, requests: int
) -> None:
    monkeypatch.setattr(connection, "DRAIN_SECONDS", BOUND * 2)
    monkeypatch.setattr(connection, "UNREAD_SECONDS", 0.01)
    _, wire = make_gated()
    await _wait_until_stuck(wire, requests)
    wire.connection.end_soon()
    await asyncio.wait_for(wire.connection.drain(), BOUND)


async def test_being_told_to_stop_shortens_a_wait_that_has_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """A client closes our input first, and sends SIGTERM when that takes too long (MCP, stdio shutdown)."""
    monkeypatch.setattr(connection, "DRAIN_SECONDS", BOUND * 2)
    monkeypatch.setattr(connection, "UNREAD_SECONDS", 0.01)
    _, wire = make_gated()
    await _wait_until_stuck(wire, 3)
    draining = asyncio.ensure_future(wire.connection.drain())
    await wire.settle()
    assert not draining.done()
    wire.connection.end_soon()
    await asyncio.wait_for(draining, BOUND)


async def test_a_process_told_to_stop_still_finishes_and_answers_what_runs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(connection, "UNREAD_SECONDS", 0.0)
    gate, wire = make_gated()
    slow = await wire.start("gate")
    await wire.settle()
    wire.connection.end_soon()
    draining = asyncio.ensure_future(wire.connection.drain())
    await wire.settle()
    assert not draining.done()
    gate.opened.set()
    await asyncio.wait_for(draining, BOUND)
    assert (await wire.until(lambda message: message["id"] == slow))["result"] == "through"


async def test_a_process_told_to_stop_begins_nothing_that_waits() -> None:
    dialect, wire = make_changing()
    first = await wire.start("change", {"number": 1})
    await wire.start("change", {"number": 2})
    await wire.settle()
    wire.connection.end_soon()
    dialect.let(1)
    dialect.let(2)
    await asyncio.wait_for(wire.connection.drain(), BOUND)
    assert dialect.begun == [1]
    assert [message["id"] for message in wire.messages] == [first]


def test_a_client_that_never_reads_is_waited_for_less_than_docker_allows() -> None:
    """The waits of a process that was told to stop, one after another: for a message in the middle of being
    received, twice for the first answer that is read, and for the last answers."""
    assert stdio.RECEIVE_SECONDS + 2 * connection.UNREAD_SECONDS + connection.UNREAD_SECONDS < 8
