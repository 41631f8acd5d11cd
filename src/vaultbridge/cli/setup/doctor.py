"""`vaultbridge doctor VAULT`: checks whether assistants can connect, and says what to do if not."""

from __future__ import annotations

import argparse
import os
from pathlib import Path
from typing import TYPE_CHECKING

from vaultbridge.cli.common import FAILED, OK, Parser, emit, parse_port, run, say

if TYPE_CHECKING:
    from vaultbridge.protocols.claude_ide.doctor import Check
    from vaultbridge.protocols.editor.endpoint_file import Endpoint

MARKS = {"good": "ok  ", "warning": "warn", "bad": "BAD ", "unknown": "?   "}


def main(argv: list[str]) -> int:
    parser = Parser(
        "doctor", "Check everything that Claude Code needs to find and reach this vault's bridge."
    )
    parser.add_vault()
    parser.add_argument("--port", type=parse_port, help="the bridge's port, if it is not the one found")
    parser.add_argument("--cwd", type=Path, help="the folder in which Claude Code starts (default: this one)")
    return run(parser, argv, _doctor)


def _doctor(args: argparse.Namespace) -> int:
    from vaultbridge.cli.common import find_cache
    from vaultbridge.protocols.claude_ide.doctor import diagnose
    from vaultbridge.protocols.editor.client import BridgeNotRunning
    from vaultbridge.protocols.editor.endpoint_file import find_running, load_endpoint
    from vaultbridge.vault.obsidian import find_vault

    cache = find_cache(args.vault)
    model = _check_model(cache)
    remembered = find_running(cache) or load_endpoint(cache)
    port = args.port or (remembered.port if remembered is not None else 0)
    if not port:
        for check in model:
            _show(args, check)
        raise BridgeNotRunning
    checks = [
        *model,
        *_check_address(remembered),
        *diagnose(
            find_vault(args.vault).resolve(),
            port,
            environ=os.environ,
            home=Path.home(),
            working_folder=args.cwd or Path.cwd(),
        ),
    ]
    for check in checks:
        _show(args, check)
    return FAILED if any(check.status == "bad" for check in checks) else OK


def _show(args: argparse.Namespace, check: Check) -> None:
    if args.json:
        emit(check)
        return
    say(f"{MARKS[check.status]} {check.name}: {check.found}")
    if check.advice:
        say(f"       -> {check.advice}")


def _check_model(cache: Path) -> list[Check]:
    """Check the user's own model by asking it for one sentence; nothing if there is none."""
    from vaultbridge.cli.common import load_embeddings
    from vaultbridge.protocols.claude_ide.doctor import Check
    from vaultbridge.server.wiring import make_embedding_settings

    settings = make_embedding_settings(load_embeddings(), os.environ)
    if settings is None:
        return []
    from vaultbridge.embeddings.embeddings import check_model

    found, problem = check_model(settings, cache)
    if problem:
        advice = "Searches go without it until then. See [embeddings] in docs/config.md."
        return [Check("embeddings", "bad", f"{settings.model}: {problem}", advice)]
    return [Check("embeddings", "good", f"{settings.model}: {found}")]


def _check_address(remembered: Endpoint | None) -> list[Check]:
    """Check the address first, because it explains everything that the other checks miss."""
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
