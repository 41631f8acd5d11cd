"""`tasks`: find them across the vault, and tick them off."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Annotated, Final, Literal

from msgspec import Meta

from vaultbridge.errors import InvalidArgument, NoteNotFound
from vaultbridge.tools.answer import Answer, read
from vaultbridge.tools.edits import task_status
from vaultbridge.tools.fields import Arguments, DryRun, Expected, Limit, Offset
from vaultbridge.tools.outcomes import outcome_answer
from vaultbridge.tools.pages import building, page
from vaultbridge.tools.tool import Tool
from vaultbridge.tools.workshop import Bench

if TYPE_CHECKING:
    from vaultbridge.index.listing import FoundTask

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_STATUS: Final = {"": "any", "todo": "open"}
_ADDRESS: Final = re.compile(r"(.+\.md):(\d{1,9})")


class ReadTasks(Arguments, frozen=True, kw_only=True):
    action: Literal["list"] = "list"
    name: Annotated[str, Meta(description="Note, or folder/")] = ""
    status: Annotated[str, Meta(description="open, done, any or the character")] = ""
    text: str = ""
    tag: str = ""
    due_before: Annotated[str, Meta(description="YYYY-MM-DD")] = ""
    due_after: str = ""
    limit: Limit = 100
    offset: Offset = 0


class Tasks(ReadTasks, frozen=True, kw_only=True):
    action: Literal["list", "set"] = "list"  # type: ignore[assignment]
    status: Annotated[str, Meta(description="open, done, any; set: toggle, open, done; or a character")] = ""
    line: Annotated[int, Meta(ge=0, description="set: by line, or by text")] = 0
    expected: Expected = ""
    dry_run: DryRun = False


def run(bench: Bench, arguments: Tasks) -> Answer:
    if arguments.action == "set":
        return _set(bench, arguments)
    _check(arguments)
    notes = building(bench)
    found = bench.engine.ask.tasks(
        status=_STATUS.get(arguments.status, arguments.status),
        text=arguments.text,
        tag=arguments.tag,
        path_prefix=_place(bench, arguments.name),
        due_before=arguments.due_before,
        due_after=arguments.due_after,
        limit=arguments.limit,
        offset=arguments.offset,
    )
    rows = (_row(task) for task in found.tasks)
    return read(page(rows, total=found.total, offset=arguments.offset, what="tasks", notes=notes))


def _check(arguments: Tasks) -> None:
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


def _place(bench: Bench, name: str) -> str:
    """The note's path, or the folder's: the index takes either as the beginning of a path."""
    from vaultbridge.vault.paths import vault_folder

    if not name:
        return ""
    if name.endswith("/"):
        folder = vault_folder(name)
        if not (bench.engine.scope.visible(folder) and bench.engine.is_folder(folder)):
            raise NoteNotFound(name, what="folder")
        return folder
    return bench.engine.find(name)


def _row(task: FoundTask) -> str:
    return f"{task.path}:{task.line}: [{task.status}] {task.text}"


def _set(bench: Bench, arguments: Tasks) -> Answer:
    from vaultbridge.engine.operations import SetTask

    name, line = arguments.name, arguments.line
    if found := _ADDRESS.fullmatch(name):
        # As `list` writes it: a task is a note's path and a line.
        name, line = found[1], line or int(found[2])
    if not name:
        raise InvalidArgument("name is missing.", argument="name", hint="The task of which note?")
    path = bench.engine.find(name)
    wanted = SetTask(
        note=path,
        line=line,
        text=arguments.text,
        status=task_status(arguments.status or "toggle"),
        expected=arguments.expected,
    )
    outcome = bench.engine.apply([wanted], dry_run=arguments.dry_run, actor=bench.shop.actor)
    return outcome_answer(outcome, path, path=path)


TASKS = Tool(
    name="tasks",
    title="Tasks",
    description="List tasks as path:line: [status] text, those due first; set the status of one",
    arguments=Tasks,
    run=run,
    group="metadata",
    effect="changes",
    reading=ReadTasks,
    reading_description="List tasks as path:line: [status] text, those due first",
    changing=lambda arguments: arguments.action != "list",
    note="name",
)
