"""`vaultbridge base NAME [VIEW]`: a view of a base, as a table."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

from vaultbridge.cli.common import OK, Parser, emit, open_vault, parse_integer, refresh, run, say
from vaultbridge.cli.terminal import render_table

if TYPE_CHECKING:
    from vaultbridge.bases.values import Value


def main(argv: list[str]) -> int:
    parser = Parser("base", "Show a view of a base as a table.", paged=True)
    parser.add_vault()
    parser.add_argument("name", metavar="BASE", help="a .base file, or a note with a ```base block")
    parser.add_argument("view", metavar="VIEW", nargs="?", default="", help="by default the first one")
    parser.add_argument(
        "--block", type=parse_integer, default=1, metavar="N", help="which block of the note (1)"
    )
    parser.add_argument("--views", action="store_true", help="only list the views")
    return run(parser, argv, _base)


def _base(args: argparse.Namespace) -> int:
    from vaultbridge.engine.base_query import load_base, run_base_query
    from vaultbridge.tools.base_query import find_base

    with open_vault(args.vault) as engine:
        refresh(engine)
        base, text, where = load_base(engine, find_base(engine, args.name), block=args.block)
        if args.views:
            for view in base.views:
                emit({"view": view.name}) if args.json else say(view.name)
            return OK
        result = run_base_query(engine, base, text, args.view or None, where, lambda _done, _total: None)
    for problem in base.problems:
        sys.stderr.write(f"note: line {problem.line}: {problem.message}\n")
    for note in result.problems:
        sys.stderr.write(f"note: {note}\n")
    names = [column.name for column in result.columns]
    if args.json:
        rows = [dict(zip(names, map(_render, row.cells), strict=True)) for row in result.rows]
        emit({"view": result.view, "total": result.total, "columns": names, "rows": rows})
        return OK
    groups = [("", result.rows)] if not result.groups else [(g.value, g.rows) for g in result.groups]
    for value, shown in groups:
        if result.groups:
            say(args.terminal.style(_render(value) or "(empty)", "heading"))
        for line in render_table(
            names, [[_render(cell) for cell in row.cells] for row in shown], args.terminal
        ):
            say(line)
    sys.stderr.write(f"{result.total} row{'s' if result.total != 1 else ''}\n")
    return OK


def _render(value: Value) -> str:
    from vaultbridge.bases.values import ErrorValue, to_text

    return f"Error: {value.message}" if isinstance(value, ErrorValue) else to_text(value)
