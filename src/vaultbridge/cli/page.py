"""`vaultbridge page VAULT`: the link to the page of the bridge that serves a vault.

The link contains the token, which is stored in a file that only its owner can read. It is not passed to a
browser from here, because other users of the machine can see a program's arguments.
"""

from __future__ import annotations

import argparse

from vaultbridge.cli.common import OK, Parser, emit, find_cache, run, say


def main(argv: list[str]) -> int:
    parser = Parser("page", "Print the link to the page on which you review changes. Keep it to yourself.")
    parser.add_vault()
    return run(parser, argv, _page)


def _page(args: argparse.Namespace) -> int:
    import asyncio

    from vaultbridge.protocols.editor.client import connect, find_bridge
    from vaultbridge.web.page import page_link

    async def greet() -> None:
        async with connect(where):
            """Only connecting shows whether it really runs."""

    where = find_bridge(find_cache(args.vault))
    asyncio.run(greet())
    link = page_link(where.link, where.token)
    if args.json:
        emit({"page": link})
    else:
        say(link)
    return OK
