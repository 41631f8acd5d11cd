"""Metadata: `properties`, `tags` and `tasks` list it, of one note or of all notes. `edit_note` changes it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Any, Final, Literal

import msgspec
from msgspec import Meta

from vaultbridge.engine.days import parse_day
from vaultbridge.engine.operations.base import PropertyName, TagName
from vaultbridge.errors import InvalidArgument, NoteNotFound
from vaultbridge.markdown.edits.tags import parse_tag_name
from vaultbridge.tools.base.answer import (
    PAGE_CHARS,
    Answer,
    answer_page,
    answer_rows,
    answer_text,
    group_rows,
    show_hash,
    wait_for_index,
)
from vaultbridge.tools.base.arguments import parse_reference
from vaultbridge.tools.base.schema import Arguments, Limit, MaxChars, NoteName, Offset
from vaultbridge.tools.base.tool import Tool, VaultContext
from vaultbridge.vault.paths import vault_folder

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.index.listing import FoundTask, TagCount
    from vaultbridge.vault.paths import VaultPath


EXAMPLE_VALUES: Final = 5
"""How many values are shown with each property."""


class PropertiesArguments(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"limit", "max_chars"})

    name: NoteName = ""
    property: PropertyName = ""
    limit: Limit = 100
    offset: Offset = 0
    max_chars: MaxChars = PAGE_CHARS


def run_properties(context: VaultContext, arguments: PropertiesArguments) -> Answer:
    if arguments.name:
        return _list_properties_of_note(context, arguments)
    notes = wait_for_index(context)
    if arguments.property:
        found = context.engine.queries.property_values(
            arguments.property, limit=arguments.limit, offset=arguments.offset
        )
        values = (f"{row.path}: {_encode(row.value)}" for row in found.rows)
        return answer_page(values, found.total, arguments, "notes", notes=notes)
    return answer_rows(_list_properties(context), arguments, "properties", notes=notes)


def _list_properties_of_note(context: VaultContext, arguments: PropertiesArguments) -> Answer:
    view = context.engine.view(arguments.name)
    properties = view.note.properties
    head = f"[{view.path} | hash {show_hash(view.hash)}]"
    if properties is not None and not properties.valid:
        problem = next(iter(view.note.problems), None)
        return answer_text(
            f"{head}\n(the properties cannot be read: {problem.message if problem else 'bad YAML'})"
        )
    values = properties.values if properties is not None else {}
    wanted = arguments.property.lower()
    types = context.engine.settings.property_types
    rows = [
        f"{name}: {_encode(value)}" + (f"  ({types[name.lower()]})" if name.lower() in types else "")
        for name, value in values.items()
        if not wanted or name.lower() == wanted
    ]
    return answer_rows(rows, arguments, "properties", head=head)


def _list_properties(context: VaultContext) -> list[str]:
    types = context.engine.settings.property_types
    rows = []
    for summary in context.engine.queries.properties():
        kind = types.get(summary.name.lower()) or "|".join(summary.types)
        examples = ", ".join(list(summary.values)[:EXAMPLE_VALUES])
        shown = f"  e.g. {examples}" if examples else ""
        rows.append(f"{summary.name}  {kind}  notes {summary.notes}{shown}")
    return rows


def _encode(value: Any) -> str:
    return msgspec.json.encode(value, enc_hook=str).decode()


PROPERTIES = Tool(
    name="properties",
    description="Properties (frontmatter, metadata) of the vault, values of one, or those of a note",
    arguments=PropertiesArguments,
    run=run_properties,
    group="metadata",
    note="name",
)


class TagsArguments(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"limit", "max_chars", "name", "sort"})

    action: Annotated[Literal["list", "notes"], Meta(description="Action")] = "list"
    tag: TagName = ""
    name: Annotated[str, Meta(description="Note")] = ""
    sort: Annotated[Literal["name", "count"], Meta(description="Order")] = "name"
    limit: Limit = 200
    offset: Offset = 0
    max_chars: MaxChars = PAGE_CHARS


def run_tags(context: VaultContext, arguments: TagsArguments) -> Answer:
    match arguments.action:
        case "notes":
            return _list_notes(context, arguments)
        case "list":
            # A single note is read from disk and does not need the index.
            notes = [] if arguments.name else wait_for_index(context)
            rows = _list_tags(context, arguments)
    return answer_rows(rows, arguments, "tags", notes=notes)


def _list_notes(context: VaultContext, arguments: TagsArguments) -> Answer:
    if not arguments.tag.strip("# "):
        raise InvalidArgument("tag is missing.", argument="tag", hint="Give the tag whose notes you want.")
    notes = wait_for_index(context)
    found = context.engine.queries.search(
        f"tag:#{parse_tag_name(arguments.tag)}",
        limit=arguments.limit,
        offset=arguments.offset,
        sort="path",
        matches_per_note=0,
    )
    rows = (hit.path for hit in found.hits)
    return answer_page(rows, found.total, arguments, "notes", notes=notes)


def _list_tags(context: VaultContext, arguments: TagsArguments) -> list[str]:
    if arguments.name:
        view = context.engine.view(arguments.name)
        return [f"#{name}" for name in dict.fromkeys(tag.name for tag in view.note.tags)]
    under = arguments.tag.strip("# ").lower().rstrip("/")
    found = [
        tag
        for tag in context.engine.queries.tags()
        if not under or tag.name.lower() == under or tag.name.lower().startswith(under + "/")
    ]
    if arguments.sort == "count":
        found.sort(key=lambda tag: (-tag.notes, tag.name.lower()))
    return [_render_tag(tag) for tag in found]


def _render_tag(tag: TagCount) -> str:
    """With the number of its notes, and of its places when the two differ."""
    more = f" ({tag.occurrences} places)" if tag.occurrences != tag.notes else ""
    return f"#{tag.name} {tag.notes}{more}"


TAGS = Tool(
    name="tags",
    description="List tags with their counts, or the notes of one",
    arguments=TagsArguments,
    run=run_tags,
    group="metadata",
    note="name",
)


_STATUS: Final = {"": "any", "todo": "open"}


class TasksArguments(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"limit", "max_chars"})

    name: Annotated[str, Meta(description="Note, or folder/")] = ""
    status: Annotated[str, Meta(description="open, done, any or the character")] = ""
    text: Annotated[str, Meta(description="Part of it, or [[linked note]]")] = ""
    tag: TagName = ""
    due_before: Annotated[str, Meta(description="Not that day itself; YYYY-MM-DD, today, or offset: 7")] = ""
    due_after: Annotated[str, Meta(description="As due_before")] = ""
    limit: Limit = 100
    offset: Offset = 0
    max_chars: MaxChars = PAGE_CHARS


def run_tasks(context: VaultContext, arguments: TasksArguments) -> Answer:
    check_status(arguments.status)
    before, after = parse_due(context.engine, arguments.due_before, arguments.due_after)
    notes = wait_for_index(context)
    links_to = _find_linked(context.engine, arguments.text)
    found = context.engine.queries.tasks(
        status=_STATUS.get(arguments.status, arguments.status),
        text="" if links_to else arguments.text,
        links_to=links_to,
        tag=arguments.tag,
        path_prefix=find_prefix(context.engine, arguments.name),
        due_before=before,
        due_after=after,
        limit=arguments.limit,
        offset=arguments.offset,
    )
    return answer_page(
        group_rows((task.path, _render_place(task)) for task in found.tasks),
        found.total,
        arguments,
        "tasks",
        notes=notes,
    )


def parse_due(engine: Engine, before: str, after: str) -> tuple[str, str]:
    """The days between which tasks are due, as the index takes them; "" stays. Raises InvalidArgument."""
    today = engine.now().date()

    def spell(argument: str, text: str) -> str:
        return parse_day(text, today, argument=argument).isoformat() if text.strip() else ""

    return spell("due_before", before), spell("due_after", after)


def check_status(status: str) -> None:
    """Raises InvalidArgument for what is neither a word for a status nor a single character."""
    if len(status) > 1 and status not in ("open", "done", "any", "todo"):
        raise InvalidArgument(
            f"status is {status!r}.",
            argument="status",
            hint="Give open, done, any, or the character between the brackets.",
        )


def find_prefix(engine: Engine, name: str) -> str:
    """The path of the note or folder: the index takes either as the beginning of a path."""
    if not name:
        return ""
    if name.endswith("/"):
        folder = vault_folder(engine.make_vault_relative(name))
        if not (engine.scope.visible(folder) and engine.is_folder(folder)):
            raise NoteNotFound(name, what="folder")
        return folder
    return engine.find(name)


def _find_linked(engine: Engine, text: str) -> VaultPath | None:
    """The note that a text in double brackets names; None for any other text, or if there is no such note
    (then the text is searched for, brackets included)."""
    written = text.strip()
    if not (written.startswith("[[") and written.endswith("]]")):
        return None
    try:
        return engine.find(parse_reference(written).name)
    except NoteNotFound:
        return None


def _render_place(task: FoundTask) -> str:
    return f"{task.line}: [{task.status}] {task.text}"


TASKS = Tool(
    name="tasks",
    description="List tasks (todo, checklist) as path:line: [status] text, overdue first",
    arguments=TasksArguments,
    run=run_tasks,
    group="metadata",
    long=True,
    note="name",
)
