"""A configuration file that is read again when it changes: what has changed, and which of it counts now.

    followed = FollowedConfig(file, read=lambda: overlay(load(file)), config=config, live=LIVE)
    if followed.differs():
        ...                                 # wait STILL_SECONDS
        if (change := followed.read()) is not None:
            apply(change.config, change.now)

A file that is wrong or gone changes nothing: that is logged once, and the last good configuration stays.
Keys that cannot take effect now are named in the log. Waiting and applying are the caller's.

What differs between two configurations, and one that takes over some of another's keys.

Keys are written as the file writes them (`server.port`); those of all vaults go together as `vaults.…`.
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


def differences(before: Config, after: Config) -> Iterator[str]:
    """The keys that differ."""
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


def merged(in_force: Config, wanted: Config, keys: Iterable[str]) -> Config:
    """`in_force` with these keys as they are wanted. Vaults are taken over whole: who uses them goes by
    their paths."""
    changed: dict[str, Any] = {}
    for key in keys:
        section, name = key.split(".")
        if section == "vaults":
            changed["vaults"] = wanted.vaults
            continue
        table = changed.get(section, getattr(in_force, section))
        changed[section] = replace(table, **{name: getattr(getattr(wanted, section), name)})
    return replace(in_force, **changed)


def _differing(section: str, one: Struct, other: Struct) -> Iterator[str]:
    for field in fields(one):
        if getattr(one, field.name) != getattr(other, field.name):
            yield f"{section}.{field.name}"


STILL_SECONDS: Final = 0.1
"""How long a changed file must stay the same before it is read. Many editors empty a file and then write it:
read in between, it would for a moment show everything that it hides."""

log = logging.getLogger("vaultbridge.config")


class FollowedChange(Struct, frozen=True):
    """`config` is in force from now on; `now` are the keys in which it is another than before."""

    config: Config
    now: tuple[str, ...]


class FollowedConfig:
    """`read` gives the file's configuration with everything that stands above it, and may raise
    InvalidArgument; `config` is what it gave at the start. `live` are the keys that take effect now, the
    others wait for the next start; sections that are `unused` mean nothing here."""

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
        # Not read yet by us: it may have changed since the start.
        self._stamp: FileStat | str | None = "unread"
        self._noticed: FileStat | None = None

    def differs(self) -> bool:
        """Whether the file is another than the one that was read last."""
        self._noticed = stat_file(self._file)
        if self._noticed is None and self._stamp == "unread":
            return False
        return self._noticed != self._stamp

    def read(self) -> FollowedChange | None:
        """After `differs` and a wait: what is in force now; None when nothing changes, or when the file is
        still being written: `differs` then says so again."""
        if stat_file(self._file) != self._noticed:
            return None
        self._stamp = self._noticed
        if self._noticed is None:
            log.warning("The configuration file is gone: what it said stays in force until the next start")
            return None
        try:
            wanted = self._read()
        except InvalidArgument as error:
            log.warning("The changed configuration is not used: %s", error)
            return None
        found = differences(self._wanted, wanted)
        changed = [key for key in found if key.partition(".")[0] not in self._unused]
        self._wanted = wanted
        now = tuple(key for key in changed if key in self._live)
        later = [key for key in changed if key not in self._live]
        if later:
            log.warning("These take effect at the next start: %s", ", ".join(later))
        if not now:
            return None
        self._in_force = merged(self._in_force, wanted, now)
        log.info("Now in force: %s", ", ".join(now))
        return FollowedChange(self._in_force, now)


def warn_of_vaults(file: Path, vaults: Iterable[Path]) -> None:
    """Tell the person when an assistant could change the configuration: it would loosen its own limits. What
    lies in a hidden folder of a vault no assistant sees."""
    place = Path(os.path.realpath(file))
    for vault in vaults:
        root = Path(os.path.realpath(vault))
        if place.is_relative_to(root) and not any(
            part.startswith(".") for part in place.relative_to(root).parts
        ):
            log.warning(
                "%s lies inside the vault %s, where an assistant could change it: put it elsewhere",
                file.name,
                root.name,
            )
