"""A folder of plugin files beside a catalog, and installed packages that bring tools."""

from __future__ import annotations

from pathlib import Path

from vaultbridge.plugins.registry import PluginRegistry
from vaultbridge.server.config.model import ToolsConfig
from vaultbridge.server.live_tools import Switches
from vaultbridge.tools.base.catalog import Catalog
from vaultbridge.tools.base.tool import ToolContext
from vaultbridge.tools.standard import STANDARD_TOOLS, standard_catalog

NO_VAULTS = ToolContext(engines={})
RESERVED = frozenset(word for tool in STANDARD_TOOLS for word in (tool.name, tool.group))

PATIENT = 60.0
"""Seconds: enough to load any file of a test on a busy machine."""

GOOD = '''
from vaultbridge.plugins import tool

@tool(effect="reads")
def {name}() -> str:
    """Says {says}."""
    return "{says}"
'''


class PluginFolder:
    """A catalog, a folder, and the registry between them."""

    def __init__(self, folder: Path, vault: Path, config: ToolsConfig | None = None) -> None:
        self.folder = folder
        self.catalog: Catalog = standard_catalog()
        self.switches = Switches(self.catalog, config or ToolsConfig())
        self.vault = vault
        self.registry = self.open_registry(folder, PATIENT)
        self.own = len(self.catalog.names())

    def open_registry(self, folder: Path, seconds: float) -> PluginRegistry:
        return PluginRegistry(
            self.catalog,
            folder,
            vaults=[self.vault],
            reserved=RESERVED,
            switch=self.switches.apply,
            load_seconds=seconds,
        )

    def write(self, file: str, name: str, says: str) -> None:
        self.folder.mkdir(exist_ok=True)
        (self.folder / file).write_text(GOOD.format(name=name, says=says), "utf-8")
        self.registry.refresh()

    def raw(self, file: str, text: str) -> None:
        self.folder.mkdir(exist_ok=True)
        (self.folder / file).write_text(text, "utf-8")
        self.registry.refresh()

    def call_text(self, name: str) -> str:
        return self.catalog.call(name, {}, NO_VAULTS).text

    def list_added(self) -> list[str]:
        return list(self.catalog.names())[self.own :]


def write_package(site: Path, name: str, points: str, **modules: str) -> None:
    """An installed package, as an installer leaves it."""
    about = site / f"{name}-1.0.dist-info"
    about.mkdir(parents=True)
    (about / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.0\n")
    (about / "entry_points.txt").write_text(f"[vaultbridge.tools]\n{points}\n")
    for module, text in modules.items():
        (site / f"{module}.py").write_text(text)
