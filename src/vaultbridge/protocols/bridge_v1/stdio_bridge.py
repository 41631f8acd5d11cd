"""The stdio bridge: an MCP provider whose tools are those of a Bridge v1 server, which may appear and
disappear.

`initialize` is answered without the server. The tools are polled by hash; while the server is away, the last
known ones stay listed and each call says what is wrong. Until it is first reached there is one tool, which
says why it is not.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import re
from collections.abc import Callable, Sequence
from typing import Any, Final, cast

from vaultbridge.errors import EngineFailure, NotFound, VaultbridgeError
from vaultbridge.jsonrpc.messages import INVALID_PARAMS, RpcError
from vaultbridge.protocols.bridge_v1.client import BridgeClient, RemoteTool, RemoteTools
from vaultbridge.protocols.connection import cancel_and_wait
from vaultbridge.protocols.mcp.methods import describe_unknown_tool
from vaultbridge.protocols.mcp.provider import Context, EmptyProvider
from vaultbridge.protocols.mcp.values import (
    Content,
    ProviderChange,
    TextContent,
    ToolAnnotations,
    ToolInfo,
    ToolResult,
    ToolsChanged,
)

POLL_SECONDS: Final = 2.0
"""The time between two polls while all is well: an answer is only headers when nothing has changed."""

FIRST_WAIT_SECONDS: Final = 0.25
"""The first wait after a failure; each further wait is twice as long."""

LONGEST_WAIT_SECONDS: Final = 15.0
"""The longest wait: the tools come back soon after Obsidian is started again, without restarting the
client."""

FIRST_LIST_SECONDS: Final = 1.5
"""How long the first list of tools waits for the server before it is answered without its tools."""

STATUS_TOOL: Final = "bridge_status"

_READS: Final = ToolAnnotations(read_only_hint=True, open_world_hint=False)

_NAME: Final = re.compile(r"[A-Za-z0-9_-]{1,64}")

log = logging.getLogger("vaultbridge.bridge")


class BridgeProvider(EmptyProvider):
    """The tools of a Bridge v1 server. Call `start` in the event loop."""

    def __init__(self, client: BridgeClient, *, poll_seconds: float = POLL_SECONDS) -> None:
        self._client = client
        self._poll_seconds = poll_seconds
        self._known: RemoteTools | None = None
        self._names: dict[str, str] = {}
        self._listed: tuple[ToolInfo, ...] = (self._make_status_tool(),)
        self._last_listed: tuple[ToolInfo, ...] | None = None
        """The list that was sent last. Before one has been sent, changes need not be announced."""
        self._problem: VaultbridgeError | None = None
        self._polled = asyncio.Event()
        self._poll_now = asyncio.Event()
        self._listeners: list[Callable[[ProviderChange], None]] = []
        self._polling: asyncio.Task[None] | None = None

    def start(self) -> None:
        self._polling = asyncio.create_task(self._poll())

    async def list_tools(self) -> Sequence[ToolInfo]:
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(FIRST_LIST_SECONDS):
                await self._polled.wait()
        self._last_listed = self._listed
        return self._listed

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context) -> ToolResult:
        if name == STATUS_TOOL and STATUS_TOOL not in self._names:
            return await self._check_status()
        remote = self._names.get(name)
        if remote is None and self.is_away:
            # What was wrong at the last poll may be over: the server has just been started, or replaced by
            # one with other tools.
            await self._fetch_now()
            remote = self._names.get(name)
        if remote is None and not _NAME.fullmatch(name):
            raise self._make_unknown(name)
        try:
            # Also a tool that is not listed: the server may refuse it with a reason, as one that changes
            # something to a caller who may only read.
            result = await self._client.call(remote or name, arguments)
        except NotFound:
            # The tools may have changed since the caller listed them.
            self._poll_now.set()
            if remote is None:
                raise self._make_unknown(name) from None
            raise
        except VaultbridgeError as error:
            self._poll_now.set()
            raise _add_hint(error) from error
        if self._problem is not None:
            self._poll_now.set()
        return ToolResult(
            # Blocks of unknown types pass through unchanged.
            tuple(cast(Content, block) for block in result.content),
            is_error=result.is_error,
        )

    def _make_unknown(self, name: str) -> RpcError:
        known = {tool.name: tool for tool in self._listed}
        return RpcError(INVALID_PARAMS, describe_unknown_tool(name, known), {"argument": "name"})

    @property
    def is_away(self) -> bool:
        """Whether it is unknown which tools there are now."""
        return self._known is None or self._problem is not None

    def subscribe(self, listener: Callable[[ProviderChange], None]) -> Callable[[], None]:
        self._listeners.append(listener)
        return lambda: self._listeners.remove(listener)

    async def close(self) -> None:
        if self._polling is not None:
            await cancel_and_wait(self._polling)

    async def _poll(self) -> None:
        wait = FIRST_WAIT_SECONDS
        while True:
            self._poll_now.clear()
            try:
                self._take(await self._client.fetch_tools())
            except VaultbridgeError as error:
                self._set_problem(error)
                pause, wait = wait, min(wait * 2, LONGEST_WAIT_SECONDS)
            else:
                if self._problem is not None:
                    log.info("%s can be reached again", self._client.address)
                self._problem = None
                pause, wait = self._poll_seconds, FIRST_WAIT_SECONDS
            self._polled.set()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(pause):
                    await self._poll_now.wait()

    def _set_problem(self, error: VaultbridgeError) -> None:
        if self._problem is None:
            log.warning("%s", error)
        self._problem = error

    def _take(self, tools: RemoteTools) -> None:
        if tools is self._known:
            return
        self._known = tools
        self._names = make_mcp_names([tool.name for tool in tools.tools])
        remote = {tool.name: tool for tool in tools.tools}
        self._listed = tuple(
            ToolInfo(
                name=name,
                description=remote[own].description,
                input_schema=remote[own].input_schema,
                annotations=_make_annotations(remote[own]),
            )
            for name, own in self._names.items()
        )
        if self._last_listed is not None and self._last_listed != self._listed:
            self._last_listed = None
            for listener in tuple(self._listeners):
                listener(ToolsChanged())

    def _make_status_tool(self) -> ToolInfo:
        return ToolInfo(
            name=STATUS_TOOL,
            title="Bridge status",
            description=f"Says why the Obsidian bridge at {self._client.address} has not been reached yet. "
            "Its tools appear here as soon as it can be reached.",
            input_schema={"type": "object", "properties": {}},
            annotations=_READS,
        )

    async def _check_status(self) -> ToolResult:
        tools = await self._fetch_now()
        return ToolResult(
            (TextContent(text=f"{self._client.address} is running and has {len(tools.tools)} tools."),)
        )

    async def _fetch_now(self) -> RemoteTools:
        """Ask for the tools without waiting for the next poll, which then follows at once."""
        self._poll_now.set()
        try:
            tools = await self._client.fetch_tools()
        except VaultbridgeError as error:
            self._set_problem(error)
            raise _add_hint(error) from error
        self._take(tools)
        return tools


def _make_annotations(tool: RemoteTool) -> ToolAnnotations | None:
    if tool.only_reads:
        return _READS
    return None if tool.destroys is None else ToolAnnotations(destructive_hint=tool.destroys)


class UnlistedTools:
    """The names that may be called although they are not listed: every name. The server knows best, and while
    it is away, the error says so; with "unknown tool" a model would look for another name."""

    def __contains__(self, name: object) -> bool:
        return True


def make_mcp_names(names: Sequence[str]) -> dict[str, str]:
    """Maps a name that MCP clients accept to each of the server's names; the same on every call.

    A server may name its tools as it likes; model APIs accept up to 64 letters, digits, `_` and `-`.
    """
    by_mcp_name = {name: name for name in names if _NAME.fullmatch(name)}
    for name in dict.fromkeys(names):
        if name in by_mcp_name:
            continue
        plain = re.sub(r"[^A-Za-z0-9_-]+", "_", name)[:60].strip("_") or "tool"
        candidate, number = plain, 2
        while candidate in by_mcp_name:
            candidate, number = f"{plain}_{number}", number + 1
        by_mcp_name[candidate] = name
    return by_mcp_name


def _add_hint(error: VaultbridgeError) -> VaultbridgeError:
    """The same error, with a hint about a server that cannot be reached."""
    if isinstance(error, EngineFailure) and not error.hint:
        return EngineFailure(
            error.message,
            hint="Is Obsidian with its bridge, or `vaultbridge serve`, running there?",
            **error.details,
        )
    return error
