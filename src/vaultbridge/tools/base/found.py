"""The notes that a tool changes because a search finds them."""

from __future__ import annotations

from vaultbridge.engine.vocabulary import BATCH_OPERATIONS
from vaultbridge.errors import InvalidArgument, TimedOut
from vaultbridge.tools.base.answer import wait_for_index
from vaultbridge.tools.base.tool import VaultContext
from vaultbridge.vault.paths import VaultPath


def find_all(context: VaultContext, query: str) -> list[VaultPath]:
    """The notes that match a query, read as the app reads it. Raises InvalidArgument if there are none, or
    more than one change may have, and TimedOut while some may not be known yet."""
    unfinished = wait_for_index(context)
    if unfinished:
        raise TimedOut(unfinished[0], hint="Some notes would be missed. Try again in a moment.")
    found = context.engine.queries.search(query, limit=BATCH_OPERATIONS + 1, matches_per_note=0)
    if found.total > BATCH_OPERATIONS:
        raise InvalidArgument(
            f"{found.total} notes match; at most {BATCH_OPERATIONS} can be changed at once.",
            argument="query",
            hint="Narrow the query.",
        )
    if not found.total:
        raise InvalidArgument("No note matches the query.", argument="query", hint="Try it with search.")
    return [hit.path for hit in found.hits]
