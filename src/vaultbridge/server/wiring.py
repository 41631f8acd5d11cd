"""Builds an engine: the environment becomes arguments here, and nothing below reads it."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from vaultbridge.embeddings.settings import EmbeddingSettings
from vaultbridge.engine.direct import OPEN_SCOPE, DirectEngine
from vaultbridge.vault.folders import find_bases, find_dictionary_folders
from vaultbridge.vault.obsidian import find_vault
from vaultbridge.vault.scope import Scope
from vaultbridge.vault.write.trash import Trash

if TYPE_CHECKING:
    from vaultbridge.server.config.model import EmbeddingsConfig


def open_engine(
    vault: str | Path,
    *,
    scope: Scope = OPEN_SCOPE,
    actor: str = "cli",
    allow_outside_links: bool = False,
    embeddings: EmbeddingsConfig | None = None,
    accept: bool = False,
    environ: Mapping[str, str] = os.environ,
) -> DirectEngine:
    """Open the engine of a vault, given by folder or by its name in Obsidian. `embeddings` is the user's own
    model, if there is one. With `accept` the folder is taken for the vault as it is now. Raises
    VaultNotFound."""
    folder = vault if isinstance(vault, Path) else find_vault(vault, environ=environ)
    bases = find_bases(environ)
    return DirectEngine(
        folder,
        cache=bases.cache,
        state=bases.state,
        trash=Trash(environ),
        scope=scope,
        actor=actor,
        allow_outside_links=allow_outside_links,
        accept=accept,
        dictionaries=find_dictionary_folders(environ),
        embeddings=None if embeddings is None else make_embedding_settings(embeddings, environ),
    )


def make_embedding_settings(config: EmbeddingsConfig, environ: Mapping[str, str]) -> EmbeddingSettings | None:
    """Make the settings of the user's model, with the key from the environment; None without a model."""
    if not config.url:
        return None
    from msgspec.structs import asdict

    key = environ.get(config.key_env, "").strip() if config.key_env else ""
    return EmbeddingSettings(**asdict(config), key=key)
