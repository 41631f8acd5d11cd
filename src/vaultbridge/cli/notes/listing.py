"""Lists what notes contain: `vaultbridge links`, `tasks`, `tags` and `properties`, of one note or the whole
vault."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import msgspec

from vaultbridge.cli.common import FAILED, OK, emit, open_vault, refresh, run, say, show_outcome
from vaultbridge.cli.parser import LARGEST_NUMBER, Parser, parse_integer
from vaultbridge.cli.places import find_place
from vaultbridge.errors import InvalidArgument


def main_links(argv: list[str]) -> int:
    parser = Parser(
        "links",
        "Show a note's backlinks and outgoing links, its neighbourhood, or the path to another note.",
        epilog="Without NOTE, one of --unresolved, --orphans and --dead-ends asks about the whole vault.",
        paged=True,
    )
    parser.add_vault()
    parser.add_argument("note", metavar="NOTE", nargs="?", help="a name or path")
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--backlinks", action="store_true", help="only links to NOTE")
    which.add_argument("--outgoing", action="store_true", help="only links from NOTE")
    which.add_argument(
        "--depth", type=parse_integer, metavar="N", help="every note at most N links away from NOTE"
    )
    which.add_argument("--to", metavar="OTHER", help="the shortest path from NOTE to OTHER")
    which.add_argument("--unresolved", action="store_true", help="links to files that do not exist")
    which.add_argument("--orphans", action="store_true", help="notes that no other note links to")
    which.add_argument("--dead-ends", action="store_true", help="notes that link to nothing")
    return run(parser, argv, _list_links)


def _list_links(args: argparse.Namespace) -> int:
    whole_vault = args.unresolved or args.orphans or args.dead_ends
    if not args.note and not whole_vault:
        raise InvalidArgument(
            "Name a note, or ask about the whole vault with --unresolved, --orphans or --dead-ends.",
            argument="usage",
        )
    if args.note and whole_vault:
        raise InvalidArgument(
            "--unresolved, --orphans and --dead-ends are about the whole vault: leave out the note.",
            argument="usage",
        )
    with open_vault(args.vault) as engine:
        refresh(engine)
        if args.unresolved:
            for target in engine.queries.unresolved().rows:
                _show_row(args, target, f"{target.target}  ({target.count}: {', '.join(target.sources)})")
            return OK
        if whole_vault:
            listed = engine.queries.orphans() if args.orphans else engine.queries.dead_ends()
            for path in listed.rows:
                _show_row(args, {"path": path}, path)
            return OK
        path = engine.find(args.note)
        if args.depth is not None:
            around = engine.queries.neighbourhood(path, args.depth)
            for other, distance in around.distances.items():
                _show_row(args, {"path": other, "distance": distance}, f"{distance}  {other}")
            return OK
        if args.to:
            return _show_path(args, engine.queries.path_between(path, engine.find(args.to)))
        if not args.outgoing:
            for link in engine.queries.backlinks(path):
                _show_row(
                    args,
                    {"direction": "in", **_describe_link(link)},
                    f"<- {link.source}:{link.line}: {link.raw}",
                )
        if not args.backlinks:
            for out in engine.queries.outgoing(path):
                leads = out.resolved or "(unresolved)"
                _show_row(
                    args,
                    {"direction": "out", **_describe_link(out)},
                    f"-> {leads}  {path}:{out.line}: {out.raw}",
                )
    return OK


def _show_path(args: argparse.Namespace, way: object) -> int:
    from vaultbridge.links.graph import LinkPath

    if isinstance(way, LinkPath):
        _show_row(args, {"path": way.notes, "steps": way.steps}, " -> ".join(way.notes))
        return OK
    _show_row(args, {"path": None}, "No links lead from one to the other.")
    return FAILED


def _show_row(args: argparse.Namespace, data: object, text: str) -> None:
    if args.json:
        emit(data)
    else:
        say(text)


def _describe_link(link: object) -> dict[str, object]:
    from msgspec import to_builtins

    fields: dict[str, object] = to_builtins(link)
    return fields


TASKS_SHOWN = 200
"""How many tasks a person gets at once; the count below them shows if there are more."""

TASK_EXAMPLES = """\
examples:
  vaultbridge tasks                              the open tasks, those due first
  vaultbridge tasks Projects/ --due-before 2026-12-01
  vaultbridge tasks --tick Inbox:12
  vaultbridge tasks --tick Inbox --text 'call back'"""


def main_tasks(argv: list[str]) -> int:
    parser = Parser(
        "tasks",
        "List the tasks of the vault, a folder or a note, or tick one.",
        epilog=TASK_EXAMPLES,
        paged=True,
    )
    parser.add_vault()
    parser.add_argument(
        "name", metavar="NOTE", nargs="?", default="", help="a note, or a folder with / at its end"
    )
    parser.add_argument("--status", default="open", help="open (default), done, any, or the character")
    parser.add_argument("--text", default="", help="only tasks with this in their text")
    parser.add_argument("--tag", default="", help="only tasks with this tag")
    parser.add_argument(
        "--due-before", default="", metavar="DATE", help="YYYY-MM-DD, today, or days from today: 7"
    )
    parser.add_argument("--due-after", default="", metavar="DATE", help="the same")
    parser.add_argument(
        "--limit",
        type=parse_integer,
        metavar="N",
        help=f"how many ({TASKS_SHOWN}; with --json all)",
    )
    change = parser.add_mutually_exclusive_group()
    change.add_argument("--tick", metavar="PLACE", help="mark a task as done: NOTE:LINE, or NOTE with --text")
    change.add_argument("--untick", metavar="PLACE", help="mark it as open again")
    parser.add_argument("--dry-run", action="store_true", help="with --tick: show the diff, change nothing")
    return run(parser, argv, _list_tasks)


def _list_tasks(args: argparse.Namespace) -> int:
    if args.tick or args.untick:
        return _set_task(args)
    from vaultbridge.tools.metadata import check_status, find_prefix, parse_due

    check_status(args.status)
    limit = args.limit
    if limit is None:
        limit = LARGEST_NUMBER if args.json else TASKS_SHOWN
    elif limit < 0:
        raise InvalidArgument("--limit must be 0 or more.", argument="usage")
    with open_vault(args.vault) as engine:
        before, after = parse_due(engine, args.due_before, args.due_after)
        refresh(engine)
        found = engine.queries.tasks(
            status=args.status,
            text=args.text,
            tag=args.tag,
            path_prefix=find_prefix(engine, args.name),
            due_before=before,
            due_after=after,
            limit=limit,
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


def main_tags(argv: list[str]) -> int:
    parser = Parser(
        "tags", "List the vault's tags with the number of notes, or the notes that have one.", paged=True
    )
    parser.add_vault()
    parser.add_argument("tag", metavar="TAG", nargs="?", default="", help="with or without #")
    parser.add_argument("--sort", choices=("count", "name"), default="count", help="default: count")
    return run(parser, argv, _list_tags)


def _list_tags(args: argparse.Namespace) -> int:
    terminal = args.terminal
    with open_vault(args.vault) as engine:
        refresh(engine)
        if args.tag.strip("# "):
            from vaultbridge.markdown.edits.tags import parse_tag_name

            paths = engine.queries.notes_with_tag(parse_tag_name(args.tag))
            for path in paths:
                if args.json:
                    emit({"path": path})
                else:
                    say(terminal.link_note(terminal.style(terminal.clean(path), "path"), engine.name, path))
            if not args.json:
                sys.stderr.write(f"{len(paths)} note{'s' if len(paths) != 1 else ''}\n")
            return OK
        found = list(engine.queries.tags())
    if args.sort == "count":
        found.sort(key=lambda tag: (-tag.notes, tag.name.lower()))
    width = max((len(str(tag.notes)) for tag in found), default=1)
    for tag in found:
        if args.json:
            emit({"tag": tag.name, "notes": tag.notes, "occurrences": tag.occurrences})
        else:
            say(f"{tag.notes:>{width}}  {terminal.style('#' + terminal.clean(tag.name), 'tag')}")
    if not found and not args.json:
        say("The vault has no tags.")
    return OK


def main_properties(argv: list[str]) -> int:
    parser = Parser(
        "properties",
        "List a note's properties; without NOTE, those of the vault; with --name, the notes that have one.",
        paged=True,
    )
    parser.add_vault()
    parser.add_argument("note", metavar="NOTE", nargs="?", default="", help="a name or path")
    parser.add_argument("--name", default="", help="only this property")
    return run(parser, argv, _list_properties)


def _list_properties(args: argparse.Namespace) -> int:
    terminal = args.terminal
    with open_vault(args.vault) as engine:
        if args.note:
            view = engine.view(args.note)
            values = view.note.properties.values if view.note.properties is not None else {}
            for name, value in values.items():
                if not args.name or name.lower() == args.name.lower():
                    _show_property(
                        args,
                        {"name": name, "value": value},
                        f"{terminal.style(name, 'heading')}: {_render_value(value)}",
                    )
            return OK
        refresh(engine)
        if args.name:
            for row in engine.queries.property_values(args.name).rows:
                shown = terminal.link_note(terminal.style(row.path, "path"), engine.name, row.path)
                _show_property(
                    args, {"path": row.path, "value": row.value}, f"{shown}: {_render_value(row.value)}"
                )
            return OK
        types = engine.settings.property_types
        for summary in engine.queries.properties():
            kind = types.get(summary.name.lower()) or "|".join(summary.types)
            _show_property(
                args,
                {"name": summary.name, "type": kind, "notes": summary.notes},
                f"{terminal.style(summary.name, 'heading')}  {terminal.style(kind, 'dim')}  {summary.notes}",
            )
    return OK


def _show_property(args: argparse.Namespace, data: dict[str, Any], text: str) -> None:
    if args.json:
        say(msgspec.json.encode(data, enc_hook=str).decode())
    else:
        say(text)


def _render_value(value: Any) -> str:
    return value if isinstance(value, str) else msgspec.json.encode(value, enc_hook=str).decode()
