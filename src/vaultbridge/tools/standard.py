"""Our own tools, in the order in which clients see them: the most used first."""

from __future__ import annotations

from typing import Final

from vaultbridge.tools.active import ACTIVE, OPEN
from vaultbridge.tools.attachment import ADD_ATTACHMENT, ATTACHMENT
from vaultbridge.tools.base.catalog import Catalog
from vaultbridge.tools.base.tool import Tool
from vaultbridge.tools.base_query import BASE_QUERY
from vaultbridge.tools.canvas import CANVAS, EDIT_CANVAS
from vaultbridge.tools.create_note import CREATE_NOTE, TEMPLATE
from vaultbridge.tools.daily_note import DAILY_NOTE, WRITE_DAILY_NOTE
from vaultbridge.tools.edit_note import BATCH, EDIT_NOTE
from vaultbridge.tools.history import HISTORY, UNDO
from vaultbridge.tools.links import LINKS
from vaultbridge.tools.list_files import LIST_FILES
from vaultbridge.tools.metadata import PROPERTIES, TAGS, TASKS
from vaultbridge.tools.move_note import DELETE_NOTE, MOVE_NOTE
from vaultbridge.tools.read_note import READ_NOTE
from vaultbridge.tools.related import RELATED
from vaultbridge.tools.search import CONTEXT, SEARCH
from vaultbridge.tools.vault_info import VAULT_INFO

STANDARD_TOOLS: Final[tuple[Tool, ...]] = (
    CREATE_NOTE,
    READ_NOTE,
    EDIT_NOTE,
    MOVE_NOTE,
    DELETE_NOTE,
    CONTEXT,
    SEARCH,
    LIST_FILES,
    PROPERTIES,
    TAGS,
    LINKS,
    RELATED,
    TASKS,
    DAILY_NOTE,
    WRITE_DAILY_NOTE,
    TEMPLATE,
    CANVAS,
    EDIT_CANVAS,
    BASE_QUERY,
    ATTACHMENT,
    ADD_ATTACHMENT,
    BATCH,
    HISTORY,
    UNDO,
    VAULT_INFO,
    ACTIVE,
    OPEN,
)


def standard_catalog() -> Catalog:
    """A new catalog of our tools, to which more can be added."""
    return Catalog(STANDARD_TOOLS)
