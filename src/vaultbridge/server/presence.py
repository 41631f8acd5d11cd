"""Manages how a bridge is found on this machine: its port, its token and its lock files, from start to end.

    presence = Presence.claim(cache, [vault], home=Path.home(), environ=os.environ)
    … web.SockSite(runner, presence.socket) …
    presence.add_vault(other_cache, other_vault)
    presence.announce([vault, other_vault])     # once listening; again whenever the vaults change
    await presence.follow()                     # as long as it runs
    presence.withdraw()                         # at a clean end

After `kill -9` nothing needs repair: the next `claim` takes the saved port and token again, and `announce`
sweeps the dead lock and writes a new one.
"""

from __future__ import annotations

import asyncio
import logging
import os
import socket
from collections.abc import Callable, Collection, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Final, NoReturn

from vaultbridge.protocols.claude_ide.lock_files import (
    LockFiles,
    list_lock_folders,
    list_scanned_folders,
    make_lock,
)
from vaultbridge.protocols.editor.endpoint_file import (
    Endpoint,
    load_endpoint,
    make_token,
    mark_stopped,
    remove_guest_endpoint,
    save_endpoint,
    save_guest_endpoint,
)
from vaultbridge.protocols.http.listen import open_socket

DEFAULT_PORT: Final = 3000

LOCK_CHECK_SECONDS: Final = 2.0
"""How long a deleted lock file stays missing. Claude Code looks for one for 30 s when it starts, and a look
at one or two small files costs nothing."""

log = logging.getLogger("vaultbridge.ide")

LOOPBACK_FOR_WILDCARD: Final = {"0.0.0.0": "127.0.0.1", "::": "::1"}
"""The addresses that listen on every interface, and the address that reaches each from this machine."""


class Presence:
    """The port, token and lock files of one bridge. `certificate` is the fingerprint of the server's
    certificate, `name` the server's name for people, `temporary` whether it ends when nobody uses it, and
    `announced` whether Claude Code is to find it."""

    def __init__(
        self,
        listening: socket.socket,
        token: str,
        cache: Path,
        locks: LockFiles,
        find_lock_folders: Callable[[], Sequence[Path]],
        *,
        ide_name: str,
        certificate: str = "",
        name: str = "",
        temporary: bool = False,
        announced: bool = True,
    ) -> None:
        self.socket = listening
        self.token = token
        self._cache = cache
        self._locks = locks
        self._find_lock_folders = find_lock_folders
        self._ide_name = ide_name
        self._certificate = certificate
        self._name = name
        self._temporary = temporary
        self._announced = announced
        self._guests: list[Path] = []

    @property
    def port(self) -> int:
        port: int = self.socket.getsockname()[1]
        return port

    @property
    def host(self) -> str:
        """The address at which this machine reaches us."""
        bound: str = self.socket.getsockname()[0]
        return LOOPBACK_FOR_WILDCARD.get(bound, bound)

    @property
    def link(self) -> str:
        """The address for people."""
        return self._make_endpoint(None).link

    @property
    def fits_claude_code(self) -> bool:
        """Whether Claude Code can connect: it dials ws://127.0.0.1 and nothing else."""
        return self.socket.getsockname()[0] in ("127.0.0.1", "0.0.0.0") and not self._certificate

    @classmethod
    def claim(
        cls,
        cache: Path,
        folders: Sequence[Path],
        *,
        environ: Mapping[str, str],
        home: Path,
        others: Collection[int] = (),
        host: str = "127.0.0.1",
        port: int | None = None,
        ide_name: str = "Obsidian",
        certificate: str = "",
        name: str = "",
        temporary: bool = False,
        announced: bool = True,
    ) -> Presence:
        """Open the port and save it. `cache` is the vault's cache folder, `others` are the processes of other
        bridges that serve the vault and have answered. A requested `port` is taken or the call fails (0: any
        free one); otherwise the saved one, the default, or any free one, in this order. Raises
        EngineFailure."""
        endpoint = load_endpoint(cache)
        saved = [endpoint.port] if endpoint is not None else []
        ports = [*saved, DEFAULT_PORT, 0] if port is None else [port]
        if port == 0:
            ports = [*saved, 0]
        listening = open_socket(host, ports)
        token = endpoint.token if endpoint is not None else make_token()
        find_lock_folders = partial(list_lock_folders, environ, home)
        locks = LockFiles(find_lock_folders(), swept=list_scanned_folders(environ, home))
        presence = cls(
            listening,
            token,
            cache,
            locks,
            find_lock_folders,
            ide_name=ide_name,
            certificate=certificate,
            name=name,
            temporary=temporary,
            announced=announced,
        )
        # If another bridge of this vault is running, it keeps the file, because its clients reconnect there.
        # Ours is then named in the second file, which counts once that bridge has ended. That a process has
        # the number in the file proves nothing: it may have been given again since.
        if endpoint is None or endpoint.port == presence.port or endpoint.pid not in others:
            save_endpoint(cache, presence._make_endpoint(folders[0] if folders else None))
        elif folders:
            presence.add_vault(cache, folders[0])
        return presence

    def announce(self, folders: Sequence[Path]) -> tuple[Path, ...]:
        """Sweep dead locks and write ours; returns the files written. Call it when the port is served."""
        self._locks.sweep()
        return self._locks.write(make_lock(self.port, self.token, folders, ide_name=self._ide_name))

    async def follow(self) -> NoReturn:
        """Write our locks again when they are gone, until cancelled: people and clients delete locks that
        they take for dead, and a folder that another release scans may appear later."""
        while True:
            await asyncio.sleep(LOCK_CHECK_SECONDS)
            for file in await asyncio.to_thread(lambda: self._locks.restore(self._find_lock_folders())):
                log.info("Wrote the lock file again: %s", file)

    def add_vault(self, cache: Path, folder: Path) -> None:
        """Serve another vault too, so that commands that name it find this bridge. Raises EngineFailure."""
        save_guest_endpoint(cache, self._make_endpoint(folder))
        self._guests.append(cache)

    def withdraw(self) -> None:
        """Remove our locks; port and token stay saved."""
        self._locks.remove()
        for cache in self._guests:
            remove_guest_endpoint(cache, os.getpid())
        mark_stopped(self._cache, os.getpid())

    def _make_endpoint(self, folder: Path | None) -> Endpoint:
        return Endpoint(
            port=self.port,
            token=self.token,
            pid=os.getpid(),
            vault=os.path.realpath(folder) if folder is not None else "",
            host=self.host,
            certificate=self._certificate,
            name=self._name,
            locks=str(next(iter(self._find_lock_folders()), "")) if self.fits_claude_code else "",
            temporary=self._temporary,
            announced=self._announced,
        )
