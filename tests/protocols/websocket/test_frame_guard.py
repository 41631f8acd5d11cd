"""Frame rules of RFC 6455, sent byte for byte to the real server. Numbers name sections of the RFC."""

from __future__ import annotations

import asyncio
import itertools
import struct
import zlib
from collections.abc import Callable

import pytest
from aiohttp import web
from hypothesis import given
from hypothesis import strategies as st

from support.raw_websocket import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    Frame,
    RawClient,
    connect,
    deflate_payload,
    make_close_frame,
    make_frame,
)
from support.waiting import BOUND
from support.websocket import TOKEN, served
from vaultbridge.protocols.websocket import socket as ws_connection
from vaultbridge.protocols.websocket.frame_guard import FRAMES_PER_TURN, FrameGuard
from vaultbridge.protocols.websocket.socket import MESSAGE_BYTES, WebSocket

AUTH = {"X_Claude_Code_Ide_Authorization": TOKEN}
DEFLATE = {"Sec_WebSocket_Extensions": "permessage-deflate"}


@pytest.fixture
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A busy machine may need long for a large message; the goodbye waits for it."""
    monkeypatch.setattr(ws_connection, "CLOSE_SECONDS", BOUND)


async def open_socket(port: int, **headers: str) -> RawClient:
    client = await connect(port, **AUTH, **headers)
    assert client.status == 101
    return client


async def close_code_after(*data: bytes, **headers: str) -> int:
    async with served() as server:
        client = await open_socket(server.port, **headers)
        for part in data:
            await client.send(part)
        code = await client.receive_close()
        await client.send(make_close_frame(code))
        await client.wait_until_closed()
        await client.close()
        await server.until_open(0)
        return code


async def echo_of(*data: bytes, **headers: str) -> Frame:
    async with served() as server:
        client = await open_socket(server.port, **headers)
        for part in data:
            await client.send(part)
        answer = await client.receive()
        await client.close()
        return answer


async def test_a_whole_message_is_echoed() -> None:
    assert await echo_of(make_frame(TEXT, b"hello")) == Frame(TEXT, b"hello")


@pytest.mark.parametrize("size", [0, 1, 125, 126, 127, 65535, 65536, 300_000])
async def test_every_length_form_is_read(size: int) -> None:
    """5.2: 7, 16 and 64 bit lengths."""
    assert (await echo_of(make_frame(TEXT, b"x" * size))).payload == b"x" * size


async def test_a_message_may_arrive_byte_by_byte() -> None:
    whole = make_frame(TEXT, "grüße".encode(), final=False) + make_frame(CONTINUATION, b"!" * 130)
    parts = [whole[i : i + 1] for i in range(len(whole))]
    assert (await echo_of(*parts)).payload == "grüße".encode() + b"!" * 130


async def test_several_messages_may_arrive_at_once() -> None:
    async with served() as server:
        client = await open_socket(server.port)
        await client.send(b"".join(make_frame(TEXT, b"m%d" % n) for n in range(50)))
        assert [(await client.receive()).payload for _ in range(50)] == [b"m%d" % n for n in range(50)]
        await client.close()


async def test_fragments_are_joined() -> None:
    """5.4; a character may be cut in two."""
    euro = "€".encode()
    parts = [make_frame(TEXT, euro[:1], final=False), make_frame(CONTINUATION, euro[1:2], final=False)]
    assert (await echo_of(*parts, make_frame(CONTINUATION, euro[2:]))).payload == euro


async def test_empty_fragments_are_fine() -> None:
    parts = [
        make_frame(TEXT, b"", final=False),
        make_frame(CONTINUATION, b"", final=False),
        make_frame(CONTINUATION, b"a"),
    ]
    assert (await echo_of(*parts)).payload == b"a"


async def test_a_ping_inside_a_fragmented_message_is_answered_at_once() -> None:
    """5.4: control frames may stand between fragments; 5.5.3: the pong repeats the ping's data."""
    async with served() as server:
        client = await open_socket(server.port)
        await client.send(make_frame(TEXT, b"a", final=False) + make_frame(PING, b"are you there"))
        assert await client.receive() == Frame(PONG, b"are you there")
        await client.send(make_frame(CONTINUATION, b"b"))
        assert await client.receive() == Frame(TEXT, b"ab")
        await client.close()


async def test_an_unasked_pong_is_ignored() -> None:
    assert (await echo_of(make_frame(PONG, b"one way"), make_frame(TEXT, b"x"))).payload == b"x"


async def test_an_unmasked_frame_fails_the_connection() -> None:
    """5.1: "The server MUST close the connection upon receiving a frame that is not masked." """
    assert await close_code_after(make_frame(TEXT, b"x", mask=None)) == 1002


async def test_an_unmasked_frame_after_good_ones_fails_the_connection() -> None:
    async with served() as server:
        client = await open_socket(server.port)
        await client.send(make_frame(TEXT, b"good") + make_frame(TEXT, b"bad", mask=None))
        assert (await client.receive()).payload == b"good"
        assert await client.receive_close() == 1002
        await client.close()


@pytest.mark.parametrize(
    "wrong",
    [
        pytest.param([make_frame(CONTINUATION, b"x")], id="continuation of nothing"),
        pytest.param(
            [make_frame(TEXT, b"a", final=False), make_frame(TEXT, b"b")], id="message inside a message"
        ),
        pytest.param(
            [make_frame(TEXT, final=False), make_frame(TEXT, b"b")], id="message after an empty fragment"
        ),
        pytest.param([make_frame(PING, b"x", final=False)], id="fragmented ping"),
        pytest.param([make_frame(PING, b"x" * 126)], id="long ping"),
        pytest.param([make_frame(CLOSE, b"x" * 126)], id="long close"),
        pytest.param([make_frame(PING, b"", rsv=4)], id="rsv1 on a ping"),
        pytest.param([make_frame(TEXT, b"x", rsv=2)], id="rsv2"),
        pytest.param([make_frame(TEXT, b"x", rsv=1)], id="rsv3"),
        pytest.param([make_frame(TEXT, b"x", rsv=4)], id="rsv1 without an extension"),
        pytest.param([make_frame(3, b"x")], id="reserved data opcode"),
        pytest.param([make_frame(11, b"x")], id="reserved control opcode"),
        pytest.param([make_frame(CLOSE, b"x")], id="close with half a code"),
        pytest.param([make_close_frame(999)], id="close code below 1000"),
        pytest.param([make_close_frame(1005)], id="close code that may not travel"),
        pytest.param([bytes([0x81, 0xFF]) + (1 << 63).to_bytes(8, "big") + b"mask"], id="negative length"),
    ],
)
async def test_a_broken_frame_rule_closes_with_1002(wrong: list[bytes]) -> None:
    assert await close_code_after(*wrong) == 1002


async def test_reserved_bits_on_a_continuation_close_with_1002() -> None:
    """RFC 7692 6.1: only the first fragment may say that it is compressed."""
    parts = [make_frame(TEXT, b"a", final=False), make_frame(CONTINUATION, b"b", rsv=4)]
    assert await close_code_after(*parts, **DEFLATE) == 1002


@pytest.mark.parametrize(
    "bad",
    [b"\xff", b"abc\xc3", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\xaf"],
    ids=["stray byte", "cut off", "surrogate", "beyond Unicode", "overlong"],
)
async def test_text_that_is_not_utf8_closes_with_1007(bad: bytes) -> None:
    """8.1."""
    assert await close_code_after(make_frame(TEXT, bad)) == 1007


async def test_a_close_reason_that_is_not_utf8_closes_with_1007() -> None:
    assert await close_code_after(make_close_frame(1000, b"\xff")) == 1007


async def test_a_binary_message_closes_with_1003() -> None:
    """7.4.1: "an endpoint that understands only text data MAY send this if it receives a binary message"."""
    assert await close_code_after(make_frame(BINARY, b"{}")) == 1003


@pytest.mark.parametrize("code", [1000, 1001, 3000, 4999])
async def test_a_close_is_answered_with_its_code(code: int) -> None:
    """5.5.1."""
    assert await close_code_after(make_close_frame(code, b"bye")) == code


async def test_a_close_without_a_code_is_answered() -> None:
    assert await close_code_after(make_frame(CLOSE)) == 1000


@pytest.mark.usefixtures("patient")
async def test_a_message_of_exactly_the_limit_is_taken() -> None:
    payload = b"x" * MESSAGE_BYTES
    assert (await echo_of(make_frame(TEXT, payload))).payload == payload


@pytest.mark.usefixtures("patient")
async def test_a_byte_more_closes_with_1009_and_the_peer_learns_it() -> None:
    """The close frame must arrive although the peer is still sending: a reset would eat it."""
    assert await close_code_after(make_frame(TEXT, b"x" * (MESSAGE_BYTES + 1))) == 1009


@pytest.mark.usefixtures("patient")
async def test_fragments_count_together() -> None:
    half = b"x" * (MESSAGE_BYTES // 2)
    parts = [make_frame(TEXT, half, final=False), make_frame(CONTINUATION, half, final=False)]
    assert await close_code_after(*parts, make_frame(CONTINUATION, b"y")) == 1009


async def test_a_declared_length_is_enough_to_refuse() -> None:
    """Nothing is buffered of a message that says it is too big."""
    head = bytes([0x81, 0xFF]) + struct.pack("!Q", 1 << 40) + b"mask"
    async with served() as server:
        client = await open_socket(server.port)
        await client.send(head)
        assert await client.receive_close() == 1009
        await client.close()


async def test_compressed_messages_go_both_ways() -> None:
    async with served() as server:
        client = await open_socket(server.port, **DEFLATE)
        assert "permessage-deflate" in client.headers["sec-websocket-extensions"]
        await client.send(make_frame(TEXT, deflate_payload(b"hello " * 1000), rsv=4))
        answer = await client.receive()
        assert answer.rsv == 4
        assert zlib.decompressobj(wbits=-15).decompress(answer.payload) == b"hello " * 1000
        await client.close()


async def test_a_compressed_message_in_fragments_is_read() -> None:
    packed = deflate_payload(b"hello")
    parts = [
        make_frame(TEXT, packed[:2], final=False, rsv=4),
        make_frame(PING, b"p"),
        make_frame(CONTINUATION, packed[2:]),
    ]
    async with served() as server:
        client = await open_socket(server.port, **DEFLATE)
        for part in parts:
            await client.send(part)
        assert await client.receive() == Frame(PONG, b"p")
        assert (await client.receive()).opcode == TEXT
        await client.close()


async def test_a_message_that_inflates_beyond_the_limit_closes_with_1009() -> None:
    bomb = deflate_payload(b"\0" * (MESSAGE_BYTES + 1))
    assert len(bomb) < 100_000
    assert await close_code_after(make_frame(TEXT, bomb, rsv=4), **DEFLATE) == 1009


async def test_a_huge_bomb_closes_with_1009() -> None:
    bomb = deflate_payload(b"\0" * (8 * MESSAGE_BYTES))
    assert await close_code_after(make_frame(TEXT, bomb, rsv=4), **DEFLATE) == 1009


async def test_broken_compression_closes_with_1007() -> None:
    assert await close_code_after(make_frame(TEXT, b"\xff\xff\xff\xff", rsv=4), **DEFLATE) == 1007


async def test_no_extension_is_answered_that_was_not_offered() -> None:
    async with served() as server:
        client = await open_socket(server.port)
        assert "sec-websocket-extensions" not in client.headers
        await client.close()


async def test_a_peer_that_vanishes_is_forgotten() -> None:
    async with served() as server:
        client = await open_socket(server.port)
        await server.until_open(1)
        client.writer.transport.abort()
        await server.until_open(0)


async def test_garbage_after_the_handshake_harms_nobody_else() -> None:
    async with served() as server:
        good, bad = await open_socket(server.port), await open_socket(server.port)
        await bad.send(b"GET / HTTP/1.1\r\n\r\n" * 10)
        assert await bad.receive_close() == 1002
        await good.send(make_frame(TEXT, b"still here"))
        assert (await good.receive()).payload == b"still here"
        await good.close()
        await bad.close()


# the guard alone: whatever the arrival, the same bytes and the same verdict


class Wire(asyncio.Protocol):
    """The reading side and the listener at once; remembers what it was given."""

    def __init__(self) -> None:
        self.data = b""
        self.refusals: list[int] = []

    def data_received(self, data: bytes) -> None:
        self.data += data

    def data_arrived(self) -> None: ...

    def refuse(self, code: int, reason: str) -> None:
        self.refusals.append(code)

    def peer_closed(self) -> None: ...

    def write_paused(self) -> None: ...

    def write_resumed(self) -> None: ...


class Gate(asyncio.Transport):
    """Whether anything is read just now."""

    def __init__(self) -> None:
        super().__init__()
        self.reading = True

    def is_reading(self) -> bool:
        return self.reading

    def is_closing(self) -> bool:
        return False

    def pause_reading(self) -> None:
        self.reading = False

    def resume_reading(self) -> None:
        self.reading = True


def feed_guard(stream: bytes, cuts: list[int], limit: int = 1000) -> Wire:
    """Everything handed on, pass by pass; a pause is respected, as a real transport respects it."""
    wire, gate = Wire(), Gate()
    turns: list[Callable[[], None]] = []
    guard = FrameGuard(wire, wire, gate, max_message=limit, later=turns.append)
    edges = sorted({0, len(stream), *(cut % (len(stream) + 1) for cut in cuts)})
    for begin, end in itertools.pairwise(edges):
        guard.data_received(stream[begin:end])
        while turns:
            assert not gate.reading
            turns.pop(0)()
        assert gate.reading
    return wire


PAYLOADS = st.binary(max_size=300)
GOOD_FRAMES = st.one_of(
    PAYLOADS.map(lambda data: make_frame(TEXT, data)),
    st.tuples(PAYLOADS, PAYLOADS).map(
        lambda two: (
            make_frame(TEXT, two[0], final=False) + make_frame(PING, b"?") + make_frame(CONTINUATION, two[1])
        )
    ),
    st.binary(max_size=125).map(lambda data: make_frame(PONG, data)),
)
CUTS = st.lists(st.integers(0, 5000), max_size=12)


@given(st.lists(GOOD_FRAMES, max_size=6) | st.lists(GOOD_FRAMES, min_size=40, max_size=80), CUTS)
def test_good_frames_pass_unchanged_however_they_are_cut(frames: list[bytes], cuts: list[int]) -> None:
    stream = b"".join(frames)
    wire = feed_guard(stream, cuts)
    assert wire.data == stream
    assert wire.refusals == []


@given(st.lists(GOOD_FRAMES, max_size=3), CUTS, PAYLOADS)
def test_after_a_violation_only_the_peers_close_passes(
    frames: list[bytes], cuts: list[int], junk: bytes
) -> None:
    good, goodbye = b"".join(frames), make_close_frame(1002)
    stream = (
        good
        + make_frame(TEXT, junk, mask=None)
        + make_frame(TEXT, junk)
        + goodbye
        + make_frame(TEXT, b"more")
    )
    wire = feed_guard(stream, cuts)
    assert wire.data == good + goodbye
    assert wire.refusals == [1002]


@given(st.binary(max_size=400), CUTS)
def test_any_bytes_get_one_verdict_that_does_not_depend_on_how_they_arrive(
    noise: bytes, cuts: list[int]
) -> None:
    whole, cut = feed_guard(noise, []), feed_guard(noise, cuts)
    assert len(whole.refusals) <= 1
    assert whole.refusals == cut.refusals
    assert whole.data == cut.data


@given(st.lists(GOOD_FRAMES, min_size=40, max_size=80), st.integers(0, 80), st.booleans())
def test_frames_waiting_for_their_turn_are_handed_on_before_the_end(
    frames: list[bytes], turns_taken: int, eof: bool
) -> None:
    stream = b"".join(frames)
    wire, gate = Wire(), Gate()
    turns: list[Callable[[], None]] = []
    guard = FrameGuard(wire, wire, gate, max_message=1000, later=turns.append)
    guard.data_received(stream)
    assert len(wire.data) < len(stream)
    for turn in turns[:turns_taken]:
        turn()
    if eof:
        guard.eof_received()
    else:
        guard.connection_lost(None)
    assert wire.data == stream
    for turn in turns:
        turn()
    assert wire.data == stream


async def test_one_read_of_many_messages_lets_others_in_between() -> None:
    """Counted in passes of the event loop, not in seconds."""
    count = 20 * FRAMES_PER_TURN
    arrived: list[bytes] = []

    async def listen(socket: WebSocket, request: web.Request) -> None:
        while (message := await socket.receive()) is not None:
            arrived.append(message)

    most = 0

    async def ask_others() -> None:
        """One pass of everybody else: how much came in the meantime?"""
        nonlocal most
        before = 0
        while len(arrived) < count:
            await asyncio.sleep(0)
            most = max(most, len(arrived) - before)
            before = len(arrived)

    async with served(listen) as server:
        client = await open_socket(server.port)
        await client.send(make_frame(TEXT, b"x") * count)
        await asyncio.wait_for(ask_others(), BOUND)
        await client.close()
    # A few turns may pass until the task that reads is woken.
    assert most <= 4 * FRAMES_PER_TURN


@given(st.lists(GOOD_FRAMES, max_size=3), st.lists(GOOD_FRAMES, max_size=3), PAYLOADS, st.integers(0, 400))
def test_after_our_goodbye_a_frame_that_has_begun_ends_and_then_only_the_peers_close_passes(
    before: list[bytes], after: list[bytes], payload: bytes, cut: int
) -> None:
    begun, goodbye = make_frame(TEXT, payload), make_close_frame(1000)
    head = len(begun) - len(payload)
    at = head + cut % (len(payload) + 1)
    wire, gate = Wire(), Gate()
    guard = FrameGuard(wire, wire, gate, max_message=1000, later=lambda turn: turn())
    guard.data_received(b"".join(before) + begun[:at])
    guard.ignore_data()
    guard.data_received(begun[at:] + b"".join(after) + goodbye)
    assert wire.data == b"".join(before) + begun + goodbye
    assert wire.refusals == []
