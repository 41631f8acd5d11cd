"""`vaultbridge select VAULT NOTE[:L1[:C1]-L2[:C2]]`: what connected assistants see as selected."""

from __future__ import annotations

import argparse

from vaultbridge.cli.common import OK, Parser, ask_bridge, emit, run, say


def main(argv: list[str]) -> int:
    parser = Parser("select", "Tell connected assistants which note is open, and what is selected in it.")
    parser.add_vault()
    parser.add_argument(
        "place", metavar="NOTE[:L1[:C1]-L2[:C2]]", help="lines and columns are counted from 1"
    )
    return run(parser, argv, _select)


def _select(args: argparse.Namespace) -> int:
    from vaultbridge.protocols.editor.client import parse_place

    answer = ask_bridge(args.vault, "select", parse_place(args.place))
    if args.json:
        emit(answer)
    else:
        say(f"{answer['path']} is selected; {answer['assistants']} assistant(s) connected.")
    return OK
