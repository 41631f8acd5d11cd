"""`vaultbridge resume [ASSISTANT]`: ends what `vaultbridge pause`, or a person on the page, began."""

from __future__ import annotations

from vaultbridge.cli.common import Parser, run
from vaultbridge.cli.pause import add_arguments, control


def main(argv: list[str]) -> int:
    parser = Parser("resume", "Resume assistants that were paused: all, or one.")
    add_arguments(parser)
    return run(parser, argv, lambda args: control(args, "resume"))
