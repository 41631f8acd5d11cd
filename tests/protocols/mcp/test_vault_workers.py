"""Threads beside the event loop: a stuck one costs its own job and nothing else."""

from __future__ import annotations

import asyncio
import sys
import threading
from pathlib import Path

import pytest

from support.waiting import BOUND
from vaultbridge.errors import TimedOut
from vaultbridge.index.store.database import Index
from vaultbridge.protocols.mcp.vault.workers import (
    LONG_THREADS,
    MOST_SLOW,
    MOST_THREADS,
    THREADS,
    Workers,
)


class Gate:
    """Work that stands still until it is let go."""

    def __init__(self) -> None:
        self.begun = threading.Event()
        self.open = threading.Event()

    def __call__(self) -> str:
        self.begun.set()
        assert self.open.wait(BOUND)
        return "late"


async def wait_until_begun(gate: Gate) -> None:
    assert await asyncio.get_running_loop().run_in_executor(None, gate.begun.wait, BOUND)


async def test_work_gives_what_it_returns_and_raises_what_it_raises() -> None:
    workers = Workers()
    assert await workers.run(lambda: 41 + 1) == 42
    with pytest.raises(ZeroDivisionError):
        await workers.run(lambda: 1 // 0)
    workers.close()


async def test_work_runs_in_parallel_threads_next_to_the_loop() -> None:
    workers = Workers(4)
    meeting = threading.Barrier(4, timeout=BOUND)
    loop_thread = threading.get_ident()

    def meet() -> bool:
        meeting.wait()
        return threading.get_ident() != loop_thread

    async with asyncio.timeout(BOUND):
        assert all(await asyncio.gather(*(workers.run(meet) for _ in range(4))))
    workers.close()


async def test_work_that_tries_to_end_the_process_only_fails() -> None:
    workers = Workers(1)
    with pytest.raises(RuntimeError, match="SystemExit"):
        await workers.run(sys.exit)
    with pytest.raises(RuntimeError, match="StopIteration"):
        await workers.run(lambda: next(iter(())))
    assert await workers.run(lambda: "alive") == "alive"
    workers.close()


async def test_a_stuck_job_is_left_behind_and_its_place_taken() -> None:
    workers = Workers(1)
    gate = Gate()
    with pytest.raises(TimeoutError):
        async with asyncio.timeout(0.05):
            await workers.run(gate)
    async with asyncio.timeout(BOUND):
        assert await workers.run(lambda: "next") == "next"
    gate.open.set()
    workers.close()


async def test_a_job_that_nobody_waits_for_never_starts() -> None:
    workers = Workers(1, slow_seconds=BOUND)
    gate = Gate()
    first = asyncio.ensure_future(workers.run(gate))
    await wait_until_begun(gate)
    ran = threading.Event()
    second = asyncio.ensure_future(workers.run(ran.set))
    await asyncio.sleep(0)
    second.cancel()
    await asyncio.gather(second, return_exceptions=True)
    gate.open.set()
    assert await first == "late"
    assert await workers.run(lambda: "after") == "after"
    assert not ran.is_set()
    workers.close()


async def test_threads_left_behind_are_bounded() -> None:
    workers = Workers(1, most=2)
    gates = [Gate(), Gate()]
    for gate in gates:
        task = asyncio.ensure_future(workers.run(gate))
        await wait_until_begun(gate)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    waiting = asyncio.ensure_future(workers.run(lambda: "served at last"))
    done, _ = await asyncio.wait([waiting], timeout=0.05)
    assert not done, "a third thread was started"
    gates[0].open.set()
    gates[1].open.set()
    async with asyncio.timeout(BOUND):
        assert await waiting == "served at last"
    workers.close()


async def test_after_the_end_no_work_is_taken() -> None:
    workers = Workers()
    workers.close()
    with pytest.raises(RuntimeError):
        await workers.run(lambda: None)


async def test_many_jobs_from_many_tasks_all_come_back() -> None:
    workers = Workers()
    async with asyncio.timeout(BOUND):
        found = await asyncio.gather(*(workers.run(lambda n=n: n) for n in range(2000)))  # type: ignore[misc]
    assert found == list(range(2000))
    workers.close()


async def test_short_jobs_do_not_queue_behind_long_ones() -> None:
    workers = Workers(slow_seconds=BOUND)
    gates = [Gate() for _ in range(2 * THREADS)]
    searches = [asyncio.ensure_future(workers.run(gate, long=True)) for gate in gates]
    for gate in gates[:LONG_THREADS]:
        await wait_until_begun(gate)
    async with asyncio.timeout(BOUND):
        assert await workers.run(lambda: "short") == "short"
    assert not any(gate.begun.is_set() for gate in gates[LONG_THREADS:]), "all threads were given to searches"
    for gate in gates:
        gate.open.set()
    async with asyncio.timeout(BOUND):
        assert await asyncio.gather(*searches) == ["late"] * len(gates)
    workers.close()


async def test_long_jobs_are_not_starved_by_short_ones() -> None:
    workers = Workers(slow_seconds=BOUND)
    gates = [Gate() for _ in range(2 * THREADS)]
    reads = [asyncio.ensure_future(workers.run(gate)) for gate in gates]
    for gate in gates[: THREADS - 1]:
        await wait_until_begun(gate)
    search = asyncio.ensure_future(workers.run(lambda: "found", long=True))
    await asyncio.sleep(0)
    gates[0].open.set()
    async with asyncio.timeout(BOUND):
        assert await search == "found"
    for gate in gates:
        gate.open.set()
    async with asyncio.timeout(BOUND):
        await asyncio.gather(*reads)
    workers.close()


async def test_a_long_job_that_is_left_behind_gives_its_place_in_the_lane_back() -> None:
    workers = Workers(slow_seconds=BOUND)
    stuck = [Gate() for _ in range(LONG_THREADS)]
    for gate in stuck:
        task = asyncio.ensure_future(workers.run(gate, long=True))
        await wait_until_begun(gate)
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)
    async with asyncio.timeout(BOUND):
        assert await workers.run(lambda: "found", long=True) == "found"
    for gate in stuck:
        gate.open.set()
    workers.close()


@pytest.mark.parametrize("long", [False, True])
async def test_a_slow_job_gives_up_its_place_and_is_still_delivered(long: bool) -> None:
    workers = Workers(slow_seconds=0.0)
    gates = [Gate() for _ in range(THREADS)]
    slow = [asyncio.ensure_future(workers.run(gate, long=long)) for gate in gates]
    async with asyncio.timeout(BOUND):
        assert await workers.run(lambda: "next", long=long) == "next"
    for gate in gates:
        gate.open.set()
    async with asyncio.timeout(BOUND):
        assert await asyncio.gather(*slow) == ["late"] * THREADS
    workers.close()


async def test_slow_jobs_leave_threads_for_the_other_lane() -> None:
    """However many patterns are stuck."""
    workers = Workers(slow_seconds=0.0)
    gates = [Gate() for _ in range(2 * MOST_THREADS)]
    slow = [asyncio.ensure_future(workers.run(gate, long=True)) for gate in gates]
    await wait_until_begun(gates[MOST_SLOW])
    async with asyncio.timeout(BOUND):
        assert await workers.run(lambda: "read") == "read"
    assert not any(gate.begun.is_set() for gate in gates[MOST_SLOW + LONG_THREADS :])
    for gate in gates:
        gate.open.set()
    async with asyncio.timeout(BOUND):
        await asyncio.gather(*slow)
    workers.close()


ENDLESS = """WITH RECURSIVE numbers (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM numbers)
SELECT max(n) FROM numbers"""


async def test_a_query_that_nobody_waits_for_ends(tmp_path: Path) -> None:
    index = Index.open(tmp_path)
    workers = Workers(1, most=1)
    running = threading.Event()
    ended: list[Exception] = []

    def query() -> None:
        try:
            with index.reading() as db:
                running.set()
                db.execute(ENDLESS).fetchall()
        except Exception as error:
            ended.append(error)
            raise

    waiting = asyncio.ensure_future(workers.run(query, cancellable=True))
    assert await asyncio.to_thread(running.wait, BOUND)
    waiting.cancel()
    async with asyncio.timeout(BOUND):
        assert await workers.run(lambda: index.status().state, cancellable=True) == "empty"
    assert [type(error) for error in ended] == [TimedOut]
    workers.close()
    index.close()


@pytest.mark.parametrize("cancellable", [True, False])
async def test_a_cancelled_job_starts_no_further_query_unless_it_changes_something(
    tmp_path: Path, *, cancellable: bool
) -> None:
    index = Index.open(tmp_path)
    workers = Workers(1, most=1)
    gate = Gate()
    went_on = threading.Event()

    def query() -> None:
        gate()
        index.status()
        went_on.set()

    waiting = asyncio.ensure_future(workers.run(query, cancellable=cancellable))
    await wait_until_begun(gate)
    waiting.cancel()
    await asyncio.gather(waiting, return_exceptions=True)
    gate.open.set()
    async with asyncio.timeout(BOUND):
        await workers.run(lambda: None)
    assert went_on.is_set() is not cancellable
    workers.close()
    index.close()
