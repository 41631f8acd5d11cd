"""What a running server does when its configuration or its plugin files change.

What a change means is `config_follow`'s to say; here it reaches the servers, the desks and the tools.

Telling a running server that its configuration or its plugin files may have changed.

Watches the config file's folder and `tools/` beside it, not what lies deeper: with `VAULTBRIDGE_CONFIG` that
folder may be anybody's. It says that something may have changed, not what: whoever is told compares.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vaultbridge.protocols.http.guard import LOOPBACK
from vaultbridge.server.config.follow import STILL_SECONDS, FollowedConfig, warn_of_vaults
from vaultbridge.server.config.model import LIVE, Config, load
from vaultbridge.server.live_tools import LiveTools
from vaultbridge.server.logs import set_level

if TYPE_CHECKING:
    from vaultbridge.editor.hub import EditorHub
    from vaultbridge.server.access import Access
    from vaultbridge.server.serve import ServeOptions
    from vaultbridge.server.servers import Servers
    from vaultbridge.tools.base.catalog import Catalog

SETTLE_MS: Final = 400
"""How long a burst of changes is gathered at most: an editor writes, renames and touches a file in one go."""

QUIET_MS: Final = 50
"""How long it must be quiet before a burst counts as over."""

AGAIN_SECONDS: Final = 2.0
"""How often we look without being told: some file systems tell nothing, and a change that falls between two
watches is told to nobody. A look is a few calls of stat."""

log = logging.getLogger("vaultbridge.config")


async def watch(file: Path, tools: Path, look: Callable[[], Awaitable[None]]) -> None:
    """Call `look` after every change and now and then, until cancelled. What it raises is logged."""
    while True:
        folders = _there(file, tools)
        if folders:
            await _while_the_same(folders, file, tools, look)
        else:
            await asyncio.sleep(AGAIN_SECONDS)
            await _look(look)


async def _while_the_same(
    folders: list[Path], file: Path, tools: Path, look: Callable[[], Awaitable[None]]
) -> None:
    """Until one of the folders comes or goes."""
    from watchfiles import Change, awatch

    def ours(change: Change, path: str) -> bool:
        changed = Path(path)
        return changed in (file, tools) or (changed.parent == tools and changed.suffix == ".py")

    async for _ in awatch(
        *folders,
        watch_filter=ours,
        recursive=False,
        debounce=SETTLE_MS,
        step=QUIET_MS,
        rust_timeout=int(AGAIN_SECONDS * 1000),
        yield_on_timeout=True,
    ):
        await _look(look)
        if _there(file, tools) != folders:
            return


def _there(file: Path, tools: Path) -> list[Path]:
    return [folder for folder in (file.parent, tools) if folder.is_dir()]


async def _look(look: Callable[[], Awaitable[None]]) -> None:
    try:
        await look()
    except Exception:
        log.exception("following a change of the configuration failed")


class LiveConfig:
    """`look` is cheap when nothing has changed."""

    def __init__(
        self,
        options: ServeOptions,
        catalog: Catalog,
        servers: Servers,
        access: Access,
        desks: Sequence[EditorHub],
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
