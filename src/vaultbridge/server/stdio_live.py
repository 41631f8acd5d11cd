"""What a stdio process does when its configuration or its plugin files change while it runs.

Loaded after the first answer, in the provider's worker. A thread then looks now and then; the catalog tells
the client of other tools. What a change means is `config_follow`'s to say.
"""

from __future__ import annotations

import contextlib
import logging
import threading
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Final

from vaultbridge.errors import VaultbridgeError, VaultNotFound

if TYPE_CHECKING:
    from pathlib import Path

    from vaultbridge.protocols.mcp.vault.provider import ProviderSettings
    from vaultbridge.server.config.follow import FollowedConfig
    from vaultbridge.server.config.model import Config
    from vaultbridge.server.live_tools import LiveTools
    from vaultbridge.server.servers import LiveScope
    from vaultbridge.server.stdio import StdioPlan, VaultPlan
    from vaultbridge.tools.base.catalog import Catalog
    from vaultbridge.tools.base.tool import ToolContext

LOOK_SECONDS: Final = 2.0
"""How often it looks: a person who saves a tool waits no longer, and a look is a few calls of stat."""

UNUSED: Final = frozenset({"server", "ide", "tokens"})
"""Sections of the configuration that mean nothing over stdio."""

log = logging.getLogger("vaultbridge.config")


class StdioLive:
    """`load` once, from any thread; `stop` at the end. `read` reads the configuration again. Making one
    imports nothing: that happens before the first list of tools is answered."""

    def __init__(self, plan: StdioPlan, environ: Mapping[str, str], read: Callable[[], Config]) -> None:
        self._plan = plan
        self._environ = environ
        self._read = read
        self._config = plan.config
        self._scopes: dict[str, tuple[VaultPlan, LiveScope]] = {}
        self._changing = threading.Lock()
        self._stop = threading.Event()
        self.on_scope: Callable[[ProviderSettings], None] | None = None
        """Told, in the thread that follows, what the scopes allow in all."""

    def scope_of(self, vault: VaultPlan) -> LiveScope:
        """The scope of a vault that is being opened; it follows the configuration."""
        from vaultbridge.server.servers import LiveScope

        with self._changing:
            if vault.text not in self._scopes:
                self._scopes[vault.text] = (vault, LiveScope(*vault.parts(self._config)))
            return self._scopes[vault.text][1]

    def furnished(self, shop: ToolContext) -> ToolContext:
        """As far as what a person has open is shared."""
        from msgspec.structs import replace

        return replace(shop, shares_open_files=self._shares)

    def load(self) -> Catalog:
        from vaultbridge.server.config.follow import FollowedConfig, warn_of_vaults
        from vaultbridge.server.config.model import EMPTY, LIVE, config_file
        from vaultbridge.server.live_tools import LiveTools
        from vaultbridge.tools.standard import standard_catalog

        file = config_file(self._environ)
        folders = self._folders()
        if self._config is not None:
            warn_of_vaults(file, folders)
        catalog = standard_catalog()
        config = self._config or EMPTY
        tools = LiveTools(catalog, file.parent, config.tools, folders)
        tools.start()
        followed = FollowedConfig(
            file, read=self._read, config=self._config or self._unconfigured(), live=LIVE, unused=UNUSED
        )
        follow = threading.Thread(
            target=self._follow, args=(tools, followed), name="config-follow", daemon=True
        )
        follow.start()
        return catalog

    def stop(self) -> None:
        self._stop.set()

    def _shares(self) -> bool:
        return self._config is None or self._config.privacy.share_selection

    def _unconfigured(self) -> Config:
        """What was in force without any configuration."""
        from vaultbridge.server.config.model import Config, VaultConfig

        return Config(vaults=tuple(VaultConfig(path=one.text) for one in self._plan.vaults.values()))

    def _folders(self) -> list[Path]:
        """Where the vaults lie, as far as that is known: plugin files must not."""
        from pathlib import Path

        from vaultbridge.server.vault_choice import known_to_obsidian
        from vaultbridge.vault.obsidian import find_vault

        texts: Sequence[str] = [one.text for one in self._plan.vaults.values()]
        found = []
        try:
            texts = texts or known_to_obsidian(self._environ)
        except VaultNotFound:
            return []
        for text in texts:
            try:
                found.append(Path(find_vault(text, environ=self._environ)))
            except VaultbridgeError:
                # Not mounted, perhaps; it is asked for again with every look. One that was named from a
                # folder which is gone lies nowhere.
                with contextlib.suppress(FileNotFoundError):
                    found.append(Path(text).expanduser().absolute())
        return found

    def _follow(self, tools: LiveTools, followed: FollowedConfig) -> None:
        while not self._stop.wait(LOOK_SECONDS):
            try:
                self._look(tools, followed)
            except Exception:
                log.exception("following a change of the configuration failed")

    def _look(self, tools: LiveTools, followed: FollowedConfig) -> None:
        from vaultbridge.server.config.follow import STILL_SECONDS

        if followed.differs() and not self._stop.wait(STILL_SECONDS):
            change = followed.read()
            if change is not None:
                self._apply(change.config, change.now, tools)
        tools.plugins.guard(self._folders())
        tools.look()

    def _apply(self, config: Config, keys: tuple[str, ...], tools: LiveTools) -> None:
        from vaultbridge.server.logs import set_level

        with self._changing:
            self._config = config
            for vault, scope in self._scopes.values():
                scope.become(*vault.parts(config))
        if self.on_scope is not None:
            self.on_scope(self._plan.settings_under(config))
        if "log.level" in keys:
            set_level(config.log.level)
        if any(key.startswith("tools.") for key in keys):
            tools.change(config.tools)
