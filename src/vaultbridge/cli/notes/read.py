"""Shows notes: `vaultbridge read` prints one or a part of it, `base` a view of a base, and `open` opens one
in Obsidian.
"""

from __future__ import annotations

import argparse
import os
import sys
from typing import TYPE_CHECKING

from msgspec.structs import replace

from vaultbridge.cli.common import OK, emit, open_vault, refresh, run, say
from vaultbridge.cli.parser import Parser, parse_integer
from vaultbridge.cli.places import FORMS, find_place
from vaultbridge.cli.terminal import render_table
from vaultbridge.errors import EditRefused, EngineFailure

if TYPE_CHECKING:
    from vaultbridge.bases.values import Value


def main_read(argv: list[str]) -> int:
    parser = Parser("read", "Read a note, or the part of it that you name.", paged=True)
    parser.add_vault()
    parser.add_argument(
        "place",
        metavar="PLACE",
        help=f"{FORMS}; NOTE is a name as in [[wikilinks]], an alias or a path",
    )
    parser.add_argument(
        "--lines", metavar="A-B", help="only these lines, counted from 1 (A-, -B and A work too)"
    )
    parser.add_argument("--outline", action="store_true", help="only the headings, with their lines")
    parser.add_argument("--body", action="store_true", help="leave out the properties")
    return run(parser, argv, _read)


def _read(args: argparse.Namespace) -> int:
    from vaultbridge.engine.reading import LARGEST_EXCERPT_CHARS, Part, excerpt, parse_lines
    from vaultbridge.markdown.text import has_surrogates, replace_surrogates
    from vaultbridge.vault.paths import TEXT_SUFFIXES

    lines = parse_lines(args.lines, "usage") if args.lines else None
    with open_vault(args.vault) as engine:
        place = find_place(engine, args.place)
        view = engine.view(place.note)
    if not view.path.lower().endswith(TEXT_SUFFIXES) and ("\0" in view.text or has_surrogates(view.text)):
        raise EditRefused(f"{view.path} is not a text file.", hint="`vaultbridge open` opens it in Obsidian.")
    part = Part(
        heading=place.heading,
        block=place.block,
        lines=lines or place.lines(),
        outline=args.outline,
        properties=not args.body,
        max_chars=LARGEST_EXCERPT_CHARS,
    )
    cut = excerpt(view.text, view.note, part)
    text = cut.text
    while cut.next_start is not None:
        # Only assistants need pages; a terminal or a pipe takes any length.
        cut = excerpt(view.text, view.note, replace(part, start=cut.next_start))
        text += cut.text
    if args.json:
        emit(
            {
                "path": view.path,
                "hash": view.hash,
                "text": text,
                "properties": view.note.properties.values if view.note.properties else {},
                "headings": [
                    {"level": h.level, "text": replace_surrogates(h.text), "line": h.line}
                    for h in view.note.headings
                ],
                "problems": [
                    {"code": p.code, "message": p.message, "line": p.line} for p in view.note.problems
                ],
            }
        )
    else:
        if any(problem.code == "invalid-utf8" for problem in view.note.problems):
            sys.stderr.write(f"note: {view.path} is not UTF-8: \ufffd stands for the bytes that are not.\n")
        text = args.terminal.clean(text)
        sys.stdout.write(text if text.endswith("\n") or not text else text + "\n")
    return OK


def main_open(argv: list[str]) -> int:
    parser = Parser("open", "Open a note, or one of its headings, in Obsidian.")
    parser.add_vault()
    parser.add_argument("place", metavar="PLACE", help="NOTE, NOTE#Heading or NOTE#^block")
    parser.add_argument("--print", action="store_true", dest="only_print", help="only print the address")
    return run(parser, argv, _open)


def _open(args: argparse.Namespace) -> int:
    from vaultbridge.vault.obsidian import make_obsidian_link

    with open_vault(args.vault) as engine:
        place = find_place(engine, args.place)
        below = f"#{place.heading}" if place.heading else f"#^{place.block}" if place.block else ""
        link = make_obsidian_link(engine.name, place.note + below)
    if not args.only_print:
        launch(link)
    if args.json:
        emit({"path": place.note, "link": link})
    elif args.only_print:
        say(link)
    return OK


def launch(link: str) -> None:
    """Hand an address to the system. Raises EngineFailure when it has no program for it."""
    import subprocess

    failure = EngineFailure(
        "This system cannot open obsidian:// addresses.",
        hint="Install Obsidian, or use --print and open the address yourself.",
    )
    try:
        if sys.platform == "win32":
            os.startfile(link)
            return
        program = "open" if sys.platform == "darwin" else "xdg-open"
        done = subprocess.run([program, link], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError:
        raise failure from None
    if done.returncode:
        raise failure


def main_base(argv: list[str]) -> int:
    parser = Parser("base", "Show a view of a base as a table.", paged=True)
    parser.add_vault()
    parser.add_argument("name", metavar="BASE", help="a .base file, or a note with a ```base block")
    parser.add_argument("view", metavar="VIEW", nargs="?", default="", help="by default the first one")
    parser.add_argument("--view", dest="view_option", metavar="VIEW", help="another way to name the view")
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
        view_name = args.view_option or args.view or None
        result = run_base_query(engine, base, text, view_name, where, lambda _done, _total: None)
    for problem in base.problems_of(result.view):
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
