"""Templates and periodic notes: merging a template into a note, and finding or creating the note of a day,
week, month, quarter or year as the app does."""

from __future__ import annotations

import contextlib
from datetime import date, datetime, timedelta
from typing import TYPE_CHECKING, Any, Final

from msgspec import Struct

from vaultbridge.engine.days import parse_day
from vaultbridge.engine.operations import Append, Create, Insert, Prepend, SetProperty
from vaultbridge.engine.operations.base import NoteEdit, Operation
from vaultbridge.errors import EditRefused, InvalidArgument, NoteNotFound
from vaultbridge.links.resolve import file_name
from vaultbridge.markdown.model import Note
from vaultbridge.markdown.parse import parse
from vaultbridge.vault.dates import periodic_path
from vaultbridge.vault.paths import VaultPath, vault_folder
from vaultbridge.vault.settings import Period

if TYPE_CHECKING:
    from vaultbridge.engine.engine import Engine


class PeriodicNote(Struct, frozen=True):
    """`day` is the requested date: any day of the period."""

    period: Period
    day: date
    path: VaultPath
    exists: bool


def find_periodic_note(engine: Engine, period: Period, when: str = "today") -> PeriodicNote:
    """`when` is a date (`YYYY-MM-DD`), today, yesterday, tomorrow, or a number of periods from now (`-1`).
    Raises InvalidArgument, or InvalidPath for a format in the settings that gives no good name."""
    return _find_note_of(engine, period, parse_day(when, engine.now().date(), period=period))


NOTES_OF_RANGE: Final = 100
"""The most periodic notes of one range: a season of days. A longer one is a question for search."""

_DAYS_APART: Final[dict[Period, int]] = {
    "daily": 1, "weekly": 7, "monthly": 28, "quarterly": 90, "yearly": 365,
}  # fmt: skip
"""The days in the shortest period of each kind: a step of so many misses none."""


def find_periodic_notes(engine: Engine, period: Period, first: str, last: str) -> list[PeriodicNote]:
    """The notes of all periods from one day to another, whether they exist or not. Both days are written as
    in `find_periodic_note`, which raises the same."""
    today = engine.now().date()
    start = parse_day(first, today, period=period)
    end = parse_day(last, today, argument="until", period=period)
    if end < start:
        raise InvalidArgument(
            f"until is {end}, before date, which is {start}.", argument="until", hint="Give the last day."
        )
    step = _DAYS_APART[period]
    steps = (end - start).days // step
    if steps >= NOTES_OF_RANGE:
        raise InvalidArgument(
            f"The range has more than {NOTES_OF_RANGE} {period} notes.",
            argument="until",
            hint="Give a shorter range, or use search.",
        )
    days = [*(start + timedelta(days=step * number) for number in range(steps + 1)), end]
    notes = {note.path: note for note in (_find_note_of(engine, period, day) for day in days)}
    return list(notes.values())


def _find_note_of(engine: Engine, period: Period, day: date) -> PeriodicNote:
    path = periodic_path(period, day, engine.settings)
    return PeriodicNote(period, day, path, engine.scope.visible(path) and engine.root.exists(path))


def plan_note_addition(
    engine: Engine,
    note: PeriodicNote,
    content: str,
    *,
    heading: str = "",
    first: bool = False,
    create: bool = False,
) -> tuple[list[Operation], tuple[str, ...]]:
    """Returns the operations that add `content` at the end of the note, or with `first` at its beginning, or
    to the section under `heading`, and notices for the caller. With `create`, a missing heading is created; a
    missing note is created from its template. With an empty `content`, the note is only created."""
    operations: list[Operation] = []
    notices: tuple[str, ...] = ()
    if not note.exists:
        text, notices = _make_text(engine, note)
        operations.append(Create(note=note.path, content=text))
    if content and first:
        operations.append(Prepend(note=note.path, content=content, heading=heading, create=create))
    elif content:
        operations.append(Append(note=note.path, content=content, heading=heading, create=create))
    return operations, notices


def _make_text(engine: Engine, note: PeriodicNote) -> tuple[str, tuple[str, ...]]:
    """Like the app, creates the note without its template if that is missing, and adds a notice."""
    template = engine.settings.periodic_notes(note.period).template
    if not template:
        return "", ()
    when = datetime.combine(note.day, engine.now().time())
    try:
        return engine.expand(template, file_name(note.path).removesuffix(".md"), when=when), ()
    except NoteNotFound:
        return "", (f"The template {template!r} of the {note.period} notes was not found.",)


_JOINED: Final = ("tags", "aliases", "cssclasses")
"""Lists that keep the note's own items and gain the template's."""


def merge_template(
    text: str, template: str, note: Note, path: VaultPath, *, heading: str = "", line: int = 0
) -> list[NoteEdit]:
    """The edits that put an expanded template into a note. The note's own properties stay as they are: the
    template only adds. `template` names it in an error. Raises EditRefused when its properties cannot be
    read."""
    parsed = parse(text)
    values: dict[str, Any] = {}
    body = text
    if parsed.properties is not None:
        if not parsed.properties.valid:
            raise EditRefused(f"The properties of the template {template!r} cannot be read.")
        values, body = parsed.properties.values, text[parsed.properties.end :]
    edits: list[NoteEdit] = []
    if body.strip():
        # The text first: new properties would shift the line that the caller named.
        if line:
            edits.append(Insert(note=path, line=line, content=body))
        else:
            edits.append(Append(note=path, content=body, heading=heading))
    own = note.properties.values if note.properties is not None else {}
    for name, value in merge_properties(own, values).items():
        edits.append(SetProperty(note=path, name=name, value=value))
    return edits


def find_template(engine: Engine, template: str) -> VaultPath:
    """Finds a template by its name or path: in the templates folder first."""
    folder = engine.settings.template_folder.strip("/")
    if folder:
        with contextlib.suppress(NoteNotFound):
            return engine.find(f"{folder}/{template}")
    try:
        return engine.find(template)
    except NoteNotFound as missing:
        raise NoteNotFound(
            template, what="template", closest=_find_closest(engine, template) or missing.closest
        ) from None


TEMPLATES_NAMED: Final = 3
"""How many templates an error proposes, as many as it does notes."""


def _find_closest(engine: Engine, template: str) -> tuple[VaultPath, ...]:
    """The templates whose names have all words of the wanted one: `Book Template` for Book."""
    folder = engine.settings.template_folder.strip("/")
    wanted = file_name(template).removesuffix(".md").lower().split()
    if not folder or not wanted:
        return ()
    files = engine.queries.files(vault_folder(folder))
    named = (file.path for file in files if file.kind == "note")
    fitting = [path for path in named if all(word in file_name(path).lower() for word in wanted)]
    return tuple(sorted(fitting, key=len)[:TEMPLATES_NAMED])


def merge_properties(own: dict[str, Any], added: dict[str, Any]) -> dict[str, Any]:
    """Returns the properties to set so that a note's own stay and those of another text are added; lists of
    tags and the like are joined."""
    there = {name.lower(): value for name, value in own.items()}
    wanted: dict[str, Any] = {}
    for name, value in added.items():
        key = name.lower()
        if there.get(key) is None:
            wanted[name] = value
        elif key in _JOINED:
            items = _as_list(there[key])
            new = [item for item in _as_list(value) if item not in items]
            if new:
                wanted[name] = items + new
    return wanted


def _as_list(value: Any) -> list[Any]:
    return list(value) if isinstance(value, list) else [] if value is None else [value]
