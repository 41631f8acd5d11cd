"""`vaultbridge search VAULT QUERY`: Obsidian's query syntax, grep-style hits."""

from __future__ import annotations

import argparse
import sys

from vaultbridge.cli.common import OK, Parser, emit, open_vault, parse_integer, refresh, run, say

SYNTAX = """\
query syntax (Obsidian's): words are AND; OR, -word, "a phrase", (groups), /regex/
  file: path: content: tag:#x line:(…) block:(…) section:(…) task: task-todo: task-done:
  match-case: ignore-case: [property] [property:value] [property:>5] [property:null]"""


def main(argv: list[str]) -> int:
    parser = Parser("search", "Search the names, paths and contents of notes.", epilog=SYNTAX)
    parser.add_vault()
    parser.add_argument(
        "query", metavar="QUERY", nargs="+", help="one query; several arguments are joined by spaces"
    )
    parser.add_argument("--limit", type=parse_integer, default=20, metavar="N", help="notes to show (20)")
    parser.add_argument("--offset", type=parse_integer, default=0, metavar="N", help="notes to skip")
    parser.add_argument("--sort", choices=["relevance", "modified", "name", "path"], default="relevance")
    parser.add_argument(
        "-C", "--context", type=parse_integer, default=0, metavar="N", help="lines around each match"
    )
    parser.add_argument(
        "--matches", type=parse_integer, default=5, metavar="N", help="matches to show of one note (5)"
    )
    return run(parser, argv, _search)


def _search(args: argparse.Namespace) -> int:
    with open_vault(args.vault) as engine:
        refresh(engine)
        page = engine.ask.search(
            " ".join(args.query),
            limit=args.limit,
            offset=args.offset,
            sort=args.sort,
            matches_per_note=args.matches,
            context=args.context,
        )
    if args.json:
        emit(page)
        return OK
    for hit in page.hits:
        if not hit.matches:
            say(hit.path)
        for match in hit.matches:
            for number, line in enumerate(match.before, match.line - len(match.before)):
                say(f"{hit.path}-{number}- {line}")
            say(f"{hit.path}:{match.line}: {match.text}")
            for number, line in enumerate(match.after, match.line + 1):
                say(f"{hit.path}-{number}- {line}")
    shown = (
        f"{args.offset + 1}-{args.offset + len(page.hits)} of "
        if page.hits and len(page.hits) < page.total
        else ""
    )
    sys.stderr.write(f"{shown}{page.total} note{'s' if page.total != 1 else ''}\n")
    if not page.complete:
        sys.stderr.write(
            f"The index is still being built: {page.indexed} of {page.notes} notes were searched.\n"
        )
    return OK
