"""`vaultbridge mention VAULT NOTE[#L1-L2]`: put a note into the assistant's prompt."""

from __future__ import annotations

import argparse

from vaultbridge.cli.common import OK, Parser, ask_bridge, emit, run, say


def main(argv: list[str]) -> int:
    parser = Parser("mention", "Mention a note, or some lines of it, to connected assistants.")
    parser.add_vault()
    parser.add_argument("note", metavar="NOTE[#L1-L2]", help="lines are counted from 1")
    return run(parser, argv, _mention)


def _mention(args: argparse.Namespace) -> int:
    from vaultbridge.protocols.editor.client import parse_mention

    answer = ask_bridge(args.vault, "mention", parse_mention(args.note))
    if args.json:
        emit(answer)
    elif answer["assistants"]:
        say(f"{answer['path']} was mentioned to {answer['assistants']} assistant(s).")
    else:
        say(f"No assistant is connected; one that connects within 10 s gets the mention of {answer['path']}.")
    return OK
