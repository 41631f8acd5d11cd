"""What an MCP server offers: the interface between the protocol and whatever provides tools, resources and
prompts.

An `Offer` is known before anything is loaded: it answers `initialize` and `server/discover`. A `Provider`
does the work; a factory makes it on first use, after the first answer has been sent. A provider is the same
for every protocol version: it returns the richest values and raises `VaultbridgeError`s. Any object with
these methods will do; derive from `EmptyProvider` to implement only some of them.

    class Greeter(EmptyProvider):
        async def list_tools(self) -> Sequence[ToolInfo]:
            return [ToolInfo(name="greet", input_schema={"type": "object"})]

        async def call_tool(self, name: str, arguments: dict[str, Any], context: Context) -> ToolResult:
            context.progress(1, 2, "thinking")
            return ToolResult((TextContent(text="hello"),))

    server = McpServer(Offer(instructions="Greets."), make_greeter)     # async def make_greeter() -> Provider
"""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, Literal, Protocol

import msgspec

from vaultbridge import __version__
from vaultbridge.errors import NotFound
from vaultbridge.protocols.mcp.apps import NO_APPS, Apps
from vaultbridge.protocols.mcp.values import (
    Completion,
    Icon,
    InputRequest,
    LoggingLevel,
    Page,
    PromptInfo,
    PromptRef,
    PromptResult,
    ProviderChange,
    ResourceContents,
    ResourceInfo,
    ResourceRef,
    TemplateInfo,
    ToolInfo,
    ToolResult,
)


class Offer(msgspec.Struct, frozen=True, kw_only=True):
    """What a server is and what it offers, known without loading it. A part that is False is neither
    advertised nor answered."""

    name: str = "obsidian-mcp"
    """The name in document 004."""
    title: str = "vaultbridge"
    version: str = __version__
    description: str = ""
    website: str = ""
    icons: tuple[Icon, ...] = ()
    instructions: str = ""
    tools: bool = True
    unlisted_tools: Container[str] = frozenset()
    """Tools that can be called although they are not listed, because a client that fetched the list earlier
    may use them."""
    resources: bool = False
    subscriptions: bool = False
    """Whether single resources can be subscribed to (needs `resources`)."""
    prompts: bool = False
    completions: bool = False
    views: bool = False
    """Whether there are views for clients that show them (`apps`)."""
    logging: bool = True


class Context(Protocol):
    """The call that a provider is answering. One per call; do not keep it."""

    @property
    def client_name(self) -> str:
        """The client's own name; for texts and logs, never for decisions."""
        ...

    @property
    def principal(self) -> str:
        """The authenticated identity of the caller; "" on stdio."""
        ...

    @property
    def state(self) -> dict[str, Any]:
        """The `state` that was passed to `ask` in the round before; empty in the first one."""
        ...

    def progress(self, done: float, total: float | None = None, message: str | None = None) -> None:
        """Report progress. Values must increase; others are dropped. Cheap when the client did not ask for
        it."""
        ...

    def log(self, level: LoggingLevel, data: Any, logger: str = "") -> None:
        """Send a log message to the client, if it wants that level. It must contain no secret and no path on
        the machine."""
        ...

    @property
    def shows_views(self) -> bool:
        """Whether the client shows the views of `Provider.list_apps`."""
        ...

    def supports(self, capability: Literal["elicitation", "sampling", "roots"]) -> bool:
        """Whether the client can be asked this kind of question."""
        ...

    def wait_for_person(self, seconds: float) -> float:
        """Announce that the call is going to wait for a person, at most `seconds`. Returns how long it may
        wait: from now on only that limit and cancellation end it."""
        ...

    async def ask(
        self, requests: Mapping[str, InputRequest], *, state: dict[str, Any] | None = None
    ) -> dict[str, dict[str, Any]]:
        """Ask the client several questions at once; returns the answers by key.

        In versions with a session this waits for the answers. In 2026-07-28 it ends this run with an
        "input required" result, and the client calls again: the tool runs again from its start and `ask`
        then returns. So nothing may be changed before the last `ask`. Answers of earlier rounds are
        remembered; keys must be unique within the tool. `state` comes back, signed, as `Context.state`.
        """
        ...

    def release_stream(self) -> None:
        """Let an HTTP client return for the answer instead of keeping its connection open. Call this before
        long work."""
        ...


class Provider(Protocol):
    """The work behind an `Offer`. Methods of parts that are not offered are never called."""

    async def list_tools(self) -> Sequence[ToolInfo]:
        """All tools, always in the same order. Called often, so it should be fast."""
        ...

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context) -> ToolResult:
        """`name` is one of `list_tools`; `arguments` are not checked against its schema."""
        ...

    async def withholds(self, name: str) -> bool:
        """Whether this tool exists but is not listed, because nothing may be changed here. If it is called
        nevertheless, the error gives that reason instead of saying that there is no such tool."""
        ...

    async def list_apps(self) -> Apps:
        """The views for clients that show them, and the tools that only views call."""
        ...

    async def list_resources(self, cursor: str) -> Page[ResourceInfo]: ...

    async def list_templates(self, cursor: str) -> Page[TemplateInfo]: ...

    async def read_resource(self, uri: str, context: Context) -> Sequence[ResourceContents]:
        """Raises NotFound for an unknown one."""
        ...

    async def watch_resource(self, uri: str) -> None:
        """Announce `ResourceUpdated(uri)` from now on, because a client has subscribed. Raises
        NotFound."""
        ...

    async def watch_resources(self) -> None:
        """Announce `ResourcesChanged` from now on, because a client listens."""
        ...

    async def unwatch_resource(self, uri: str) -> None:
        """The last subscriber of `uri` has unsubscribed."""
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

    def subscribe(self, listener: Callable[[ProviderChange], None]) -> Callable[[], None]:
        """Call `listener` (in the event loop's thread) on every change; returns a function that stops it."""
        ...

    async def close(self) -> None:
        """At the end of the process: close files, flush logs."""
        ...


class EmptyProvider:
    """Offers nothing: a base class for providers that offer a part."""

    async def list_tools(self) -> Sequence[ToolInfo]:
        return ()

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context) -> ToolResult:
        raise NotFound(name, what="tool")

    async def withholds(self, name: str) -> bool:
        return False

    async def list_apps(self) -> Apps:
        return NO_APPS

    async def list_resources(self, cursor: str) -> Page[ResourceInfo]:
        return Page(())

    async def list_templates(self, cursor: str) -> Page[TemplateInfo]:
        return Page(())

    async def read_resource(self, uri: str, context: Context) -> Sequence[ResourceContents]:
        raise NotFound(uri, what="resource")

    async def watch_resource(self, uri: str) -> None:
        raise NotFound(uri, what="resource")

    async def watch_resources(self) -> None:
        pass

    async def unwatch_resource(self, uri: str) -> None:
        pass

    async def list_prompts(self, cursor: str) -> Page[PromptInfo]:
        return Page(())

    async def get_prompt(self, name: str, arguments: dict[str, str], context: Context) -> PromptResult:
        raise NotFound(name, what="prompt")

    async def complete(
        self, ref: PromptRef | ResourceRef, argument: str, value: str, others: Mapping[str, str]
    ) -> Completion:
        return Completion()

    def subscribe(self, listener: Callable[[ProviderChange], None]) -> Callable[[], None]:
        return lambda: None

    async def close(self) -> None:
        pass
