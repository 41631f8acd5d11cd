"""`vaultbridge daily [TEXT…]`: reads or extends the note of today, or of another day, week, month or year."""

from __future__ import annotations

import argparse
import sys

from vaultbridge.cli.common import OK, Parser, emit, open_vault, run, say, show_outcome
from vaultbridge.cli.notes.input import read_text

EXAMPLES = """\
examples:
  vaultbridge daily                                    read today's note
  vaultbridge daily '- [ ] water the plants'           add to it; created from its template if missing
  vaultbridge daily --heading Log --create 'All quiet'
  vaultbridge daily --date yesterday
  vaultbridge daily --period weekly --path"""


def main(argv: list[str]) -> int:
    parser = Parser("daily", "Read today's note, or add to it.", epilog=EXAMPLES, paged=True)
    parser.add_vault()
    parser.add_argument("text", metavar="TEXT", nargs="*", help="what to add; - reads standard input")
    parser.add_argument(
        "--period", choices=("daily", "weekly", "monthly", "quarterly", "yearly"), default="daily"
    )
    parser.add_argument(
        "--date",
        default="today",
        metavar="DAY",
        help="YYYY-MM-DD, yesterday, tomorrow, or a number such as -1",
    )
    parser.add_argument("--heading", default="", help="add under this heading")
    parser.add_argument("--create", action="store_true", help="make the heading if the note lacks it")
    parser.add_argument("--first", action="store_true", help="add at the beginning instead of the end")
    parser.add_argument("--path", action="store_true", help="only say which note it is")
    parser.add_argument("--dry-run", action="store_true", help="show the diff and change nothing")
    return run(parser, argv, _daily)


def _daily(args: argparse.Namespace) -> int:
    from vaultbridge.engine.drafting.templates import find_periodic_note, plan_addition
    from vaultbridge.errors import NoteNotFound

    with open_vault(args.vault) as engine:
        note = find_periodic_note(engine, args.period, args.date)
        if args.path:
            emit({"path": note.path, "exists": note.exists}) if args.json else say(note.path)
            return OK
        if not args.text:
            if not note.exists:
                missing = NoteNotFound(note.path, what=f"{note.period} note")
                missing.hint = "It does not exist yet; give text to add, and it is created."
                raise missing
            view = engine.view(note.path)
            if args.json:
                emit({"path": view.path, "hash": view.hash, "text": view.text})
            else:
                text = args.terminal.clean(view.text)
                sys.stdout.write(text if text.endswith("\n") or not text else text + "\n")
            return OK
        operations, notices = plan_addition(
            engine,
            note,
            read_text(args.text),
            heading=args.heading,
            create=args.create,
            first=args.first,
        )
        for notice in notices:
            sys.stderr.write(f"note: {notice}\n")
        outcome = engine.apply(operations, dry_run=args.dry_run, label=f"{note.period} note")
        show_outcome(outcome, args)
    return OK
