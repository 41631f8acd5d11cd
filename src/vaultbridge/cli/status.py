"""`vaultbridge status`: the bridges that run on this machine, and who is connected."""

from __future__ import annotations

import argparse
import os
from datetime import datetime
from typing import Any

from vaultbridge.cli.common import OK, Parser, emit, run, say


def main(argv: list[str]) -> int:
    parser = Parser("status", "The bridges that run on this machine, their clients and their last messages.")
    return run(parser, argv, _status)


def _status(args: argparse.Namespace) -> int:
    import asyncio

    from vaultbridge.protocols.editor.client import list_statuses
    from vaultbridge.vault.cache_folder import cache_base

    bridges = asyncio.run(list_statuses(cache_base(os.environ)))
    for bridge in bridges:
        if args.json:
            emit(bridge)
        else:
            _show(bridge)
    if not bridges and not args.json:
        say("No bridge is running. `vaultbridge serve VAULT` starts one.")
    return OK


def _show(bridge: dict[str, Any]) -> None:
    say(f"{bridge['vault']}  port {bridge['port']}  pid {bridge['pid']}  version {bridge['version']}")
    say(f"  open: {bridge['focus'] or 'nothing'}; {bridge['diffs']} diff(s) waiting")
    for editor in bridge["editors"]:
        say(f"  editor {editor['name']} ({editor['app']})")
    for client in bridge["clients"]:
        say(f"  client {client['name']}: {client['software'] or 'unknown'}, pid {client['pid'] or 'unknown'}")
        for message in client["messages"][-3:]:
            when = datetime.fromtimestamp(message["at"]).strftime("%H:%M:%S")
            say(f"    {when} {message['direction']} {message['name']}")
    if not bridge["clients"]:
        say("  no client is connected")
