"""Absolute paths in a tool's arguments: which vault they are in, and what they are called there.

What an absolute path means is decided in `vault.absolute`; here it is looked for in the arguments of a call.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any, Final

from vaultbridge.errors import InvalidPath

if TYPE_CHECKING:
    from vaultbridge.tools.workshop import Workshop

PLACES: Final = frozenset({"name", "names", "path", "to", "folder", "note", "file", "this"})
"""The arguments that name something in the vault."""


def names_absolute(arguments: dict[str, Any]) -> bool:
    """Whether `in_vault` may find something: only then the vault has to be known."""
    # Every call pays for this, so it is quick rather than exact; the last is a drive of Windows.
    return any(text[:1] in ("/", "~") or text[1:2] == ":" for text in _named(arguments))


def leads_to_machine(arguments: dict[str, Any]) -> bool:
    """Whether a path begins with a folder of the machine: to know which vault holds it, folders anywhere on
    the machine are looked at, and one of them may be on a disk that does not answer."""
    return names_absolute(arguments) and any(
        text[:1] == "~" or os.path.lexists("/" + text.lstrip("/").partition("/")[0])
        for text in _named(arguments)
        if text[:1] in ("/", "~")
    )


def vault_holding(arguments: dict[str, Any], vault: str, shop: Workshop) -> str:
    """The name of the open vault that the absolute paths are in: `vault` when that one is named or when no
    other vault holds them. Raises InvalidPath when they are in another vault than the named one, or in
    several."""
    if len(shop.vaults) < 2:
        return vault
    from vaultbridge.vault.absolute import innermost

    names = {engine.root.folder: name for name, engine in shop.engines.items()}
    holding: dict[str, str] = {}
    for text in _named(arguments):
        if (folder := innermost(text, names)) is not None:
            holding.setdefault(names[folder], text)
    if len(holding) > 1:
        raise InvalidPath(
            f"The paths of one call are in several vaults: {', '.join(holding)}.",
            argument="path",
            hint="Make one call for each vault.",
        )
    for name, text in holding.items():
        if vault and name != vault:
            raise InvalidPath(
                f"The path {text[:200]!r} is in the vault {name}, not in {vault}.",
                argument="path",
                hint=f"Give vault={name!r}, or leave it out.",
            )
        return name
    return vault


def in_vault(arguments: dict[str, Any], from_top: Callable[[str], str]) -> dict[str, Any]:
    """The same arguments, with `from_top` applied to each that names something in the vault."""
    own = {key: _shortened(value, from_top) if key in PLACES else value for key, value in arguments.items()}
    if operations := _operations(arguments):
        short = iter([in_vault(one, from_top) for one in operations])
        own["operations"] = [next(short) if isinstance(one, dict) else one for one in arguments["operations"]]
    return own


def _named(arguments: dict[str, Any]) -> Iterator[str]:
    for one in (arguments, *_operations(arguments)):
        for key in PLACES.intersection(one):
            yield from _texts(one[key])


def _operations(arguments: dict[str, Any]) -> list[dict[str, Any]]:
    """The edits within a batch."""
    listed = arguments.get("operations")
    return [one for one in listed if isinstance(one, dict)] if isinstance(listed, list) else []


def _texts(value: Any) -> list[str]:
    return [one for one in (value if isinstance(value, list) else [value]) if isinstance(one, str)]


def _shortened(value: Any, from_top: Callable[[str], str]) -> Any:
    if isinstance(value, list):
        return [_shortened(one, from_top) for one in value]
    return from_top(value) if isinstance(value, str) else value
