"""What an MCP server offers: the border between the protocol and whoever has something to offer.

An `Offer` is known before anything is loaded: it answers `initialize` and `server/discover`. A `Provider`
does the work; it is made by a factory on first need, after the first answer has left. A provider knows no
protocol version: it returns the richest values, and raises `VaultbridgeError`s. Any object with these
methods will do; derive from `EmptyProvider` to leave some out.

    class Greeter(EmptyProvider):
        async def list_tools(self) -> Sequence[ToolInfo]:
            return [ToolInfo(name="greet", input_schema={"type": "object"})]

        async def call_tool(self, name: str, arguments: dict[str, Any], context: Context) -> ToolResult:
            context.progress(1, 2, "thinking")
            return ToolResult((Text(text="hello"),))

    server = McpServer(Offer(instructions="Greets."), make_greeter)     # async def make_greeter() -> Provider
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from vaultbridge import __version__
from vaultbridge.errors import NoteNotFound
from vaultbridge.protocols.mcp.values import (
    Change,
    Completion,
    ElicitResult,
    Icon,
    InputRequest,
    LogLevel,
    Page,
    PromptInfo,
    PromptRef,
    PromptResult,
    ResourceContents,
    ResourceInfo,
    ResourceRef,
    TemplateInfo,
    ToolInfo,
    ToolResult,
)


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """What a server is and has, without loading it. A part that is False is neither advertised nor
    answered."""

    name: str = "obsidian-mcp"
    """Seed 004 shows this name."""
    title: str = "vaultbridge"
    version: str = __version__
    description: str = ""
    website: str = ""
    icons: tuple[Icon, ...] = ()
    instructions: str = ""
    tools: bool = True
    unlisted_tools: Container[str] = frozenset()
    """Answered also while they are not listed: a client that asked for the list once may know no others."""
    resources: bool = False
    subscriptions: bool = False
    """Whether single resources can be subscribed to (needs `resources`)."""
    prompts: bool = False
    completions: bool = False
    logging: bool = True


class Context(Protocol):
    """The call a provider is answering. One per call; not to be kept."""

    @property
    def client_name(self) -> str:
        """As the client calls itself; for texts and logs, never for decisions."""
        ...

    @property
    def principal(self) -> str:
        """Who asks, as the transport's authentication knows it; "" on stdio."""
        ...

    @property
    def state(self) -> dict[str, Any]:
        """What `ask` was given as `state` in the round before; empty in the first one."""
        ...

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Tell how far the work has come. Values must increase; others are dropped. Cheap when nobody
        asked."""
        ...

    def log(self, level: LogLevel, data: Any, logger: str = "") -> None:
        """Send a log message to the client, if it wants that level. Never put secrets or machine paths
        here."""
        ...

    def supports(self, capability: Literal["elicitation", "sampling", "roots"]) -> bool:
        """Whether the client can be asked such a thing."""
        ...

    async def elicit(self, message: str, schema: dict[str, Any], *, key: str = "input") -> ElicitResult:
        """Ask the person at the client to fill in a form (flat JSON Schema of primitive properties)."""
        ...

    async def ask(
        self, requests: Mapping[str, InputRequest], *, state: dict[str, Any] | None = None
    ) -> dict[str, dict[str, Any]]:
        """Ask the client several things at once; the answers come by key.

        In versions with a session this waits for the answers. In 2026-07-28 it ends this run with an
        "input required" result, and the client calls again: the tool runs again from its start and `ask`
        then returns. So nothing may be changed before the last `ask`. Answers of earlier rounds are
        kept; keys must be unique within the tool. `state` is handed back, signed, as `Context.state`.
        """
        ...

    def release_stream(self) -> None:
        """Before long work: let an HTTP client come back for the answer instead of holding its connection."""
        ...


class Provider(Protocol):
    """The work behind an `Offer`. Methods of parts that are not offered are never called."""

    async def list_tools(self) -> Sequence[ToolInfo]:
        """All tools, always in the same order. May be asked often: keep it at hand."""
        ...

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context) -> ToolResult:
        """`name` is one of `list_tools`; `arguments` are not checked against its schema."""
        ...

    async def withholds(self, name: str) -> bool:
        """Whether there is such a tool and it is not listed because nothing may be changed here. It is called
        like any other, so that the caller hears the reason and not that there is no such tool."""
        ...

    async def list_resources(self, cursor: str) -> Page[ResourceInfo]: ...

    async def list_templates(self, cursor: str) -> Page[TemplateInfo]: ...

    async def read_resource(self, uri: str, context: Context) -> Sequence[ResourceContents]:
        """Raises NoteNotFound for an unknown one."""
        ...

    async def watch_resource(self, uri: str) -> None:
        """Somebody subscribed: `ResourceUpdated(uri)` is wanted from now on. Raises NoteNotFound."""
        ...

    async def unwatch_resource(self, uri: str) -> None:
        """The last subscriber of `uri` has gone."""
        ...

    async def list_prompts(self, cursor: str) -> Page[PromptInfo]: ...

    async def get_prompt(self, name: str, arguments: dict[str, str], context: Context) -> PromptResult:
        """Raises InvalidArgument for an unknown name or a missing argument."""
        ...

    async def complete(
        self, ref: PromptRef | ResourceRef, argument: str, value: str, others: Mapping[str, str]
    ) -> Completion:
        """Suggest values of `argument` that begin with `value`; `others` are the arguments already given."""
        ...

    def subscribe(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        """Call `listener` (in the event loop's thread) on every change; returns how to stop."""
        ...

    async def close(self) -> None:
        """The process ends: close files, flush logs."""
        ...


class EmptyProvider:
    """Offers nothing: a base for providers that offer a part."""

    async def list_tools(self) -> Sequence[ToolInfo]:
        return ()

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context) -> ToolResult:
        raise NoteNotFound(name, what="tool")

    async def withholds(self, name: str) -> bool:
        return False

    async def list_resources(self, cursor: str) -> Page[ResourceInfo]:
        return Page(())

    async def list_templates(self, cursor: str) -> Page[TemplateInfo]:
        return Page(())

    async def read_resource(self, uri: str, context: Context) -> Sequence[ResourceContents]:
        raise NoteNotFound(uri, what="resource")

    async def watch_resource(self, uri: str) -> None:
        raise NoteNotFound(uri, what="resource")

    async def unwatch_resource(self, uri: str) -> None:
        pass

    async def list_prompts(self, cursor: str) -> Page[PromptInfo]:
        return Page(())

    async def get_prompt(self, name: str, arguments: dict[str, str], context: Context) -> PromptResult:
        raise NoteNotFound(name, what="prompt")

    async def complete(
        self, ref: PromptRef | ResourceRef, argument: str, value: str, others: Mapping[str, str]
    ) -> Completion:
        return Completion()

    def subscribe(self, listener: Callable[[Change], None]) -> Callable[[], None]:
        return lambda: None

    async def close(self) -> None:
        pass
