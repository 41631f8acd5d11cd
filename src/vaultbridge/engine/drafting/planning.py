"""Drafts what somebody asks for, and makes the plan of it."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TYPE_CHECKING, Final

from vaultbridge.engine.drafting.carry_out import carry_out
from vaultbridge.engine.drafting.draft import Draft
from vaultbridge.engine.drafting.link_sources import LinkSources
from vaultbridge.engine.drafting.move import note_old_titles
from vaultbridge.engine.drafting.naming import OperationContext
from vaultbridge.engine.finder import Finder
from vaultbridge.engine.operations.base import Operation
from vaultbridge.engine.operations.vocabulary import BATCH_OPERATIONS, with_paths
from vaultbridge.engine.plan import DraftedPlan, Request
from vaultbridge.engine.related.find import RelatedSearch
from vaultbridge.errors import (
    EngineFailure,
    InvalidArgument,
    NoteNotFound,
    PermissionDenied,
    VaultbridgeError,
)
from vaultbridge.vault.paths import VaultPath
from vaultbridge.vault.read import is_empty_file

if TYPE_CHECKING:
    from vaultbridge.engine.direct import DirectEngine

TASKS_FOUND: Final = 1000
"""The most tasks with a given text that are compared to find the right one: a daily checklist repeats its
tasks for years."""


def draft_plan(
    engine: DirectEngine, request: Request, *, read: Callable[[VaultPath], bytes], files: Finder
) -> DraftedPlan:
    """Raises what the first failing operation raises."""
    asked = time.monotonic()
    engine.root.check()
    operations = [with_paths(operation, engine.make_vault_relative) for operation in request.operations]
    context = _make_context(engine, read, files)
    # A change by another process from here on may alter what the links of the draft lead to.
    drafted_after: int | None = None
    # This comes before the table is read: in an incomplete table, many links would be unresolved.
    if any(operation.needs_index(context) for operation in operations):
        drafted_after = engine.journal.last_finished()
        context.sources.index()
    if any(operation.changes_other_files(context) for operation in operations):
        engine.index_sync.compare_since(asked)
    queries, sources = engine.queries, context.sources
    draft = Draft(
        read,
        lambda: queries.table(sources.known),
        None if engine.scope.unrestricted else lambda: queries.existence_filter(sources.known),
    )
    _run_operations(operations, draft, context, numbered=not request.label)
    note_old_titles(draft, engine.scope.visible)
    if not request.by_person:
        draft.check_properties(engine.scope.visible)
    return DraftedPlan(
        request,
        draft,
        visible=engine.scope.visible,
        table=lambda: queries.table(sources.known),
        read=read,
        drafted_after=drafted_after,
    )


def _make_context(
    engine: DirectEngine, read: Callable[[VaultPath], bytes], files: Finder
) -> OperationContext:
    def check_settled(path: VaultPath) -> None:
        """For a file that goes to the trash unread: if another program has just emptied it to save it, the
        trash would get neither its old text nor the new one. Raises `NoteBusy`."""
        # A file that cannot be read can still be deleted.
        with suppress(EngineFailure, NoteNotFound, PermissionDenied):
            if is_empty_file(engine.root.place(path)):
                read(path)

    return OperationContext(
        find=engine.find,
        find_exact=files.find_exact,
        find_stored_path=files.find_stored_path,
        match_spelling=engine.root.match_spelling,
        check_named=files.check_named,
        check_settled=check_settled,
        is_folder=engine.is_folder,
        expand=engine.expand,
        notes_with_tag=engine.queries.notes_with_tag,
        find_tasks=lambda text: engine.queries.tasks(text=text, limit=TASKS_FOUND).tasks,
        open_related=lambda: RelatedSearch.open(engine),
        sources=LinkSources(engine.root, engine.index_sync),
        settings=engine.settings,
        scope=engine.scope,
    )


def _run_operations(
    operations: Sequence[Operation], draft: Draft, context: OperationContext, *, numbered: bool
) -> None:
    """Raises what the first failing operation raises; its message says which one, by the note it names and,
    when `numbered`, by its place."""
    if len(operations) > BATCH_OPERATIONS:
        raise InvalidArgument(
            f"{len(operations)} operations; at most {BATCH_OPERATIONS} go into one batch.",
            argument="operations",
        )
    for number, operation in enumerate(operations, 1):
        try:
            carry_out(draft, operation, context)
        except VaultbridgeError as error:
            if len(operations) > 1:
                note = getattr(operation, "note", "")
                which = f"Operation {number} of {len(operations)}: " if numbered else ""
                error.message = f"{which}{f'{note}: ' if note else ''}{error.message}"
            raise
