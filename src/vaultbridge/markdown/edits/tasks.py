"""Edits tasks: the status character, and the completion date of the Tasks plugin.

`markdown.parse` decides which lines are tasks. The date is written or removed only for a caller that passes
one, because a vault without that plugin has no use for it.
"""

from __future__ import annotations

import re
from typing import Final

from vaultbridge.errors import EditRefused, InvalidArgument
from vaultbridge.markdown.edits.change import Change, end_of_line
from vaultbridge.markdown.model import Note, Task

_DONE_FIELD: Final = re.compile(r"[ \t]*✅\ufe0f?[ \t]*\d{4}-\d{2}-\d{2}")
_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}")
_TRAILING_ID: Final = re.compile(r"[ \t]+\^[A-Za-z0-9-]+[ \t]*$|[ \t]+$")

TASKS_LISTED: Final = 10
"""How many tasks an error lists: enough to choose from."""


def find_task(note: Note, *, line: int = 0, text: str = "") -> Task:
    """Find the task at a line (from 1), or the one with this text: its whole text or description, else the
    only one that contains it, ignoring case. Raises EditRefused with a list of the tasks that come close."""
    if line:
        for task in note.tasks:
            if task.line == line:
                if text.strip().lower() not in task.text.lower():
                    raise EditRefused(
                        f"The task at line {line} does not contain {text.strip()!r}.",
                        hint=_list_tasks([task]),
                    )
                return task
        raise EditRefused(f"Line {line} is not a task.", hint=_list_tasks(note.tasks))
    wanted = text.strip()
    if not wanted:
        raise InvalidArgument("Name the task by its line or its text.", argument="line")
    exact = [task for task in note.tasks if wanted in (task.text, task.description)]
    found = exact or [task for task in note.tasks if wanted.lower() in task.text.lower()]
    if not found:
        raise EditRefused(f"No task has the text {wanted!r}.", hint=_list_tasks(note.tasks))
    if len(found) > 1:
        raise EditRefused(f"{len(found)} tasks match {wanted!r}.", hint=_list_tasks(found))
    return found[0]


def set_task(text: str, task: Task, status: str, *, done_date: str | None = None) -> tuple[Change, ...]:
    """Set a task's status to the character `status`, or with "toggle" to open or done, whichever it is not
    (any character except a space means done; toggling writes `x`).

    With a `done_date` the ✅ field of the Tasks plugin is updated: written or replaced when the task is
    completed with `x` or `X`, removed when it is opened again."""
    wanted = (" " if task.done else "x") if status == "toggle" else status
    if len(wanted) != 1 or wanted in "\r\n\t":
        raise InvalidArgument(
            f"{status!r} is not a task status.", argument="status", hint="Give one character, or 'toggle'."
        )
    if done_date is not None and not _DATE.fullmatch(done_date):
        raise InvalidArgument(f"{done_date!r} is not a date.", argument="done_date", hint="Write YYYY-MM-DD.")
    changes: list[Change] = []
    if text[task.start : task.end] != wanted:
        changes.append(Change(task.start, task.end, wanted))
    if done_date is not None:
        changes += _date_changes(text, task, wanted, done_date)
    return tuple(changes)


def _date_changes(text: str, task: Task, status: str, done_date: str) -> list[Change]:
    start, end = task.end + 1, end_of_line(text, task.end)
    field = _DONE_FIELD.search(text, start, end)
    if status in ("x", "X"):
        if field:
            written = f" ✅ {done_date}"
            return [] if field.group() == written else [Change(field.start(), field.end(), written)]
        # Fields follow the description, but a block id must stay last.
        trailing = _TRAILING_ID.search(text[start:end])
        at = start + trailing.start() if trailing else end
        return [Change(at, at, f" ✅ {done_date}")]
    if status == " " and field:
        return [Change(field.start(), field.end(), "")]
    return []


def _list_tasks(tasks: tuple[Task, ...] | list[Task]) -> str:
    if not tasks:
        return "The note has no tasks."
    shown = "; ".join(f"line {task.line}: [{task.status}] {task.text[:60]}" for task in tasks[:TASKS_LISTED])
    more = len(tasks) - TASKS_LISTED
    return f"Tasks: {shown}{f'; and {more} more' if more > 0 else ''}."
