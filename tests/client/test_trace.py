"""The transcript."""

from __future__ import annotations

import itertools

from client.servers import running
from client.user import make_command
from support.waiting import until
from vaultbridge.client.errors import InvalidMessage
from vaultbridge.client.session import Session
from vaultbridge.client.stdio import StdioTransport
from vaultbridge.client.trace import TracedTransport
from vaultbridge.client.websocket.transport import WebSocketTransport


async def test_everything_that_passes_is_written_in_order_with_its_time() -> None:
    lines: list[str] = []
    ticks = itertools.count(0, 0.001)
    traced = TracedTransport(StdioTransport(make_command("good")), lines.append, lambda: next(ticks))
    async with Session(traced, version="2025-11-25") as session:
        await session.call_tool("echo", {"text": "hello"})
    marks = [line.split(" ms ", 1)[1][0] for line in lines]
    texts = "\n".join(lines)
    assert marks[:2] == ["·", "·"] and marks[-1] == "·"
    assert '→ {"jsonrpc":"2.0","id":1,"method":"initialize"' in texts
    assert texts.index("→") < texts.index("←")
    assert "| ready" in texts and '"text":"hello"' in texts
    assert lines[0].strip().startswith("1.0 ms")


async def test_it_passes_on_everything_else() -> None:
    async with running() as server:
        inner = WebSocketTransport(server.url)
        traced = TracedTransport(inner, lambda line: None, lambda: 0.0)
        errors: list[Exception] = []
        states: list[str] = []
        closed: list[bool] = []
        traced.on_error = errors.append
        traced.on_state = lambda state: states.append(state.value)
        traced.on_close = lambda: closed.append(True)
        await traced.start()
        assert traced.is_connected and traced.queue_size == 0 and traced.state == "connected"
        assert await traced.is_alive()
        say = {"jsonrpc": "2.0", "method": "say", "params": {"text": "no message"}}
        await traced.send(say)
        await until(lambda: bool(errors))
        await traced.close()
        assert [type(error) for error in errors] == [InvalidMessage] and closed == [True]
        assert states == ["connecting", "connected", "disconnecting", "disconnected"]
