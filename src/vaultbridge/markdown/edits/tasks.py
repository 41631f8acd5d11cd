"""Finds a task of a note and sets its status character. `markdown.parse` decides which lines are tasks.

The completion date of the Tasks plugin is left alone: a vault without that plugin has no use for it.
"""

from __future__ import annotations

from typing import Final

from vaultbridge.errors import EditRefused, InvalidArgument
from vaultbridge.markdown.edits.change import Change
from vaultbridge.markdown.model import Note, Task

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


def set_task(text: str, task: Task, status: str) -> tuple[Change, ...]:
    """Set a task's status to the character `status`, or with "toggle" to open or done, whichever it is not
    (any character except a space means done; toggling writes `x`)."""
    wanted = (" " if task.done else "x") if status == "toggle" else status
    if len(wanted) != 1 or wanted in "\r\n\t":
        raise InvalidArgument(
            f"{status!r} is not a task status.", argument="status", hint="Give one character, or 'toggle'."
        )
    if text[task.start : task.end] == wanted:
        return ()
    return (Change(task.start, task.end, wanted),)


def _list_tasks(tasks: tuple[Task, ...] | list[Task]) -> str:
    if not tasks:
        return "The note has no tasks."
    shown = "; ".join(f"line {task.line}: [{task.status}] {task.text[:60]}" for task in tasks[:TASKS_LISTED])
    more = len(tasks) - TASKS_LISTED
    return f"Tasks: {shown}{f'; and {more} more' if more > 0 else ''}."
