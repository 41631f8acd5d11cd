"""`vaultbridge read PLACE`: a note, a section, a block, some lines or the outline."""

from __future__ import annotations

import argparse
import sys

from msgspec.structs import replace

from vaultbridge.cli.common import OK, Parser, emit, open_vault, run
from vaultbridge.cli.places import FORMS, find_place


def main(argv: list[str]) -> int:
    parser = Parser("read", "Read a note: whole, or the part you name.", paged=True)
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
    parser.add_argument("--body", action="store_true", help="leave the properties out")
    return run(parser, argv, _read)


def _read(args: argparse.Namespace) -> int:
    from vaultbridge.engine.reading import LARGEST_EXCERPT_CHARS, Part, excerpt, parse_lines
    from vaultbridge.markdown.text import replace_surrogates

    lines = parse_lines(args.lines, "usage") if args.lines else None
    with open_vault(args.vault) as engine:
        place = find_place(engine, args.place)
        view = engine.view(place.note)
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
        text = args.terminal.clean(text)
        sys.stdout.write(text if text.endswith("\n") or not text else text + "\n")
    return OK
