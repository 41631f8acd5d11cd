"""One stream towards an HTTP client: order, coming back, and its bounds."""

from __future__ import annotations

import asyncio

from vaultbridge.protocols.mcp.http.stream import BUFFER_BYTES, BUFFER_EVENTS, SLOW_BYTES, Stream


def take_all(stream: Stream, ticket: int) -> list[bytes]:
    found = []
    while (item := stream.take(ticket)) is not None:
        found.append(item.data)
    return found


async def test_messages_are_read_in_order_and_once() -> None:
    stream = Stream("1")
    ticket = stream.attach()
    stream.push(b"a", final=False)
    stream.push(b"b", final=True)
    assert take_all(stream, ticket) == [b"a", b"b"]
    assert take_all(stream, ticket) == []
    assert stream.ended
    assert stream.buffered_bytes == 0, "what cannot be read again is not buffered"


async def test_a_resumable_stream_is_read_again_from_any_point() -> None:
    stream = Stream("1", resumable=True)
    for data in (b"a", b"b", b"c"):
        stream.push(data, final=False)
    assert take_all(stream, stream.attach()) == [b"a", b"b", b"c"]
    assert take_all(stream, stream.attach(after=1)) == [b"b", b"c"]
    assert take_all(stream, stream.attach(after=0)) == [b"a", b"b", b"c"]
    assert take_all(stream, stream.attach()) == [], (
        "without a number it goes on where the last reader stopped"
    )


async def test_a_new_reader_takes_the_place_of_the_old_one() -> None:
    stream = Stream("1")
    old = stream.attach()
    new = stream.attach()
    stream.push(b"a", final=False)
    assert not stream.is_current(old)
    assert stream.take(old) is None
    assert take_all(stream, new) == [b"a"]


async def test_nothing_is_added_after_the_end() -> None:
    stream = Stream("1")
    stream.end()
    stream.push(b"late", final=False)
    assert take_all(stream, stream.attach()) == []


async def test_without_a_reader_the_oldest_go_by_count_and_by_size() -> None:
    stream = Stream("1", resumable=True)
    for n in range(BUFFER_EVENTS + 10):
        stream.push(b"%d" % n, final=False)
    kept = take_all(stream, stream.attach())
    assert (len(kept), kept[0]) == (BUFFER_EVENTS, b"10")
    big = Stream("2", resumable=True)
    for _ in range(5):
        big.push(b"x" * (BUFFER_BYTES // 2), final=False)
    assert big.buffered_bytes <= BUFFER_BYTES
    assert len(take_all(big, big.attach())) == 2


async def test_a_present_reader_loses_nothing_and_holds_the_producer_back() -> None:
    stream = Stream("1", resumable=True)
    ticket = stream.attach()
    for _ in range(5):
        stream.push(b"x" * (SLOW_BYTES // 2), final=False)
    waiting = asyncio.ensure_future(stream.wait_for_room())
    await asyncio.sleep(0)
    assert not waiting.done()
    assert len(take_all(stream, ticket)) == 5
    await asyncio.wait_for(waiting, 60)


async def test_a_reader_that_leaves_lets_the_producer_go_on() -> None:
    stream = Stream("1")
    ticket = stream.attach()
    for _ in range(3):
        stream.push(b"x" * SLOW_BYTES, final=False)
    stream.detach(ticket)
    await asyncio.wait_for(stream.wait_for_room(), 60)


async def test_waiting_for_a_change_ends_with_it_or_with_its_bound() -> None:
    stream = Stream("1")
    assert not await stream.wait_for_change(0.01)
    waiting = asyncio.ensure_future(stream.wait_for_change(5))
    await asyncio.sleep(0)
    stream.push(b"a", final=False)
    assert await asyncio.wait_for(waiting, 60)
    stream.release()
    assert await stream.wait_for_change(5)
    assert stream.released
    stream.attach()
    assert not stream.released


async def test_a_slow_reader_misses_notifications_but_never_an_answer() -> None:
    stream = Stream("1")
    ticket = stream.attach()
    stream.push(b"x" * (SLOW_BYTES + 1), final=False, notice=True)
    stream.push(b"dropped", final=False, notice=True)
    stream.push(b"question", final=False)
    stream.push(b"answer", final=True)
    assert take_all(stream, ticket)[1:] == [b"question", b"answer"]
