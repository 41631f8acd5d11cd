"""`vaultbridge doctor VAULT`: can assistants connect, and if not, what to do."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from vaultbridge.cli.common import FAILED, OK, Parser, emit, port_number, run, say

if TYPE_CHECKING:
    from vaultbridge.protocols.claude_ide.doctor import Check
    from vaultbridge.protocols.editor.endpoint_file import Endpoint

MARKS = {"good": "ok  ", "warning": "warn", "bad": "BAD ", "unknown": "?   "}


def main(argv: list[str]) -> int:
    parser = Parser(
        "doctor", "Check everything that Claude Code needs to find and reach this vault's bridge."
    )
    parser.add_vault()
    parser.add_argument(
        "--port", type=port_number, help="the bridge's port, when it is not the remembered one"
    )
    parser.add_argument("--cwd", type=Path, help="the folder Claude Code is started in (here, unless said)")
    return run(parser, argv, _doctor)


def _doctor(args: argparse.Namespace) -> int:
    from vaultbridge.cli.common import cache_of
    from vaultbridge.protocols.claude_ide.doctor import diagnose
    from vaultbridge.protocols.editor.client import BridgeNotRunning
    from vaultbridge.protocols.editor.endpoint_file import find_running, load_endpoint
    from vaultbridge.vault.obsidian import find_vault

    cache = cache_of(args.vault)
    remembered = find_running(cache) or load_endpoint(cache)
    port = args.port or (remembered.port if remembered is not None else 0)
    if not port:
        raise BridgeNotRunning
    checks = [
        *_elsewhere(remembered),
        *diagnose(
            find_vault(args.vault).resolve(),
            port,
            environ=os.environ,
            home=Path.home(),
            working_folder=args.cwd or Path.cwd(),
        ),
    ]
    for check in checks:
        if args.json:
            emit(check)
            continue
        say(f"{MARKS[check.status]} {check.name}: {check.found}")
        if check.advice:
            say(f"       -> {check.advice}")
    return FAILED if any(check.status == "bad" for check in checks) else OK


def _elsewhere(remembered: Endpoint | None) -> list[Check]:
    """Told first, because it explains everything that is then found missing."""
    from vaultbridge.protocols.claude_ide.doctor import Check
    from vaultbridge.system import is_process_alive

    if remembered is None or not is_process_alive(remembered.pid):
        return []
    if remembered.host == "127.0.0.1" and not remembered.certificate:
        return []
    return [
        Check(
            "address",
            "bad",
            f"the bridge listens at {remembered.url}, and Claude Code's /ide dials only ws://127.0.0.1",
            "Start `vaultbridge serve` without --host and TLS for /ide; MCP works at any address.",
        )
    ]
