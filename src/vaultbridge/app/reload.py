"""Telling a running server that its configuration or its plugin files may have changed.

Watches the config file's folder and `tools/` beside it, not what lies deeper: with `VAULTBRIDGE_CONFIG` that
folder may be anybody's. It says that something may have changed, not what: whoever is told compares.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

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
