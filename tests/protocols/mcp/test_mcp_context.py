"""Asking the client while a tool runs: by request in the versions with a session, in rounds in 2026-07-28."""

from __future__ import annotations

from typing import Any

import pytest

from support.wire import MODERN, Wire, make_fixture_server, make_meta, open_fixture_wire
from vaultbridge.protocols.mcp.dialect import mcp_dialect

ASKABLE = {"elicitation": {}, "sampling": {}, "roots": {}}


async def call(wire: Wire, tool: str, arguments: dict[str, Any] | None = None) -> int:
    return await wire.start("tools/call", {"name": tool, "arguments": arguments or {}})


async def answer(wire: Wire, request: dict[str, Any], result: dict[str, Any]) -> None:
    await wire.post({"jsonrpc": "2.0", "id": request["id"], "result": result})


async def wait_for_text(wire: Wire, id_: int) -> str:
    message = await wire.until(lambda message: message.get("id") == id_ and "method" not in message)
    text: str = message["result"]["content"][0]["text"]
    return text


@pytest.mark.parametrize("version", ["2025-06-18", "2025-11-25"])
async def test_a_person_is_asked_by_a_request(version: str) -> None:
    wire = await open_fixture_wire(version, ASKABLE)
    id_ = await call(wire, "test_elicitation", {"message": "Well?"})
    request = await wire.request("elicitation/create")
    assert request["params"]["message"] == "Well?"
    await answer(wire, request, {"action": "accept", "content": {"response": "yes"}})
    assert await wait_for_text(wire, id_) == "User response: action=accept, content={'response': 'yes'}"


@pytest.mark.parametrize("version", ["2024-11-05", "2025-03-26", "2025-06-18", "2025-11-25"])
async def test_sampling_and_roots_work_in_every_session(version: str) -> None:
    wire = await open_fixture_wire(version, ASKABLE)
    id_ = await call(wire, "test_sampling", {"prompt": "Hi"})
    request = await wire.request("sampling/createMessage")
    content = {"type": "text", "text": "Hello"}
    await answer(wire, request, {"role": "assistant", "model": "m", "content": content})
    assert await wait_for_text(wire, id_) == "LLM response: Hello"
    id_ = await call(wire, "test_input_required_result_list_roots")
    await answer(wire, await wire.request("roots/list"), {"roots": [{"uri": "file:///a"}]})
    assert await wait_for_text(wire, id_) == "Found 1 root(s)"


async def test_a_client_without_the_capability_is_not_asked() -> None:
    wire = await open_fixture_wire("2025-11-25", {"elicitation": {"url": {}}})
    result = await wire.result("tools/call", {"name": "test_elicitation", "arguments": {"message": "?"}})
    assert result["isError"] is True
    assert "no elicitation capability" in result["content"][0]["text"]
    old = await open_fixture_wire("2025-03-26", ASKABLE)
    assert (await old.result("tools/call", {"name": "test_elicitation"}))["isError"] is True


async def test_a_client_that_refuses_makes_the_tool_fail_with_its_words() -> None:
    wire = await open_fixture_wire("2024-11-05", ASKABLE)
    id_ = await call(wire, "test_sampling", {"prompt": "Hi"})
    request = await wire.request("sampling/createMessage")
    await wire.post(
        {"jsonrpc": "2.0", "id": request["id"], "error": {"code": -1, "message": "User rejected"}}
    )
    message = await wire.until(lambda message: message.get("id") == id_ and "error" in message)
    assert "User rejected" in message["error"]["message"]


async def test_waiting_for_a_person_has_no_time_limit() -> None:
    wire = await open_fixture_wire("2025-11-25", ASKABLE, call_seconds=0.02)
    id_ = await call(wire, "test_elicitation", {"message": "Well?"})
    request = await wire.request("elicitation/create")
    # The limit has passed when a call that started later has run into it.
    late = await wire.result("tools/call", {"name": "test_wait"})
    assert late["isError"] is True
    await answer(wire, request, {"action": "accept", "content": {"response": "late"}})
    assert "late" in await wait_for_text(wire, id_)


async def test_a_cancelled_tool_withdraws_its_question() -> None:
    wire = await open_fixture_wire("2025-11-25", ASKABLE)
    id_ = await call(wire, "test_elicitation", {"message": "Well?"})
    request = await wire.request("elicitation/create")
    await wire.notify("notifications/cancelled", requestId=id_)
    assert (await wire.notification("notifications/cancelled"))["requestId"] == request["id"]


# Rounds.


async def call_in_rounds(
    tool: str, *answers: dict[str, Any], capabilities: dict[str, Any] | None = None
) -> list[dict[str, Any]]:
    """Call a tool and answer each "input required" with the next of `answers`; gives all results."""
    wire = await open_fixture_wire(MODERN)
    meta = make_meta(ASKABLE if capabilities is None else capabilities)
    params: dict[str, Any] = {"name": tool, "arguments": {}, "_meta": meta}
    results = [await wire.result("tools/call", params)]
    for given in answers:
        more = {"inputResponses": given}
        if "requestState" in results[-1]:
            more["requestState"] = results[-1]["requestState"]
        results.append(await wire.result("tools/call", params | more))
    return results


def make_form(**content: Any) -> dict[str, Any]:
    return {"action": "accept", "content": content}


async def test_a_question_is_a_result_and_its_answer_comes_with_the_next_call() -> None:
    first, second = await call_in_rounds(
        "test_input_required_result_elicitation", {"user_name": make_form(name="Ada")}
    )
    assert first["resultType"] == "input_required"
    assert first["inputRequests"]["user_name"]["method"] == "elicitation/create"
    assert "requestState" not in first
    assert "ttlMs" not in first
    assert second["resultType"] == "complete"
    assert second["content"][0]["text"] == "Hello, Ada!"


async def test_several_questions_are_asked_at_once_and_only_missing_ones_again() -> None:
    given = {"user_name": make_form(name="Ada"), "greeting": {"content": {"type": "text", "text": "Hi"}}}
    first, second, third = await call_in_rounds(
        "test_input_required_result_multiple_inputs", given, {"client_roots": {"roots": []}}
    )
    assert set(first["inputRequests"]) == {"user_name", "greeting", "client_roots"}
    assert set(second["inputRequests"]) == {"client_roots"}
    assert third["content"][0]["text"] == "Name: Ada; Greeting: Hi; Roots: 0"


async def test_answers_of_earlier_rounds_are_remembered() -> None:
    first, second, third = await call_in_rounds(
        "test_input_required_result_multi_round",
        {"step1": make_form(name="Ada")},
        {"step2": make_form(color="red")},
    )
    assert set(first["inputRequests"]) == {"step1"}
    assert set(second["inputRequests"]) == {"step2"}
    assert first["requestState"] != second["requestState"]
    assert third["content"][0]["text"] == "Multi-round complete for Ada who likes red"


async def test_state_is_handed_back() -> None:
    _, second = await call_in_rounds(
        "test_input_required_result_request_state", {"confirm": make_form(ok=True)}
    )
    assert second["content"][0]["text"].startswith("state-ok")


async def test_a_client_is_asked_only_what_it_supports() -> None:
    (none,) = await call_in_rounds("test_input_required_result_capabilities", capabilities={})
    assert none["content"][0]["text"] == "No supported capabilities declared"
    (some,) = await call_in_rounds("test_input_required_result_capabilities", capabilities={"sampling": {}})
    assert set(some["inputRequests"]) == {"sample_input"}


async def test_a_missing_capability_is_an_error_that_names_it() -> None:
    wire = await open_fixture_wire(MODERN)
    error = await wire.error("tools/call", {"name": "test_missing_capability"})
    assert error["code"] == -32021
    assert error["data"] == {"requiredCapabilities": {"sampling": {}}}


async def test_a_prompt_can_ask_too() -> None:
    wire = await open_fixture_wire(MODERN)
    params: dict[str, Any] = {"name": "test_input_required_result_prompt", "_meta": make_meta(ASKABLE)}
    assert (await wire.result("prompts/get", params))["resultType"] == "input_required"
    params["inputResponses"] = {"user_context": make_form(context="c")}
    (message,) = (await wire.result("prompts/get", params))["messages"]
    assert message["content"]["text"] == "Prompt with context: c"


@pytest.mark.parametrize("given", [5, "x", [], {"user_name": 5}])
async def test_answers_of_the_wrong_shape_are_refused(given: Any) -> None:
    wire = await open_fixture_wire(MODERN)
    params = {"name": "test_input_required_result_elicitation", "_meta": make_meta(ASKABLE)}
    error = await wire.error("tools/call", params | {"inputResponses": given})
    assert error["code"] == -32602
    assert "inputResponses" in error["message"]


async def test_altered_state_and_state_of_another_call_are_refused() -> None:
    wire = await open_fixture_wire(MODERN)
    params: dict[str, Any] = {
        "name": "test_input_required_result_tampered_state",
        "_meta": make_meta(ASKABLE),
    }
    state = (await wire.result("tools/call", params))["requestState"]
    more = {"inputResponses": {"confirm": make_form(ok=True)}}
    assert await wire.result("tools/call", params | more | {"requestState": state})
    altered = state[:-6] + ("AAAA==" if state[-6:] != "AAAA==" else "BBBB==")
    for wrong in (altered, "", "x", 5, "é", state + "A"):
        error = await wire.error("tools/call", params | more | {"requestState": wrong})
        assert error["code"] == -32602, wrong
    other = params | more | {"requestState": state, "arguments": {"x": 1}}
    assert (await wire.error("tools/call", other))["code"] == -32602


async def test_state_expires() -> None:
    now = 1000.0
    server, _ = make_fixture_server(clock=lambda: now)
    wire = Wire(mcp_dialect(server), version=MODERN)
    params: dict[str, Any] = {
        "name": "test_input_required_result_tampered_state",
        "_meta": make_meta(ASKABLE),
    }
    state = (await wire.result("tools/call", params))["requestState"]
    now += 3601
    error = await wire.error("tools/call", params | {"requestState": state})
    assert "expired" in error["message"]


async def test_the_stream_of_long_work_can_be_released() -> None:
    wire = await open_fixture_wire("2025-11-25")
    id_ = await call(wire, "test_reconnection")
    assert "completed" in await wait_for_text(wire, id_)
    assert wire.released == [id_]
