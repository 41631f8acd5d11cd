"""The JSON Schema of a plugin's arguments: all that its hints say.

Our own tools' schemas are cut short, because everybody pays for them in every conversation (`tools.schema`);
a person who writes something for an assistant means it to be read. Kinds are written out where
they are used, because not every client follows references; one that contains itself is referred to.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

import msgspec

from vaultbridge.tools.schema import with_types

_REFERENCE: Final = "#/$defs/"


def plugin_schema(arguments: type[msgspec.Struct], defaults: Mapping[str, Any]) -> dict[str, Any]:
    """`defaults` by argument: those that can be JSON are told. Raises TypeError for a kind that cannot."""
    whole = msgspec.json.schema(arguments)
    writer = _Writer(whole["$defs"])
    schema: dict[str, Any] = writer.written(whole)
    # That no other arguments are taken is told by the error that meets them.
    schema.pop("additionalProperties", None)
    required = schema.pop("required", [])
    properties = schema.pop("properties", {})
    for name, default in defaults.items():
        properties[name] |= _told(default)
    # What a call cannot do without comes first: that is how a reader meets it.
    schema["properties"] = {name: properties[name] for name in [*required, *properties]}
    if required:
        schema["required"] = required
    return with_types({**schema, "$defs": writer.circular} if writer.circular else schema)


class _Writer:
    """`circular` are the kinds that contain themselves, as far as they were met."""

    def __init__(self, definitions: dict[str, Any]) -> None:
        self._definitions = definitions
        self._within: list[str] = []
        self.circular: dict[str, Any] = {}

    def written(self, node: Any) -> Any:
        if isinstance(node, list):
            return [self.written(member) for member in node]
        if not isinstance(node, dict):
            return node
        if "$ref" in node:
            own = {key: value for key, value in node.items() if key not in ("$ref", "$defs")}
            return self._resolved(node["$ref"].removeprefix(_REFERENCE)) | own
        kept = {key: value for key, value in node.items() if key != "title"}
        if not kept.get("required", True):
            del kept["required"]
        # Names of properties are not keywords: one may be called title.
        properties = kept.pop("properties", None)
        # A default is a value, whatever it looks like.
        default = {"default": kept.pop("default")} if "default" in kept else {}
        found = {key: self.written(value) for key, value in kept.items()} | default
        if properties is not None:
            found["properties"] = {name: self.written(inner) for name, inner in properties.items()}
        return found

    def _resolved(self, name: str) -> dict[str, Any]:
        if name in self._within:
            if name not in self.circular:
                self.circular[name] = {}  # Met again while it is written.
                self.circular[name] = self._object(name)
            return {"$ref": _REFERENCE + name}
        self._within.append(name)
        try:
            return self._object(name)
        finally:
            self._within.pop()

    def _object(self, name: str) -> dict[str, Any]:
        # The docstring of a class is for its reader in the source.
        inner = {key: value for key, value in self._definitions[name].items() if key != "description"}
        found: dict[str, Any] = self.written(inner)
        return found


def _told(default: Any) -> dict[str, Any]:
    """None says no more than that the argument may be left out."""
    if default is None:
        return {}
    try:
        # Written and read again: what is no JSON fails, and what becomes null there is not itself.
        value = msgspec.json.decode(msgspec.json.encode(default))
    except (TypeError, ValueError):
        return {}
    return {} if value is None else {"default": value}
