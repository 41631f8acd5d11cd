"""Writes a transcript of all messages of a transport, for debugging a server."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from typing import Any

from vaultbridge.client.messages import Message, encode, to_dict
from vaultbridge.client.transport import ALIVE_SECONDS, Connected, State, Transport


class TracedTransport:
    """A transport that forwards to another and writes a line for each event: `→` sent, `←` received, `!`
    error, `·` state.

    Lines that a stdio server logs are marked `|`.
    """

    def __init__(self, inner: Transport, write: Callable[[str], object], clock: Callable[[], float]) -> None:
        self.on_message: Callable[[Message], Awaitable[None] | None] | None = None
        self.on_close: Callable[[], object] | None = None
        self.on_error: Callable[[Exception], object] | None = None
        self.on_state: Callable[[State], object] | None = None
        self._inner = inner
        self._write = write
        self._clock = clock
        self._started = clock()
        inner.on_message = self._message
        inner.on_close = self._close
        inner.on_error = self._error
        inner.on_state = self._state
        if hasattr(inner, "on_stderr"):
            inner.on_stderr = lambda line: self._write_line("|", line)

    @property
    def state(self) -> State:
        return self._inner.state

    @property
    def is_connected(self) -> Connected:
        return self._inner.is_connected

    @property
    def queue_size(self) -> int:
        return self._inner.queue_size

    async def start(self) -> None:
        await self._inner.start()

    async def close(self) -> None:
        await self._inner.close()

    async def send(self, message: object) -> None:
        self._write_line("→", _encode(message))
        await self._inner.send(message)

    async def is_alive(self, patience: float = ALIVE_SECONDS) -> bool:
        return await self._inner.is_alive(patience)

    def _message(self, message: Message) -> Awaitable[None] | None:
        self._write_line("←", _encode(message))
        return self.on_message(message) if self.on_message is not None else None

    def _error(self, error: Exception) -> None:
        self._write_line("!", str(error))
        if self.on_error is not None:
            self.on_error(error)

    def _state(self, state: State) -> None:
        self._write_line("·", state.value)
        if self.on_state is not None:
            self.on_state(state)

    def _close(self) -> None:
        self._write_line("·", "closed")
        if self.on_close is not None:
            self.on_close()

    def _write_line(self, mark: str, text: str) -> None:
        self._write(f"{(self._clock() - self._started) * 1000:9.1f} ms {mark} {text}")


def _encode(message: Any) -> str:
    return encode(to_dict(message)).decode()
