"""`vaultbridge history VAULT [NOTE]`: lists the changes made through vaultbridge, newest first."""

from __future__ import annotations

import argparse
from datetime import datetime

from vaultbridge.cli.common import OK, Parser, emit, open_vault, parse_integer, run, say


def main(argv: list[str]) -> int:
    parser = Parser("history", "The changes made through vaultbridge, newest first.", paged=True)
    parser.add_vault()
    parser.add_argument("note", metavar="NOTE", nargs="?", default="", help="only changes of this file")
    parser.add_argument("--limit", type=parse_integer, default=20, metavar="N", help="how many (20)")
    parser.add_argument("--diff", type=parse_integer, metavar="ID", help="show the diff of one change")
    return run(parser, argv, _history)


def _history(args: argparse.Namespace) -> int:
    with open_vault(args.vault) as engine:
        if args.diff is not None:
            diff = engine.history.diff(args.diff)
            emit({"id": args.diff, "diff": diff}) if args.json else say(
                args.terminal.color_diff(diff.rstrip("\n")) or "(no text changed)"
            )
            return OK
        entries = engine.history.changes(args.note, limit=args.limit)
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
        say(f"{entry.id:>5}  {when}  {entry.actor:<12}  {entry.label}: {paths}{undone}")
    if not entries and not args.json:
        say("No changes are recorded.")
    return OK
