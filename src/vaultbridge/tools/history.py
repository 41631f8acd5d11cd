"""`history` lists the changes made through vaultbridge, by whom and how; `undo` reverts one.

An assistant's undo is a change like its others: it may wait for a person, reaches by itself only what that
assistant changed, and never takes away what somebody else has written since."""

from __future__ import annotations

from datetime import datetime
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta

from vaultbridge.errors import InvalidArgument
from vaultbridge.limits import LARGEST_INTEGER
from vaultbridge.markdown.text import replace_surrogates
from vaultbridge.review.decide import describe_decision
from vaultbridge.review.gate import parse_id
from vaultbridge.review.store import store_of
from vaultbridge.tools.base.answer import (
    ENDING_CHARS,
    Answer,
    answer_outcome,
    answer_text,
    cut_text,
)
from vaultbridge.tools.base.schema import Arguments, Limit, MaxChars, Start
from vaultbridge.tools.base.tool import Tool, VaultContext
from vaultbridge.vault.write.journal import HISTORY_LIMIT

if TYPE_CHECKING:
    from vaultbridge.engine.history import HistoryEntry

PATHS_SHOWN: Final = 5
"""How many files a row names."""

DIGITS: Final = 16
"""The number of a change has fewer digits than this."""


class HistoryArguments(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"limit", "start", "max_chars"})

    id: Annotated[str, Meta(description="Show this change")] = ""
    name: Annotated[str, Meta(description="Changes of this note")] = ""
    limit: Limit = 20
    before: Annotated[int, Meta(ge=0, le=LARGEST_INTEGER, description="Older than this id")] = 0
    start: Start = 0
    max_chars: MaxChars = 24_000


class UndoArguments(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"force"})

    id: Annotated[int, Meta(ge=0, le=LARGEST_INTEGER, description="Default: your last")] = 0
    force: Annotated[bool, Meta(description="Even if you changed it since")] = False


def run(context: VaultContext, arguments: HistoryArguments) -> Answer:
    engine = context.engine
    if arguments.id.strip() in ("", "0"):
        return answer_text(_list(context, arguments))
    if arguments.id.strip().startswith("p"):
        return _describe_proposal(context, arguments.id.strip())
    diff = engine.history.diff(_parse_number(arguments.id)) or "(no text was changed)"
    return answer_text(cut_text(diff, start=arguments.start, max_chars=arguments.max_chars))


def _parse_number(text: str) -> int:
    if text.strip().isascii() and text.strip().isdigit() and len(text) < DIGITS:
        return int(text)
    raise InvalidArgument(
        f"id is {text[:40]!r}.",
        argument="id",
        hint="Give the number of a change, as history lists it, or a proposal such as p12.",
    )


def _describe_proposal(context: VaultContext, wanted: str) -> Answer:
    """What became of a change that waited for a person. It exists only for a caller that may see its
    files."""
    proposal = store_of(context.engine).get(parse_id(wanted))
    if not proposal.may_be_shown(context.engine.scope.visible):
        raise InvalidArgument(f"There is no proposal {proposal.id}.", argument="id")
    rows = [row.path for row in proposal.rows]
    more = len(rows) - PATHS_SHOWN + proposal.more
    files = ", ".join(rows[:PATHS_SHOWN]) + (f" and {more} more" if more > 0 else "")
    when = f"{datetime.fromtimestamp(proposal.at):%Y-%m-%d %H:%M:%S}"
    decided = proposal.decided
    at = f" at {datetime.fromtimestamp(decided.at):%Y-%m-%d %H:%M:%S}" if decided is not None else ""
    state = "pending" if proposal.waits else proposal.status
    return answer_text(
        replace_surrogates(
            f"{proposal.id}  {state}: {describe_decision(proposal)}{at}\n"
            f"proposed {when} by {proposal.actor}: {proposal.label}  {files}"
        )
    )


def run_undo(context: VaultContext, arguments: UndoArguments) -> Answer:
    actor = context.tool_context.actor
    number = arguments.id or context.engine.newest_to_undo(actor)
    outcome = context.engine.undo(number, force=arguments.force, actor=actor)
    return answer_outcome(outcome, undone=number)


def _list(context: VaultContext, arguments: HistoryArguments) -> str:
    """One page of the history. An older page is cut from the whole list, because the history of one file is
    followed through its earlier names."""
    wanted = HISTORY_LIMIT if arguments.before else min(arguments.limit + 1, HISTORY_LIMIT)
    entries = context.engine.history.changes(arguments.name, limit=wanted)
    found = [change for change in entries if not arguments.before or change.id < arguments.before]
    notices = context.engine.history.list_notices()
    if not found:
        return "\n".join([*notices, "(no changes)"])
    rows: list[str] = []
    room = arguments.max_chars - ENDING_CHARS - sum(len(notice) + 1 for notice in notices)
    for change in found[: arguments.limit]:
        row = replace_surrogates(_row(change))
        if rows and len(row) > room:
            break
        rows.append(row)
        room -= len(row) + 1
    more = f"(older ones: before={found[len(rows) - 1].id})" if len(found) > len(rows) else "(that is all)"
    return "\n".join([*notices, *rows, more])


def _row(change: HistoryEntry) -> str:
    paths = change.paths
    more = f" and {len(paths) - PATHS_SHOWN} more" if len(paths) > PATHS_SHOWN else ""
    mark = f" (undid {change.undo_of})" if change.undo_of is not None else ""
    mark = f" (undone by {change.undone_by})" if change.undone_by is not None else mark
    mark += " (content lost: cannot be undone)" if change.incomplete else ""
    when = f"{datetime.fromtimestamp(change.at):%Y-%m-%d %H:%M:%S}"
    files = f"{', '.join(paths[:PATHS_SHOWN])}{more}"
    return f"{change.id}  {when}  {change.actor}: {change.label}  {files}{mark}"


HISTORY = Tool(
    name="history",
    description="List changes made here, or show the diff of one",
    arguments=HistoryArguments,
    run=run,
    group="journal",
    note="name",
)

UNDO = Tool(
    name="undo",
    description="Revert your last change, or one by id",
    arguments=UndoArguments,
    run=run_undo,
    group="journal",
    effect="changes",
    core=True,
)
