"""`daily_note`: today's note or that of any day, week, month, quarter or year, made as the app would."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal

from msgspec import Meta

from vaultbridge.errors import InvalidArgument, NoteNotFound
from vaultbridge.tools.answer import Answer, done, read
from vaultbridge.tools.fields import Arguments, Heading, MaxChars, Start
from vaultbridge.tools.outcomes import outcome_data
from vaultbridge.tools.tool import Tool
from vaultbridge.tools.workshop import Bench

if TYPE_CHECKING:
    from vaultbridge.engine.periodic import Periodic


class ReadDailyNote(Arguments, frozen=True, kw_only=True):
    action: Literal["read", "path"] = "read"
    period: Literal["daily", "weekly", "monthly", "quarterly", "yearly"] = "daily"
    date: Annotated[str, Meta(description="YYYY-MM-DD, today, yesterday, or periods from now: -1")] = "today"
    heading: Heading = ""
    start: Start = 0
    max_chars: MaxChars = 24_000


class DailyNote(ReadDailyNote, frozen=True, kw_only=True):
    action: Literal["read", "path", "append", "prepend", "create"] = "read"  # type: ignore[assignment]
    content: str = ""


def run(bench: Bench, arguments: DailyNote) -> Answer:
    from vaultbridge.engine.periodic import periodic_note

    note = periodic_note(bench.engine, arguments.period, arguments.date)
    match arguments.action:
        case "path":
            return read(f"{note.path}{'' if note.exists else '  (does not exist yet)'}")
        case "read":
            return _read(bench, note, arguments)
        case _:
            return _add(bench, note, arguments)


def _read(bench: Bench, note: Periodic, arguments: DailyNote) -> Answer:
    from vaultbridge.engine.reading import Part
    from vaultbridge.tools.read_note import note_text

    if not note.exists:
        missing = NoteNotFound(note.path, what=f"{note.period} note")
        missing.hint = "It does not exist yet: append or create makes it."
        raise missing
    part = Part(heading=arguments.heading, start=arguments.start, max_chars=arguments.max_chars)
    return read(note_text(bench, note.path, part))


def _add(bench: Bench, note: Periodic, arguments: DailyNote) -> Answer:
    from vaultbridge.engine.periodic import adding

    creates = arguments.action == "create"
    if not creates and not arguments.content:
        raise InvalidArgument("content is missing.", argument="content", hint="What should be added?")
    operations, notices = adding(
        bench.engine,
        note,
        arguments.content,
        heading=arguments.heading,
        first=arguments.action == "prepend",
    )
    if creates and note.exists:
        operations = []
    data = {"path": note.path, "created": not note.exists}
    if not operations:
        return done({**data, "unchanged": True}, changed=False)
    outcome = bench.engine.apply(operations, label=f"{note.period} note", actor=bench.shop.actor)
    told = outcome_data(outcome, note.path)
    if notices:
        told["notices"] = [*told.get("notices", []), *notices]
    return done({**data, **told}, changed=bool(outcome.files))


DAILY_NOTE = Tool(
    name="daily_note",
    title="Daily note",
    description="Read, append to or locate the daily (weekly, …) note; made from its template when missing",
    arguments=DailyNote,
    run=run,
    group="notes",
    effect="adds",
    core=True,
    reading=ReadDailyNote,
    reading_description="Read or locate the daily (weekly, …) note",
    changing=lambda arguments: arguments.action not in ("read", "path"),
)
