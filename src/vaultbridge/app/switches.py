"""Which tools are on, as the configuration says by name or group."""

from __future__ import annotations

from collections.abc import Iterable

from vaultbridge.app.config import ToolsConfig
from vaultbridge.tools.catalog import Catalog
from vaultbridge.tools.tool import AnyTool


class Switches:
    def __init__(self, catalog: Catalog, config: ToolsConfig) -> None:
        self._catalog = catalog
        self._config = config

    def change(self, config: ToolsConfig, tools: Iterable[AnyTool]) -> None:
        """Another configuration from now on, for these tools and for those that come."""
        self._config = config
        for tool in tools:
            self.apply(tool)

    def apply(self, tool: AnyTool) -> None:
        self._catalog.switch(tool.name, on=self.is_on(tool))

    def is_on(self, tool: AnyTool) -> bool:
        words = {tool.name, tool.group}
        enable, disable = set(self._config.enable), set(self._config.disable)
        return not words & disable and (not enable or bool(words & enable))

    def unknown(self, tools: Iterable[AnyTool]) -> list[str]:
        """Names in the configuration that no tool and no group has."""
        known = {word for tool in tools for word in (tool.name, tool.group)}
        return sorted({*self._config.enable, *self._config.disable} - known)
