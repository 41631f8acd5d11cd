"""Drawn frames, good and bad, at a real server; the `websockets` library is the independent judge."""

from __future__ import annotations

import asyncio
import random
import struct
import zlib
from collections.abc import Iterator
from typing import NamedTuple

import pytest
from websockets.extensions.permessage_deflate import PerMessageDeflate
from websockets.frames import Opcode
from websockets.protocol import Protocol, Side, State

from support.raw_websocket import (
    BINARY,
    CLOSE,
    CONTINUATION,
    PING,
    PONG,
    TEXT,
    RawClient,
    connect,
    deflate_payload,
    make_close_frame,
    make_frame,
)
from support.websocket import TOKEN, served
from vaultbridge.protocols.websocket.socket import MESSAGE_BYTES

CLOSE_CODES = [0, 999, *range(1000, 1017), 1100, 2999, 3000, 4999, 5000, 65535]
FAULTS = {1002, 1003, 1007}
"""When a stream has several faults, which one is seen first depends on how it was cut into reads."""


def draw_payload(rng: random.Random) -> bytes:
    letters = [*"ab", "é", "€", "😀", "א"]
    match rng.randrange(6):
        case 0:
            return b""
        case 1:
            return rng.randbytes(rng.randrange(1, 20))
        case 2:
            # A surrogate, a number beyond Unicode, an overlong form, half of a character.
            return rng.choice([b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"\xc0\x80", "é".encode()[:1]])
        case _:
            return "".join(rng.choices(letters, k=rng.choice([3, 60, 125, 126, 700]))).encode()


def draw_frame(rng: random.Random, *, inside: bool, deflate: bool) -> tuple[int, bool, bytes]:
    """The opcode, whether it is final, and the bytes."""
    usual = (
        [CONTINUATION, CONTINUATION, PING, PONG] if inside else [TEXT, TEXT, TEXT, PING, PONG, BINARY, CLOSE]
    )
    opcode = rng.randrange(16) if rng.random() < 0.04 else rng.choice(usual)
    if opcode == CLOSE and inside:
        # RFC 6455 5.4 allows it; the judge does not.
        opcode = PING
    final = rng.random() < 0.5 if opcode < CLOSE and rng.random() < 0.98 else rng.random() < 0.98
    payload, rsv = draw_payload(rng), 0
    if opcode == CLOSE and rng.random() < 0.9:
        payload = struct.pack("!H", rng.choice(CLOSE_CODES)) + rng.choice([b"", b"bye", b"\xff"])
    elif opcode >= CLOSE and rng.random() < 0.97:
        payload = payload[:125]
    elif deflate and opcode == TEXT and final and rng.random() < 0.4:
        rsv, payload = 4, deflate_payload(payload) if rng.random() < 0.9 else payload
    if rng.random() < 0.02:
        rsv = rng.randrange(8)
    mask = None if rng.random() < 0.01 else rng.randbytes(4)
    return opcode, final, make_frame(opcode, payload, final=final, rsv=rsv, mask=mask)


def draw_frames(rng: random.Random, *, deflate: bool) -> Iterator[bytes]:
    inside = False
    for _ in range(rng.randrange(1, 14)):
        opcode, final, data = draw_frame(rng, inside=inside, deflate=deflate)
        yield data
        if opcode == CLOSE:
            return
        if opcode in (TEXT, BINARY, CONTINUATION):
            inside = not final


class Verdict(NamedTuple):
    texts: list[bytes]
    code: int


def judge(frames: list[bytes], *, deflate: bool) -> Verdict:
    """What a server that echoes text should answer."""
    peer = Protocol(Side.SERVER, state=State.OPEN, max_size=MESSAGE_BYTES)
    peer.extensions = [PerMessageDeflate(False, False, 15, 15)] if deflate else []
    texts: list[bytes] = []
    kind, message = Opcode.TEXT, b""
    for data in frames:
        peer.receive_data(data)
        for event in peer.events_received():
            assert not isinstance(event, (str, bytes)) and hasattr(event, "opcode")
            if event.opcode in (Opcode.TEXT, Opcode.BINARY):
                kind, message = event.opcode, b""
            if event.opcode in (Opcode.TEXT, Opcode.BINARY, Opcode.CONT):
                message += bytes(event.data)
                if event.fin:
                    if kind is Opcode.BINARY:
                        return Verdict(texts, 1003)
                    if not is_text(message):
                        return Verdict(texts, 1007)
                    texts.append(message)
        if peer.close_sent is not None:
            return Verdict(texts, peer.close_sent.code)
    return Verdict(texts, 1000)


def is_text(data: bytes) -> bool:
    try:
        data.decode()
    except UnicodeDecodeError:
        return False
    return True


async def converse(client: RawClient, frames: list[bytes], rng: random.Random) -> Verdict:
    """Send the frames, cut anywhere, with a close at the end, and read until the server has closed."""
    last = frames[-1]
    closed = last[0] & 0x0F == CLOSE and last[1] & 0x80
    data = b"".join(frames) + (b"" if closed else make_close_frame(1000))
    while data:
        step = rng.choice([1, 3, 40, len(data)])
        await client.send(data[:step])
        data = data[step:]
    texts: list[bytes] = []
    while (got := await client.receive()).opcode != CLOSE:
        if got.opcode == TEXT:
            texts.append(got.payload)
    assert await asyncio.wait_for(client.reader.read(), 60) == b""
    return Verdict(texts, got.close_code)


@pytest.mark.parametrize("deflate", [False, True])
async def test_drawn_frames_get_the_verdict_of_another_library_and_the_peer_learns_it(
    *, deflate: bool
) -> None:
    offer = {"Sec_WebSocket_Extensions": "permessage-deflate"} if deflate else {}
    async with served() as server:
        for seed in range(120):
            rng = random.Random(seed)
            frames = list(draw_frames(rng, deflate=deflate))
            expected = judge(frames, deflate=deflate)
            client = await connect(server.port, X_Claude_Code_Ide_Authorization=TOKEN, **offer)
            found = await converse(client, frames, rng)
            await client.close()
            context = (seed, [data[:12].hex() for data in frames])
            if expected.code in FAULTS:
                # What came before the fault may be unanswered.
                assert found.code in FAULTS, context
                assert found.texts == expected.texts[: len(found.texts)], context
            else:
                assert found == expected._replace(
                    code=expected.code if expected.code != 1005 else found.code
                ), context
        await server.until_open(0)


@pytest.mark.parametrize(
    ("code", "data"),
    [
        (1002, make_frame(TEXT, b"x", rsv=2)),
        (1002, make_frame(TEXT, b"x", rsv=4)),
        (1002, b"\x89\xfe\x00\x01\x00\x00\x00\x00x"),
        (1007, make_frame(TEXT, b"\xff") + make_frame(5)),
        (1003, make_frame(BINARY, b"x") + make_frame(TEXT, b"x", mask=None)),
        (1007, None),
    ],
    ids=[
        "reserved",
        "not-negotiated",
        "long-form-of-a-short-ping",
        "two-faults",
        "two-more-faults",
        "deflate",
    ],
)
async def test_a_peer_that_sends_on_after_a_fault_still_learns_the_code(
    code: int, data: bytes | None
) -> None:
    """Closing with bytes unread makes the kernel send a reset, which overtakes the close frame."""
    offer = {} if data is not None else {"Sec_WebSocket_Extensions": "permessage-deflate"}
    async with served() as server:
        client = await connect(server.port, X_Claude_Code_Ide_Authorization=TOKEN, **offer)
        bad = make_frame(TEXT, zlib.compress(b"not raw") * 9, rsv=4) if data is None else data
        await client.send(bad + make_frame(TEXT, bytes(60_000)) * 40)
        found = await client.receive_close()
        assert found in (FAULTS if code != 1002 else {1002})
        await client.send(make_close_frame(1000))
        assert await asyncio.wait_for(client.reader.read(), 60) == b""
        await client.close()
