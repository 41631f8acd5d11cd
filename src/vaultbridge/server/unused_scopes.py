"""Deletes the indexes of scopes that nobody has any more.

What a revoked token could see is not left on disk in a form of its own. The scopes in use are those of the
configuration and of the tokens that are left. Another one, such as that of a session that was started with
its own limits, is filled again when it is next asked.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path

from vaultbridge.engine.scoped_index import delete_scoped_indexes, list_scoped_indexes, name_scope
from vaultbridge.server.config.model import Config, VaultConfig
from vaultbridge.server.config.scopes import make_scopes
from vaultbridge.server.used_vaults import list_caches
from vaultbridge.system import expand_home
from vaultbridge.tokens import AccessToken


def delete_unused_scopes(
    config: Config, tokens: Iterable[AccessToken], environ: Mapping[str, str] = os.environ
) -> None:
    """Deletes them for each vault that has a cache folder."""
    callers = (None, *tokens)
    for folder, cache in list_caches(environ):
        if names := list_scoped_indexes(cache):
            vault = _find_config(config, folder)
            used = {name_scope(make_scopes(config, vault, token)) for token in callers}
            delete_scoped_indexes(cache, [name for name in names if name not in used])


def _find_config(config: Config, folder: Path) -> VaultConfig:
    real = os.path.realpath(folder)
    named = (vault for vault in config.vaults if os.path.realpath(expand_home(vault.path)) == real)
    return next(named, VaultConfig(path=str(folder)))
