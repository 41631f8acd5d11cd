"""`vaultbridge append PLACE [TEXT…]`: adds text to a note, a section or a block."""

from __future__ import annotations

import argparse

from vaultbridge.cli.common import OK, Parser, open_vault, run, show_outcome
from vaultbridge.cli.notes.input import read_text
from vaultbridge.cli.places import find_place

EXAMPLES = """\
examples:
  vaultbridge append Inbox '- [ ] call back'
  vaultbridge append 'Inbox#Today' --create '- [ ] call back'
  date | vaultbridge append Log"""


def main(argv: list[str]) -> int:
    parser = Parser(
        "append", "Add text at the end of a note, of a section, or after a block.", epilog=EXAMPLES
    )
    parser.add_vault()
    parser.add_argument("place", metavar="PLACE", help="NOTE, NOTE#Heading or NOTE#^block")
    parser.add_argument(
        "text", metavar="TEXT", nargs="*", help="without it, or for -, standard input is read"
    )
    parser.add_argument("--first", action="store_true", help="add it at the beginning instead")
    parser.add_argument("--create", action="store_true", help="make the heading if the note lacks it")
    parser.add_argument("--dry-run", action="store_true", help="show the diff and change nothing")
    return run(parser, argv, _append)


def _append(args: argparse.Namespace) -> int:
    from vaultbridge.engine.operations import Append, Prepend
    from vaultbridge.errors import InvalidArgument

    text = read_text(args.text)
    with open_vault(args.vault) as engine:
        place = find_place(engine, args.place)
        if place.start:
            raise InvalidArgument(
                "Text is added to a note, a heading or a block, not to lines.",
                argument="usage",
                hint="`vaultbridge edit` has the operation insert.",
            )
        kind = Prepend if args.first else Append
        operation = kind(
            note=place.note, content=text, heading=place.heading, block=place.block, create=args.create
        )
        show_outcome(engine.apply([operation], dry_run=args.dry_run), args)
    return OK
