"""What is recorded of clients and calls, and that all of it is bounded. Drawn from a seed, not picked."""

from __future__ import annotations

import asyncio
import random
from pathlib import Path
from typing import Any

import pytest

from vaultbridge.activity import clients as clients_module
from vaultbridge.activity.clients import (
    CALLS_KEPT,
    GONE_KEPT,
    GROUP_SECONDS,
    GROUPS,
    JSON_KEPT_CHARS,
    MESSAGES_KEPT,
    Activity,
    SeenClient,
)
from vaultbridge.activity.counters import BUCKETS_MS, COUNTED, OTHERS, ROWS, Counters
from vaultbridge.activity.records import (
    CURRENT,
    NAMES_CHARS,
    PATHS_RECORDED,
    CallRecord,
    record_proposal,
    record_read,
    record_thinking,
)
from vaultbridge.activity.report import make_record, make_reported_call

VAULT = Path("/vault")


class Clock:
    def __init__(self) -> None:
        self.now = 1_000_000.0

    def __call__(self) -> float:
        return self.now


def call(client: SeenClient, tool: str, *, error: str = "", reads: int = 0, **arguments: Any) -> None:
    record = client.begin("tools/call", {"name": f"obsidian_{tool}", "arguments": arguments}, 1, 10)
    for number in range(reads):
        record_read(VAULT, f"{number}.md")
    client.finish(record, error, b"{}")


async def test_a_call_is_counted_for_its_client_and_nobody_elses() -> None:
    activity = Activity(counters=Counters())
    first, second = activity.join("mcp"), activity.join("ide")
    call(first, "read_note", reads=2)
    call(second, "search", query="words")
    call(first, "edit_note", error="FILE_NOT_FOUND")
    activity.count_ended()
    assert (first.calls, first.failed, len(first.read_paths), first.searches) == (2, 1, 2, 0)
    assert (second.calls, second.failed, len(second.read_paths), second.searches) == (1, 0, 0, 1)
    assert [record.tool for record in activity.calls] == ["read_note", "search", "edit_note"]


async def test_a_rejection_is_no_failure_and_thinking_is_no_slowness() -> None:
    activity = Activity(counters=Counters())
    client = activity.join("mcp")
    record = client.begin("tools/call", {"name": "obsidian_move_note", "arguments": {}}, 1, 10)
    record_proposal(VAULT, "Plan.md", "p1")
    record_thinking(20.0)
    client.finish(record, "PERMISSION_DENIED", b"{}")
    record.seconds = 20.125  # as if a person had taken the time
    activity.count_ended()
    assert (client.calls, client.failed) == (1, 0)
    assert (record.is_rejected, record.is_failed, record.work_seconds) == (True, False, 0.125)
    sent = make_reported_call(record, lambda _: True)
    assert make_record(sent, client, 1).work_seconds == 0.125
    # A denial without a proposal is the scope's, and a failure.
    call(client, "move_note", error="PERMISSION_DENIED")
    activity.count_ended()
    assert client.failed == 1


async def test_calls_that_run_at_once_touch_each_their_own() -> None:
    activity = Activity()
    client = activity.join("mcp")
    begun = asyncio.Barrier(2)

    async def run(path: str) -> None:
        record = client.begin("tools/call", {"name": "read_note"}, path, 0)
        async with asyncio.timeout(60):
            await begun.wait()
        # In a thread too: what works for a call counts as its own.
        await asyncio.to_thread(record_read, VAULT, path)
        client.finish(record, "", b"")

    await asyncio.gather(run("A.md"), run("B.md"))
    activity.count_ended()
    touched = {record.rpc: record.touched.reads for record in activity.calls if record.touched is not None}
    assert touched == {"A.md": ((str(VAULT), "A.md"),), "B.md": ((str(VAULT), "B.md"),)}
    assert CURRENT.get() is None


async def test_nothing_grows_without_end() -> None:
    clock = Clock()
    activity = Activity(counters=Counters(), clock=clock)
    draw = random.Random(13)
    client = activity.join("mcp")
    for number in range(CALLS_KEPT + 700):
        clock.now += draw.random()
        call(client, f"tool {number}", reads=PATHS_RECORDED + 3 if number % 500 == 0 else 0)
        client.record_message("in", "notification", "x" * 500, 1)
    activity.count_ended()
    assert len(activity.calls) == CALLS_KEPT and len(activity.messages) == MESSAGES_KEPT
    assert len(activity.list_trace()) == MESSAGES_KEPT
    assert all(len(message.method) <= NAMES_CHARS for message in activity.list_trace())
    last = next(record for record in reversed(activity.calls) if record.touched and record.touched.reads)
    assert last.touched is not None
    assert (len(last.touched.reads), last.touched.more_reads) == (PATHS_RECORDED, 3)
    counters = activity.counters
    assert counters is not None and len(counters.tools) == ROWS
    others = counters.tools[0]
    assert (others.name, others.calls) == (OTHERS, CALLS_KEPT + 700 - COUNTED)
    assert counters.total.calls == CALLS_KEPT + 700
    assert sum(counters.render_minutes(clock.now)["calls"]) <= CALLS_KEPT + 700
    for number in range(GROUPS + 20):
        clock.now += 1
        activity.find_group("bridge", principal="", user_agent=f"agent {number}")
    assert len(activity.clients) == GROUPS + 1 and len(activity.gone) == 20
    for _ in range(GONE_KEPT * 2):
        passing = activity.join("ide")
        passing.introduce({"name": "claude-code"})
        activity.leave(passing)
    assert len(activity.gone) == GONE_KEPT


async def test_a_client_without_a_session_is_known_by_token_and_name() -> None:
    clock = Clock()
    activity = Activity(clock=clock)

    def find(**who: Any) -> SeenClient:
        return activity.find_group("stateless", **{"principal": "", "user_agent": "node", **who})

    first = find(info={"name": "cursor", "version": "1"})
    assert find(info={"name": "cursor", "version": "1"}) is first
    assert find(info={"name": "other"}) is not first
    assert find(info={"name": "cursor"}, principal="token:ab:1") is not first
    assert find() is not first and find() is find()
    clock.now += GROUP_SECONDS - 1
    assert first.is_connected
    clock.now += 2
    assert not first.is_connected


@pytest.mark.parametrize(
    "info", [None, [], "x", {"name": 5}, {"name": ""}, {"name": "a\x00\u202e\n" * 100, "version": {}}]
)
async def test_what_a_client_says_of_itself_is_made_harmless(info: object) -> None:
    client = Activity().join("mcp")
    client.introduce(info)
    assert client.name.isprintable() and len(client.name) <= NAMES_CHARS and client.version == ""


async def test_an_identity_outlives_what_changes_of_a_token() -> None:
    activity = Activity()
    first = activity.join("mcp", principal="token:ab12:aaaa")
    second = activity.join("mcp", principal="token:ab12:bbbb")
    other = activity.join("mcp", principal="token:cd34:aaaa")
    for client in (first, second, other):
        client.introduce({"name": "cursor"})
    assert first.identity == second.identity != other.identity


async def test_json_is_kept_only_while_somebody_wants_it_and_within_limits(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(clients_module, "JSON_KEPT_TOTAL", 3 * JSON_KEPT_CHARS)
    activity = Activity()
    client = activity.join("mcp")
    client.record_message("out", "notification", "before", 3, b"abc")
    activity.want_json(wanted=True)
    texts = ["é" * 5, "x" * JSON_KEPT_CHARS * 2, "y" * JSON_KEPT_CHARS, "語" * (JSON_KEPT_CHARS - 1), "z"]
    for text in texts:
        client.record_message("out", "notification", "while", len(text), text.encode())
    kept = [message.json for message in activity.list_trace()]
    assert kept[:3] == [None, None, None], "the oldest go first"
    assert kept[3:] == [texts[2], texts[3], texts[4]]
    activity.want_json(wanted=False)
    assert [message.json for message in activity.list_trace()] == [None] * 6


def test_a_histogram_counts_every_call_once() -> None:
    draw = random.Random(5)
    counters = Counters()
    activity = Activity(counters=counters)
    client = activity.join("mcp")
    times = [draw.choice([0.0, 0.5, 1.0, 1.5, *BUCKETS_MS, 9000.0]) for _ in range(500)]
    for ms in times:
        record = CallRecord(client, 1, "tools/call", 0.0)
        record.seconds, record.tool = ms / 1000, draw.choice(["a", "b"])
        counters.count(record)
    whole = counters.total.render()
    assert sum(whole["counts"]) == whole["calls"] == 500
    for limit, count in zip(BUCKETS_MS, whole["counts"], strict=False):
        below = max((bound for bound in BUCKETS_MS if bound < limit), default=-1.0)
        # The time in milliseconds is computed from seconds, so it may differ in the last digit.
        assert count == sum(below < round(ms, 9) <= limit for ms in times)
    assert whole["max"] == max(times) and whole["p50"] <= whole["p95"] <= whole["max"]
    assert sum(row.calls for row in counters.tools) == 500
