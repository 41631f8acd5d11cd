"""`vaultbridge vaults`: lists the vaults that Obsidian has opened on this machine."""

from __future__ import annotations

import argparse
import os

from vaultbridge.cli.common import OK, Parser, emit, run, say


def main(argv: list[str]) -> int:
    return run(Parser("vaults", "The vaults that Obsidian knows on this machine."), argv, _vaults)


def _vaults(args: argparse.Namespace) -> int:
    from vaultbridge.vault.obsidian import list_known_vaults

    known = list_known_vaults(os.environ)
    for vault in known:
        if args.json:
            emit({"name": vault.name, "path": str(vault.folder), "open": vault.open})
        else:
            say(f"{vault.name}\t{vault.folder}{'' if vault.folder.is_dir() else '  (not there)'}")
    if not known and not args.json:
        say("Obsidian knows no vaults on this machine.")
    return OK
