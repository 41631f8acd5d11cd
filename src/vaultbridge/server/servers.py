"""The MCP servers of one process: one without limits, and one for each limited token.

All offer the same catalog for the same vaults. Each has its own engines, because an engine has one scope; the
engines of the unlimited server keep the indexes current for all.

`LiveScope` combines the scopes of the configuration, a vault and a token: what one of them hides does not
exist. When the file changes, the scopes follow without a restart, because a folder that somebody has just
made private must be private now.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path

from msgspec import Struct

from vaultbridge.engine import DirectEngine, Engine
from vaultbridge.errors import PermissionDenied
from vaultbridge.protocols.mcp.server import McpServer
from vaultbridge.protocols.mcp.vault.engines import VaultEngines
from vaultbridge.protocols.mcp.vault.provider import ProviderSettings, VaultProvider, make_offer
from vaultbridge.review.policy import Review, ReviewRules, find_strictest
from vaultbridge.server.config.model import Config, VaultConfig
from vaultbridge.server.config.scopes import make_scopes
from vaultbridge.server.unused_patterns import ScopePattern, list_patterns
from vaultbridge.server.vault_choice import name_vaults
from vaultbridge.server.wiring import open_engine
from vaultbridge.tokens import AccessToken
from vaultbridge.tools.base.catalog import Catalog
from vaultbridge.tools.base.tool import ToolContext
from vaultbridge.vault.obsidian import find_vault
from vaultbridge.vault.scope import LiveScope, Scope


class ServedVault(Struct, frozen=True):
    """`name` is unique among the served vaults."""

    name: str
    folder: Path
    config: VaultConfig


def find_served_vaults(
    wanted: Iterable[VaultConfig], environ: Mapping[str, str] = os.environ
) -> tuple[ServedVault, ...]:
    """Find the vaults, each folder once. Raises VaultNotFound."""
    by_folder: dict[str, VaultConfig] = {}
    for config in wanted:
        folder = find_vault(config.path, environ=environ)
        by_folder.setdefault(os.path.realpath(folder), config)
    return tuple(
        ServedVault(name, Path(folder), by_folder[folder])
        for name, folder in name_vaults(list(by_folder)).items()
    )


class _ScopedServer(Struct):
    token: AccessToken | None
    server: McpServer
    engines: VaultEngines
    scopes: dict[str, LiveScope]
    provider: VaultProvider | None = None
    """Made when the server first needs it."""


class McpServers:
    """Created and used in the event loop."""

    def __init__(
        self,
        vaults: Sequence[ServedVault],
        catalog: Catalog,
        config: Config,
        *,
        extend_context: Callable[[ToolContext], ToolContext],
        environ: Mapping[str, str] = os.environ,
    ) -> None:
        self._vaults = tuple(vaults)
        self._catalog = catalog
        self._config = config
        self._extend_context = extend_context
        self._environ = environ
        self._limited: dict[str, _ScopedServer] = {}
        self._full = self._make(None)

    @property
    def full(self) -> McpServer:
        """The server for callers without limits."""
        return self._full.server

    @property
    def engines(self) -> VaultEngines:
        return self._full.engines

    def for_token(self, token: AccessToken) -> McpServer:
        """Return the server for a token. Raises PermissionDenied when none of the token's vaults is served
        here."""
        return self._find_scoped(token).server

    def engines_for(self, token: AccessToken) -> VaultEngines:
        """Return the engines of that server. Raises PermissionDenied."""
        return self._find_scoped(token).engines

    def list_names(self, token: AccessToken) -> tuple[str, ...]:
        """The names of the vaults that a token is for; none means all."""
        if not token.vaults:
            return ()
        return tuple(vault.name for vault in self._vaults if token.covers(vault.name, vault.folder)) or (
            token.vaults
        )

    def _find_scoped(self, token: AccessToken) -> _ScopedServer:
        if token.unrestricted:
            return self._full
        scoped = self._limited.get(token.principal)
        if scoped is None:
            scoped = self._limited[token.principal] = self._make(token)
        return scoped

    def update_scopes(self, config: Config) -> None:
        """Apply changed scopes: every engine uses them from its next call on. Tools that write disappear when
        everything has become read-only, and come back. Vaults are matched by path; new ones need a
        restart."""
        self._config = config
        for scoped in (self._full, *self._limited.values()):
            for vault in self._vaults:
                scope = scoped.scopes.get(vault.name)
                if scope is not None:
                    scope.update(*self._make_scopes(vault, scoped.token))
            settings = self._make_settings(scoped.scopes, scoped.token)
            scoped.server.offer = make_offer(settings, vaults=len(scoped.scopes))
            if scoped.provider is not None:
                scoped.provider.limit(read_only=settings.read_only)

    def list_patterns(
        self, tokens: Iterable[AccessToken]
    ) -> dict[str, tuple[DirectEngine, Sequence[ScopePattern]]]:
        """The patterns of all scopes, with the engine of the vault that each is for."""
        known = tuple(tokens)
        return {
            vault.name: (
                self.engines[vault.name],
                list_patterns(
                    self._config,
                    self._find_config(vault),
                    vault.name,
                    [token for token in known if token.covers(vault.name, vault.folder)],
                ),
            )
            for vault in self._vaults
        }

    async def close_revoked(self, valid: Iterable[str]) -> bool:
        """Close the servers of tokens that are no longer `valid`; returns whether there were any."""
        principals = set(valid)
        revoked = [principal for principal in self._limited if principal not in principals]
        for principal in revoked:
            await self._limited.pop(principal).server.close()
        return bool(revoked)

    async def close(self) -> None:
        await self.close_revoked(())
        await self.full.close()

    def _make(self, token: AccessToken | None) -> _ScopedServer:
        wanted = [vault for vault in self._vaults if token is None or token.covers(vault.name, vault.folder)]
        if not wanted:
            raise PermissionDenied("This token is for other vaults.")
        scopes = {vault.name: LiveScope(*self._make_scopes(vault, token)) for vault in wanted}
        engines = VaultEngines(
            {vault.name: partial(self._open, vault, scopes[vault.name]) for vault in wanted}
        )

        async def make() -> VaultProvider:
            settings = self._make_settings(scopes, token)
            scoped.provider = VaultProvider(
                engines,
                settings,
                make_catalog=lambda: self._catalog,
                extend_context=self._extend_context,
                review=lambda engine: self.find_rules(engine, token),
            )
            return scoped.provider

        offer = make_offer(self._make_settings(scopes, token), vaults=len(wanted))
        server = McpServer(offer, make, tool_errors=self._config.tools.errors)
        scoped = _ScopedServer(token, server, engines, scopes)
        return scoped

    def _list_reviews(self, names: Iterable[str], token: AccessToken | None) -> Iterator[Review]:
        """The review policies of the server, the token and each of these vaults."""
        yield self._config.tools.review
        yield "off" if token is None else token.review
        yield from (self._find_config(vault).review for vault in self._vaults if vault.name in set(names))

    def reopen(self, engine: DirectEngine, scope: Scope) -> DirectEngine:
        """Open an engine's vault under another scope: that of the caller that requested a change."""
        folder = engine.root.folder
        served = next(vault for vault in self._vaults if vault.folder == folder)
        return self._open(served, LiveScope(scope))

    def find_rules(self, engine: Engine, token: AccessToken | None = None) -> ReviewRules:
        """Which changes of this vault wait for a person, by the configuration as it is now."""
        folder = str(engine.root.folder)
        served = next((vault for vault in self._vaults if str(vault.folder) == folder), None)
        own = VaultConfig(path=folder) if served is None else self._find_config(served)
        return ReviewRules(
            least=find_strictest(self._config.tools.review, "off" if token is None else token.review),
            vault=own.review,
            wait_seconds=self._config.limits.review_seconds,
            token="" if token is None else token.name,
            token_id="" if token is None else token.id,
        )

    def _find_config(self, vault: ServedVault) -> VaultConfig:
        by_path = {known.path: known for known in self._config.vaults}
        return by_path.get(vault.config.path, vault.config)

    def _make_scopes(self, vault: ServedVault, token: AccessToken | None) -> tuple[Scope, ...]:
        """Make the scopes that limit a vault for a caller, by the current configuration."""
        return make_scopes(self._config, self._find_config(vault), token)

    def _make_settings(self, scopes: Mapping[str, LiveScope], token: AccessToken | None) -> ProviderSettings:
        return ProviderSettings(
            profile=self._config.tools.profile,
            read_only=all(scope.read_only for scope in scopes.values()),
            restricted=not all(scope.unrestricted for scope in scopes.values()),
            lead=token is None,
            quick_list=False,
            reviewed=any(review != "off" for review in self._list_reviews(scopes, token)),
        )

    def _open(self, vault: ServedVault, scope: LiveScope) -> DirectEngine:
        return open_engine(
            vault.folder,
            scope=scope,
            actor="serve",
            allow_outside_links=vault.config.outside_links,
            embeddings=self._config.embeddings,
            environ=self._environ,
        )
