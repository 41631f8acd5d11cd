"""Reading and writing raw descriptors: order, bounds, and peers that go away."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

import pytest

from support.waiting import BOUND
from vaultbridge.jsonrpc.session import Outgoing
from vaultbridge.protocols.mcp.stdio import (
    ATOMIC_BYTES,
    READ_AHEAD,
    READ_BYTES,
    WRITE_BUFFER_BYTES,
    DescriptorReader,
    DescriptorSink,
)


def make_item(data: bytes, *, notice: bool = False) -> Outgoing:
    return Outgoing(data, None, final=not notice, notice=notice)


async def read_lines(source: int, count: int) -> list[bytes]:
    def read() -> list[bytes]:
        with os.fdopen(os.dup(source), "rb") as file:
            return [file.readline() for _ in range(count)]

    return await asyncio.wait_for(asyncio.to_thread(read), BOUND)


async def test_the_reader_gives_all_bytes_and_then_the_end(tmp_path: Path) -> None:
    path = tmp_path / "data"
    data = os.urandom(READ_BYTES * 3 + 5)
    path.write_bytes(data)
    reader = DescriptorReader(os.open(path, os.O_RDONLY))
    reader.start()
    found = b""
    while part := await asyncio.wait_for(reader.read(), BOUND):
        found += part
    assert found == data


async def test_the_reader_does_not_run_far_ahead() -> None:
    source, sink = os.pipe()
    reader = DescriptorReader(source)
    reader.start()
    os.set_blocking(sink, False)
    written = 0

    def fill() -> None:
        """Write until the pipe is full."""
        nonlocal written
        try:
            while True:
                written += os.write(sink, b"x" * READ_BYTES)
        except BlockingIOError:
            pass

    fill()
    pipe = written
    idle = 0
    while idle < 500:
        before = written
        fill()
        idle = 0 if written > before else idle + 1
        # One more read may be under way when the last place is taken.
        assert written <= pipe + (READ_AHEAD + 1) * READ_BYTES
        await asyncio.sleep(0)
        os.sched_yield()
    os.close(sink)
    found = 0
    while part := await asyncio.wait_for(reader.read(), BOUND):
        found += len(part)
    assert found == written


async def test_a_stopped_reader_gives_the_end_at_once() -> None:
    source, sink = os.pipe()
    reader = DescriptorReader(source)
    reader.start()
    waiting = asyncio.ensure_future(reader.read())
    await asyncio.sleep(0)
    reader.stop()
    assert await asyncio.wait_for(waiting, BOUND) == b""
    os.close(sink)


@pytest.mark.parametrize("blocking", [True, False])
async def test_small_and_large_lines_keep_their_order(blocking: bool) -> None:
    source, sink = os.pipe()
    os.set_blocking(sink, blocking)
    sink = DescriptorSink(sink)
    lines = [bytes([65 + n]) * (10 if n % 3 else ATOMIC_BYTES * 40) for n in range(20)]
    for line in lines:
        sink.send(make_item(line))
    assert await read_lines(source, len(lines)) == [line + b"\n" for line in lines]
    await asyncio.wait_for(sink.finish(), BOUND)
    assert os.read(source, 1) == b"", "the descriptor is closed"
    os.close(source)


async def test_a_full_pipe_holds_back_until_somebody_reads() -> None:
    source, sink = os.pipe()
    sink = DescriptorSink(sink)
    count = 5
    for _ in range(count):
        sink.send(make_item(b"x" * (WRITE_BUFFER_BYTES // 3)))
    held = asyncio.ensure_future(sink.drain())
    await asyncio.sleep(0)
    assert not held.done()
    sink.send(make_item(b"dropped", notice=True))
    lines = await read_lines(source, count)
    assert all(len(line) == WRITE_BUFFER_BYTES // 3 + 1 for line in lines)
    await asyncio.wait_for(held, BOUND)
    sink.send(make_item(b"kept", notice=True))
    assert await read_lines(source, 1) == [b"kept\n"]
    await asyncio.wait_for(sink.finish(), BOUND)
    os.close(source)


@pytest.mark.parametrize("size", [10, ATOMIC_BYTES * 100])
async def test_a_reader_that_hangs_up_breaks_the_sink_quietly(size: int) -> None:
    source, sink = os.pipe()
    sink = DescriptorSink(sink)
    os.close(source)
    sink.send(make_item(b"x" * size))
    await asyncio.wait_for(sink.broken.wait(), BOUND)
    sink.send(make_item(b"ignored"))
    await asyncio.wait_for(sink.drain(), BOUND)
    await asyncio.wait_for(sink.finish(), BOUND)


async def test_the_end_does_not_wait_forever_for_a_reader(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr("vaultbridge.protocols.mcp.stdio.FINISH_SECONDS", 0.05)
    source, sink = os.pipe()
    sink = DescriptorSink(sink)
    sink.send(make_item(b"x" * WRITE_BUFFER_BYTES))
    await asyncio.wait_for(sink.finish(), BOUND)
    assert "not reading its last answers" in caplog.text
    os.close(source)
