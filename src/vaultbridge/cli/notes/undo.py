"""`vaultbridge undo VAULT [ID]`: undo one change, as a whole."""

from __future__ import annotations

import argparse

from vaultbridge.cli.common import OK, Parser, open_vault, parse_integer, run, show_outcome


def main(argv: list[str]) -> int:
    parser = Parser(
        "undo",
        "Undo one change made through vaultbridge; without ID, the newest that is not undone.",
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
