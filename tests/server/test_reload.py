"""A change of the configuration or of a plugin file is announced, whatever comes first and whatever fails."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest

from support.waiting import BOUND
from vaultbridge.server.live import watch


class Looks:
    """Counts; `until(n)` waits for the n-th."""

    def __init__(self) -> None:
        self.count = 0
        self.fails = False
        self._came = asyncio.Condition()

    async def look(self) -> None:
        async with self._came:
            self.count += 1
            self._came.notify_all()
        if self.fails:
            raise RuntimeError("nothing can be read")

    async def wait_for_another(self) -> None:
        wanted = self.count + 1
        async with asyncio.timeout(BOUND), self._came:
            await self._came.wait_for(lambda: self.count >= wanted)


@asynccontextmanager
async def watching(folder: Path) -> AsyncIterator[Looks]:
    looks = Looks()
    watching = watch(folder / "config.toml", folder / "tools", looks.look, poll_seconds=0.05)
    task = asyncio.create_task(watching)
    try:
        yield looks
    finally:
        task.cancel()
        await asyncio.gather(task, return_exceptions=True)


async def test_a_folder_that_is_not_there_yet_is_looked_for(tmp_path: Path) -> None:
    folder = tmp_path / "vaultbridge"
    async with watching(folder) as looks:
        await looks.wait_for_another()
        folder.mkdir()
        (folder / "config.toml").write_text("")
        await looks.wait_for_another()


async def test_the_watcher_compares_at_intervals_without_events(tmp_path: Path) -> None:
    """Some file systems report no changes."""
    async with watching(tmp_path) as looks:
        await looks.wait_for_another()
        await looks.wait_for_another()


async def test_a_look_that_fails_is_logged_and_not_the_last(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with watching(tmp_path) as looks:
        looks.fails = True
        await looks.wait_for_another()
        await looks.wait_for_another()
        assert "applying a change to the configuration failed" in caplog.text
        assert "nothing can be read" in caplog.text
        looks.fails = False
        await looks.wait_for_another()
