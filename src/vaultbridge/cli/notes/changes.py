"""Changes of a vault: `vaultbridge rename` and `edit` make one, `history` lists them, `undo` reverts one."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from textwrap import fill, shorten

import msgspec

from vaultbridge.cli.common import OK, emit, open_vault, run, say, show_outcome
from vaultbridge.cli.parser import Parser, parse_integer
from vaultbridge.cli.terminal import escape_controls
from vaultbridge.errors import JSON_ERRORS, InvalidArgument, describe_json_error


def main_rename(argv: list[str]) -> int:
    parser = Parser(
        "rename",
        "Rename or move a note, an attachment or a folder, and rewrite every link to it as Obsidian does.",
        epilog="NEW without a folder renames in place; one that ends with / moves into that folder.",
    )
    parser.add_vault()
    parser.add_argument("old", metavar="OLD", help="its name or path now")
    parser.add_argument("new", metavar="NEW", help="its new name or path")
    parser.add_argument("--dry-run", action="store_true", help="show the diff and change nothing")
    return run(parser, argv, _rename)


def _rename(args: argparse.Namespace) -> int:
    from vaultbridge.engine.operations import Move

    with open_vault(args.vault) as engine:
        outcome = engine.apply([Move(note=args.old, to=args.new)], dry_run=args.dry_run)
    show_outcome(outcome, args)
    return OK


EDIT_EXAMPLES = """\
examples:
  vaultbridge edit '{"op":"append","note":"Inbox","content":"- [ ] call back"}'
  vaultbridge edit --dry-run '{"op":"add_tag","note":"Plan","tag":"garden"}'
  vaultbridge edit - < batch.json   (a JSON list: all are applied or none)"""


def main_edit(argv: list[str]) -> int:
    from vaultbridge.engine.operations.vocabulary import list_offered

    ops = fill(" ".join(list_offered("edit")), 78, initial_indent="  ", subsequent_indent="  ")
    parser = Parser(
        "edit",
        "Edit notes with one operation, or several as one change.",
        epilog=f"{EDIT_EXAMPLES}\n\noperations:\n{ops}",
    )
    parser.add_vault()
    parser.add_argument(
        "operations", metavar="JSON", nargs="+", help="an operation, a list of them, or - for stdin"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the diff and change nothing")
    return run(parser, argv, _edit)


def _edit(args: argparse.Namespace) -> int:
    from vaultbridge.engine.operations.base import Operation
    from vaultbridge.engine.operations.vocabulary import parse_operations

    operations: list[Operation] = []
    for text in args.operations:
        data = sys.stdin.buffer.read() if text == "-" else text.encode()
        what = "Standard input" if text == "-" else f"The operation {shorten(text, 60)!r}"
        operations += parse_operations(_parse_json(data, what))
    with open_vault(args.vault) as engine:
        show_outcome(engine.apply(operations, dry_run=args.dry_run), args)
    return OK


def _parse_json(data: bytes, what: str) -> object:
    try:
        return msgspec.json.decode(data)
    except JSON_ERRORS as error:
        raise InvalidArgument(
            f"{what} is not JSON: {describe_json_error(error)}.", argument="usage"
        ) from None


def main_history(argv: list[str]) -> int:
    parser = Parser("history", "List the changes made through vaultbridge, newest first.", paged=True)
    parser.add_vault()
    parser.add_argument("note", metavar="NOTE", nargs="?", default="", help="only changes to this file")
    parser.add_argument("--limit", type=parse_integer, default=20, metavar="N", help="how many (20)")
    parser.add_argument("--diff", type=parse_integer, metavar="ID", help="show the diff of one change")
    return run(parser, argv, _show_history)


def _show_history(args: argparse.Namespace) -> int:
    with open_vault(args.vault) as engine:
        if args.diff is not None:
            diff = engine.history.diff(args.diff)
            emit({"id": args.diff, "diff": diff}) if args.json else say(
                args.terminal.color_diff(diff.rstrip("\n")) or "(no text changed)"
            )
            return OK
        entries = engine.history.changes(args.note, limit=args.limit)
        notices = engine.history.list_notices()
    for notice in notices:
        # On a terminal the list may be in a pager, which hides what is written beside it.
        sys.stderr.write(f"note: {notice}\n") if args.json else say(f"note: {notice}")
    for entry in entries:
        if args.json:
            emit(
                {
                    "id": entry.id,
                    "at": datetime.fromtimestamp(entry.at).astimezone().isoformat(timespec="seconds"),
                    "actor": entry.actor,
                    "label": entry.label,
                    "undone_by": entry.undone_by,
                    "undo_of": entry.undo_of,
                    "paths": entry.paths,
                }
            )
            continue
        when = datetime.fromtimestamp(entry.at).strftime("%Y-%m-%d %H:%M:%S")
        paths = ", ".join(entry.paths[:3]) + (
            f" and {len(entry.paths) - 3} more" if len(entry.paths) > 3 else ""
        )
        undone = f" (undone by {entry.undone_by})" if entry.undone_by else ""
        undone += " (content lost: cannot be undone)" if entry.incomplete else ""
        actor, label = escape_controls(entry.actor), escape_controls(entry.label)
        say(f"{entry.id:>5}  {when}  {actor:<12}  {label}: {paths}{undone}")
    if not entries and not args.json:
        say("No changes are recorded.")
    return OK


def main_undo(argv: list[str]) -> int:
    parser = Parser(
        "undo",
        "Undo one change made through vaultbridge; without ID, the newest that has not been undone.",
        epilog="To revert an undo, give its own ID.",
    )
    parser.add_vault()
    parser.add_argument(
        "id", metavar="ID", nargs="?", type=parse_integer, help="as `vaultbridge history` shows it"
    )
    parser.add_argument("--force", action="store_true", help="even if a file has changed since")
    parser.add_argument("--dry-run", action="store_true", help="show the diff and change nothing")
    return run(parser, argv, _undo)


def _undo(args: argparse.Namespace) -> int:
    with open_vault(args.vault) as engine:
        number = args.id if args.id is not None else engine.history.newest_to_undo()
        show_outcome(engine.undo(number, force=args.force, dry_run=args.dry_run), args)
    return OK
