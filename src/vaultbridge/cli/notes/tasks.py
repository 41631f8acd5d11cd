"""`vaultbridge tasks [NOTE]`: lists tasks, and ticks one."""

from __future__ import annotations

import argparse
import sys

from vaultbridge.cli.common import (
    OK,
    Parser,
    emit,
    open_vault,
    parse_integer,
    refresh,
    run,
    say,
    show_outcome,
)
from vaultbridge.cli.places import find_place

EXAMPLES = """\
examples:
  vaultbridge tasks                              the open tasks, those due first
  vaultbridge tasks Projects/ --due-before 2026-12-01
  vaultbridge tasks --tick 'Inbox:12'            or by its text: --tick Inbox 'call back'"""


def main(argv: list[str]) -> int:
    parser = Parser(
        "tasks", "List the tasks of the vault, a folder or a note, or set one.", epilog=EXAMPLES, paged=True
    )
    parser.add_vault()
    parser.add_argument(
        "name", metavar="NOTE", nargs="?", default="", help="a note, or a folder with / at its end"
    )
    parser.add_argument("--status", default="open", help="open (default), done, any, or the character")
    parser.add_argument("--text", default="", help="only tasks with this in their text")
    parser.add_argument("--tag", default="", help="only tasks with this tag")
    parser.add_argument("--due-before", default="", metavar="DATE", help="YYYY-MM-DD")
    parser.add_argument("--due-after", default="", metavar="DATE", help="YYYY-MM-DD")
    parser.add_argument("--limit", type=parse_integer, default=200, metavar="N", help="how many (200)")
    change = parser.add_mutually_exclusive_group()
    change.add_argument("--tick", metavar="PLACE", help="mark a task as done: NOTE:LINE, or NOTE with --text")
    change.add_argument("--untick", metavar="PLACE", help="mark it as open again")
    parser.add_argument("--dry-run", action="store_true", help="with --tick: show the diff, change nothing")
    return run(parser, argv, _tasks)


def _tasks(args: argparse.Namespace) -> int:
    if args.tick or args.untick:
        return _set_task(args)
    from vaultbridge.tools.tasks import Tasks, check_filters, find_prefix

    filters = Tasks(name=args.name, status=args.status, due_before=args.due_before, due_after=args.due_after)
    check_filters(filters)
    with open_vault(args.vault) as engine:
        refresh(engine)
        found = engine.queries.tasks(
            status=args.status,
            text=args.text,
            tag=args.tag,
            path_prefix=find_prefix(engine, args.name),
            due_before=args.due_before,
            due_after=args.due_after,
            limit=args.limit,
            offset=0,
        )
        vault = engine.name
    terminal = args.terminal
    above = None
    for task in found.tasks:
        if args.json:
            emit(task)
            continue
        if task.path != above:
            shown = terminal.style(terminal.clean(task.path), "path")
            say(("" if above is None else "\n") + terminal.link_note(shown, vault, task.path))
            above = task.path
        line = terminal.style(f"{task.line:>5}", "line")
        say(f"{line} [{task.status}] {terminal.clean(task.text)}")
    if not args.json:
        shown = len(found.tasks)
        part = f"{shown} of " if shown < found.total else ""
        sys.stderr.write(f"{part}{found.total} task{'s' if found.total != 1 else ''}\n")
    return OK


def _set_task(args: argparse.Namespace) -> int:
    from vaultbridge.engine.operations import SetTask
    from vaultbridge.errors import InvalidArgument

    with open_vault(args.vault) as engine:
        place = find_place(engine, args.tick or args.untick)
        text = args.text or args.name
        if bool(place.start) == bool(text):
            raise InvalidArgument(
                "Which task? Give its line or its text.",
                argument="usage",
                hint="Write NOTE:12, or NOTE --text TEXT.",
            )
        operation = SetTask(
            note=place.note,
            line=place.start[0] if place.start else 0,
            text=text,
            status="done" if args.tick else "open",
        )
        show_outcome(engine.apply([operation], dry_run=args.dry_run), args)
    return OK
