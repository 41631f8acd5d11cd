"""Somebody who uses a transport and remembers everything it says, and the command of a server to use."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any, Generic, Self, TypeVar

from vaultbridge.client.transport import Transport

T = TypeVar("T", bound=Transport)

CHILD = str(Path(__file__).with_name("child.py"))


def make_command(mode: str, *report: Path) -> list[str]:
    return [sys.executable, CHILD, mode, *map(str, report)]


class TransportUser(Generic[T]):
    def __init__(self, transport: T) -> None:
        self.transport = transport
        self.messages: list[dict[str, Any]] = []
        self.errors: list[Exception] = []
        self.states: list[str] = []
        self.closed = 0
        transport.on_message = self.messages.append
        transport.on_error = self.errors.append
        transport.on_state = lambda state: self.states.append(state.value)
        transport.on_close = self._close

    def _close(self) -> None:
        self.closed += 1

    async def __aenter__(self) -> Self:
        await self.transport.start()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.transport.close()
