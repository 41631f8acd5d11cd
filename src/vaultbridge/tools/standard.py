"""Our tools, in the order in which clients list them: what is used most comes first."""

from __future__ import annotations

from typing import Final

from vaultbridge.tools.catalog import Catalog
from vaultbridge.tools.create_note import CREATE_NOTE
from vaultbridge.tools.read_note import READ_NOTE
from vaultbridge.tools.tool import Tool

STANDARD_TOOLS: Final[tuple[Tool, ...]] = (CREATE_NOTE, READ_NOTE)


def standard_catalog() -> Catalog:
    """A catalog of its own, to which others may add tools."""
    return Catalog(STANDARD_TOOLS)
