"""`vaultbridge read VAULT NOTE`: a note, a section, a block, some lines or the outline."""

from __future__ import annotations

import argparse
import sys

from msgspec.structs import replace

from vaultbridge.cli.common import OK, Parser, emit, open_vault, run


def main(argv: list[str]) -> int:
    parser = Parser("read", "Read a note: whole, or the part you name.")
    parser.add_vault()
    parser.add_argument(
        "note",
        metavar="NOTE",
        help="a name as in [[wikilinks]], an alias or a path; NOTE#Heading and NOTE#^block read that part",
    )
    parser.add_argument(
        "--lines", metavar="A-B", help="only these lines, counted from 1 (A-, -B and A work too)"
    )
    parser.add_argument("--outline", action="store_true", help="only the headings, with their lines")
    parser.add_argument("--body", action="store_true", help="leave the properties out")
    return run(parser, argv, _read)


def _read(args: argparse.Namespace) -> int:
    from vaultbridge.engine.reading import LARGEST_EXCERPT_CHARS, Part, excerpt
    from vaultbridge.markdown.text import replace_surrogates

    name, heading, block = _split_place(args.note)
    part = Part(
        heading=heading,
        block=block,
        lines=_parse_lines(args.lines),
        outline=args.outline,
        properties=not args.body,
        max_chars=LARGEST_EXCERPT_CHARS,
    )
    with open_vault(args.vault) as engine:
        view = engine.view(name)
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
        sys.stdout.write(text if text.endswith("\n") or not text else text + "\n")
    return OK


def _split_place(note: str) -> tuple[str, str, str]:
    name, mark, sub = note.partition("#")
    if not mark or not name:
        return note, "", ""
    return (name, "", sub[1:]) if sub.startswith("^") else (name, sub, "")


def _parse_lines(text: str | None) -> tuple[int, int] | None:
    from vaultbridge.errors import InvalidArgument

    if not text:
        return None
    first, dash, last = text.partition("-")
    try:
        return int(first or 1), int(last) if last else (0 if dash else int(first))
    except ValueError:
        raise InvalidArgument(
            f"--lines {text!r} is not a range of lines.", argument="usage", hint="Write 10-20."
        ) from None
