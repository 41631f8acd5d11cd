"""What differs between two configurations, and one that takes over some of another's keys.

Keys are written as the file writes them (`server.port`); those of all vaults go together as `vaults.…`.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from msgspec import Struct
from msgspec.structs import fields, replace

from vaultbridge.app.config import Config


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
