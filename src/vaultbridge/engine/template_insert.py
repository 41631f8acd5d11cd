"""A template put into a note that exists: its text at a place, its properties merged with the note's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from vaultbridge.engine.operations import Append, Insert, Operation, SetProperty
from vaultbridge.errors import EditRefused, NoteNotFound
from vaultbridge.note.parse import parse
from vaultbridge.vault.paths import VaultPath, name_of

if TYPE_CHECKING:
    from vaultbridge.engine.engine import Engine

_JOINED: Final = ("tags", "aliases", "cssclasses")
"""Lists of which a note keeps its own items and gains the template's."""


def inserting(
    engine: Engine, template: str, path: VaultPath, *, heading: str = "", line: int = 0, expected: str = ""
) -> list[Operation]:
    """The operations for `Engine.apply`. What the note's properties say stays: the template only adds.
    Raises NoteNotFound for the template, EditRefused when its properties cannot be read."""
    text = engine.expand(template, name_of(path).removesuffix(".md"))
    parsed = parse(text)
    values: dict[str, Any] = {}
    body = text
    if parsed.properties is not None:
        if not parsed.properties.valid:
            raise EditRefused(f"The properties of the template {template!r} cannot be read.")
        values, body = parsed.properties.values, text[parsed.properties.end :]
    own = engine.view(path).note.properties
    operations: list[Operation] = []
    if body.strip():
        # The text before the properties: they would move the line that the caller named.
        if line:
            operations.append(Insert(note=path, line=line, content=body, expected=expected))
        else:
            operations.append(Append(note=path, content=body, heading=heading, expected=expected))
    for name, value in _merged(own.values if own is not None else {}, values).items():
        operations.append(SetProperty(note=path, name=name, value=value, expected=expected))
    return operations


def template_path(engine: Engine, template: str) -> VaultPath:
    """As `Engine.expand` finds it: a bare name lies in the templates folder first."""
    folder = engine.settings.template_folder.strip("/")
    if folder:
        try:
            return engine.find(f"{folder}/{template}")
        except NoteNotFound:
            pass
    return engine.find(template)


def _merged(own: dict[str, Any], added: dict[str, Any]) -> dict[str, Any]:
    """The properties to set."""
    there = {name.lower(): value for name, value in own.items()}
    wanted: dict[str, Any] = {}
    for name, value in added.items():
        key = name.lower()
        if there.get(key) is None:
            wanted[name] = value
        elif key in _JOINED:
            items = _items(there[key])
            new = [item for item in _items(value) if item not in items]
            if new:
                wanted[name] = items + new
    return wanted


def _items(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [] if value is None else [value]
