"""`vaultbridge context VAULT QUESTION`: the passages of the vault that answer a question."""

from __future__ import annotations

import argparse
import sys

from vaultbridge.cli.common import OK, Parser, emit, open_vault, parse_integer, refresh, run, say
from vaultbridge.errors import InvalidArgument

CHARS = 4_000


def main(argv: list[str]) -> int:
    parser = Parser(
        "context", "Show what the vault says to a question: the best passages of the best notes.", paged=True
    )
    parser.add_vault()
    parser.add_argument("question", metavar="QUESTION", nargs="+", help="in plain words, as to a person")
    parser.add_argument(
        "--max-chars",
        type=parse_integer,
        default=CHARS,
        metavar="N",
        help=f"the most characters of the answer ({CHARS})",
    )
    return run(parser, argv, _show_context)


def _show_context(args: argparse.Namespace) -> int:
    from vaultbridge.engine.context import LARGEST_CHARS, LEAST_CHARS, gather, render

    if not LEAST_CHARS <= args.max_chars <= LARGEST_CHARS:
        raise InvalidArgument(
            f"--max-chars is {args.max_chars}.",
            argument="usage",
            hint=f"Give {LEAST_CHARS} to {LARGEST_CHARS}.",
        )
    with open_vault(args.vault, with_model=True) as engine:
        refresh(engine)
        found = gather(engine, " ".join(args.question), max_chars=args.max_chars)
    if args.json:
        emit(found)
        return OK
    say(args.terminal.clean(render(found)))
    if not found.complete:
        sys.stderr.write(
            f"The index is still being built: {found.indexed} of {found.searchable} notes were searched.\n"
        )
    return OK
