"""The simplest dialect: another protocol than MCP on the same core."""

from __future__ import annotations

from typing import Any

from support.wire import Wire
from vaultbridge.errors import NoteNotFound, TimedOut
from vaultbridge.protocols.dialect import Call, MethodTable


async def test_a_result_may_be_a_bare_string_a_number_or_null() -> None:
    async def read_file(call: Call) -> str:
        return f"text of {call.params['path']}"

    async def do_nothing(call: Call) -> None:
        return None

    wire = Wire(lambda _: MethodTable({"readFile": read_file, "nothing": do_nothing}))
    assert (await wire.ask("readFile", {"path": "a.md"}))["result"] == "text of a.md"
    assert (await wire.ask("nothing"))["result"] is None


async def test_an_unknown_method_is_refused_by_name_and_an_unknown_notification_ignored() -> None:
    wire = Wire(lambda _: MethodTable({}))
    assert await wire.error("no/such") == {"code": -32601, "message": "Method not found: no/such"}
    await wire.notify("no/such")
    assert wire.messages == []


async def test_notifications_reach_their_handlers_in_order() -> None:
    seen: list[Any] = []
    wire = Wire(lambda _: MethodTable({}, {"ide_connected": seen.append}))
    await wire.notify("ide_connected", pid=1)
    await wire.notify("ide_connected", pid=2)
    assert seen == [{"pid": 1}, {"pid": 2}]


async def test_errors_take_their_wire_form() -> None:
    async def read_file(call: Call) -> str:
        raise NoteNotFound("a.md")

    wire = Wire(lambda _: MethodTable({"readFile": read_file}))
    error = await wire.error("readFile")
    assert (error["code"], error["data"]["errorCode"]) == (-32003, "FILE_NOT_FOUND")


async def test_the_server_can_send_and_ask_by_itself() -> None:
    async def ask_roots(call: Call) -> Any:
        return await call.ask("roots/list", {})

    wire = Wire(lambda _: MethodTable({"m": ask_roots}))
    wire.connection.notify("selection_changed", {"text": ""})
    assert await wire.notification("selection_changed") == {"text": ""}
    id_ = await wire.start("m")
    request = await wire.request("roots/list")
    await wire.post({"jsonrpc": "2.0", "id": request["id"], "result": {"roots": []}})
    answer = await wire.until(lambda message: message.get("id") == id_ and "result" in message)
    assert answer["result"] == {"roots": []}


async def test_a_question_not_answered_in_time_is_withdrawn() -> None:
    async def ask(call: Call) -> Any:
        try:
            return await call.peer.request("roots/list", {}, seconds=0.01)
        except TimedOut as error:
            return str(error)

    wire = Wire(lambda _: MethodTable({"m": ask}))
    id_ = await wire.start("m")
    request = await wire.request("roots/list")
    assert (await wire.notification("notifications/cancelled"))["requestId"] == request["id"]
    answer = await wire.until(lambda message: message.get("id") == id_ and "result" in message)
    assert "did not answer roots/list" in answer["result"]
