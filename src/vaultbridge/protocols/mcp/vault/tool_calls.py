"""Runs the tool calls of MCP clients in workers, with progress, the review of changes, and the data for
views."""

from __future__ import annotations

import asyncio
import concurrent.futures
from collections.abc import Callable, Coroutine
from typing import TYPE_CHECKING, Any, Final, TypeVar

from msgspec import UNSET
from msgspec.structs import replace

from vaultbridge.activity.records import TOOL_PREFIX
from vaultbridge.jsonrpc.messages import PeerDisconnected, PeerError
from vaultbridge.protocols.mcp.context import InputRequired
from vaultbridge.protocols.mcp.provider import Context
from vaultbridge.protocols.mcp.values import (
    BlobResource,
    Content,
    EmbeddedResource,
    ImageContent,
    InputRequest,
    TextContent,
    ToolResult,
)
from vaultbridge.protocols.mcp.vault.resources import make_uri
from vaultbridge.protocols.mcp.vault.workers import Workers
from vaultbridge.review.gate import Choice, ReviewGate
from vaultbridge.tools.base.answer import Answer, AnswerPart, ImagePart, TextPart

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.protocols.mcp.vault.loaded import Loaded
    from vaultbridge.review.policy import ReviewRules

LOOP_SECONDS: Final = 10.0
"""How long to wait for the event loop, which never blocks for long."""

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
"""The form that the client's user fills in. Declining rejects the change too; closing the form decides
nothing."""

T = TypeVar("T")


class ProgressRelay:
    """Passes progress from the thread of a tool to the client; of many reports only the newest is sent."""

    __slots__ = ("_context", "_loop", "_newest")

    def __init__(self, context: Context, loop: asyncio.AbstractEventLoop) -> None:
        self._context = context
        self._loop = loop
        self._newest: tuple[float, float | None, str] | None = None

    def __call__(self, done: float, total: float | None, message: str) -> None:
        waiting, self._newest = self._newest, (done, total, message)
        if waiting is None:
            try:
                self._loop.call_soon_threadsafe(self._send)
            except RuntimeError:
                # The loop has closed: nobody is waiting.
                return

    def _send(self) -> None:
        newest, self._newest = self._newest, None
        if newest is not None:
            self._context.progress(newest[0], newest[1], newest[2] or None)


def to_content(part: AnswerPart) -> Content:
    """One part of an answer as MCP content. A file carries its URI as a resource."""
    if isinstance(part, TextPart):
        return TextContent(text=part.text)
    if isinstance(part, ImagePart):
        return ImageContent(data=part.data, mime_type=part.mime_type)
    uri = make_uri(part.vault, part.path)
    return EmbeddedResource(resource=BlobResource(uri=uri, blob=part.data, mime_type=part.mime_type))


class ToolCalls:
    """Runs the calls of one server, in the event loop `loop`. `review` returns, in a worker and for each
    change, the policy of a vault; without it nothing is reviewed."""

    def __init__(
        self,
        loaded: Loaded,
        workers: Workers,
        loop: asyncio.AbstractEventLoop,
        *,
        review: Callable[[Engine], ReviewRules] | None,
    ) -> None:
        self._loaded = loaded
        self._loop = loop
        self._workers = workers
        self._review = review

    async def call(self, name: str, arguments: dict[str, Any], context: Context) -> ToolResult:
        answer, shown = await self._run_call(name, arguments, context)
        if answer.changed:
            context.log("debug", {"tool": name, "changed": True}, "vaultbridge")
        structured = UNSET if answer.data is None else answer.data
        return ToolResult(tuple([to_content(part) for part in answer.content]), structured, meta=shown)

    async def _run_call(
        self, name: str, arguments: dict[str, Any], context: Context
    ) -> tuple[Answer, dict[str, Any] | None]:
        """The answer, and what a view shows of it."""
        progress = ProgressRelay(context, self._loop)
        actor = context.client_name or "mcp"
        loaded = self._loaded

        def call() -> tuple[Answer, dict[str, Any] | None] | InputRequired:
            tool_context = replace(loaded.tool_context, actor=actor, progress=progress)
            gate = None
            if self._review is not None and loaded.catalog.may_change(name):
                gate = self._make_gate(self._review, name, context, progress)
                tool_context = replace(tool_context, gate=gate)
            try:
                answer = loaded.catalog.call(name, arguments, tool_context)
            except InputRequired as required:
                return required
            if not context.shows_views:
                return answer, None
            return answer, loaded.apps.describe(answer, gate, context.principal)

        answer = await self._workers.run(
            call,
            cancellable=not loaded.catalog.may_change(name),
            long=loaded.catalog.may_take_long(name),
        )
        if isinstance(answer, InputRequired):
            # Raised here and not in the worker: it is not a failure of the tool.
            raise answer
        return answer

    def _make_gate(
        self,
        rules: Callable[[Engine], ReviewRules],
        name: str,
        context: Context,
        progress: ProgressRelay,
    ) -> ReviewGate:
        """Make the gate that decides on the changes of one call. Runs in a worker."""
        can_show = context.shows_views and self._loaded.apps.shows_changes()
        caller = McpCaller(context, self._loop, self._workers, can_show=can_show)
        return ReviewGate(rules, name.removeprefix(TOOL_PREFIX), caller, progress)


class McpCaller:
    """What a call can do while its change waits for a person: wait longer, and let the client ask its user.

    Implements `review.gate.Caller` in the call's worker thread, on top of the call's context, which lives in
    the event loop.
    """

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

    def ask(self, proposal: str, version: str, message: str, seconds: float) -> Choice:
        # The question is named after what is shown, so that no answer that was given beforehand can match it,
        # and none to what was shown before a note changed.
        key = f"review-{proposal}-{version}"
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
