"""What a running server does when its configuration or its plugin files change.

What a change means is `config_follow`'s to say; here it reaches the servers, the desks and the tools.
"""

from __future__ import annotations

import asyncio
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from vaultbridge.app.config import LIVE, Config, load
from vaultbridge.app.config_follow import STILL_SECONDS, FollowedConfig, warn_of_vaults
from vaultbridge.app.live_tools import LiveTools
from vaultbridge.app.logs import set_level
from vaultbridge.transports.http_guard import LOOPBACK

if TYPE_CHECKING:
    from vaultbridge.app.access import Access
    from vaultbridge.app.serve import ServeOptions
    from vaultbridge.app.servers import Servers
    from vaultbridge.editor.desk import Desk
    from vaultbridge.tools.catalog import Catalog


class LiveConfig:
    """`look` is cheap when nothing has changed."""

    def __init__(
        self,
        options: ServeOptions,
        catalog: Catalog,
        servers: Servers,
        access: Access,
        desks: Sequence[Desk],
        vaults: Iterable[Path],
    ) -> None:
        file = options.config_file
        self._followed = FollowedConfig(
            file, read=lambda: options.overlay(load(file)), config=options.config, live=LIVE
        )
        folders = tuple(vaults)
        warn_of_vaults(file, folders)
        self._servers = servers
        self._access = access
        self._desks = tuple(desks)
        self._tools = LiveTools(catalog, file.parent, options.config.tools, folders)

    async def start(self) -> None:
        """Load the plugins and switch everything as the configuration says."""
        await asyncio.to_thread(self._tools.start)

    async def look(self) -> None:
        """Compare with what is in force, and follow."""
        if self._followed.differs():
            await asyncio.sleep(STILL_SECONDS)
            if (change := self._followed.read()) is not None:
                self._apply(change.config, change.now)
        await asyncio.to_thread(self._tools.look)
        tokens = await asyncio.to_thread(self._access.valid_tokens)
        await self._servers.forget(tokens)

    def _apply(self, config: Config, keys: tuple[str, ...]) -> None:
        if "log.level" in keys:
            set_level(config.log.level)
        if "privacy.share_selection" in keys:
            for desk in self._desks:
                desk.state.share_selection(share=config.privacy.share_selection)
        if any(key.startswith(("scope.", "vaults.")) for key in keys):
            self._servers.rescope(config)
            # An assistant may have been told of a note that is private now.
            for desk in self._desks:
                desk.state.visibility_changed()
        if "tokens.required" in keys:
            server = config.server
            local = server.host in LOOPBACK and not server.behind_proxy
            self._access.open_locally = local and not config.tokens.required
        if any(key.startswith("tools.") for key in keys):
            self._tools.change(config.tools)
