"""Connects our transports to the official Python SDK: the pair of streams that its `Client` takes.

The SDK is an optional extra and slow to import, so it is imported only when streams are opened.
"""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AbstractAsyncContextManager, asynccontextmanager, suppress
from typing import TYPE_CHECKING, Any, Final

from vaultbridge.client.errors import TransportClosed
from vaultbridge.client.messages import CONNECTION_LOST, Message, make_error_answer
from vaultbridge.client.transport import State, Transport
from vaultbridge.errors import EngineFailure

if TYPE_CHECKING:
    from mcp.client._transport import TransportStreams

READ_AHEAD: Final = 64
"""Messages that may wait for the SDK before the transport stops reading, so that neither waits for the
other."""


def open_streams(transport: Transport) -> AbstractAsyncContextManager[TransportStreams]:
    """Start `transport` and yield the SDK's read and write streams; close it at the end.

    Callbacks that were set before are still called. Raises EngineFailure when the SDK is not installed.
    """
    try:
        import anyio  # noqa: F401 - to see that it is installed
        import mcp.shared.message  # noqa: F401 - likewise
    except ImportError:
        raise EngineFailure(
            "The official MCP SDK is not installed.", hint="Install vaultbridge[client], or use callbacks."
        ) from None
    return _streams(transport)


@asynccontextmanager
async def _streams(transport: Transport) -> AsyncIterator[TransportStreams]:
    import anyio
    from mcp.shared.message import SessionMessage
    from mcp_types import jsonrpc_message_adapter
    from pydantic import ValidationError

    to_session, from_server = anyio.create_memory_object_stream[SessionMessage | Exception](READ_AHEAD)
    user_message, user_error, user_close = transport.on_message, transport.on_error, transport.on_close

    async def on_message(message: Message) -> None:
        if user_message is not None:
            pending = user_message(message)
            if pending is not None:
                await pending
        item: SessionMessage | Exception
        try:
            item = SessionMessage(jsonrpc_message_adapter.validate_python(message, by_name=False))
        except ValidationError as error:
            item = _refused(message, error)
        # A session that has stopped reading is about to close the transport.
        with suppress(anyio.BrokenResourceError, anyio.ClosedResourceError):
            await to_session.send(item)

    def _refused(message: Message, error: Exception) -> SessionMessage | Exception:
        # JSON-RPC allows any result, MCP only an object. The caller must not wait forever.
        if "result" not in message:
            return error
        text = "The server's result is not an object."
        answer = make_error_answer(message["id"], CONNECTION_LOST, text, reason="invalid-message")
        return SessionMessage(jsonrpc_message_adapter.validate_python(answer, by_name=False))

    def on_error(error: Exception) -> None:
        if user_error is not None:
            user_error(error)
        # Only the session's message handler reads this copy; if the stream is full, nothing else is lost.
        with suppress(anyio.WouldBlock, anyio.BrokenResourceError, anyio.ClosedResourceError):
            to_session.send_nowait(error)

    def on_close() -> None:
        to_session.close()
        if user_close is not None:
            user_close()

    transport.on_message, transport.on_error, transport.on_close = on_message, on_error, on_close
    try:
        if transport.state is State.DISCONNECTED:
            await transport.start()  # a plugin may have connected it before
        yield from_server, _WriteStream(transport)
    finally:
        # The transport's close timeout bounds this, so the shield cannot hang.
        with anyio.CancelScope(shield=True):
            from_server.close()
            await transport.close()
            to_session.close()


class _WriteStream:
    """The SDK's write stream. There is no task in between, so what `send` raises reaches the SDK's caller."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self._closed = False

    async def send(self, item: Any) -> None:
        import anyio

        if self._closed:
            raise anyio.ClosedResourceError
        try:
            await self._transport.send(item)
        except TransportClosed:
            raise anyio.ClosedResourceError from None

    async def aclose(self) -> None:
        self._closed = True

    async def __aenter__(self) -> _WriteStream:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.aclose()
