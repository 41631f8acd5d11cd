"""Announces changes of the vaults over MCP: of a resource, of the list of resources, of the list of prompts.

The engines report changed files from their own threads and often in bursts. The reports are collected for a
moment, the files are compared once, and only what looks different to a client is announced. A process that
does not watch its vault itself, because another process leads the index, gets no reports: it polls the shared
index once a second.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from functools import partial
from typing import TYPE_CHECKING, Final

from vaultbridge.errors import VaultbridgeError
from vaultbridge.protocols.mcp.values import (
    PromptInfo,
    PromptsChanged,
    ProviderChange,
    ResourcesChanged,
    ResourceUpdated,
)

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.protocols.mcp.vault.prompts import Prompts
    from vaultbridge.protocols.mcp.vault.resources import LocatedFile
    from vaultbridge.protocols.mcp.vault.workers import Workers
    from vaultbridge.system import FileStat
    from vaultbridge.vault.paths import VaultPath

COLLECT_SECONDS: Final = 0.2
"""How long reports are collected after the first one: an editor that saves touches a file several times."""

BURST_SECONDS: Final = 1.0
"""The least time between two comparisons, so that a checkout does not make clients fetch a list for every
file."""

POLL_SECONDS: Final = 1.0
"""How often the index is polled while another process leads it: one short read."""

UNKNOWN: Final = -1
"""A version that equals no other."""

log = logging.getLogger(__name__)


class VaultChanges:
    """Announces the changes of all vaults. Use it in the event loop, except `attach`, which the thread that
    opened a vault calls."""

    def __init__(self, workers: Workers, announce: Callable[[ProviderChange], None]) -> None:
        self._loop = asyncio.get_running_loop()
        self._workers = workers
        self._announce = announce
        self._engines: dict[str, Engine] = {}
        self._stops: list[Callable[[], None]] = []
        self._reports: dict[str, set[VaultPath] | None] = {}
        """Per vault: the paths that may have changed; None for all."""
        self._watched: dict[str, tuple[LocatedFile, FileStat | None]] = {}
        self._files: dict[str, tuple[int, int]] = {}
        self._files_watched = False
        """Whether a client has the list of resources, or has subscribed to it or to a resource: otherwise
        nobody asks whether the list changes, and with many files that takes a while."""
        self._generations: dict[str, int] = {}
        self._prompt_list: list[PromptInfo] | None = None
        self._comparing: asyncio.Task[None] | None = None
        self._polling: asyncio.Task[None] | None = None
        self._prompts: Prompts | None = None
        self._closed = False

    # Called in other threads.

    def attach(self, name: str, engine: Engine) -> None:
        """Listen to a vault that has just been opened."""

        def report(paths: frozenset[VaultPath] | None) -> None:
            self._call_in_loop(lambda: self._add_report(name, paths))

        self._stops.append(engine.index_sync.listen(report))
        self._call_in_loop(lambda: self._begin(name, engine))

    def _call_in_loop(self, action: Callable[[], None]) -> None:
        try:
            self._loop.call_soon_threadsafe(action)
        except RuntimeError:
            # The loop has closed: nobody is listening.
            return

    # Called in the event loop.

    def watch_prompts(self, prompts: Prompts, listed: list[PromptInfo]) -> None:
        """Announce when this list of prompts, which a client has received, changes."""
        self._prompts = prompts
        self._prompt_list = listed

    async def watch_files(self) -> None:
        """Announce changes of the list of files from now on. Call this before a client gets the list."""
        if not self._files_watched:
            self._files_watched = True
            engines = dict(self._engines)
            await self._workers.run(lambda: self._files_differ(engines))

    async def watch(self, uri: str, find: Callable[[], LocatedFile]) -> None:
        """Announce changes of one file from now on. Raises what `find` raises."""

        def locate() -> tuple[LocatedFile, FileStat | None]:
            file = find()
            return file, file.stat()

        self._watched[uri] = await self._workers.run(locate)

    def unwatch(self, uri: str) -> None:
        self._watched.pop(uri, None)

    def close(self) -> None:
        """Announce nothing from now on, not even for vaults that are still being opened."""
        self._closed = True
        for stop in self._stops:
            stop()
        for task in (self._comparing, self._polling):
            if task is not None:
                task.cancel()

    def _begin(self, name: str, engine: Engine) -> None:
        if self._closed:
            return
        self._engines[name] = engine
        if self._polling is None:
            self._polling = self._loop.create_task(self._poll_index())
        # The first comparison only records what later ones are compared with.
        self._add_report(name, frozenset())

    def _add_report(self, name: str, paths: frozenset[VaultPath] | None) -> None:
        if self._closed:
            return
        known = self._reports.get(name, set())
        if known is None or paths is None:
            self._reports[name] = None
        else:
            known.update(paths)
            self._reports[name] = known
        if self._comparing is None:
            self._comparing = self._loop.create_task(self._collect())

    async def _collect(self) -> None:
        try:
            delay = COLLECT_SECONDS
            while self._reports:
                await asyncio.sleep(delay)
                reports, self._reports = self._reports, {}
                for change in await self._compare(reports):
                    self._announce(change)
                delay = BURST_SECONDS
        finally:
            self._comparing = None

    async def _compare(self, reports: dict[str, set[VaultPath] | None]) -> list[ProviderChange]:
        changes: list[ProviderChange] = []
        engines = {name: self._engines[name] for name in reports if name in self._engines}
        watched = {
            uri: (file, before)
            for uri, (file, before) in self._watched.items()
            if (paths := reports.get(file.vault, set())) is None or file.path in paths
        }
        try:
            after = await self._workers.run(lambda: {uri: file.stat() for uri, (file, _) in watched.items()})
            for uri, (file, before) in watched.items():
                if after[uri] != before and uri in self._watched:
                    self._watched[uri] = (file, after[uri])
                    changes.append(ResourceUpdated(uri))
            if self._files_watched and await self._workers.run(lambda: self._files_differ(engines)):
                changes.append(ResourcesChanged())
            prompts = self._prompts
            if prompts is not None and any(
                paths is None or any(map(prompts.concerns, paths)) for paths in reports.values()
            ):
                listed = await self._workers.run(prompts.list_infos)
                if listed != self._prompt_list:
                    self._prompt_list = listed
                    changes.append(PromptsChanged())
        except VaultbridgeError as error:
            log.warning("Changes of the vault could not be announced: %s", error)
        return changes

    def _files_differ(self, engines: dict[str, Engine]) -> bool:
        """Whether visible files were added or removed since the last comparison. Runs in a worker."""
        differ = False
        for name, engine in engines.items():
            before = self._files.get(name)
            if not engine.queries.status.complete:
                # Until then files are listed from disk, so a complete index counts as a change.
                self._files[name] = (UNKNOWN, UNKNOWN)
                continue
            version = engine.index_sync.read_files_version()
            if before is not None and before[0] == version:
                continue
            # Only visible files are compared: clients must not learn about hidden notes.
            seen = hash(tuple(file.path for file in engine.queries.files()))
            self._files[name] = (version, seen)
            differ |= before is not None and before[1] != seen
        return differ

    async def _poll_index(self) -> None:
        """While another process leads an index: poll its counter of writes."""
        while True:
            for name, engine in tuple(self._engines.items()):
                if engine.index_sync.is_leader:
                    continue
                try:
                    now = await self._workers.run(partial(read_generation, engine))
                except VaultbridgeError as error:
                    log.debug("the index cannot be asked: %s", error)
                    continue
                # The first value counts as a change: something may have been written since the vault was
                # opened.
                if self._generations.get(name) != now:
                    self._generations[name] = now
                    self._add_report(name, None)
            await asyncio.sleep(POLL_SECONDS)


def read_generation(engine: Engine) -> int:
    """The index's counter of writes. That of a scoped index rises only when somebody asks it."""
    return engine.index_sync.index.status().generation
