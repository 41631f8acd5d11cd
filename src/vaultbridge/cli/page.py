"""`vaultbridge page VAULT`: the link to the page of the bridge that serves a vault.

The link holds the token, which is remembered in a file that only its owner can read; so it is printed for
them alone. It is not handed to a browser from here: other users of the machine can see a program's arguments.
"""

from __future__ import annotations

import argparse

from vaultbridge.cli.common import OK, Parser, cache_of, emit, run, say


def main(argv: list[str]) -> int:
    parser = Parser("page", "Print the link to the page in which changes are reviewed. Keep it to yourself.")
    parser.add_vault()
    return run(parser, argv, _page)


def _page(args: argparse.Namespace) -> int:
    import asyncio

    from vaultbridge.protocols.editor.client import connect, find_bridge
    from vaultbridge.web.page import page_link

    async def greet() -> None:
        async with connect(where):
            """Whether it really runs is known only by connecting."""

    where = find_bridge(cache_of(args.vault))
    asyncio.run(greet())
    link = page_link(where.link, where.token)
    if args.json:
        emit({"page": link})
    else:
        say(link)
    return OK
