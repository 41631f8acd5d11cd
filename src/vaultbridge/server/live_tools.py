"""The tools of a running process: the standard ones, the user's own and those of packages.

They are switched on and off as the configuration says, now and whenever it changes. Blocking: a server calls
it from a worker thread, and the caller decides when to check for changes.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable
from pathlib import Path

from vaultbridge.plugins.registry import FOLDER, PluginRegistry
from vaultbridge.protocols.mcp.vault.apps import DECIDE, DECIDING
from vaultbridge.server.config.model import ToolsConfig
from vaultbridge.tools.base.catalog import Catalog
from vaultbridge.tools.base.tool import AnyTool
from vaultbridge.tools.standard import STANDARD_TOOLS


class Switches:
    """Decides by name and group which tools are on."""

    def __init__(self, catalog: Catalog, config: ToolsConfig) -> None:
        self._catalog = catalog
        self._config = config

    def change(self, config: ToolsConfig, tools: Iterable[AnyTool]) -> None:
        """Use another configuration from now on, for these tools and for later ones."""
        self._config = config
        self._catalog.switch(DECIDING, on=DECIDING not in config.disable)
        for tool in tools:
            self.apply(tool)

    def apply(self, tool: AnyTool) -> None:
        self._catalog.switch(tool.name, on=self.is_on(tool))

    def is_on(self, tool: AnyTool) -> bool:
        words = {tool.name, tool.group}
        enable, disable = set(self._config.enable), set(self._config.disable)
        return not words & disable and (not enable or bool(words & enable))

    def list_unknown(self, tools: Iterable[AnyTool]) -> list[str]:
        """List names in the configuration that belong to no tool and no group."""
        known = {DECIDING, *(word for tool in tools for word in (tool.name, tool.group))}
        return sorted({*self._config.enable, *self._config.disable} - known)


log = logging.getLogger("vaultbridge.config")


class LiveTools:
    """`folder` is the configuration's folder; plugin files are in `tools/` there."""

    def __init__(self, catalog: Catalog, folder: Path, config: ToolsConfig, vaults: Iterable[Path]) -> None:
        self._config = config
        self._checked = False
        """Whether the names in the configuration have been compared with the existing tools."""
        self._switches = Switches(catalog, config)
        self.plugins = PluginRegistry(
            catalog,
            folder / FOLDER,
            vaults=vaults,
            reserved=frozenset(
                {DECIDING, DECIDE.name}.union(*((tool.name, tool.group) for tool in STANDARD_TOOLS))
            ),
            switch=self._switches.apply,
        )

    def start(self) -> None:
        """Load the plugins, and switch all tools on or off."""
        self._switches.change(self._config, STANDARD_TOOLS)
        if self._config.packages:
            self.plugins.load_packages()
        self.refresh()

    def refresh(self) -> None:
        """Load the plugin files that have changed."""
        if self._config.plugins:
            self.plugins.refresh()
        if not self._checked:
            # Not earlier: the name may belong to a tool that has only now been loaded.
            self._checked = True
            for name in self._switches.list_unknown(self._list_all()):
                log.warning("The configuration names %r, which is neither a tool nor a group of tools", name)

    def apply(self, config: ToolsConfig) -> None:
        """Use another configuration from now on. Does not block: the next `refresh` loads the files that come
        with it."""
        if self._config.plugins and not config.plugins:
            self.plugins.clear()
        self._config = config
        self._checked = False
        self._switches.change(config, self._list_all())

    def _list_all(self) -> tuple[AnyTool, ...]:
        return (*STANDARD_TOOLS, *self.plugins.tools())
