"""`vaultbridge new NOTE [TEXT…]`: creates a note, from text, a template and properties."""

from __future__ import annotations

import argparse
from typing import Any

from vaultbridge.cli.common import OK, Parser, open_vault, run, show_outcome
from vaultbridge.cli.notes.input import parse_assignment, read_text

EXAMPLES = """\
examples:
  vaultbridge new 'Reading list' '- [ ] one more book'
  vaultbridge new Projects/Balcony --template Project --set status=active
  vaultbridge new Minutes - < minutes.md"""


def main(argv: list[str]) -> int:
    parser = Parser("new", "Create a note. Folders on its way are created with it.", epilog=EXAMPLES)
    parser.add_vault()
    parser.add_argument("note", metavar="NOTE", help="its name or path, without .md")
    parser.add_argument("text", metavar="TEXT", nargs="*", help="what it says; - reads standard input")
    parser.add_argument("--template", default="", metavar="NAME", help="start from this template")
    parser.add_argument(
        "--set", action="append", default=[], metavar="NAME=VALUE", help="a property (may be repeated)"
    )
    parser.add_argument("--overwrite", action="store_true", help="replace a note that exists")
    parser.add_argument("--dry-run", action="store_true", help="show the diff and change nothing")
    return run(parser, argv, _new)


def _new(args: argparse.Namespace) -> int:
    from vaultbridge.engine.operations import Create

    properties: dict[str, Any] = dict(parse_assignment(text) for text in args.set)
    operation = Create(
        note=args.note,
        content=read_text(args.text, required=False),
        template=args.template,
        properties=properties,
        overwrite=args.overwrite,
    )
    with open_vault(args.vault) as engine:
        show_outcome(engine.apply([operation], dry_run=args.dry_run), args)
    return OK
