"""Writes `schemas.json`, which `schema` explains. For those who work on the tools; nothing imports it."""

from __future__ import annotations

import msgspec

from vaultbridge.tools.schema import KEPT, derived_schema
from vaultbridge.tools.standard import STANDARD_TOOLS


def schemas() -> bytes:
    """One line for each Struct of arguments, by its name."""
    kinds = [tool.arguments for tool in STANDARD_TOOLS]
    assert len({kind.__name__ for kind in kinds}) == len(kinds), "two Structs of arguments share a name"
    lines = [f"{msgspec.json.encode(k.__name__).decode()}:{_line(k)}" for k in kinds]
    return ("{\n" + ",\n".join(lines) + "\n}\n").encode()


def _line(kind: type[msgspec.Struct]) -> str:
    return msgspec.json.encode(derived_schema(kind)).decode()


if __name__ == "__main__":
    KEPT.write_bytes(schemas())
