"""The tools of a running process: the standard ones, a person's own and those of packages, switched as the
configuration says, now and whenever it says something else.

Blocking: a server calls it from a worker thread. When to look is the caller's to decide.

Which tools are on, as the configuration says by name or group.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from vaultbridge.plugins.registry import FOLDER, PluginRegistry
from vaultbridge.server.config.model import ToolsConfig
from vaultbridge.tools.base.catalog import Catalog
from vaultbridge.tools.base.tool import AnyTool
from vaultbridge.tools.standard import STANDARD_TOOLS


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


log = logging.getLogger("vaultbridge.config")


class LiveTools:
    """`folder` is the configuration's; plugin files lie in `tools/` there."""

    def __init__(self, catalog: Catalog, folder: Path, config: ToolsConfig, vaults: Iterable[Path]) -> None:
        self._config = config
        self._checked = False
        """Whether the names in the configuration have been compared with the tools there are."""
        self._switches = Switches(catalog, config)
        self.plugins = PluginRegistry(
            catalog,
            folder / FOLDER,
            vaults=vaults,
            reserved=frozenset(word for tool in STANDARD_TOOLS for word in (tool.name, tool.group)),
            switch=self._switches.apply,
        )

    def start(self) -> None:
        """Load the plugins and switch everything."""
        self._switches.change(self._config, STANDARD_TOOLS)
        if self._config.packages:
            self.plugins.load_packages()
        self.look()

    def look(self) -> None:
        """Follow the plugin files."""
        if self._config.plugins:
            self.plugins.refresh()
        if not self._checked:
            # Not before: a name may be that of a tool which has only now been loaded.
            self._checked = True
            for name in self._switches.unknown(self._all()):
                log.warning("The configuration names %r, which is neither a tool nor a group of tools", name)

    def change(self, config: ToolsConfig) -> None:
        """Another configuration from now on. Does not block; files that come with it are loaded by the next
        `look`."""
        if self._config.plugins and not config.plugins:
            self.plugins.clear()
        self._config = config
        self._checked = False
        self._switches.change(config, self._all())

    def _all(self) -> tuple[AnyTool, ...]:
        return (*STANDARD_TOOLS, *self.plugins.tools())
