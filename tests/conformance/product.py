"""`vaultbridge serve` as it is, with the conformance suite's tools, resources and prompts beside the vault's.

    python tests/conformance/product.py VAULT [OPTIONS OF serve …]

The suite calls its tools by name, so a server must have them. Everything else is the product: the command,
the configuration, the check of Host and Origin, who needs no token, the sessions, and the vault's
own tools, resources and prompts in the same lists.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from conformance.fixture import FixtureProvider
from vaultbridge import __main__
from vaultbridge.protocols.mcp.provider import Context
from vaultbridge.protocols.mcp.values import (
    Completion,
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
from vaultbridge.protocols.mcp.vault.provider import VaultProvider
from vaultbridge.server import servers

SUITE = "test://"
"""How the URIs of the suite's resources begin."""


class ProductProvider(VaultProvider):
    """The vault's provider, and what the suite asks for."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._suite = FixtureProvider()

    async def list_tools(self) -> Sequence[ToolInfo]:
        return [*await super().list_tools(), *await self._suite.list_tools()]

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context) -> ToolResult:
        if name in {tool.name for tool in await self._suite.list_tools()}:
            return await self._suite.call_tool(name, arguments, context)
        return await super().call_tool(name, arguments, context)

    async def list_resources(self, cursor: str) -> Page[ResourceInfo]:
        """The vault's pages, with all of the suite's on the first one."""
        page = await super().list_resources(cursor)
        if cursor:
            return page
        first = await self._suite.list_resources("")
        second = await self._suite.list_resources(first.next)
        return Page((*first.items, *second.items, *page.items), page.next)

    async def list_templates(self, cursor: str) -> Page[TemplateInfo]:
        own, theirs = await super().list_templates(cursor), await self._suite.list_templates(cursor)
        return Page((*own.items, *theirs.items), own.next)

    async def read_resource(self, uri: str, context: Context) -> Sequence[ResourceContents]:
        if uri.startswith(SUITE):
            return await self._suite.read_resource(uri, context)
        return await super().read_resource(uri, context)

    async def watch_resource(self, uri: str) -> None:
        await (self._suite.watch_resource(uri) if uri.startswith(SUITE) else super().watch_resource(uri))

    async def unwatch_resource(self, uri: str) -> None:
        await (self._suite.unwatch_resource(uri) if uri.startswith(SUITE) else super().unwatch_resource(uri))

    async def list_prompts(self, cursor: str) -> Page[PromptInfo]:
        page = await super().list_prompts(cursor)
        return page if cursor else Page((*(await self._suite.list_prompts("")).items, *page.items))

    async def get_prompt(self, name: str, arguments: dict[str, str], context: Context) -> PromptResult:
        if name.startswith("test_"):
            return await self._suite.get_prompt(name, arguments, context)
        return await super().get_prompt(name, arguments, context)

    async def complete(
        self, ref: PromptRef | ResourceRef, argument: str, value: str, others: Mapping[str, str]
    ) -> Completion:
        if isinstance(ref, PromptRef) and ref.name.startswith("test_"):
            return await self._suite.complete(ref, argument, value, others)
        return await super().complete(ref, argument, value, others)

    def subscribe(self, listener: Callable[[ProviderChange], None]) -> Callable[[], None]:
        stops = (super().subscribe(listener), self._suite.subscribe(listener))

        def stop() -> None:
            for stop in stops:
                stop()

        return stop


if __name__ == "__main__":
    servers.VaultProvider = ProductProvider  # type: ignore[misc]
    sys.exit(__main__.main(["serve", *sys.argv[1:]]))
