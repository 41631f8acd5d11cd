"""`vaultbridge select PLACE`: what connected assistants see as selected."""

from __future__ import annotations

import argparse

from vaultbridge.cli.common import OK, Parser, ask_bridge, emit, open_vault, run, say
from vaultbridge.cli.places import FORMS, find_lines, make_selection


def main(argv: list[str]) -> int:
    parser = Parser("select", "Tell connected assistants which note is open, and what is selected in it.")
    parser.add_vault()
    parser.add_argument("place", metavar="PLACE", help=f"{FORMS}, with columns NOTE:3:1-5:10")
    return run(parser, argv, _select)


def _select(args: argparse.Namespace) -> int:
    with open_vault(args.vault) as engine:
        params = make_selection(*find_lines(engine, args.place))
    answer = ask_bridge(args.vault, "select", params)
    if args.json:
        emit(answer)
    else:
        say(f"{answer['path']} is selected; {answer['assistants']} assistant(s) connected.")
    return OK
