"""Applies changes of the configuration and of plugin files to a running server.

`config.follow` decides what a change means; this module applies it to the servers, the editor hubs and tools.
`watch` watches the config file's folder and `tools/` in it, but nothing deeper: with `VAULTBRIDGE_CONFIG`,
that folder may contain anything. It reports that something may have changed, not what: the callback compares.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Final

from vaultbridge.errors import VaultbridgeError
from vaultbridge.server.access import allows_local_programs
from vaultbridge.server.config.follow import QUIET_SECONDS, FollowedConfig, warn_if_inside_vault
from vaultbridge.server.config.model import LIVE, Config, load_config
from vaultbridge.server.live_tools import LiveTools
from vaultbridge.server.logs import set_level
from vaultbridge.server.unused_patterns import PatternReporter
from vaultbridge.server.unused_scopes import delete_unused_scopes

if TYPE_CHECKING:
    from vaultbridge.editor.hub import EditorHub
    from vaultbridge.plugins.listing import CodeSource
    from vaultbridge.server.access import Access
    from vaultbridge.server.serve import ServeOptions
    from vaultbridge.server.servers import McpServers
    from vaultbridge.tools.base.catalog import Catalog

DEBOUNCE_MS: Final = 400
"""The longest time to collect a burst of changes: an editor writes, renames and touches a file at once."""

QUIET_MS: Final = 50
"""How long it must be quiet before a burst counts as finished."""

POLL_SECONDS: Final = 2.0
"""How often we check without an event: some file systems send none, and a change between two watches is
missed. A check is a few calls of stat."""

log = logging.getLogger("vaultbridge.config")


async def watch(
    file: Path, tools: Path, refresh: Callable[[], Awaitable[None]], *, poll_seconds: float = POLL_SECONDS
) -> None:
    """Call `refresh` after every change, and every few seconds, until cancelled. Its exceptions are
    logged."""
    while True:
        folders = _list_folders(file, tools)
        if folders:
            await _watch_folders(folders, file, tools, refresh, poll_seconds)
        else:
            await asyncio.sleep(poll_seconds)
            await _call_logged(refresh)


async def _watch_folders(
    folders: list[Path],
    file: Path,
    tools: Path,
    refresh: Callable[[], Awaitable[None]],
    poll_seconds: float,
) -> None:
    """Watch until one of the folders appears or disappears."""
    from watchfiles import Change, awatch

    def is_ours(change: Change, path: str) -> bool:
        changed = Path(path)
        return changed in (file, tools) or (changed.parent == tools and changed.suffix == ".py")

    async for _ in awatch(
        *folders,
        watch_filter=is_ours,
        recursive=False,
        debounce=DEBOUNCE_MS,
        step=QUIET_MS,
        rust_timeout=int(poll_seconds * 1000),
        yield_on_timeout=True,
    ):
        await _call_logged(refresh)
        if _list_folders(file, tools) != folders:
            return


def _list_folders(file: Path, tools: Path) -> list[Path]:
    return [folder for folder in (file.parent, tools) if folder.is_dir()]


async def _call_logged(refresh: Callable[[], Awaitable[None]]) -> None:
    try:
        await refresh()
    except Exception:
        log.exception("applying a change to the configuration failed")


class LiveConfig:
    """`refresh` is cheap when nothing has changed."""

    def __init__(
        self,
        options: ServeOptions,
        catalog: Catalog,
        servers: McpServers,
        access: Access,
        hubs: Sequence[EditorHub],
        vaults: Iterable[Path],
    ) -> None:
        file = options.config_file
        self._followed = FollowedConfig(
            file, read=lambda: options.overlay(load_config(file)), config=options.config, live=LIVE
        )
        folders = tuple(vaults)
        warn_if_inside_vault(file, folders)
        self._servers = servers
        self._access = access
        self._hubs = tuple(hubs)
        self._patterns = PatternReporter()
        self._tools = LiveTools(catalog, file.parent, options.config.tools, folders)

    @property
    def config(self) -> Config:
        """The configuration that is in force."""
        return self._followed.in_force

    def list_code(self) -> tuple[CodeSource, ...]:
        """The files and packages whose code runs in this process, with their tools."""
        return tuple(self._tools.plugins.list_running())

    async def start(self) -> None:
        """Load the plugins, and switch tools on and off as the configuration says."""
        await asyncio.to_thread(self._tools.start)

    async def refresh(self) -> None:
        """Compare the files with what is in force, and apply the changes."""
        if self._followed.has_changed():
            await asyncio.sleep(QUIET_SECONDS)
            if (change := self._followed.read()) is not None:
                self._apply(change.config, change.keys)
        await asyncio.to_thread(self._tools.refresh)
        await asyncio.to_thread(self._report_patterns)
        tokens = await asyncio.to_thread(self._access.list_valid_principals)
        if await self._servers.close_revoked(tokens):
            known = self._access.list_tokens()
            await asyncio.to_thread(delete_unused_scopes, self.config, known)

    def _report_patterns(self) -> None:
        with contextlib.suppress(VaultbridgeError):  # a vault that is not there now is looked at later
            self._patterns.check(self._servers.list_patterns(self._access.list_tokens()))

    def _apply(self, config: Config, keys: tuple[str, ...]) -> None:
        if "log.level" in keys:
            set_level(config.log.level)
        if "privacy.share_selection" in keys:
            for hub in self._hubs:
                hub.state.share_selection(share=config.privacy.share_selection)
        reviewed = ("tools.review", "limits.review_seconds")
        if any(key.startswith(("scope.", "vaults.")) or key in reviewed for key in keys):
            self._servers.update_scopes(config)
            # An assistant may have seen a note that is private now.
            for hub in self._hubs:
                hub.state.visibility_changed()
        if "tokens.required" in keys:
            self._access.open_locally = allows_local_programs(config)
        if any(key.startswith("tools.") for key in keys):
            self._tools.apply(config.tools)
