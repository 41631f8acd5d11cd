"""`vaultbridge edit VAULT OPERATION…`: one operation or a batch, given as JSON."""

from __future__ import annotations

import argparse
import sys

import msgspec

from vaultbridge.cli.common import OK, Parser, open_vault, run, show_outcome
from vaultbridge.errors import JSON_ERRORS, describe_json_error

EXAMPLES = """\
examples:
  vaultbridge edit Notes '{"op":"append","note":"Inbox","content":"- [ ] call back"}'
  vaultbridge edit Notes '{"op":"set_property","note":"Plan","name":"status","value":"active"}' --dry-run
  vaultbridge edit Notes - < batch.json      (a JSON list of operations: all of them or none)

operations: create write append prepend insert replace_text replace_section apply_diff set_property
  remove_property rename_property add_tag remove_tag rename_tag set_task rename_heading rename_block
  move delete"""


def main(argv: list[str]) -> int:
    parser = Parser("edit", "Change notes: one operation or several as one change.", epilog=EXAMPLES)
    parser.add_vault()
    parser.add_argument(
        "operations", metavar="JSON", nargs="+", help="an operation, a list of them, or - for stdin"
    )
    parser.add_argument("--dry-run", action="store_true", help="show the diff and change nothing")
    return run(parser, argv, _edit)


def _edit(args: argparse.Namespace) -> int:
    from vaultbridge.engine.operations import Operation, parse_operations

    operations: list[Operation] = []
    for text in args.operations:
        data = sys.stdin.buffer.read() if text == "-" else text.encode()
        operations += parse_operations(_json(data))
    with open_vault(args.vault) as engine:
        show_outcome(engine.apply(operations, dry_run=args.dry_run), args.vault, as_json=args.json)
    return OK


def _json(data: bytes) -> object:
    from vaultbridge.errors import InvalidArgument

    try:
        return msgspec.json.decode(data)
    except JSON_ERRORS as error:
        raise InvalidArgument(
            f"The operation is not JSON: {describe_json_error(error)}.", argument="usage"
        ) from None
