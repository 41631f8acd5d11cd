"""`vaultbridge tags [TAG]`: lists tags with how many notes have them, or the notes of one."""

from __future__ import annotations

import argparse
import sys

from vaultbridge.cli.common import OK, Parser, emit, open_vault, refresh, run, say


def main(argv: list[str]) -> int:
    parser = Parser(
        "tags", "List the vault's tags with the number of notes, or the notes that have one.", paged=True
    )
    parser.add_vault()
    parser.add_argument("tag", metavar="TAG", nargs="?", default="", help="with or without #")
    parser.add_argument("--sort", choices=("count", "name"), default="count", help="default: count")
    return run(parser, argv, _tags)


def _tags(args: argparse.Namespace) -> int:
    terminal = args.terminal
    with open_vault(args.vault) as engine:
        refresh(engine)
        if args.tag.strip("# "):
            from vaultbridge.markdown.edits.tags import parse_tag_name

            paths = engine.queries.notes_with_tag(parse_tag_name(args.tag))
            for path in paths:
                if args.json:
                    emit({"path": path})
                else:
                    say(terminal.link_note(terminal.style(terminal.clean(path), "path"), engine.name, path))
            if not args.json:
                sys.stderr.write(f"{len(paths)} note{'s' if len(paths) != 1 else ''}\n")
            return OK
        found = list(engine.queries.tags())
    if args.sort == "count":
        found.sort(key=lambda tag: (-tag.notes, tag.name.lower()))
    width = max((len(str(tag.notes)) for tag in found), default=1)
    for tag in found:
        if args.json:
            emit({"tag": tag.name, "notes": tag.notes, "occurrences": tag.occurrences})
        else:
            say(f"{tag.notes:>{width}}  {terminal.style('#' + terminal.clean(tag.name), 'tag')}")
    if not found and not args.json:
        say("The vault has no tags.")
    return OK
