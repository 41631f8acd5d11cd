"""`tasks`: finds tasks across the vault. `edit_note` sets their status."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final

from msgspec import Meta

from vaultbridge.errors import InvalidArgument, NoteNotFound
from vaultbridge.tools.base.answer import (
    PAGE_CHARS,
    Answer,
    answer_text,
    group_rows,
    render_page,
    wait_for_index,
)
from vaultbridge.tools.base.arguments import parse_reference
from vaultbridge.tools.base.schema import Arguments, Limit, MaxChars, Offset
from vaultbridge.tools.base.tool import Tool, VaultContext

if TYPE_CHECKING:
    from vaultbridge.engine import Engine
    from vaultbridge.index.listing import FoundTask
    from vaultbridge.vault.paths import VaultPath

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_STATUS: Final = {"": "any", "todo": "open"}


class Tasks(Arguments, frozen=True, kw_only=True):
    UNLISTED = frozenset({"limit", "max_chars"})

    name: Annotated[str, Meta(description="Note, or folder/")] = ""
    status: Annotated[str, Meta(description="open, done, any or the character")] = ""
    text: Annotated[str, Meta(description="Part of it, or [[linked note]]")] = ""
    tag: Annotated[str, Meta(description="With or without #")] = ""
    due_before: Annotated[str, Meta(description="YYYY-MM-DD")] = ""
    due_after: Annotated[str, Meta(description="YYYY-MM-DD")] = ""
    limit: Limit = 100
    offset: Offset = 0
    max_chars: MaxChars = PAGE_CHARS


def run(context: VaultContext, arguments: Tasks) -> Answer:
    check_filters(arguments)
    notes = wait_for_index(context)
    links_to = _find_linked(context.engine, arguments.text)
    found = context.engine.queries.tasks(
        status=_STATUS.get(arguments.status, arguments.status),
        text="" if links_to else arguments.text,
        links_to=links_to,
        tag=arguments.tag,
        path_prefix=find_prefix(context.engine, arguments.name),
        due_before=arguments.due_before,
        due_after=arguments.due_after,
        limit=arguments.limit,
        offset=arguments.offset,
    )
    return answer_text(
        render_page(
            group_rows((task.path, _render_place(task)) for task in found.tasks),
            total=found.total,
            offset=arguments.offset,
            what="tasks",
            notes=notes,
            max_chars=arguments.max_chars,
        )
    )


def check_filters(arguments: Tasks) -> None:
    """Raises InvalidArgument for a date or a status that cannot be."""
    for argument in ("due_before", "due_after"):
        value = getattr(arguments, argument)
        if value and not _DATE.fullmatch(value):
            raise InvalidArgument(f"{argument} is {value!r}.", argument=argument, hint="Give YYYY-MM-DD.")
    if len(arguments.status) > 1 and arguments.status not in ("open", "done", "any", "todo"):
        raise InvalidArgument(
            f"status is {arguments.status!r}.",
            argument="status",
            hint="Give open, done, any, or the character between the brackets.",
        )


def find_prefix(engine: Engine, name: str) -> str:
    """The path of the note or folder: the index takes either as the beginning of a path."""
    from vaultbridge.vault.paths import vault_folder

    if not name:
        return ""
    if name.endswith("/"):
        folder = vault_folder(name)
        if not (engine.scope.visible(folder) and engine.is_folder(folder)):
            raise NoteNotFound(name, what="folder")
        return folder
    return engine.find(name)


def _find_linked(engine: Engine, text: str) -> VaultPath | None:
    """The note that a text in double brackets names; None for any other text, or if there is no such note:
    then the brackets are what is looked for."""
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
    description="List tasks as path:line: [status] text, those due first",
    arguments=Tasks,
    run=run,
    group="metadata",
    note="name",
)
