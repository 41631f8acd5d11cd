"""What a server of vaults needs after its first answers: the tools, prompts, resources and views.

`provider` imports this module in a worker after the first answer, and with it the engine and all the tools.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any, Final

from msgspec.structs import replace

from vaultbridge.protocols.mcp.provider import Context
from vaultbridge.protocols.mcp.values import (
    Completion,
    Page,
    PromptInfo,
    PromptRef,
    ResourceContents,
    ResourceInfo,
    ResourceRef,
    TemplateInfo,
    ToolInfo,
    ToolResult,
)
from vaultbridge.protocols.mcp.vault import resources
from vaultbridge.protocols.mcp.vault.apps import DECIDE, DECIDING, VaultApps
from vaultbridge.protocols.mcp.vault.completion import Completions
from vaultbridge.protocols.mcp.vault.engines import VaultEngines
from vaultbridge.protocols.mcp.vault.listing import make_tool_info
from vaultbridge.protocols.mcp.vault.prompts import Prompts, arguments_of, paginate_prompts
from vaultbridge.protocols.mcp.vault.tool_calls import ToolCalls
from vaultbridge.protocols.mcp.vault.workers import Workers
from vaultbridge.tools.base.tool import ToolContext
from vaultbridge.tools.standard import standard_catalog

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.protocols.mcp.vault.provider import ProviderSettings
    from vaultbridge.review.policy import ReviewRules
    from vaultbridge.tools.base.catalog import Catalog

FIRST_BUILD_SECONDS: Final = 1.0
"""How long a query waits for the first build of an index. Programs send queries right after the start. Most
vaults are indexed within this time, so that the answer is not "no files"; a larger vault then gives a partial
answer."""


class Loaded:
    """Made once for each provider, in a worker; `loop` is the provider's."""

    def __init__(
        self,
        engines: VaultEngines,
        settings: ProviderSettings,
        workers: Workers,
        loop: asyncio.AbstractEventLoop,
        *,
        make_catalog: Callable[[], Catalog] | None,
        extend_context: Callable[[ToolContext], ToolContext] | None,
        review: Callable[[Engine], ReviewRules] | None,
    ) -> None:
        self._engines = engines
        self._settings = settings
        self._workers = workers
        self.catalog: Catalog = (make_catalog or standard_catalog)()
        context = ToolContext(engines=engines, profile=settings.profile, index_wait=FIRST_BUILD_SECONDS)
        self.tool_context: ToolContext = context if extend_context is None else extend_context(context)
        self.prompts: Prompts = Prompts(engines, folder=settings.prompt_folder)
        self._completions = Completions(engines)
        self.apps = VaultApps(engines, review, decides=self._decides, reviewed=settings.reviewed)
        self._calls = ToolCalls(self, workers, loop, review=review)
        self.limit(settings)

    def limit(self, settings: ProviderSettings) -> None:
        self._settings = settings
        self.tool_context = replace(self.tool_context, read_only=settings.read_only)
        self.prompts.limit(read_only=self._may_only_read)

    @property
    def _may_only_read(self) -> bool:
        return self._settings.read_only or self._settings.profile == "read-only"

    def _decides(self) -> bool:
        """Whether a person may decide in a view."""
        return not self._may_only_read and not self.catalog.is_off(DECIDING)

    # Tools. `call_tool` runs in the event loop, the rest of this class in workers too.

    def list_tools(self) -> tuple[ToolInfo, ...]:
        listing = self.catalog.list_tools(
            profile=self._settings.profile,
            read_only=self._settings.read_only,
            vaults=self.tool_context.vaults,
        )
        return tuple(map(make_tool_info, listing))

    async def call_tool(self, name: str, arguments: dict[str, Any], context: Context) -> ToolResult:
        if name == DECIDE.name and context.shows_views:
            return await self._workers.run(lambda: self.apps.decide(arguments, context.principal))
        return await self._calls.call(name, arguments, context)

    # Resources.

    def list_resources(self, cursor: str) -> Page[ResourceInfo]:
        return resources.list_page(self._engines, cursor)

    def list_templates(self) -> Page[TemplateInfo]:
        return resources.list_templates(tuple(self._engines))

    def read_resource(self, uri: str) -> Sequence[ResourceContents]:
        return resources.read_resource(uri, self._engines)

    def locate(self, uri: str) -> resources.LocatedFile:
        return resources.locate(uri, self._engines)

    # Prompts and suggestions.

    def paginate_prompts(self, infos: list[PromptInfo], cursor: str) -> Page[PromptInfo]:
        return paginate_prompts(infos, cursor)

    def suggest(self, ref: PromptRef | ResourceRef, argument: str, value: str, vault: str) -> Completion:
        kind = argument
        if isinstance(ref, PromptRef):
            kind = self._find_kind(ref.name, argument)
        elif argument not in ("path", "vault"):
            kind = ""
        return self._completions.suggest(kind, value, vault)

    def _find_kind(self, prompt: str, argument: str) -> str:
        """What to suggest for a prompt's argument. Raises InvalidArgument for an unknown prompt."""
        kinds = (
            known.complete for known in arguments_of(self.prompts.find(prompt)) if known.name == argument
        )
        return "vault" if argument == "vault" else next(kinds, "")
