"""What a running server does when its configuration or its plugin files change.

A file that is wrong changes nothing: the fault is logged once and the last good configuration stays. Keys
that cannot take effect now are named in the log.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from msgspec import Struct
from msgspec.structs import fields, replace

from vaultbridge.app.config import LIVE, Config, load
from vaultbridge.app.live_tools import LiveTools
from vaultbridge.app.logs import set_level
from vaultbridge.app.reload import stamp
from vaultbridge.errors import InvalidArgument
from vaultbridge.transports.http_guard import LOOPBACK

if TYPE_CHECKING:
    from vaultbridge.app.access import Access
    from vaultbridge.app.serve import ServeOptions
    from vaultbridge.app.servers import Servers
    from vaultbridge.editor.desk import Desk
    from vaultbridge.tools.catalog import Catalog

log = logging.getLogger("vaultbridge.config")


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
        self._file = options.config_file
        self._overlay = options.overlay
        self._wanted = self._in_force = options.config
        self._stamp = stamp(self._file)
        self._servers = servers
        self._access = access
        self._desks = tuple(desks)
        self._tools = LiveTools(catalog, self._file.parent, options.config.tools, vaults)

    async def start(self) -> None:
        """Load the plugins and switch everything as the configuration says."""
        await asyncio.to_thread(self._tools.start)

    async def look(self) -> None:
        """Compare with what is in force, and follow."""
        found = stamp(self._file)
        if found != self._stamp:
            self._stamp = found
            self._follow()
        await asyncio.to_thread(self._tools.look)
        tokens = await asyncio.to_thread(self._access.valid_tokens)
        await self._servers.forget(tokens)

    def _follow(self) -> None:
        try:
            wanted = self._overlay(load(self._file))
        except InvalidArgument as error:
            log.warning("The changed configuration is not used: %s", error)
            return
        changed = list(_differences(self._wanted, wanted))
        self._wanted = wanted
        now = [key for key in changed if key in LIVE]
        later = [key for key in changed if key not in LIVE]
        self._in_force = _merged(self._in_force, wanted, now)
        self._apply(now)
        if now:
            log.info("Now in force: %s", ", ".join(now))
        if later:
            log.warning("These take effect at the next start: %s", ", ".join(later))

    def _apply(self, keys: list[str]) -> None:
        config = self._in_force
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


def _differences(before: Config, after: Config) -> Iterator[str]:
    """The keys that differ, as the file writes them; those of all vaults together."""
    for section in fields(Config):
        one, other = getattr(before, section.name), getattr(after, section.name)
        if section.name != "vaults":
            yield from _differing(section.name, one, other)
            continue
        if [vault.path for vault in one] != [vault.path for vault in other]:
            yield "vaults.path"
        found: dict[str, None] = {}
        by_path = {vault.path: vault for vault in one}
        for vault in other:
            if vault.path in by_path:
                found.update(dict.fromkeys(_differing("vaults", by_path[vault.path], vault)))
        yield from found


def _differing(section: str, one: Struct, other: Struct) -> Iterator[str]:
    for field in fields(one):
        if getattr(one, field.name) != getattr(other, field.name):
            yield f"{section}.{field.name}"


def _merged(in_force: Config, wanted: Config, keys: list[str]) -> Config:
    """`in_force` with these keys as they are wanted."""
    changed: dict[str, Any] = {}
    for key in keys:
        section, name = key.split(".")
        if section == "vaults":
            changed["vaults"] = wanted.vaults
            continue
        table = changed.get(section, getattr(in_force, section))
        changed[section] = replace(table, **{name: getattr(getattr(wanted, section), name)})
    return replace(in_force, **changed)
