"""`vaultbridge index VAULT`: builds or refreshes the index, and prints what is in it."""

from __future__ import annotations

import argparse
import time
from typing import Final

from vaultbridge.cli.common import OK, Parser, emit, open_vault, refresh, run, say

NAMES_SHOWN: Final = 20
"""How many files left out are shown: a screenful shows which folder they come from."""

_ONE = {"notes": "note", "canvases": "canvas", "bases": "base", "attachments": "attachment"}


def main(argv: list[str]) -> int:
    parser = Parser(
        "index", "Build a vault's index, or bring it up to date. Notes are only read, never written."
    )
    parser.add_vault()
    parser.add_argument("--rebuild", action="store_true", help="delete the index first")
    return run(parser, argv, _index)


def _index(args: argparse.Namespace) -> int:
    from vaultbridge.vault.walk import LEFT_OUT

    started = time.perf_counter()
    with open_vault(args.vault) as engine:
        if args.rebuild:
            engine.index_sync.index.rebuild()
        report = refresh(engine)
        counts = engine.queries.counts()
        total, left_out = engine.queries.left_out()
    seconds = time.perf_counter() - started
    if args.json:
        emit(
            {
                "vault": engine.name,
                "seconds": round(seconds, 3),
                "added": report.added,
                "changed": report.changed,
                "removed": report.removed,
                "unreadable": [place.path for place in report.unreadable],
                "leftOut": [{"path": one.path, "why": one.why} for one in left_out],
                **counts,
            }
        )
        return OK
    found = ", ".join(f"{count:,} {_ONE[kind] if count == 1 else kind}" for kind, count in counts.items())
    say(f"{engine.name}: {found}")
    say(f"{report.added:,} added, {report.changed:,} changed, {report.removed:,} removed in {seconds:.2f} s")
    for place in report.unreadable:
        say(f"could not be read: {place.path}")
    for one in left_out[:NAMES_SHOWN]:
        say(f"left out, because {LEFT_OUT[one.why]}: {one.path}")
    if total > NAMES_SHOWN:
        say(f"left out for such reasons: {total - NAMES_SHOWN:,} more")
    return OK
