"""`vaultbridge edit VAULT OPERATION…`: one operation or a batch, given as JSON."""

from __future__ import annotations

import argparse
import sys
from textwrap import fill

import msgspec

from vaultbridge.cli.common import OK, Parser, open_vault, run, show_outcome
from vaultbridge.errors import JSON_ERRORS, describe_json_error

EXAMPLES = """\
examples:
  vaultbridge edit Notes '{"op":"append","note":"Inbox","content":"- [ ] call back"}'
  vaultbridge edit Notes '{"op":"set_property","note":"Plan","name":"status","value":"active"}' --dry-run
  vaultbridge edit Notes - < batch.json      (a JSON list of operations: all of them or none)"""


def main(argv: list[str]) -> int:
    from vaultbridge.engine.vocabulary import offered_in

    ops = fill(f"operations: {' '.join(offered_in('edit'))}", 100, subsequent_indent="  ")
    parser = Parser(
        "edit", "Change notes: one operation or several as one change.", epilog=f"{EXAMPLES}\n\n{ops}"
    )
    parser.add_vault()
    parser.add_argument(
        "operations", metavar="JSON", nargs="+", help="an operation, a list of them, or - for stdin"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the diff and change nothing")
    return run(parser, argv, _edit)


def _edit(args: argparse.Namespace) -> int:
    from vaultbridge.engine.operations import Operation
    from vaultbridge.engine.vocabulary import parse_operations

    operations: list[Operation] = []
    for text in args.operations:
        data = sys.stdin.buffer.read() if text == "-" else text.encode()
        operations += parse_operations(_parse_json(data))
    with open_vault(args.vault) as engine:
        show_outcome(engine.apply(operations, dry_run=args.dry_run), args)
    return OK


def _parse_json(data: bytes) -> object:
    from vaultbridge.errors import InvalidArgument

    try:
        return msgspec.json.decode(data)
    except JSON_ERRORS as error:
        raise InvalidArgument(
            f"The operation is not JSON: {describe_json_error(error)}.", argument="usage"
        ) from None
