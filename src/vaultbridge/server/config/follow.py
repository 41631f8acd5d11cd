"""Follows a configuration file: what changed, and which of it takes effect now.

    followed = FollowedConfig(file, read=lambda: overlay(load_config(file)), config=config, live=LIVE)
    if followed.has_changed():
        ...                                 # wait QUIET_SECONDS
        if (change := followed.read()) is not None:
            apply(change.config, change.keys)

An invalid or deleted file changes nothing: that is logged once, and the last valid configuration stays. Keys
that need a restart are named in the log. Waiting and applying are the caller's duty.

Keys are written as in the file (`server.port`); those of all vaults are combined as `vaults.…`.
"""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any, Final

from msgspec import Struct
from msgspec.structs import fields, replace

from vaultbridge.errors import InvalidArgument
from vaultbridge.server.config.model import Config
from vaultbridge.system import FileStat, stat_file


def compare(before: Config, after: Config) -> Iterator[str]:
    """Yield the keys that differ."""
    for section in fields(Config):
        old, new = getattr(before, section.name), getattr(after, section.name)
        if section.name != "vaults":
            yield from _compare_section(section.name, old, new)
            continue
        if [vault.path for vault in old] != [vault.path for vault in new]:
            yield "vaults.path"
        keys: dict[str, None] = {}
        by_path = {vault.path: vault for vault in old}
        for vault in new:
            if vault.path in by_path:
                keys.update(dict.fromkeys(_compare_section("vaults", by_path[vault.path], vault)))
        yield from keys


def merge(in_force: Config, wanted: Config, keys: Iterable[str]) -> Config:
    """Return `in_force` with these keys taken from `wanted`. Vaults are taken as a whole: their users look
    them up by path."""
    changed: dict[str, Any] = {}
    for key in keys:
        section, name = key.split(".")
        if section == "vaults":
            changed["vaults"] = wanted.vaults
            continue
        table = changed.get(section, getattr(in_force, section))
        changed[section] = replace(table, **{name: getattr(getattr(wanted, section), name)})
    return replace(in_force, **changed)


def _compare_section(section: str, old: Struct, new: Struct) -> Iterator[str]:
    for field in fields(old):
        if getattr(old, field.name) != getattr(new, field.name):
            yield f"{section}.{field.name}"


QUIET_SECONDS: Final = 0.1
"""How long a changed file must stay the same before it is read. Many editors empty a file before they write
it: read in between, it would for a moment reveal everything that it hides."""

log = logging.getLogger("vaultbridge.config")


class FollowedChange(Struct, frozen=True):
    """`config` is in force from now on; `keys` are those that have changed."""

    config: Config
    keys: tuple[str, ...]


class FollowedConfig:
    """`read` returns the file's configuration with everything that overrides it, and may raise
    InvalidArgument; `config` is what it returned at the start. The keys in `live` take effect at once, the
    others at the next start; sections in `unused` have no meaning here."""

    def __init__(
        self,
        file: Path,
        *,
        read: Callable[[], Config],
        config: Config,
        live: frozenset[str],
        unused: frozenset[str] = frozenset(),
    ) -> None:
        self._file = file
        self._read = read
        self._live = live
        self._unused = unused
        self._wanted = self._in_force = config
        # We have not read it yet: it may have changed since the start.
        self._last_read: FileStat | str | None = "unread"
        self._noticed: FileStat | None = None

    @property
    def in_force(self) -> Config:
        return self._in_force

    def has_changed(self) -> bool:
        """Whether the file differs from the one that was read last."""
        self._noticed = stat_file(self._file)
        if self._noticed is None and self._last_read == "unread":
            return False
        return self._noticed != self._last_read

    def read(self) -> FollowedChange | None:
        """Read the file, after `has_changed` and a wait. None when nothing changes, or when the file is still
        being written; `has_changed` is then true again."""
        if stat_file(self._file) != self._noticed:
            return None
        self._last_read = self._noticed
        if self._noticed is None:
            log.warning("The configuration file is gone: its settings stay in effect until the next start")
            return None
        try:
            wanted = self._read()
        except InvalidArgument as error:
            log.warning("The changed configuration is invalid and not used: %s", error)
            return None
        if stat_file(self._file) != self._noticed:
            # Somebody has emptied or deleted it just before it was read: nobody asked to reveal anything.
            self._last_read = "changed since"
            return None
        keys = compare(self._wanted, wanted)
        changed = [key for key in keys if key.partition(".")[0] not in self._unused]
        self._wanted = wanted
        now = tuple(key for key in changed if key in self._live)
        later = [key for key in changed if key not in self._live]
        if later:
            log.warning("These take effect at the next start: %s", ", ".join(later))
        if not now:
            return None
        self._in_force = merge(self._in_force, wanted, now)
        log.info("Now in effect: %s", ", ".join(now))
        return FollowedChange(self._in_force, now)


def warn_if_inside_vault(file: Path, vaults: Iterable[Path]) -> None:
    """Warn if an assistant could edit the configuration and so loosen its own limits. A hidden folder of a
    vault is safe, because no assistant can see it."""
    place = Path(os.path.realpath(file))
    for vault in vaults:
        root = Path(os.path.realpath(vault))
        if place.is_relative_to(root) and not any(
            part.startswith(".") for part in place.relative_to(root).parts
        ):
            log.warning(
                "%s is inside the vault %s, where an assistant could change it: move it elsewhere",
                file.name,
                root.name,
            )
