"""`daily_note` and `write_daily_note`: the note of a day, week, month, quarter or year, created as the app
does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Final, Literal

from msgspec import Meta

from vaultbridge.engine.drafting.templates import find_periodic_note, find_periodic_notes, plan_note_addition
from vaultbridge.engine.operations.base import CreateHeading, SectionName
from vaultbridge.engine.reading import Part
from vaultbridge.errors import InvalidArgument, NoteNotFound
from vaultbridge.tools.base.answer import Answer, answer_data, answer_text, clip_text, describe_outcome
from vaultbridge.tools.base.schema import Arguments, MaxChars, Start
from vaultbridge.tools.base.tool import Tool, VaultContext
from vaultbridge.tools.read_note import read_several, read_text

if TYPE_CHECKING:
    from vaultbridge.engine.drafting.templates import PeriodicNote
    from vaultbridge.vault.paths import VaultPath


PeriodName = Annotated[
    Literal["daily", "weekly", "monthly", "quarterly", "yearly"], Meta(description="Which kind")
]
Day = Annotated[str, Meta(description="YYYY-MM-DD, today, or offset: -1")]


class DailyNoteArguments(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"action", "start", "max_chars"})

    action: Annotated[Literal["read", "path"], Meta(description="Action")] = "read"
    period: PeriodName = "daily"
    date: Day = "today"
    until: Annotated[str, Meta(description="Last day of the range")] = ""
    heading: SectionName = ""
    start: Start = 0
    max_chars: MaxChars = 24_000


class WriteDailyNoteArguments(Arguments, frozen=True, kw_only=True):
    action: Annotated[Literal["append", "prepend", "create"], Meta(description="Action")] = "append"
    content: Annotated[str, Meta(description="Markdown")] = ""
    heading: SectionName = ""
    create: CreateHeading = False
    period: PeriodName = "daily"
    date: Day = "today"


def run(context: VaultContext, arguments: DailyNoteArguments) -> Answer:
    if arguments.until:
        notes = find_periodic_notes(context.engine, arguments.period, arguments.date, arguments.until)
        return _answer_range(context, notes, arguments)
    note = find_periodic_note(context.engine, arguments.period, arguments.date)
    if arguments.action == "path":
        return answer_text(f"{note.path}{'' if note.exists else '  (does not exist yet)'}")
    return _read(context, note, arguments)


MISSING_NAMED: Final = 7
"""How many notes that do not exist a range names: those of a week. Of a longer time, a person who writes now
and then has hardly any, and their number says as much."""


def _name_missing(missing: list[VaultPath]) -> str:
    return f"(do not exist: {', '.join(missing)})" if missing else ""


def _answer_range(context: VaultContext, notes: list[PeriodicNote], arguments: DailyNoteArguments) -> Answer:
    """The notes of a range, one after the other, and at the end which there are not."""
    if arguments.start:
        raise InvalidArgument(
            "start continues within one note, but until asks for several.",
            argument="start",
            hint="Give the date of the note that was cut.",
        )
    there = [note.path for note in notes if note.exists]
    missing = [note.path for note in notes if not note.exists]
    if arguments.action == "path":
        rows = [*there, *filter(None, [_name_missing(missing)])]
        return answer_text(clip_text("\n".join(rows), arguments.max_chars))
    many = len(missing) > MISSING_NAMED
    left = f"({len(missing)} of {len(notes)} do not exist)" if many else _name_missing(missing)
    left = clip_text(left, arguments.max_chars // 4)
    part = Part(heading=arguments.heading, max_chars=max(1, arguments.max_chars - len(left)))
    read = read_several(context, there, part) if there else ""
    return answer_text("\n\n".join(filter(None, (read, left))))


def _read(context: VaultContext, note: PeriodicNote, arguments: DailyNoteArguments) -> Answer:
    if not note.exists:
        missing = NoteNotFound(note.path, what=f"{note.period} note")
        missing.hint = "It does not exist yet; write_daily_note creates it."
        raise missing
    part = Part(heading=arguments.heading, start=arguments.start, max_chars=arguments.max_chars)
    return answer_text(read_text(context, note.path, part))


def run_write(context: VaultContext, arguments: WriteDailyNoteArguments) -> Answer:
    note = find_periodic_note(context.engine, arguments.period, arguments.date)
    creates = arguments.action == "create"
    if not creates and not arguments.content:
        raise InvalidArgument("content is missing.", argument="content", hint="Give the text to add.")
    operations, notices = plan_note_addition(
        context.engine,
        note,
        arguments.content,
        heading=arguments.heading,
        create=arguments.create,
        first=arguments.action == "prepend",
    )
    if creates and note.exists:
        operations = []
    data = {"path": note.path, "created": not note.exists}
    if not operations:
        return answer_data({**data, "unchanged": True}, changed=False)
    outcome = context.engine.apply(operations, label=f"{note.period} note", actor=context.tool_context.actor)
    described = describe_outcome(outcome, note.path)
    if notices:
        described["notices"] = [*described.get("notices", []), *notices]
    return answer_data({**data, **described}, changed=bool(outcome.files))


DAILY_NOTE = Tool(
    name="daily_note",
    description="Read or locate the daily (weekly, …) note or journal, or a range of days",
    arguments=DailyNoteArguments,
    run=run,
    group="notes",
    core=True,
)

WRITE_DAILY_NOTE = Tool(
    name="write_daily_note",
    description="Add to the daily (weekly, …) note; created from its template if missing",
    arguments=WriteDailyNoteArguments,
    run=run_write,
    group="notes",
    effect="adds",
    core=True,
)
