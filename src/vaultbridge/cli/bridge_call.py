"""One question to the running bridge of a vault, for the commands that need one."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any


def cache_of(vault: str) -> Path:
    """The cache folder of the vault that a person named. Raises VaultNotFound."""
    from vaultbridge.vault.cache import cache_base, vault_cache
    from vaultbridge.vault.known import find_vault
    from vaultbridge.vault.paths import Root

    return vault_cache(Root(find_vault(vault)).folder, cache_base(os.environ))


def ask_bridge(vault: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
    """Raises NotRunning when no bridge serves this vault."""
    import asyncio

    from vaultbridge.editor.remote import call

    return asyncio.run(call(cache_of(vault), method, **params))
