"""The MCP servers of one process: one for those who may use everything, one for each narrower token.

All show the same catalog over the same vaults; each has engines of its own, because an engine has one scope.
The first keeps the indexes fresh for all.
"""

from __future__ import annotations

import os
import unicodedata
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from vaultbridge.app.config import Config, VaultConfig
from vaultbridge.app.scopes import LiveScope, parts_of
from vaultbridge.app.tokens import Token
from vaultbridge.app.vault_choice import named
from vaultbridge.app.wiring import open_engine
from vaultbridge.dialects.mcp_server import McpServer
from vaultbridge.dialects.vault_engines import VaultEngines
from vaultbridge.dialects.vault_provider import ProviderSettings, VaultProvider, offer_for
from vaultbridge.engine import Engine
from vaultbridge.errors import PermissionDenied
from vaultbridge.tools.catalog import Catalog
from vaultbridge.tools.workshop import Workshop
from vaultbridge.vault.known import find_vault
from vaultbridge.vault.scope import Scope


class ServedVault(Struct, frozen=True):
    """`name` is unique among those that are served."""

    name: str
    folder: Path
    config: VaultConfig


def served_vaults(
    wanted: Iterable[VaultConfig], environ: Mapping[str, str] = os.environ
) -> tuple[ServedVault, ...]:
    """The vaults by folder, each once. Raises VaultNotFound."""
    by_folder: dict[str, VaultConfig] = {}
    for config in wanted:
        folder = find_vault(str(Path(config.path).expanduser()), environ=environ)
        by_folder.setdefault(os.path.realpath(folder), config)
    return tuple(
        ServedVault(name, Path(folder), by_folder[folder]) for name, folder in named(list(by_folder)).items()
    )


class _Serving(Struct):
    token: Token | None
    server: McpServer
    engines: VaultEngines
    scopes: dict[str, LiveScope]
    provider: VaultProvider | None = None
    """Made by the server when it first needs it."""


class Servers:
    """Made and used in the event loop."""

    def __init__(
        self,
        vaults: Sequence[ServedVault],
        catalog: Catalog,
        config: Config,
        *,
        furnish: Callable[[Workshop], Workshop],
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._vaults = tuple(vaults)
        self._catalog = catalog
        self._config = config
        self._furnish = furnish
        self._environ = environ
        self._narrow: dict[str, _Serving] = {}
        self._full = self._made(None)

    @property
    def full(self) -> McpServer:
        """For callers without limits of their own."""
        return self._full.server

    @property
    def engines(self) -> VaultEngines:
        return self._full.engines

    def for_token(self, token: Token) -> McpServer:
        """Raises PermissionDenied when none of the token's vaults is served here."""
        if token.unrestricted:
            return self.full
        serving = self._narrow.get(token.principal)
        if serving is None:
            serving = self._narrow[token.principal] = self._made(token)
        return serving.server

    def rescope(self, config: Config) -> None:
        """The configuration's scopes have changed: every engine obeys from its next call on, and where
        nothing may be changed any more, or again, the tools that do it go or come. Vaults are matched by
        their path; new ones wait for the next start."""
        self._config = config
        for serving in (self._full, *self._narrow.values()):
            for vault in self._vaults:
                scope = serving.scopes.get(vault.name)
                if scope is not None:
                    scope.become(*self._parts(vault, serving.token))
            settings = self._settings(serving.scopes, serving.token)
            serving.server.offer = offer_for(settings, vaults=len(serving.scopes))
            if serving.provider is not None:
                serving.provider.limit(read_only=settings.read_only)

    async def forget(self, valid: Iterable[str]) -> None:
        """Close the servers of tokens whose principals are not among the valid ones."""
        kept = set(valid)
        for principal in [principal for principal in self._narrow if principal not in kept]:
            await self._narrow.pop(principal).server.close()

    async def close(self) -> None:
        await self.forget(())
        await self.full.close()

    def _made(self, token: Token | None) -> _Serving:
        names = {unicodedata.normalize("NFC", name) for name in token.vaults} if token is not None else ()
        wanted = [one for one in self._vaults if not names or one.name in names]
        if not wanted:
            raise PermissionDenied("This token is for other vaults.")
        scopes = {one.name: LiveScope(*self._parts(one, token)) for one in wanted}
        engines = VaultEngines({one.name: partial(self._open, one, scopes[one.name]) for one in wanted})

        async def make() -> VaultProvider:
            settings = self._settings(scopes, token)
            serving.provider = VaultProvider(
                engines, settings, make_catalog=lambda: self._catalog, shop=self._furnish
            )
            return serving.provider

        offer = offer_for(self._settings(scopes, token), vaults=len(wanted))
        server = McpServer(offer, make, tool_errors=self._config.tools.errors)
        serving = _Serving(token, server, engines, scopes)
        return serving

    def _parts(self, vault: ServedVault, token: Token | None) -> tuple[Scope, ...]:
        """What limits a vault for a caller, as the configuration says now."""
        by_path = {one.path: one for one in self._config.vaults}
        return parts_of(self._config, by_path.get(vault.config.path, vault.config), token)

    def _settings(self, scopes: Mapping[str, LiveScope], token: Token | None) -> ProviderSettings:
        return ProviderSettings(
            profile=self._config.tools.profile,
            read_only=all(scope.read_only for scope in scopes.values()),
            restricted=not all(scope.unrestricted for scope in scopes.values()),
            keep=token is None,
            quick_list=False,
        )

    def _open(self, vault: ServedVault, scope: LiveScope) -> Engine:
        return open_engine(
            vault.folder,
            scope=scope,
            actor="serve",
            allow_outside_links=vault.config.outside_links,
            environ=self._environ,
        )
