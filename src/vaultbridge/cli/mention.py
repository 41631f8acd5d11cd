"""`vaultbridge mention PLACE`: put a note into the assistant's prompt."""

from __future__ import annotations

import argparse

from vaultbridge.cli.common import OK, Parser, ask_bridge, emit, open_vault, run, say
from vaultbridge.cli.places import FORMS, find_lines, make_mention


def main(argv: list[str]) -> int:
    parser = Parser("mention", "Mention a note, or some lines of it, to connected assistants.")
    parser.add_vault()
    parser.add_argument("place", metavar="PLACE", help=FORMS)
    return run(parser, argv, _mention)


def _mention(args: argparse.Namespace) -> int:
    with open_vault(args.vault) as engine:
        params = make_mention(*find_lines(engine, args.place))
    answer = ask_bridge(args.vault, "mention", params)
    if args.json:
        emit(answer)
    elif answer["assistants"]:
        say(f"{answer['path']} was mentioned to {answer['assistants']} assistant(s).")
    else:
        say(f"No assistant is connected; one that connects within 10 s gets the mention of {answer['path']}.")
    return OK
