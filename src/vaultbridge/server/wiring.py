"""Builds an engine: the environment becomes arguments here, and nothing below reads it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from vaultbridge.engine import Engine
from vaultbridge.engine.engine import OPEN_SCOPE
from vaultbridge.vault.cache_folder import cache_base
from vaultbridge.vault.obsidian import find_vault
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.write.trash import Trash


def open_engine(
    vault: str | Path,
    *,
    scope: Scope = OPEN_SCOPE,
    actor: str = "cli",
    allow_outside_links: bool = False,
    environ: Mapping[str, str] = os.environ,
) -> Engine:
    """Open the engine of a vault, given by folder or by its name in Obsidian. Raises VaultNotFound."""
    folder = vault if isinstance(vault, Path) else find_vault(vault, environ=environ)
    return Engine(
        folder,
        cache=cache_base(environ),
        trash=Trash(environ),
        scope=scope,
        actor=actor,
        allow_outside_links=allow_outside_links,
    )
