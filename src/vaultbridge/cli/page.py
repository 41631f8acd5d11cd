"""`vaultbridge page VAULT`: the link to the page of the bridge that serves a vault.

The link contains the token, which is stored in a file that only its owner can read. With `--open` the browser
gets a link that works once instead, because other users of the machine can see a program's arguments.
"""

from __future__ import annotations

import argparse
import threading
from typing import TYPE_CHECKING, Final

from vaultbridge.cli.common import OK, Parser, emit, find_cache, open_browser, run, say

if TYPE_CHECKING:
    from vaultbridge.protocols.editor.endpoint_file import Endpoint

OPEN_SECONDS: Final = 10.0
"""How long a browser may take to accept the link; it goes on without us."""


def main(argv: list[str]) -> int:
    parser = Parser("page", "Print the link to the page on which you review changes. Keep it to yourself.")
    parser.add_vault()
    parser.add_argument("--open", action="store_true", help="open it in your browser instead of printing it")
    return run(parser, argv, _page)


def _page(args: argparse.Namespace) -> int:
    import asyncio

    from vaultbridge.protocols.editor.client import connect, find_bridge
    from vaultbridge.web.page import page_link

    async def greet() -> None:
        async with connect(where):
            """Only connecting shows whether it really runs."""

    where = find_bridge(find_cache(args.vault))
    if args.open:
        link = asyncio.run(_make_link(where))
        open_browser(link)
        # The browser starts in a thread of its own, which ends with this program.
        for thread in threading.enumerate():
            if thread.name == "browser":
                thread.join(OPEN_SECONDS)
        return OK
    asyncio.run(greet())
    link = page_link(where.link, where.token)
    if args.json:
        emit({"page": link})
    else:
        say(link)
    return OK


async def _make_link(where: Endpoint) -> str:
    """A link that works once. Raises BridgeNotRunning."""
    import aiohttp

    from vaultbridge.protocols.editor.client import BridgeNotRunning
    from vaultbridge.web.api.routes import PREFIX
    from vaultbridge.web.codes import code_link

    trust = aiohttp.Fingerprint(bytes.fromhex(where.certificate)) if where.certificate else True
    headers = {"Authorization": f"Bearer {where.token}"}
    url = where.url.replace("ws", "http", 1)
    try:
        async with (
            aiohttp.ClientSession(raise_for_status=True) as session,
            session.post(f"{url}{PREFIX}/code", json={}, headers=headers, ssl=trust) as response,
        ):
            return code_link(where.link, (await response.json())["code"])
    except (aiohttp.ClientError, ConnectionError):
        raise BridgeNotRunning from None
