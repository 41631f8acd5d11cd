"""`vaultbridge export [-o FILE]`: all notes as data."""

from __future__ import annotations

import argparse
import sys

from vaultbridge.cli.common import OK, Parser, open_vault, refresh, run


def main(argv: list[str]) -> int:
    parser = Parser("export", "All notes and canvases as data, sorted by path, on standard output.")
    parser.add_vault()
    parser.add_argument(
        "--format", choices=["jsonl", "graphml", "csv"], help="default: what the file's name says, or jsonl"
    )
    parser.add_argument("-o", "--output", metavar="FILE", help="write to a file instead")
    return run(parser, argv, _export)


def _export(args: argparse.Namespace) -> int:
    from vaultbridge.engine.export import FORMATS
    from vaultbridge.errors import EngineFailure

    named = (args.output or "").rpartition(".")[2].lower()
    chosen = args.format or (named if named in FORMATS else "jsonl")
    with open_vault(args.vault) as engine:
        refresh(engine)
        rows = FORMATS[chosen](engine)
        if args.output:
            try:
                with open(args.output, "w", encoding="utf-8", newline="") as file:
                    file.writelines(rows)
            except OSError as error:
                raise EngineFailure(f"{args.output} cannot be written: {error.strerror}.") from error
        else:
            for row in rows:
                sys.stdout.buffer.write(row.encode())
            sys.stdout.buffer.flush()
    return OK
