"""The whole graph of a vault as one scope may see it, kept as long as it is true."""

from __future__ import annotations

from typing import TYPE_CHECKING

from vaultbridge.index.link_map import LinkMap, read_link_map

if TYPE_CHECKING:
    from vaultbridge.engine.queries import Queries


def read_links(
    queries: Queries, known: LinkMap | None, *, attachments: bool = False, unresolved: bool = False
) -> tuple[LinkMap, bool]:
    """All notes and their links, and whether the answer depends on the index alone. If it does, `known`, an
    earlier answer to the same question, is given again as long as the index stays the same. What a limited
    reader may see can change while it does."""
    index = queries.index()
    shown, exists = queries.visibility()
    status = index.status()
    now = (status.generation, status.complete)
    if known is not None and shown is None and now == (known.generation, known.complete):
        return known, True
    made = read_link_map(index, visible=shown, exists=exists, attachments=attachments, unresolved=unresolved)
    return made, shown is None
