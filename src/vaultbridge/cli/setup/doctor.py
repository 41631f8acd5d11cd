"""`vaultbridge doctor`: checks the whole installation, and says what to do about anything that is wrong."""

from __future__ import annotations

import argparse
from pathlib import Path

from vaultbridge.cli.common import run
from vaultbridge.cli.parser import Parser, parse_port

EPILOG = """\
ok: works   -: not set up, and optional   warn: works, but check it   BAD: does not work"""


def main(argv: list[str]) -> int:
    parser = Parser(
        "doctor",
        "Check the system, the vault, the index, the bridge, Claude Code, every connected assistant and the"
        " companion.",
        epilog=EPILOG,
    )
    parser.add_vault(needed=False)
    parser.add_argument("--port", type=parse_port, help="the bridge's port, if it is not the one found")
    parser.add_argument("--cwd", type=Path, help="the folder Claude Code starts in (default: this one)")
    parser.add_argument("--fix", action="store_true", help="fix what can be fixed safely")
    return run(parser, argv, _run_checks)


def _run_checks(args: argparse.Namespace) -> int:
    from vaultbridge.cli.setup.checks import run_checks

    return run_checks(args)
