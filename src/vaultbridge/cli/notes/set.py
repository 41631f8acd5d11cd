"""`vaultbridge set NOTE NAME=VALUE…`: sets and removes properties."""

from __future__ import annotations

import argparse

from vaultbridge.cli.common import OK, Parser, open_vault, run, show_outcome
from vaultbridge.cli.notes.input import parse_assignment

EXAMPLES = """\
examples:
  vaultbridge set Plan status=active rating=4
  vaultbridge set Plan 'tags=["garden","2026"]'
  vaultbridge set Plan --remove draft"""


def main(argv: list[str]) -> int:
    parser = Parser(
        "set",
        "Set and remove properties of a note, in the form of the type that the vault gives them.",
        epilog=EXAMPLES,
    )
    parser.add_vault()
    parser.add_argument("note", metavar="NOTE", help="a name or path")
    parser.add_argument("assignments", metavar="NAME=VALUE", nargs="*", help="text, a number or a JSON list")
    parser.add_argument(
        "--remove", action="append", default=[], metavar="NAME", help="remove this property (may be repeated)"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the diff and change nothing")
    return run(parser, argv, _set)


def _set(args: argparse.Namespace) -> int:
    from vaultbridge.engine.operations import Operation, RemoveProperty, SetProperty
    from vaultbridge.errors import InvalidArgument

    values = [parse_assignment(text) for text in args.assignments]
    if not values and not args.remove:
        raise InvalidArgument(
            "Nothing is to be set.", argument="usage", hint="Give NAME=VALUE, or --remove NAME."
        )
    operations: list[Operation] = [
        SetProperty(note=args.note, name=name, value=value) for name, value in values
    ]
    operations += [RemoveProperty(note=args.note, name=name) for name in args.remove]
    with open_vault(args.vault) as engine:
        show_outcome(engine.apply(operations, dry_run=args.dry_run), args)
    return OK
