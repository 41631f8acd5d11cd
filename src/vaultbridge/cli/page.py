"""`vaultbridge page`: opens the page, and starts a bridge for it if none is running.

What happens, by what is running for the vault:

- nothing, or a bridge that was killed: one is started in the background (`server.background`), for this vault
  and all others that assistants use and no other bridge serves;
- a bridge, whoever started it (this command, a person, the service): its page is opened;
- a bridge for other vaults only: another one is started for this vault;
- another `page` that is just starting one: this one waits for it.

If the bridge cannot be started, its error is shown: the vault is gone, the configuration is wrong, the port
that it names is taken. Without VAULT and without a vault here, the page of any vault that an assistant uses
will do. A vault that an assistant names but that is gone is left out.

The link that is printed contains the token, which is stored in a file that only its owner can read. A browser
gets a link that works once instead, because other users of the machine can see a program's arguments.
"""

from __future__ import annotations

import argparse
import os
import sys
import threading
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from vaultbridge import event_loop
from vaultbridge.cli.common import OK, emit, find_cache, open_browser, own_command, remark, run, say
from vaultbridge.cli.parser import Parser
from vaultbridge.cli.terminal import wrap_remark
from vaultbridge.errors import EngineFailure, VaultbridgeError, VaultNotFound
from vaultbridge.system import make_private_folder

if TYPE_CHECKING:
    from vaultbridge.protocols.editor.endpoint_file import Endpoint

OPEN_SECONDS: Final = 10.0
"""How long we wait for a browser to accept the link; it continues without us."""

TURN_SECONDS: Final = 90.0
"""How long to wait for another `page` that is starting a bridge: longer than a start may take."""

LOCK_NAME: Final = "page.lock"

EPILOG: Final = """\
A bridge that this command starts serves every vault that an assistant uses, and stops after ten minutes
without use. `vaultbridge service install` keeps one running."""


def main(argv: list[str]) -> int:
    parser = Parser(
        "page", "Open the page, where you review changes. Starts a bridge if none is running.", epilog=EPILOG
    )
    parser.add_vault(needed=False)
    group = parser.add_mutually_exclusive_group()
    group.add_argument("--open", action="store_true", help="open it in your browser, even outside a terminal")
    group.add_argument("--no-open", action="store_true", help="only print the link; keep it to yourself")
    return run(parser, argv, _show_page)


def _show_page(args: argparse.Namespace) -> int:
    where, started = find_or_start(args.vault, args.vault_problem)
    if started:
        from vaultbridge.server.background import UNUSED_MINUTES

        names = ", ".join(vault["name"] for vault in started["vaults"])
        text = (
            f"Started a bridge for {args.terminal.clean(names)} in the background (process {started['pid']})."
            f" It stops by itself after {UNUSED_MINUTES} minutes without use."
        )
        sys.stderr.write(f"{wrap_remark(text, sys.stderr)}\n")
    if args.json:
        emit({"page": _make_link(where), "started": bool(started)})
    elif args.open or (not args.no_open and sys.stdout.isatty() and has_browser(os.environ)):
        open_browser(event_loop.run(make_link_once(where)))
        # The browser is started in a separate thread, which ends with this program.
        for thread in threading.enumerate():
            if thread.name == "browser":
                thread.join(OPEN_SECONDS)
        if sys.stdout.isatty():
            remark(f"The page is at {where.link}. If no browser opened it: {own_command()} page --no-open")
    else:
        say(_make_link(where))
    return OK


def _make_link(where: Endpoint) -> str:
    from vaultbridge.web.page import make_page_link

    return make_page_link(where.link, where.token)


def has_browser(environ: Mapping[str, str]) -> bool:
    """Whether a browser can show itself to the person here. On a machine that they have reached over the
    network, it would open for nobody; and on Linux without a display, in the terminal itself."""
    if environ.get("BROWSER"):
        return True
    if sys.platform in ("win32", "darwin"):
        return not environ.get("SSH_CONNECTION")
    return bool(environ.get("DISPLAY") or environ.get("WAYLAND_DISPLAY"))


def find_or_start(vault: str | None, problem: VaultbridgeError | None) -> tuple[Endpoint, dict[str, Any]]:
    """The bridge that serves the vault, and what it said if it was started now. Without a vault, which then
    has the `problem`, it is one that an assistant uses. Raises VaultbridgeError."""
    from vaultbridge.server.background import start_background
    from vaultbridge.vault.folders import find_bases
    from vaultbridge.vault.locking import FileLock

    base = find_bases(os.environ).cache
    make_private_folder(base)
    with FileLock(base / LOCK_NAME).hold(TURN_SECONDS, what="The start of another bridge"):
        if vault is not None:
            running = event_loop.run(_find_answering([find_cache(vault)]))
            if running is not None:
                return running, {}
        vaults = _list_unserved(vault)
        if vaults:
            said = start_background(vaults, os.environ)
            started = event_loop.run(_find_answering([find_cache(str(vaults[0]))]))
            if started is None:
                raise EngineFailure("The bridge stopped as soon as it had started.")
            return started, said
        if vault is None:
            running = event_loop.run(_find_answering(sorted(base.iterdir())))
            if running is not None:
                return running, {}
        raise problem or VaultNotFound("No vault was found.")


async def _find_answering(caches: Iterable[Path]) -> Endpoint | None:
    """The first bridge that answers, of those that serve the vaults with these cache folders."""
    from vaultbridge.protocols.editor.endpoint_file import find_running

    for cache in caches:
        known = find_running(cache)
        if known is not None and await _answers(known):
            return known
    return None


async def _answers(where: Endpoint) -> bool:
    """Only a connection shows whether it is really running."""
    from vaultbridge.protocols.editor.client import connect

    try:
        async with connect(where):
            return True
    except VaultbridgeError:
        return False


def _list_unserved(vault: str | None) -> list[Path]:
    """The vault that the person wants, and those that assistants use, as far as no bridge serves them."""
    from vaultbridge.server.used_vaults import list_used_vaults
    from vaultbridge.vault.obsidian import find_vault

    # The vault's own problem comes first: it is what the person asked for.
    own = [find_vault(vault).resolve()] if vault is not None else []
    used = [folder for folder in list_used_vaults(os.environ) if folder not in own]
    return own + [
        folder for folder in used if event_loop.run(_find_answering([find_cache(str(folder))])) is None
    ]


async def make_link_once(where: Endpoint) -> str:
    """A link that works once. Raises BridgeNotRunning."""
    import aiohttp

    from vaultbridge.protocols.editor.client import BridgeNotRunning
    from vaultbridge.web.api.routes import PREFIX
    from vaultbridge.web.page import make_code_link

    trust = aiohttp.Fingerprint(bytes.fromhex(where.certificate)) if where.certificate else True
    headers = {"Authorization": f"Bearer {where.token}"}
    url = where.url.replace("ws", "http", 1)
    try:
        async with (
            aiohttp.ClientSession(raise_for_status=True) as session,
            session.post(f"{url}{PREFIX}/code", json={}, headers=headers, ssl=trust) as response,
        ):
            return make_code_link(where.link, (await response.json())["code"])
    except (aiohttp.ClientError, ConnectionError):
        raise BridgeNotRunning from None
