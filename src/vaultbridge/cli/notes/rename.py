"""`vaultbridge rename VAULT OLD NEW`: a note, attachment or folder, with every link to it."""

from __future__ import annotations

import argparse

from vaultbridge.cli.common import OK, Parser, open_vault, run, show_outcome


def main(argv: list[str]) -> int:
    parser = Parser(
        "rename",
        "Rename or move a note, an attachment or a folder, and rewrite every link to it as Obsidian does.",
        epilog="NEW without a folder renames in place; one that ends with / moves into that folder.",
    )
    parser.add_vault()
    parser.add_argument("old", metavar="OLD")
    parser.add_argument("new", metavar="NEW")
    parser.add_argument("--dry-run", action="store_true", help="show the diff and change nothing")
    return run(parser, argv, _rename)


def _rename(args: argparse.Namespace) -> int:
    from vaultbridge.engine.operations import Move

    with open_vault(args.vault) as engine:
        outcome = engine.apply([Move(note=args.old, to=args.new)], dry_run=args.dry_run)
    show_outcome(outcome, args)
    return OK
