"""What a provider loads when it is first needed: the catalog and all that imports the engine."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Final

from msgspec.structs import replace

from vaultbridge.protocols.mcp.values import Page, PromptInfo, ToolInfo
from vaultbridge.protocols.mcp.vault.engines import VaultEngines
from vaultbridge.protocols.mcp.vault.listing import tool_info

if TYPE_CHECKING:
    from vaultbridge.protocols.mcp.vault.completion import Completions
    from vaultbridge.protocols.mcp.vault.prompts import Prompts
    from vaultbridge.protocols.mcp.vault.provider import ProviderSettings
    from vaultbridge.tools.base.catalog import Catalog
    from vaultbridge.tools.base.tool import ToolContext

FIRST_BUILD_SECONDS: Final = 1.0
"""How long a query waits for the first build of an index. Programs ask right after the start; most vaults are
indexed within this time, so that they do not answer "no files". A large vault answers in part after it."""


class Loaded:
    """The parts that need the engine's modules."""

    def __init__(
        self,
        engines: VaultEngines,
        settings: ProviderSettings,
        make_catalog: Callable[[], Catalog] | None,
    ) -> None:
        from vaultbridge.protocols.mcp.vault.completion import Completions
        from vaultbridge.protocols.mcp.vault.prompts import Prompts
        from vaultbridge.tools.base.tool import ToolContext
        from vaultbridge.tools.standard import standard_catalog

        self.catalog: Catalog = (make_catalog or standard_catalog)()
        self.tool_context: ToolContext = ToolContext(
            engines=engines, profile=settings.profile, index_wait=FIRST_BUILD_SECONDS
        )
        self.prompts: Prompts = Prompts(engines, folder=settings.prompt_folder)
        self.completions: Completions = Completions(engines)
        self.limit(settings)

    def limit(self, settings: ProviderSettings) -> None:
        self.tool_context = replace(self.tool_context, read_only=settings.read_only)
        self.prompts.limit(read_only=settings.read_only or settings.profile == "read-only")

    def tools(self, settings: ProviderSettings) -> tuple[ToolInfo, ...]:
        listing = self.catalog.list_tools(
            profile=settings.profile, read_only=settings.read_only, vaults=self.tool_context.vaults
        )
        return tuple(map(tool_info, listing))

    def paginate(self, infos: list[PromptInfo], cursor: str) -> Page[PromptInfo]:
        from vaultbridge.protocols.mcp.vault.prompts import paginate_prompts

        return paginate_prompts(infos, cursor)

    def kind_of(self, prompt: str, argument: str) -> str:
        """What to suggest for a prompt's argument. Raises InvalidArgument for an unknown prompt."""
        from vaultbridge.protocols.mcp.vault.prompts import arguments_of

        found = (one.complete for one in arguments_of(self.prompts.find(prompt)) if one.name == argument)
        return "vault" if argument == "vault" else next(found, "")
