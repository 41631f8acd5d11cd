"""The notes that a tool changes or reads because a search finds them."""

from __future__ import annotations

from vaultbridge.engine.operations.vocabulary import BATCH_OPERATIONS
from vaultbridge.errors import InvalidArgument, TimedOut
from vaultbridge.tools.base.answer import wait_for_index
from vaultbridge.tools.base.tool import VaultContext
from vaultbridge.vault.paths import VaultPath


def find_all(
    context: VaultContext, query: str, *, most: int = BATCH_OPERATIONS, done: str = "changed"
) -> list[VaultPath]:
    """The notes that match a query, read as the app reads it. Raises InvalidArgument if there are none, or
    more than can be `done` at once, and TimedOut while some may not be known yet."""
    unfinished = wait_for_index(context)
    if unfinished:
        raise TimedOut(unfinished[0], hint="Some notes would be missed. Try again in a moment.")
    found = context.engine.queries.search(query, limit=most + 1, matches_per_note=0)
    if found.total > most:
        raise InvalidArgument(
            f"{found.total} notes match; at most {most} can be {done} at once.",
            argument="query",
            hint="Narrow the query.",
        )
    if not found.total:
        raise InvalidArgument("No note matches the query.", argument="query", hint="Try it with search.")
    return [hit.path for hit in found.hits]
