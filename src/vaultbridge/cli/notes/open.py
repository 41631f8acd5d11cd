"""`vaultbridge open NOTE`: opens a note in the Obsidian app."""

from __future__ import annotations

import argparse
import os
import sys

from vaultbridge.cli.common import OK, Parser, emit, open_vault, run, say
from vaultbridge.cli.places import find_place
from vaultbridge.cli.terminal import make_obsidian_link


def main(argv: list[str]) -> int:
    parser = Parser("open", "Open a note, or one of its headings, in Obsidian.")
    parser.add_vault()
    parser.add_argument("place", metavar="PLACE", help="NOTE, NOTE#Heading or NOTE#^block")
    parser.add_argument("--print", action="store_true", dest="only_print", help="only print the address")
    return run(parser, argv, _open)


def _open(args: argparse.Namespace) -> int:
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

    from vaultbridge.errors import EngineFailure

    if sys.platform == "win32":
        os.startfile(link)
        return
    program = "open" if sys.platform == "darwin" else "xdg-open"
    try:
        done = subprocess.run([program, link], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    except OSError:
        done = None
    if done is None or done.returncode:
        raise EngineFailure(
            "This system opens no obsidian:// addresses.",
            hint="Install Obsidian, or use --print and open the address yourself.",
        )
