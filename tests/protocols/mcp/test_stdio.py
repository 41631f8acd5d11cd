"""JSON-RPC over stdio, with real processes: seed 004's transport, start and end."""

from __future__ import annotations

import asyncio
import os
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from support.process import FIXTURE, Process, make_process_environ
from support.waiting import BOUND
from vaultbridge.protocols.dialect import Call, MethodTable, Peer
from vaultbridge.protocols.mcp.stdio import LINE_BYTES, WRITE_BUFFER_BYTES, serve_descriptors
from vaultbridge.protocols.request_queue import MAX_RUNNING, MAX_WAITING

PROBER = [sys.executable, str(Path(__file__).with_name("stdio_prober.py"))]


def make_line(id_: Any, method: str, **params: Any) -> bytes:
    return msgspec.json.encode({"jsonrpc": "2.0", "id": id_, "method": method, "params": params}) + b"\n"


INITIALIZE = make_line(
    0, "initialize", protocolVersion="2024-11-05", capabilities={}, clientInfo={"name": "t", "version": "1"}
)


def run(data: bytes, command: list[str] = FIXTURE) -> tuple[int, list[Any], bytes]:
    """Feed everything at once and wait for the end, as a shell pipe does."""
    done = subprocess.run(
        command, input=data, capture_output=True, env=make_process_environ(), timeout=60, check=False
    )
    return done.returncode, [msgspec.json.decode(part) for part in done.stdout.splitlines()], done.stderr


async def test_the_conversation_of_seed_004() -> None:
    async with Process() as process:
        answer = await process.initialize()
        assert answer["jsonrpc"] == "2.0"
        assert answer["result"]["protocolVersion"] == "2024-11-05"
        assert "tools" in answer["result"]["capabilities"]
        assert (await process.ask("tools/list"))["result"]["tools"]
        called = await process.ask("tools/call", {"name": "test_simple_text", "arguments": {}})
        assert called["result"]["content"][0]["type"] == "text"
        failed = await process.ask("tools/call", {"name": "test_error_handling", "arguments": {}})
        assert failed["error"]["data"]["errorCode"] == "SERVER_ERROR"
        await process.send({"jsonrpc": "2.0", "method": "exit"})
        assert await process.wait() == 0


def test_the_end_of_input_finishes_what_is_in_flight_and_exits_0() -> None:
    data = INITIALIZE + b"".join(make_line(n, "tools/call", name="test_reconnection") for n in range(1, 6))
    code, answers, stderr = run(data)
    assert code == 0
    assert {answer["id"] for answer in answers} == set(range(6))
    assert all("result" in answer for answer in answers)
    assert stderr == b""


def test_an_input_without_a_last_newline_is_served() -> None:
    code, answers, _ = run(INITIALIZE.rstrip(b"\n"))
    assert code == 0
    assert answers[0]["id"] == 0


async def test_exit_finishes_what_is_in_flight_closes_and_exits_0(tmp_path: Path) -> None:
    """Seed 004: complete in-flight operations, close file handles, flush logs, exit process."""
    mark = tmp_path / "ended"
    async with Process([*PROBER, str(mark)]) as process:
        await process.send({"jsonrpc": "2.0", "id": 1, "method": "later"})
        await process.send({"jsonrpc": "2.0", "method": "exit"})
        assert await process.read() == {"jsonrpc": "2.0", "id": 1, "result": "finished"}
        assert await process.wait() == 0
    assert mark.read_text() == "closed"


async def test_nothing_after_exit_is_served() -> None:
    async with Process(PROBER) as process:
        await process.write(b'{"jsonrpc":"2.0","method":"exit"}\n{"jsonrpc":"2.0","id":1,"method":"echo"}\n')
        code, out, _ = await process.end()
    assert (code, out) == (0, b"")


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT, signal.SIGHUP])
async def test_a_signal_ends_like_exit(number: signal.Signals) -> None:
    async with Process(PROBER) as process:
        await process.ask("echo")
        await process.send({"jsonrpc": "2.0", "id": 77, "method": "later"})
        await process.ask("echo")
        process.inner.send_signal(number)
        assert (await process.read())["id"] == 77
        assert await process.wait() == 0


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
async def test_a_second_signal_does_not_wait_for_what_hangs(number: signal.Signals) -> None:
    async with Process(PROBER) as process:
        await process.send({"jsonrpc": "2.0", "id": 1, "method": "hang"})
        await process.ask("echo")
        process.inner.send_signal(number)
        assert process.inner.stderr is not None
        assert await asyncio.wait_for(process.inner.stderr.readline(), BOUND) == b"ending\n"
        process.inner.send_signal(number)
        assert await process.wait() == -number


async def test_nothing_printed_by_anybody_reaches_the_client() -> None:
    """Seed 004: "No stdout pollution (logs to stderr only)"."""
    async with Process(PROBER) as process:
        answer = await process.ask("pollute")
        assert answer["result"] == "child read 0 bytes", "a child must not read the client's messages"
        assert (await process.ask("echo", {"still": "here"}))["result"] == {"still": "here"}
        _, out, err = await process.end()
    assert out == b""
    for text in (b"printed", b"written", b"to the descriptor", b"from a child", b"from C"):
        assert text in err


async def test_each_answer_is_flushed_at_once_and_is_one_line() -> None:
    """Each answer is read before the next request is written: a held-back one would hang here."""
    async with Process(PROBER) as process:
        for text in ("plain", "line\nbreak", "\u2028é😀"):
            assert (await process.ask("echo", {"text": text}))["result"] == {"text": text}


async def test_bad_input_gets_its_error_and_the_next_message_is_served() -> None:
    """Seed 004, JSON-RPC Standard Errors."""
    async with Process() as process:
        for data, id_, code in (
            (b"not json\n", None, -32700),
            (b'{"jsonrpc":"2.0","id":1,"method":"\xff"}\n', 1, -32700),
            (b'{"jsonrpc":"2.0","id":5}\n', 5, -32600),
            (b"[]\n", None, -32600),
            (b'{"jsonrpc":"2.0","id":6,"method":"tools/list"}\n', 6, -32600),
        ):
            await process.write(data)
            answer = await process.read()
            assert (answer["id"], answer["error"]["code"]) == (id_, code)
        await process.initialize()
        assert (await process.ask("no/such"))["error"]["code"] == -32601
        assert (await process.ask("tools/call", {"name": 5}))["error"]["code"] == -32602
        assert (await process.ask("tools/call", {"name": "test_crash"}))["error"]["code"] == -32603


async def test_a_client_that_frames_by_length_learns_how_to_frame() -> None:
    async with Process() as process:
        await process.write(b"Content-Length: %d\r\n\r\n" % len(INITIALIZE) + INITIALIZE)
        refused = await process.read()
        assert (refused["id"], refused["error"]["code"]) == (None, -32700)
        assert "one line" in refused["error"]["message"]
        assert "Content-Length" in refused["error"]["message"]
        assert (await process.read())["id"] == 0


async def test_a_message_beyond_the_bound_is_refused_and_the_next_one_served() -> None:
    async with Process(PROBER) as process:
        chunk = b"x" * (1024 * 1024)
        for _ in range(LINE_BYTES // len(chunk) + 1):
            await process.write(chunk)
        await process.write(b"\n")
        answer = await process.read()
        assert (answer["id"], answer["error"]["code"]) == (None, -32700)
        assert str(LINE_BYTES) in answer["error"]["message"]
        assert (await process.ask("echo"))["result"] == {}


async def test_a_large_message_goes_both_ways() -> None:
    async with Process(PROBER) as process:
        text = "é" * 1_000_000
        assert (await process.ask("echo", {"text": text}))["result"]["text"] == text


async def test_messages_may_arrive_byte_by_byte() -> None:
    async with Process(PROBER) as process:
        for byte in make_line(1, "echo", a="é\n") + b"\r\n":
            await process.write(bytes([byte]))
        assert (await process.read())["result"] == {"a": "é\n"}


async def test_a_client_that_reads_nothing_is_not_buffered_without_end_and_then_gets_everything() -> None:
    async with Process(PROBER) as process:
        count, size = 12, WRITE_BUFFER_BYTES // 4
        for n in range(count):
            await process.send({"jsonrpc": "2.0", "id": n, "method": "sized", "params": {"size": size}})
        answers = [await process.read() for _ in range(count)]
    assert sorted(answer["id"] for answer in answers) == list(range(count))
    assert all(len(answer["result"]) == size for answer in answers)


async def test_a_client_that_hangs_up_ends_the_server_quietly() -> None:
    reading, writing = os.pipe()
    process = await asyncio.create_subprocess_exec(
        *PROBER,
        stdin=asyncio.subprocess.PIPE,
        stdout=writing,
        stderr=asyncio.subprocess.PIPE,
        env=make_process_environ(),
    )
    os.close(writing)
    os.close(reading)
    assert process.stdin is not None
    assert process.stderr is not None
    process.stdin.write(make_line(1, "sized", size=100) + make_line(2, "sized", size=100_000))
    assert await asyncio.wait_for(process.wait(), BOUND) == 0
    assert await process.stderr.read() == b""
    process.stdin.close()


@pytest.mark.parametrize("source", ["null", "file"])
def test_input_from_dev_null_or_a_file_ends_by_itself(source: str, tmp_path: Path) -> None:
    """Event loops cannot watch either: a transport that tries hangs."""
    path = Path(os.devnull)
    if source == "file":
        path = tmp_path / "input.jsonl"
        path.write_bytes(INITIALIZE + make_line(1, "tools/list"))
    with path.open("rb") as stdin:
        done = subprocess.run(
            FIXTURE, stdin=stdin, capture_output=True, env=make_process_environ(), timeout=60, check=False
        )
    assert done.returncode == 0
    assert len(done.stdout.splitlines()) == (0 if source == "null" else 2)


@pytest.mark.parametrize("closed", ["<&-", "<&- >&-", "<&- >&- 2>&-"])
def test_started_without_streams_it_ends_at_once_and_quietly(closed: str) -> None:
    """A supervisor may close them: there is no client then, and nothing to complain of."""
    done = subprocess.run(
        ["/bin/sh", "-c", f'exec "$@" {closed}', "sh", *FIXTURE],
        capture_output=True,
        env=make_process_environ(),
        timeout=60,
        check=False,
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, b"", b"")


def test_output_to_a_file_works(tmp_path: Path) -> None:
    out = tmp_path / "out.jsonl"
    with out.open("wb") as stdout:
        subprocess.run(
            FIXTURE, input=INITIALIZE, stdout=stdout, env=make_process_environ(), timeout=60, check=True
        )
    assert msgspec.json.decode(out.read_bytes())["id"] == 0


def test_only_what_the_first_answer_needs_is_imported() -> None:
    """DESIGN 2: nothing slow before `initialize` is answered."""
    code = (
        "import sys; from vaultbridge.protocols.mcp.dialect import mcp_dialect; "
        "from vaultbridge.protocols.mcp.stdio import serve_stdio; "
        "print(*sorted(name for name in sys.modules if '.' not in name or name.startswith('vaultbridge.')))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, env=make_process_environ(), check=True, timeout=60
    )
    loaded = set(done.stdout.decode().split())
    slow = {
        "aiohttp",
        "yaml",
        "watchfiles",
        "sqlite3",
        "argparse",
        "multiprocessing",
        "mcp",
        "email",
        "http",
        "urllib",
    }
    assert not loaded & slow
    parts = {"jsonrpc", "protocols", "errors", "limits", "event_loop"}
    ours = {name for name in loaded if name.startswith("vaultbridge.")}
    others = {name for name in ours if name.split(".")[1] not in parts}
    assert others == {"vaultbridge.tools", "vaultbridge.tools.suggestions"}, "names of tools, and no tool"


async def test_any_two_descriptors_can_be_served() -> None:
    """The same wire format works on any byte stream (2026-07-28, stdio)."""

    async def echo(call: Call) -> Any:
        return call.params

    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    serving = asyncio.ensure_future(
        serve_descriptors(lambda _: MethodTable({"echo": echo}), in_read, out_write)
    )
    await asyncio.to_thread(os.write, in_write, make_line(1, "echo", a=1))
    answer = await asyncio.wait_for(asyncio.to_thread(os.read, out_read, 4096), BOUND)
    assert msgspec.json.decode(answer)["result"] == {"a": 1}
    os.close(in_write)
    await asyncio.wait_for(serving, BOUND)
    os.close(out_read)


async def test_a_client_that_reads_nothing_costs_notifications_and_never_an_answer() -> None:
    """Notifications beyond the buffer are dropped; the answer to the request still comes."""
    count, size = 40, WRITE_BUFFER_BYTES // 8

    async def chatter(call: Call) -> str:
        for n in range(count):
            call.notify("chatter", {"n": n, "text": "x" * size})
        return "done"

    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    serving = asyncio.ensure_future(
        serve_descriptors(lambda _: MethodTable({"m": chatter}), in_read, out_write)
    )
    await asyncio.to_thread(os.write, in_write, make_line(1, "m"))
    with os.fdopen(out_read, "rb") as out:
        seen = []
        while True:
            message = msgspec.json.decode(await asyncio.wait_for(asyncio.to_thread(out.readline), BOUND))
            if "result" in message:
                break
            seen.append(message["params"]["n"])
    assert message["result"] == "done"
    assert seen == list(range(len(seen)))
    assert 8 <= len(seen) < count
    os.close(in_write)
    await asyncio.wait_for(serving, BOUND)


@pytest.mark.parametrize("bad", [b"not json", b"Content-Length: 9"])
async def test_errors_about_bad_lines_wait_for_a_client_that_reads_nothing(
    bad: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Requests did, but what cannot be read was answered, and the answer buffered, without end."""
    for limit, value in (("WRITE_BUFFER_BYTES", 65536), ("READ_AHEAD", 1), ("READ_BYTES", 4096)):
        monkeypatch.setattr(f"vaultbridge.protocols.mcp.stdio.{limit}", value)
    count = 6000
    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    serving = asyncio.ensure_future(serve_descriptors(lambda _: MethodTable({}), in_read, out_write))
    os.set_blocking(in_write, False)
    data, taken, quiet = memoryview((bad.ljust(99) + b"\n") * count), 0, 0
    while taken < len(data) and quiet < 20:
        try:
            taken += os.write(in_write, data[taken : taken + 65536])
            quiet = 0
        except BlockingIOError:
            quiet += 1
        await asyncio.sleep(0.005)
    assert taken < len(data)
    os.set_blocking(in_write, True)
    rest = asyncio.ensure_future(asyncio.to_thread(lambda: os.write(in_write, data[taken:])))

    def read_all() -> set[int]:
        with os.fdopen(out_read, "rb") as out:
            return {msgspec.json.decode(out.readline())["error"]["code"] for _ in range(count)}

    assert await asyncio.wait_for(asyncio.to_thread(read_all), BOUND) == {-32700}
    await rest
    os.close(in_write)
    await asyncio.wait_for(serving, BOUND)


async def test_the_end_does_not_wait_for_a_client_that_sends_but_never_reads(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The server then waits with reading, and SIGTERM ended only the reading."""
    for limit in ("connection.DRAIN_SECONDS", "mcp.stdio.FINISH_SECONDS"):
        monkeypatch.setattr(f"vaultbridge.protocols.{limit}", 0.05)
    called = asyncio.Event()
    peers: list[Peer] = []

    async def answer_much(call: Call) -> str:
        called.set()
        return "x" * WRITE_BUFFER_BYTES

    def make_dialect(peer: Peer) -> MethodTable:
        peers.append(peer)
        return MethodTable({"m": answer_much})

    in_read, in_write = os.pipe()
    out_read, out_write = os.pipe()
    serving = asyncio.ensure_future(serve_descriptors(make_dialect, in_read, out_write))
    requests = b"".join(make_line(n, "m") for n in range(MAX_RUNNING + MAX_WAITING + 1))
    await asyncio.to_thread(os.write, in_write, requests)
    await asyncio.wait_for(called.wait(), BOUND)
    peers[0].end()
    await asyncio.wait_for(serving, BOUND)
    os.close(in_write)
    os.close(out_read)
