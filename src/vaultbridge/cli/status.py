"""`vaultbridge status`: the bridges that run on this machine, who is connected, and what they did."""

from __future__ import annotations

import argparse
import os
from datetime import datetime
from typing import Any

from vaultbridge.cli.common import OK, Parser, emit, run, say


def main(argv: list[str]) -> int:
    parser = Parser("status", "The bridges that run on this machine, the assistants there and what they did.")
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
    if bridge["pausedAll"]:
        say("  All assistants are paused, also those that come later; `vaultbridge resume` resumes them.")
    here = [one for one in bridge["assistants"] if one["connected"]]
    for assistant in here:
        for line in describe_assistant(assistant):
            say(f"  {line}")
    if not here:
        say("  no assistant is connected")
    for assistant in bridge["assistants"]:
        if not assistant["connected"] and assistant["did"]:
            left = _show_time(assistant["ended"] or assistant["last"])
            say(f"  {assistant['name']}, gone since {left}: {assistant['did']}")


def describe_assistant(assistant: dict[str, Any]) -> list[str]:
    """Who it is, and what it did, in a line each."""
    facts = [assistant["via"]]
    if assistant["token"] is not None:
        facts.append(f"token {assistant['token']['name']}")
    if (process := assistant["process"]) is not None:
        parent = process["parent"]
        of = f", started by {parent['name'] or 'process'} {parent['pid']}" if parent is not None else ""
        facts.append(f"process {process['pid']}{of}")
    facts.append(f"since {_show_time(assistant['since'])}")
    name = " ".join(filter(None, (assistant["name"], assistant["version"])))
    mark = "  PAUSED" if assistant["paused"] else ""
    lines = [f"{assistant['id']}  {name} ({', '.join(facts)}){mark}"]
    if assistant["did"]:
        failed = f"; {assistant['failed']} call(s) failed" if assistant["failed"] else ""
        lines.append(f"    {_show_time(assistant['last'])}  {assistant['did']}{failed}")
    if assistant["running"]:
        lines.append(f"    at work: {', '.join(assistant['running'])}")
    return lines


def _show_time(at: float | None) -> str:
    return "?" if at is None else datetime.fromtimestamp(at).strftime("%H:%M:%S")
