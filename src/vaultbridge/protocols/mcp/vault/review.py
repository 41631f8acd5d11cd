"""What a call over MCP can do while its change waits for a person: wait longer, report progress, and let the
client ask its user.

Implements `review.gate.Caller` in the call's worker thread, on top of the call's context, which lives in the
event loop.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeVar

from vaultbridge.jsonrpc.messages import PeerDisconnected, PeerError
from vaultbridge.protocols.mcp.values import InputRequest

if TYPE_CHECKING:
    from vaultbridge.protocols.mcp.provider import Context
    from vaultbridge.protocols.mcp.vault.workers import Workers
    from vaultbridge.review.gate import Choice

LOOP_SECONDS: Final = 10.0
"""How long the event loop may take to answer, which never blocks for long."""

STATE_KEY: Final = "proposal"

FORM: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        "apply": {
            "type": "boolean",
            "title": "Apply this change",
            "description": "Off: the change is rejected",
            "default": True,
        }
    },
}
"""What the client's user fills in. Declining rejects the change too; closing the form decides nothing."""

T = TypeVar("T")


class McpCaller:
    """Call it in the call's worker thread."""

    def __init__(
        self, context: Context, loop: asyncio.AbstractEventLoop, workers: Workers, *, can_show: bool = False
    ) -> None:
        self.can_show = can_show
        self._context = context
        self._loop = loop
        self._workers = workers

    @property
    def can_ask(self) -> bool:
        return self._context.supports("elicitation")

    @property
    def asked(self) -> str:
        known = self._context.state.get(STATE_KEY, "")
        return known if isinstance(known, str) else ""

    def begin_waiting(self, seconds: float) -> float:
        async def begin() -> float:
            return self._context.wait_for_person(seconds)

        self._workers.step_aside()
        return self._run(begin(), LOOP_SECONDS)

    def ask(self, proposal: str, message: str, seconds: float) -> Choice:
        # The name of the question is that of the proposal: no answer given beforehand can fit it.
        key = f"review-{proposal}"
        question = InputRequest("elicitation/create", {"message": message, "requestedSchema": FORM})

        async def ask() -> dict[str, dict[str, Any]]:
            return await self._context.ask({key: question}, state={STATE_KEY: proposal})

        self._workers.step_aside()
        try:
            answer = self._run(ask(), seconds)[key]
        except (TimeoutError, concurrent.futures.CancelledError, PeerError, PeerDisconnected):
            return "cancel"
        content = answer.get("content")
        refused = isinstance(content, dict) and content.get("apply") is False
        if answer.get("action") == "accept":
            return "reject" if refused else "accept"
        return "reject" if answer.get("action") == "decline" else "cancel"

    def _run(self, work: Coroutine[Any, Any, T], seconds: float) -> T:
        running = asyncio.run_coroutine_threadsafe(work, self._loop)
        try:
            return running.result(seconds)
        finally:
            running.cancel()
